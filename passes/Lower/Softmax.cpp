// passes/Lower/Softmax.cpp - the softmax of one tile of scores, shared by forward and backward.
#include "passes/Lower/Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

TileSoftmax fovea::emitTileSoftmax(NetworkBuilder &n, Value scores, Value rows, int64_t block, double c,
                                   Location loc) {
  // exp2(s c - m c): one fma and one ex2 a score (c > 0, so that max commutes with it).
  scores = MaskTailOp::create(n.b, loc, scores.getType(), scores, rows, block);
  Value max = n.reduce(Reduction::Max, scores);
  Value shift = arith::MulFOp::create(n.b, loc, max, n.splat(-c, max.getType()));
  Value exponent =
      math::FmaOp::create(n.b, loc, scores, n.splat(c, scores.getType()), n.broadcast(shift, scores));
  Value weights = math::Exp2Op::create(n.b, loc, exponent);
  Value sum = n.reduce(Reduction::Add, weights);
  Value inverse = arith::DivFOp::create(n.b, loc, n.splat(1.0, sum.getType()), sum);
  Value probabilities = arith::MulFOp::create(n.b, loc, weights, n.broadcast(inverse, weights));
  return {probabilities, sum, shift};
}

Value fovea::emitLogSumExp(NetworkBuilder &n, const TileSoftmax &softmax, Location loc) {
  // (m c + log2(l)) ln 2.
  Value log = math::Log2Op::create(n.b, loc, softmax.sum);
  Value lse2 = arith::SubFOp::create(n.b, loc, log, softmax.shift);
  return arith::MulFOp::create(n.b, loc, lse2, n.splat(0.6931471805599453, lse2.getType()));
}
