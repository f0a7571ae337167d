// codegen/sm100a/Tcgen05.h - tcgen05.mma products, commit and fences. PTX ISA, "tcgen05.mma",
// "tcgen05.commit", "tcgen05.fence".
//
// One thread issues for the CTA; instructions of one thread with the same accumulator execute in
// order. Completion is seen through commit + mbarrierWait + fenceAfter only.
#pragma once

#include "codegen/common/Descriptor.h"
#include "dialect/Layout/InstructionDescriptor.h"

namespace fovea::codegen::sm100a {

/// Optional parts of a product.
struct MmaOptions {
  Value accumulate; ///< i1: add to D; null means false for the first K step (D = A·B)
  SmallVector<Value, 4>
      laneMask; ///< four i32: set bits leave that lane of D unchanged (disable-output-lane)
};

/// All K steps of D (+)= A·B, both operands in shared memory. `aDesc`, `bDesc`: smemDescriptor of
/// the operands; step offsets are immediates.
void mmaSS(OpBuilder &b, Location loc, Value d, Value aDesc, const layout::MatrixOperand &a,
           Value bDesc, const layout::MatrixOperand &bOperand,
           const layout::InstructionDescriptor &idesc, const MmaOptions &options = {});

/// As mmaSS with A in tensor memory at `a` (16-bit, 8 columns a K step; same data path and lane
/// offset as D).
void mmaTS(OpBuilder &b, Location loc, Value d, Value a, Value bDesc,
           const layout::MatrixOperand &bOperand, const layout::InstructionDescriptor &idesc,
           const MmaOptions &options = {});

/// One arrival on `bar` when all earlier mma of this thread are complete; contains fenceBefore.
void commit(OpBuilder &b, Location loc, Value bar);

/// tcgen05.fence::before_thread_sync: after tmemWaitLoad/Store, before the arrive that hands tensor
/// memory on.
void fenceBefore(OpBuilder &b, Location loc);
/// tcgen05.fence::after_thread_sync: after the wait, before the first tcgen05 instruction that
/// relies on it.
void fenceAfter(OpBuilder &b, Location loc);

} // namespace fovea::codegen::sm100a
