// codegen/common/Registers.h - arithmetic in registers, conversions and exchanges inside a warp.
// f32 results are flush-to-zero in kernels compiled with denormals preserved-as-sign (the default
// of ToPtx).
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// ex2.approx.ftz.f32 (MUFU), lg2.approx.ftz.f32, rcp.approx.ftz.f32, tanh.approx.f32.
Value ex2(OpBuilder &b, Location loc, Value x);
Value lg2(OpBuilder &b, Location loc, Value x);
Value rcp(OpBuilder &b, Location loc, Value x);
Value tanhApprox(OpBuilder &b, Location loc, Value x);

/// fma.rn, add.rn, sub.rn, mul.rn on f32 or vector<2xf32>; the vector forms are the packed .f32x2
/// instructions of sm_100 and two scalars on sm_90.
Value fma(OpBuilder &b, Location loc, Value x, Value y, Value z);
Value addF(OpBuilder &b, Location loc, Value x, Value y);
Value subF(OpBuilder &b, Location loc, Value x, Value y);
Value mulF(OpBuilder &b, Location loc, Value x, Value y);
/// max.f32, min.f32: the other operand when one is NaN.
Value maxF(OpBuilder &b, Location loc, Value x, Value y);
Value minF(OpBuilder &b, Location loc, Value x, Value y);
/// Maximum of three: one three-input max.f32 on sm_100a, two instructions on sm_90a.
Value max3(OpBuilder &b, Location loc, Value x, Value y, Value z);

/// Reduction of several registers to one, as a balanced tree.
Value maxTree(OpBuilder &b, Location loc, ValueRange values);
Value addTree(OpBuilder &b, Location loc, ValueRange values);

/// cvt.rn.bf16x2.f32 / cvt.rn.f16x2.f32: `lo` into bits 15..0, `hi` into bits 31..16 of an i32.
enum class Half { BF16, F16 };
Value packHalf2(OpBuilder &b, Location loc, Half type, Value lo, Value hi);
/// The inverse, exact: i32 -> two f32.
std::pair<Value, Value> unpackHalf2(OpBuilder &b, Location loc, Half type, Value packed);

/// Bit pattern of an f32 as i32 and back.
Value bitsOf(OpBuilder &b, Location loc, Value f);
Value floatOf(OpBuilder &b, Location loc, Value bits);

/// shfl.sync.bfly / idx over the whole warp, i32 or f32. All 32 lanes.
Value shuffleXor(OpBuilder &b, Location loc, Value v, uint32_t laneMask);
Value shuffleIdx(OpBuilder &b, Location loc, Value v, Value lane);
/// Reduces over the 4 lanes of a quad (the lanes that share a row of a wgmma/mma fragment); every
/// lane gets the result.
Value quadMax(OpBuilder &b, Location loc, Value v);
Value quadAdd(OpBuilder &b, Location loc, Value v);

/// vote.sync.any / .all over the whole warp; i1 -> i1.
Value voteAny(OpBuilder &b, Location loc, Value predicate);
Value voteAll(OpBuilder &b, Location loc, Value predicate);

Value select(OpBuilder &b, Location loc, Value condition, Value ifTrue, Value ifFalse);

} // namespace fovea::codegen
