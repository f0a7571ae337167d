// dialect/Attn/Scalars.cpp - builds the usual scalar functions of score, weight and epilogue expressions
#include "dialect/Attn/Scalars.h"

#include <cmath>

using namespace mlir;

namespace fovea::attn {

Value constant(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}

Value sigmoid(OpBuilder &b, Location loc, Value x) {
  Value half = constant(b, loc, 0.5);
  Value t = math::TanhOp::create(b, loc, arith::MulFOp::create(b, loc, x, half));
  return arith::AddFOp::create(b, loc, arith::MulFOp::create(b, loc, t, half), half);
}

Value silu(OpBuilder &b, Location loc, Value x) { return arith::MulFOp::create(b, loc, x, sigmoid(b, loc, x)); }

Value gelu(OpBuilder &b, Location loc, Value x) {
  Value scaled = arith::MulFOp::create(b, loc, x, constant(b, loc, std::sqrt(0.5)));
  Value sum = arith::AddFOp::create(b, loc, math::ErfOp::create(b, loc, scaled), constant(b, loc, 1.0));
  return arith::MulFOp::create(b, loc, arith::MulFOp::create(b, loc, x, constant(b, loc, 0.5)), sum);
}

Value relu(OpBuilder &b, Location loc, Value x) {
  return arith::MaximumFOp::create(b, loc, x, constant(b, loc, 0.0));
}

Value softcap(OpBuilder &b, Location loc, Value x, Value cap) {
  Value t = math::TanhOp::create(b, loc, arith::DivFOp::create(b, loc, x, cap));
  return arith::MulFOp::create(b, loc, cap, t);
}

} // namespace fovea::attn
