// passes/Lower/Backward.cpp - the backward network of block-diagonal attention.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

KernelOp fovea::buildBackward(ModuleOp module, const Problem &p, const Schedule &s, const Target &target,
                              Location loc) {
  NetworkBuilder n(module, p.name + "_backward", p.offsets, s, target, loc);
  Type f32 = n.b.getF32Type();
  const int64_t rows = s.tileRows;
  const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
  // tcgen05 takes a whole tile as A and disables the lanes of other blocks, so P and dS lie where their keys are.
  const int64_t pairColumns = target.tcgen05 ? rows : p.block;

  struct Operand {
    const char *channel;
    std::string tensor;
    int64_t cols;
  };
  const Operand inputs[] = {
      {"Q", p.q, p.headDim}, {"K", p.k, p.headDim}, {"V", p.v, p.valueDim}, {"DO", "dout", p.valueDim}};
  for (const Operand &i : inputs)
    n.tensor(i.tensor, "input", p.element, p.heads, i.cols);
  int64_t column = 0; // of a packed gradient: [dq | dk | dv], heads side by side
  for (const Operand &i : {inputs[0], inputs[1], inputs[2]}) {
    n.tensor("d" + i.tensor, "output", p.element, p.heads, i.cols, p.packed, column);
    column += p.heads * i.cols;
  }

  n.note("D_i: the row sum of P o dP, in registers, since a tile sees whole rows; O is not read");
  if (!p.packed.empty())
    n.note("packed gradients: dq, dk and dv are columns of '" + p.packed + "'");

  struct Gradient {
    std::string channel, tensor, role, store;
    int64_t cols;
    const Rotation *rotation;
  };
  auto rotation = [](const std::optional<Rotation> &r) { return r ? &*r : nullptr; };
  const Gradient gradients[] = {
      {"DV", "d" + p.v, "epilogue_dv", "store_dv", p.valueDim, rotation(p.rotaryV)},
      {"DQ", "d" + p.q, "epilogue_dq", "store_dq", p.headDim, rotation(p.rotaryQ)},
      {"DK", "d" + p.k, "epilogue_dk", "store_dk", p.headDim, rotation(p.rotaryK)}};
  const RotaryPlan rotary = backwardRotary(p);
  rotary.declare(n, rows);

  n.channel("Q", rows, p.headDim, p.element, Space::Smem,
            rotary.stations("Q", {"load", "clear_qk", "qk", "product_dk"}));
  n.channel("K", rows, p.headDim, p.element, Space::Smem,
            rotary.stations("K", {"load", "clear_qk", "qk", "product_dq"}));
  n.channel("V", rows, p.valueDim, p.element, Space::Smem, rotary.stations("V", {"load", "clear_dp", "dp"}));
  n.channel("DO", rows, p.valueDim, p.element, Space::Smem, {"load", "clear_dp", "dp", "product_dv"});
  n.channel("S", rows, p.block, f32, accumulator, {"qk", "softmax"});
  n.channel("DP", rows, p.block, f32, accumulator, {"dp", "softmax"});
  n.channel("P", rows, pairColumns, p.element, Space::Smem, {"softmax", "product_dv"});
  n.channel("DS", rows, pairColumns, p.element, Space::Smem, {"softmax", "product_dq", "product_dk"});
  for (const Gradient &g : gradients) {
    n.channel(g.channel, rows, g.cols, f32, accumulator, {"product_" + StringRef(g.channel).lower(), g.role});
    n.channel("Out" + g.channel, rows, g.cols, p.element, Space::Smem, {g.role, g.store});
  }

  n.role("load", [&](Item item) {
    if (rotary.hasPrologue())
      rotary.emitLoads(n, item, loc);
    for (const Operand &i : inputs) {
      Value slot = n.take(i.channel, 0, Unit::Tma);
      LoadOp::create(n.b, loc, i.tensor, item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
      n.pass(slot);
    }
    if (!rotary.hasPrologue()) // not before the epilogues
      rotary.emitLoads(n, item, loc);
  });
  rotary.emitPrologue(n, loc);
  // Sums run over queries and over keys here, so rows of a neighbour must be zero in all four. Two roles, so that the
  // first product starts when its own operands are there.
  for (auto [role, first, second] : {std::tuple("clear_qk", "Q", "K"), {"clear_dp", "V", "DO"}})
    n.role(role, [&, first = first, second = second](Item item) {
      Value x = n.takeFor(first, Unit::Threads), y = n.takeFor(second, Unit::Threads);
      ClearTailOp::create(n.b, loc, x, item.rows);
      ClearTailOp::create(n.b, loc, y, item.rows);
      n.pass(x), n.pass(y);
    });
  auto product = [&](StringRef d, Value a, bool aTransposed, Value b, bool bTransposed) {
    Value slot = n.take(d, 0, Unit::Tensor);
    MmaOp::create(n.b, loc, slot, a, b, aTransposed, bTransposed, n.diagonal(p.block));
    n.pass(slot);
  };
  n.role("qk", [&](Item) {
    Value q = n.takeFor("Q", Unit::Tensor), k = n.takeFor("K", Unit::Tensor);
    product("S", q, false, k, true);
    n.pass(q), n.pass(k);
  });
  n.role("dp", [&](Item) {
    Value dO = n.takeFor("DO", Unit::Tensor), v = n.takeFor("V", Unit::Tensor);
    product("DP", dO, false, v, true);
    n.pass(dO), n.pass(v);
  });
  n.role("softmax", [&](Item item) {
    Value s = n.take("S", 1, Unit::Threads);
    Value scores = n.read(s);
    n.pass(s);
    TileSoftmax softmax = emitTileSoftmax(n, scores, item.rows, p.block, p.scale * kLog2e, loc);
    Value prob = softmax.probabilities;
    Value dpSlot = n.take("DP", 1, Unit::Threads);
    Value dP = n.read(dpSlot);
    n.pass(dpSlot);
    // dS = P o (dP - D) scale with D = rowsum(P o dP); the scale enters before the one rounding.
    Value d = n.reduce(Reduction::Add, arith::MulFOp::create(n.b, loc, prob, dP));
    Value dScaled = arith::MulFOp::create(n.b, loc, d, n.splat(-p.scale, d.getType()));
    Value centred =
        math::FmaOp::create(n.b, loc, dP, n.splat(p.scale, dP.getType()), n.broadcast(dScaled, dP));
    Value dS = arith::MulFOp::create(n.b, loc, prob, centred);
    Value pOut = n.take("P", 0, Unit::Threads), dsOut = n.take("DS", 0, Unit::Threads);
    WriteOp::create(n.b, loc, prob, pOut);
    WriteOp::create(n.b, loc, dS, dsOut);
    n.pass(pOut), n.pass(dsOut);
  });
  n.role("product_dv", [&](Item) {
    Value pSlot = n.take("P", 1, Unit::Tensor), dO = n.takeFor("DO", Unit::Tensor);
    product("DV", pSlot, true, dO, false);
    n.pass(pSlot), n.pass(dO);
  });
  n.role("product_dq", [&](Item) {
    Value dS = n.take("DS", 1, Unit::Tensor), k = n.takeFor("K", Unit::Tensor);
    product("DQ", dS, false, k, false);
    n.pass(dS), n.pass(k);
  });
  n.role("product_dk", [&](Item) {
    Value dS = n.take("DS", 2, Unit::Tensor), q = n.takeFor("Q", Unit::Tensor);
    product("DK", dS, true, q, false);
    n.pass(dS), n.pass(q);
  });
  for (const Gradient &g : gradients) {
    n.role(g.role, [&](Item) {
      Value from = n.take(g.channel, 1, Unit::Threads), to = n.take("Out" + g.channel, 0, Unit::Threads);
      Value table = rotary.take(n, g.rotation, g.role);
      PairingAttr pairing = table ? PairingAttr::get(n.b.getContext(), pairingOf(*g.rotation)) : PairingAttr();
      CopyOp::create(n.b, loc, from, to, table, pairing);
      n.pass(from), n.pass(to);
      if (table)
        n.pass(table);
    });
    n.role(g.store, [&](Item item) {
      Value slot = n.take("Out" + g.channel, 1, Unit::Tma);
      StoreOp::create(n.b, loc, g.tensor, item.row, item.rows, item.head, slot);
      n.pass(slot);
    });
  }
  return n.finish();
}
