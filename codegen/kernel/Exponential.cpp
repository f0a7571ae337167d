// codegen/kernel/Exponential.cpp - 2^x of a thread's registers, on the special unit or on the FMA units.
#include "codegen/kernel/Exponential.h"
#include "codegen/common/Registers.h"

using namespace mlir;

namespace fovea::codegen {

namespace {
// Minimax of the relative error of 2^f on [-1/2, 1/2], rounded to f32: 2.7e-6.
constexpr float kCoefficients[] = {0.9999992847442627f, 0.6931217908859253f, 0.240247443318367f, 0.05591785907745361f,
                                   0.009570102207362652f};
// Adding it rounds to an integer n and leaves 127 + n in the low bits: the exponent of 2^n.
constexpr float kShift = 12582912.0f + 127.0f;
} // namespace

Value exp2Polynomial(OpBuilder &b, Location loc, Value x0, Value x1) {
  // Exponents of 0 and +Inf at the ends. minimum and maximum keep NaN.
  auto clamp = [&](Value x) -> Value {
    Value above = LLVM::MaximumOp::create(b, loc, x, constF32(b, loc, -127.0f));
    return LLVM::MinimumOp::create(b, loc, above, constF32(b, loc, 128.0f));
  };
  auto both = [&](float v) { return packVector(b, loc, {constF32(b, loc, v), constF32(b, loc, v)}); };
  Value x = packVector(b, loc, {clamp(x0), clamp(x1)});
  Value shifted = addF(b, loc, x, both(kShift));
  Value f = subF(b, loc, x, subF(b, loc, shifted, both(kShift)));
  Value p = both(kCoefficients[4]);
  for (int k = 3; k >= 0; --k)
    p = fma(b, loc, p, f, both(kCoefficients[k]));
  SmallVector<Value> powers;
  for (Value s : unpackVector(b, loc, shifted))
    powers.push_back(floatOf(b, loc, LLVM::ShlOp::create(b, loc, bitsOf(b, loc, s), constI32(b, loc, 23))));
  return mulF(b, loc, p, packVector(b, loc, powers));
}

SmallVector<Value> exponentials(OpBuilder &b, Location loc, ArrayRef<Value> x, int64_t polynomial) {
  SmallVector<Value> out;
  const size_t share = size_t(polynomial / 2); // pairs of 8
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t pair = i / 2 % 8;
    const bool onFma = (pair + 1) * share / 8 != pair * share / 8;
    if (!onFma || i + 1 == x.size()) {
      out.push_back(ex2(b, loc, x[i]));
      continue;
    }
    llvm::append_range(out, unpackVector(b, loc, exp2Polynomial(b, loc, x[i], x[i + 1])));
    ++i;
  }
  return out;
}

} // namespace fovea::codegen
