// passes/Lower/BackwardProducts.cpp - the backward's products, the pairs P and dS between them, and how gradients leave.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/BackwardNetwork.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

void BackwardNetwork::product(StringRef d, Value a, bool aTransposed, Value b, bool bTransposed, bool accumulate) {
  Value slot = n.takeFor(d, Unit::Tensor);
  Value sum = accumulate ? Value(arith::ConstantOp::create(n.b, loc, n.b.getBoolAttr(true))) : Value();
  MmaOp::create(n.b, loc, slot, a, b, aTransposed, bTransposed, n.diagonal(p.block), sum);
  n.pass(slot);
}

void BackwardNetwork::addScores() {
  n.role("qk", [&](Item) {
    SmallVector<Value> q, k;
    for (int64_t i = 0; i < slices; ++i)
      q.push_back(n.takeFor(sliced("Q", i), Unit::Tensor)), k.push_back(n.takeFor(sliced("K", i), Unit::Tensor));
    Value scores = n.take("S", 0, Unit::Tensor);
    for (int64_t i = 0; i < slices; ++i) {
      Value sum = i ? Value(arith::ConstantOp::create(n.b, loc, n.b.getBoolAttr(true))) : Value();
      MmaOp::create(n.b, loc, scores, q[i], k[i], false, true, n.diagonal(p.block), sum);
    }
    n.pass(scores);
    for (int64_t i = 0; i < slices; ++i)
      n.pass(q[i]), n.pass(k[i]);
  });
  for (int64_t i = 0; i < slices; ++i)
    n.role(i ? "dp2" : "dp", [&](Item) {
      Value dO = n.takeFor(sliced("DO", i), Unit::Tensor), v = n.takeFor(sliced("V", i), Unit::Tensor);
      product("DP", dO, false, v, true, /*accumulate=*/i > 0);
      n.pass(dO), n.pass(v);
    });
}

void BackwardNetwork::addSoftmax() {
  n.role("softmax", [&](Item item) {
    Value s = n.take("S", 1, Unit::Threads), scores = n.read(s);
    if (!separate)
      n.pass(s);
    Value prob = emitTileSoftmax(n, scores, p, item, loc).probabilities;
    if (separate) {
      WriteOp::create(n.b, loc, prob, s);
      n.pass(s);
      n.pass(write(prob, "P"));
      return;
    }
    Value dS = scoreGradient(prob);
    Value pOut = n.take("P", 0, Unit::Threads), dsOut = n.take("DS", 0, Unit::Threads);
    WriteOp::create(n.b, loc, prob, pOut);
    WriteOp::create(n.b, loc, dS, dsOut);
    n.pass(pOut), n.pass(dsOut);
  });
  if (separate)
    n.role("ds", [&](Item) {
      Value s = n.take("S", 2, Unit::Threads);
      Value prob = n.read(s);
      n.pass(s);
      n.pass(write(scoreGradient(prob), "DS"));
    });
}

// dS = P o (dP - D) scale with D = rowsum(P o dP); the scale enters before the one rounding.
Value BackwardNetwork::scoreGradient(Value prob) {
  Value slot = n.takeFor("DP", Unit::Threads);
  Value dP = n.read(slot);
  n.pass(slot);
  Value d = n.reduce(Reduction::Add, arith::MulFOp::create(n.b, loc, prob, dP));
  Value dScaled = arith::MulFOp::create(n.b, loc, d, n.splat(-p.scale, d.getType()));
  Value centred =
      math::FmaOp::create(n.b, loc, dP, n.splat(p.scale, dP.getType()), n.broadcast(dScaled, dP));
  return arith::MulFOp::create(n.b, loc, prob, centred);
}

// The slot is the caller's to pass on.
Value BackwardNetwork::write(Value tile, const char *channel) {
  Value out = n.take(channel, 0, Unit::Threads);
  WriteOp::create(n.b, loc, tile, out);
  return out;
}

// O, made again where an expression of the epilogue reads it.
void BackwardNetwork::addProductForO() {
  n.role("pv", [&](Item) {
    Value prob = n.takeFor("P", Unit::Tensor), v = n.takeFor("V", Unit::Tensor);
    product("O", prob, false, v, false);
    n.pass(prob), n.pass(v);
  });
}

void BackwardNetwork::addGradient(const Gradient &g) {
  for (int64_t i = 0; i < slices; ++i) {
    const std::string name = sliced(g.name, i), channel = StringRef(name).upper();
    n.role("product_" + name, [&](Item) {
      Value pairs = n.takeFor(g.pairs, Unit::Tensor), operand = n.takeFor(sliced(g.operand, i), Unit::Tensor);
      product(channel, pairs, /*aTransposed=*/g.name != "dq", operand, false);
      n.pass(pairs), n.pass(operand);
    });
    n.role("epilogue_" + name, [&](Item item) {
      Value from = n.take(channel, 1, Unit::Threads), to = n.take("Out" + channel, 0, Unit::Threads);
      if (StringRef tensor = StringRef(g.tensor).drop_front(); p.keepsTurned(tensor))
        StoreScratchOp::create(n.b, loc, Problem::turnedGradient(tensor), item.row, item.rows, item.head, from);
      Value table = rotary.take(n, g.rotation, "epilogue_" + name);
      PairingAttr pairing = table ? PairingAttr::get(n.b.getContext(), pairingOf(*g.rotation)) : PairingAttr();
      CopyOp::create(n.b, loc, from, to, table, pairing);
      n.pass(from), n.pass(to);
      if (table)
        n.pass(table);
    });
    n.role("store_" + name, [&](Item item) {
      Value slot = n.take("Out" + channel, 1, Unit::Tma);
      StoreOp::create(n.b, loc, sliced(g.tensor, i), item.row, item.rows, item.head, slot);
      n.pass(slot);
    });
  }
}
