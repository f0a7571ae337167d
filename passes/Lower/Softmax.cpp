// passes/Lower/Softmax.cpp - the softmax of one tile of scores, shared by forward and backward.
#include "passes/Lower/Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

RowSum fovea::addSink(NetworkBuilder &n, StringRef sink, Value head, Value top, Value total, Location loc) {
  Value element = n.lookUpHead(tableSymbol(sink), head, top.getType());
  // Rounded once: no fma, whose difference to a newTop beyond 2^31 would be a power of its own.
  Value term = arith::MulFOp::create(n.b, loc, element, n.splat(kLog2e, top.getType()));
  Value newTop = arith::MaximumFOp::create(n.b, loc, top, term);
  auto power = [&](Value x) { return math::Exp2Op::create(n.b, loc, arith::SubFOp::create(n.b, loc, x, newTop)); };
  Value shrink = power(top);
  return {newTop, math::FmaOp::create(n.b, loc, total, shrink, power(term)), shrink};
}

TileSoftmax fovea::emitTileSoftmax(NetworkBuilder &n, Value scores, const Problem &p, const Item &item, Location loc) {
  // exp2(s c - m c): one fma and one ex2 a score (c > 0, so that max commutes with it).
  const double c = p.scale * kLog2e;
  scores = MaskTailOp::create(n.b, loc, scores.getType(), scores, item.rows, p.block);
  Value max = n.reduce(Reduction::Max, scores);
  Value shift = arith::MulFOp::create(n.b, loc, max, n.splat(-c, max.getType()));
  Value exponent =
      math::FmaOp::create(n.b, loc, scores, n.splat(c, scores.getType()), n.broadcast(shift, scores));
  Value weights = math::Exp2Op::create(n.b, loc, exponent);
  Value sum = n.reduce(Reduction::Add, weights);
  Value numerator;
  if (!p.sink.empty()) {
    RowSum with = addSink(n, p.sink, item.head, arith::NegFOp::create(n.b, loc, shift), sum, loc);
    sum = with.total, numerator = with.shrink, shift = arith::NegFOp::create(n.b, loc, with.top);
  } else {
    numerator = n.splat(1.0, sum.getType());
  }
  Value inverse = arith::DivFOp::create(n.b, loc, numerator, sum);
  Value probabilities = arith::MulFOp::create(n.b, loc, weights, n.broadcast(inverse, weights));
  return {probabilities, sum, shift};
}

Value fovea::emitLogSumExp(NetworkBuilder &n, const TileSoftmax &softmax, Location loc) {
  // (m c + log2(l)) ln 2.
  Value log = math::Log2Op::create(n.b, loc, softmax.sum);
  Value lse2 = arith::SubFOp::create(n.b, loc, log, softmax.shift);
  return arith::MulFOp::create(n.b, loc, lse2, n.splat(kLn2, lse2.getType()));
}
