// codegen/sm90a/Wgmma.h - warpgroup products. PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions".
//
// Executed by all 128 threads of a warpgroup (4 consecutive warps from a multiple of 4). A product
// is one inline-asm block: fence, all K steps, commit. Its accumulators are results of the block
// and may be used only through wgmmaWait. ptxas serialises products (C7510 ff.) when an accumulator
// or an A register is touched in flight, so: issue, do unrelated work, wait, then use.
#pragma once

#include "codegen/common/Descriptor.h"
#include "codegen/common/Registers.h"
#include "dialect/Layout/Fragment.h"

namespace fovea::codegen::sm90a {

/// Optional parts of a product.
struct WgmmaOptions {
  Half type = Half::BF16; ///< of A and B
  bool fence = true; ///< wgmma.fence first; false for the second product of a group whose registers
                     ///< nothing has touched
  bool commit = true; ///< commit_group last; false when the next product joins the same group
  Value accumulate;   ///< i1, with accumulators given: false in it makes the first K step overwrite
                      ///< them
};

/// D (+)= A·B with A (64 x k) and B (n x k) in shared memory. `accumulators`: n/2 f32 values to add
/// to, or empty for D = A·B, which needs no zero fill. Returns n/2 f32 values in the order of
/// layout::wgmmaAccumulatorElement. n: bOperand.mn, 8..256.
SmallVector<Value> wgmmaSS(OpBuilder &b, Location loc, Value aDesc, const layout::MatrixOperand &a,
                           Value bDesc, const layout::MatrixOperand &bOperand,
                           ValueRange accumulators, const WgmmaOptions &options = {});

/// As wgmmaSS with A in registers: 4 i32 per K step (layout::wgmmaOperandAElement). They must stay
/// untouched until the wait.
SmallVector<Value> wgmmaRS(OpBuilder &b, Location loc, ValueRange aRegisters, Value bDesc,
                           const layout::MatrixOperand &bOperand, ValueRange accumulators,
                           const WgmmaOptions &options = {});

/// wgmma.wait_group: at most `pending` later groups still run. `values` (the accumulators of the
/// finished products) pass through it.
SmallVector<Value> wgmmaWait(OpBuilder &b, Location loc, uint32_t pending, ValueRange values);

/// A fragments of P from the f32 accumulators of S (n/2 values): n/4 i32, 4 per K step, no shuffle.
SmallVector<Value> packOperandA(OpBuilder &b, Location loc, Half type, ValueRange accumulators);

} // namespace fovea::codegen::sm90a
