// codegen/kernel/Exponential.h - 2^x of a thread's registers, on the special unit or on the FMA units.
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// 2^x of two f32 by a polynomial (sm_100a: packed instructions), as vector<2xf32>.
///
/// x = n + f with n the nearest integer (Cody and Waite; exact in f32), 2^f by the minimax polynomial of degree 4 of the
/// relative error on [-1/2, 1/2] (Remez), 2^n by putting n into an exponent. Relative error at most 2.9e-6 (2^-18.4),
/// tested over every f and n. Like ex2.approx.ftz: 0 below -126 (here from -126 on; -Inf too), +Inf
/// from 128 on (here from 127.5), NaN stays.
Value exp2Polynomial(OpBuilder &b, Location loc, Value x0, Value x1);

/// 2^x of each value: of 16, `polynomial` (even) by exp2Polynomial, spread evenly in pairs, the others by ex2.
SmallVector<Value> exponentials(OpBuilder &b, Location loc, ArrayRef<Value> x, int64_t polynomial);

} // namespace fovea::codegen
