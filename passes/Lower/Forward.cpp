// passes/Lower/Forward.cpp - the forward network of block-diagonal attention.
#include "passes/Lower/Elements.h"
#include "passes/Lower/MapPairs.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

KernelOp fovea::buildForward(ModuleOp module, const Problem &p, const Schedule &s, const Target &target,
                             Location loc) {
  NetworkBuilder n(module, p.name + "_forward", p.offsets, s, target, loc);
  Type f32 = n.b.getF32Type();
  const int64_t rows = s.tileRows;
  const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
  const Space probability = !target.tcgen05 ? Space::Registers : s.pInTmem ? Space::Tmem : Space::Smem;

  n.tensor(p.q, "input", p.element, p.heads, p.headDim);
  n.tensor(p.k, "input", p.element, p.heads, p.headDim);
  n.tensor(p.v, "input", p.element, p.heads, p.valueDim);
  n.tensor(p.o, "output", p.element, p.heads, p.valueDim);
  if (p.lse)
    n.tensor("lse", "output", f32, p.heads, 1);

  const ElementTensors elements(p, p.elements);
  const RotaryPlan rotary = forwardRotary(p);
  rotary.declare(n, rows);
  const bool lateElements = s.groupOf("load_elements");
  elements.declare(n, rows, [](size_t) { return std::vector<std::string>{"epilogue"}; },
                   lateElements ? "load_elements" : "load");
  if (p.epilogue)
    n.note(std::string("epilogue: an expression of o in f32, before its one rounding and one store") +
           (lateElements ? "; its tensors are loaded over Q and K, behind their product" : ""));
  n.channel("Q", rows, p.headDim, p.element, Space::Smem, rotary.stations("Q", {"load", "qk"}));
  n.channel("K", rows, p.headDim, p.element, Space::Smem, rotary.stations("K", {"load", "qk"}));
  n.channel("V", rows, p.valueDim, p.element, Space::Smem, rotary.stations("V", {"load", "softmax", "pv"}));
  n.channel("S", rows, p.block, f32, accumulator, {"qk", "softmax"});
  n.channel("P", rows, p.block, p.element, probability, {"softmax", "pv"});
  n.channel("O", rows, p.valueDim, f32, accumulator, {"pv", "epilogue"});
  n.channel("Out", rows, p.valueDim, p.element, Space::Smem, {"epilogue", "store"});

  if (p.spec)
    n.check(declareTables(n.b, p.spec));

  n.role("load", [&](Item item) {
    rotary.emitLoads(n, item, loc);
    for (auto [channel, tensor] : {std::pair("Q", p.q), {"K", p.k}, {"V", p.v}}) {
      Value slot = n.take(channel, 0, Unit::Tma);
      LoadOp::create(n.b, loc, tensor, item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
      n.pass(slot);
    }
    if (!lateElements)
      elements.emitLoads(n, item, loc);
  });
  if (lateElements) // over Q and K, once their product is over
    n.role("load_elements", [&](Item item) { elements.emitLoads(n, item, loc); });

  rotary.emitPrologue(n, loc);

  n.role("qk", [&](Item) {
    Value q = n.takeFor("Q", Unit::Tensor), k = n.takeFor("K", Unit::Tensor), scores = n.take("S", 0, Unit::Tensor);
    MmaOp::create(n.b, loc, scores, q, k, /*a_transposed=*/false, /*b_transposed=*/true, n.diagonal(p.block));
    n.pass(scores), n.pass(q), n.pass(k);
  });

  n.role("softmax", [&](Item item) {
    Value slot = n.take("S", 1, Unit::Threads);
    Value scores = n.read(slot);
    n.pass(slot);
    TileSoftmax softmax = emitTileSoftmax(n, scores, p, item, loc);

    // Keys of a neighbour must not meet a zero probability: 0 x NaN is NaN. V is waited for here, behind the softmax.
    Value v = n.takeFor("V", Unit::Threads);
    ClearTailOp::create(n.b, loc, v, item.rows);
    n.pass(v);
    Value out = n.take("P", 0, Unit::Threads);
    WriteOp::create(n.b, loc, softmax.probabilities, out);
    n.pass(out);
    if (p.lse)
      StoreRowsOp::create(n.b, loc, "lse", item.row, item.rows, item.head, emitLogSumExp(n, softmax, loc));
  });

  n.role("pv", [&](Item) {
    Value probabilities = n.take("P", 1, Unit::Tensor), v = n.takeFor("V", Unit::Tensor);
    Value o = n.take("O", 0, Unit::Tensor);
    MmaOp::create(n.b, loc, o, probabilities, v, false, false, n.diagonal(p.block));
    n.pass(o), n.pass(probabilities), n.pass(v);
  });

  n.role("epilogue", [&](Item item) {
    Value o = n.take("O", 1, Unit::Threads);
    std::vector<Value> taken = elements.take(n);
    Value out = n.take("Out", 0, Unit::Threads);
    attn::MapElementsOp epilogue = p.epilogue;
    if (!epilogue) {
      CopyOp::create(n.b, loc, o, out, Value(), PairingAttr());
    } else {
      SmallVector<std::pair<Value, Value>> operands;
      size_t element = 0;
      for (Value operand : epilogue.getInputs())
        operands.push_back({operand, isa<BlockArgument>(operand) ? taken[element++] : o});
      Value position = asksForPosition(epilogue) ? Value(PositionOp::create(n.b, loc, n.b.getI32Type())) : Value();
      n.check(emitMapElements(n.b, loc, operands, ElementOutput{epilogue, out}, {item.row, item.head, position}));
    }
    n.pass(o);
    for (Value slot : taken)
      n.pass(slot);
    n.pass(out);
  });

  n.role("store", [&](Item item) {
    Value out = n.take("Out", 1, Unit::Tma);
    StoreOp::create(n.b, loc, p.o, item.row, item.rows, item.head, out);
    n.pass(out);
  });
  return n.finish();
}
