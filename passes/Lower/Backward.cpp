// passes/Lower/Backward.cpp - the backward network of block-diagonal attention.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Networks.h"
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
  for (const Operand &i : {inputs[0], inputs[1], inputs[2]})
    n.tensor("d" + i.tensor, "output", p.element, p.heads, i.cols);

  n.channel("Q", rows, p.headDim, p.element, Space::Smem, {"load", "clear_qk", "qk", "product_dk"});
  n.channel("K", rows, p.headDim, p.element, Space::Smem, {"load", "clear_qk", "qk", "product_dq"});
  n.channel("V", rows, p.valueDim, p.element, Space::Smem, {"load", "clear_dp", "dp"});
  n.channel("DO", rows, p.valueDim, p.element, Space::Smem, {"load", "clear_dp", "dp", "product_dv"});
  n.channel("S", rows, p.block, f32, accumulator, {"qk", "softmax"});
  n.channel("DP", rows, p.block, f32, accumulator, {"dp", "softmax"});
  n.channel("P", rows, pairColumns, p.element, Space::Smem, {"softmax", "product_dv"});
  n.channel("DS", rows, pairColumns, p.element, Space::Smem, {"softmax", "product_dq", "product_dk"});
  for (auto [name, cols] : {std::pair("DV", p.valueDim), {"DQ", p.headDim}, {"DK", p.headDim}}) {
    std::string gradient = name, lower = StringRef(name).lower();
    n.channel(gradient, rows, cols, f32, accumulator, {"product_" + lower, "epilogue_" + lower});
    n.channel("Out" + gradient, rows, cols, p.element, Space::Smem, {"epilogue_" + lower, "store_" + lower});
  }

  n.role("load", [&](Item item) {
    for (const Operand &i : inputs) {
      Value slot = n.take(i.channel, 0, Unit::Tma);
      LoadOp::create(n.b, loc, i.tensor, item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
      n.pass(slot);
    }
  });
  // Sums run over queries and over keys here, so rows of a neighbour must be zero in all four. Two roles, so that the
  // first product starts when its own operands are there.
  for (auto [role, first, second] : {std::tuple("clear_qk", "Q", "K"), {"clear_dp", "V", "DO"}})
    n.role(role, [&, first = first, second = second](Item item) {
      Value x = n.take(first, 1, Unit::Threads), y = n.take(second, 1, Unit::Threads);
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
    Value q = n.take("Q", 2, Unit::Tensor), k = n.take("K", 2, Unit::Tensor);
    product("S", q, false, k, true);
    n.pass(q), n.pass(k);
  });
  n.role("dp", [&](Item) {
    Value dO = n.take("DO", 2, Unit::Tensor), v = n.take("V", 2, Unit::Tensor);
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
    Value pSlot = n.take("P", 1, Unit::Tensor), dO = n.take("DO", 3, Unit::Tensor);
    product("DV", pSlot, true, dO, false);
    n.pass(pSlot), n.pass(dO);
  });
  n.role("product_dq", [&](Item) {
    Value dS = n.take("DS", 1, Unit::Tensor), k = n.take("K", 3, Unit::Tensor);
    product("DQ", dS, false, k, false);
    n.pass(dS), n.pass(k);
  });
  n.role("product_dk", [&](Item) {
    Value dS = n.take("DS", 2, Unit::Tensor), q = n.take("Q", 3, Unit::Tensor);
    product("DK", dS, true, q, false);
    n.pass(dS), n.pass(q);
  });
  for (auto [name, tensor] : {std::pair("DV", "d" + p.v), {"DQ", "d" + p.q}, {"DK", "d" + p.k}}) {
    std::string gradient = name, out = "Out" + gradient, lower = StringRef(name).lower();
    n.role("epilogue_" + lower, [&](Item) {
      Value from = n.take(gradient, 1, Unit::Threads), to = n.take(out, 0, Unit::Threads);
      CopyOp::create(n.b, loc, from, to);
      n.pass(from), n.pass(to);
    });
    n.role("store_" + lower, [&, tensor = tensor](Item item) {
      Value slot = n.take(out, 1, Unit::Tma);
      StoreOp::create(n.b, loc, tensor, item.row, item.rows, item.head, slot);
      n.pass(slot);
    });
  }
  return n.finish();
}
