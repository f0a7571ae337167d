// passes/Lower/OnlineSoftmax.cpp - the arithmetic of a softmax whose scores come block by block, on register tiles.
#include "passes/Lower/OnlineSoftmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

Value OnlineSoftmax::topOf(Value scores) {
  Value max = n.reduce(Reduction::Max, scores);
  Value inLog2 = scaled(max, n.splat(c, max.getType()));
  return arith::MaximumFOp::create(n.b, loc, inLog2, n.splat(kLowest, max.getType()));
}

Value OnlineSoftmax::runningTop(Value top, Value scores) {
  return arith::MaximumFOp::create(n.b, loc, top, topOf(scores));
}

OnlineSoftmax::Moved OnlineSoftmax::topAboveThreshold(Value top, Value scores) {
  Value candidate = topOf(scores), limit = n.splat(kGrowth, top.getType());
  Value moves = arith::CmpFOp::create(n.b, loc, arith::CmpFPredicate::OGT, difference(candidate, top), limit);
  Value newTop = arith::SelectOp::create(n.b, loc, moves, candidate, top);
  return {newTop, difference(newTop, top)};
}

Value OnlineSoftmax::weightsOf(Value scores, Value top) {
  Value exponent = math::FmaOp::create(n.b, loc, scores, n.splat(c, scores.getType()), n.broadcast(negated(top), scores));
  auto weights = math::Exp2Op::create(n.b, loc, exponent);
  if (polynomial)
    weights->setAttr("tile.polynomial", n.b.getI64IntegerAttr(polynomial));
  return weights;
}

Value OnlineSoftmax::greatestWeight(Value scores, Value top) { return decay(topOf(scores), top); }

Value OnlineSoftmax::partialSum(Value weights) { return n.reduce(Reduction::Add, weights, /*partial=*/true); }

Value OnlineSoftmax::decay(Value from, Value to) { return math::Exp2Op::create(n.b, loc, difference(from, to)); }
Value OnlineSoftmax::decay(Value growth) { return math::Exp2Op::create(n.b, loc, negated(growth)); }
Value OnlineSoftmax::scaled(Value total, Value factor) { return arith::MulFOp::create(n.b, loc, total, factor); }
Value OnlineSoftmax::sum(Value x, Value y) { return arith::AddFOp::create(n.b, loc, x, y); }
Value OnlineSoftmax::accumulate(Value total, Value factor, Value weights) {
  return math::FmaOp::create(n.b, loc, total, factor, partialSum(weights));
}

Value OnlineSoftmax::logSumExp(Value top, Value total) {
  Value inLog2 = sum(math::Log2Op::create(n.b, loc, total), top);
  return scaled(inLog2, n.splat(kLn2, inLog2.getType()));
}

Value OnlineSoftmax::difference(Value x, Value y) { return arith::SubFOp::create(n.b, loc, x, y); }
Value OnlineSoftmax::negated(Value x) { return arith::NegFOp::create(n.b, loc, x); }
