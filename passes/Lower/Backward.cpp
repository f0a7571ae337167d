// passes/Lower/Backward.cpp - the backward's tensors and channels; loads, clears and elementwise epilogues of shared memory.
#include "passes/Lower/BackwardNetwork.h"
#include "passes/Lower/MapPairs.h"
#include "passes/Lower/Networks.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

BackwardNetwork::BackwardNetwork(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc)
    : p(p), s(s), target(target), loc(loc), n(module, p.name + "_backward", p.offsets, s, target, loc),
      slices(s.groupOf("dp2") ? 2 : 1), separate(s.groupOf("ds")), rotary(backwardRotary(p)),
      gradient(p.epilogueGradient), elements(p, gradient.inputs) {}

KernelOp BackwardNetwork::build() {
  declareTensors();
  addNotes();
  declareChannels();
  addLoads();
  rotary.emitPrologue(n, loc);
  addElements();
  addClears();
  addScores();
  addSoftmax();
  for (const Gradient &g : gradients())
    addGradient(g);
  return n.finish();
}

std::vector<BackwardNetwork::Gradient> BackwardNetwork::gradients() const {
  auto rotation = [](const std::optional<Rotation> &r) { return r ? &*r : nullptr; };
  return {{"dv", "d" + p.v, p.valueDim, rotation(p.rotaryV), "P", "DO"},
          {"dq", "d" + p.q, p.headDim, rotation(p.rotaryQ), "DS", "K"},
          {"dk", "d" + p.k, p.headDim, rotation(p.rotaryK), "DS", "Q"}};
}

void BackwardNetwork::declareTensors() {
  for (const Operand &o : operands())
    for (int64_t i = 0; i < slices; ++i)
      n.tensor(sliced(o.tensor, i), "input", p.element, p.heads, o.cols / slices, slices == 1 ? "" : o.tensor,
               i * o.cols / slices);
  int64_t column = 0; // of a packed gradient: [dq | dk | dv], heads side by side
  for (const Gradient &g : {gradients()[1], gradients()[2], gradients()[0]}) {
    for (int64_t i = 0; i < slices; ++i) {
      const int64_t from = i * g.cols / slices;
      if (!p.packed.empty())
        n.tensor(sliced(g.tensor, i), "output", p.element, p.heads, g.cols / slices, p.packed, column + from, false, g.cols);
      else
        n.tensor(sliced(g.tensor, i), "output", p.element, p.heads, g.cols / slices, slices == 1 ? "" : g.tensor, from);
    }
    column += p.heads * g.cols;
  }
  for (auto [k, output] : llvm::enumerate(gradient.outputs))
    n.tensor(gradientSymbol(k), "output", p.element, p.heads, p.valueDim, "d" + output.tensor);
}

void BackwardNetwork::addNotes() {
  for (auto [k, output] : llvm::enumerate(gradient.outputs))
    n.note(storeRole(k) + " stores 'd" + output.tensor + (output.value ? "'" : "', which is dout as it is"));
  n.note("D_i: the row sum of P o dP, in registers, since a tile sees whole rows; O is not read");
  if (!p.packed.empty())
    n.note("packed gradients: dq, dk and dv are columns of '" + p.packed + "'");
  for (const TableGradient &g : p.tableGradients)
    n.note("gradient of the rotary table '" + g.table + "': gradients of the turned tensors are left in f32 scratch memory as "
           "well, and a kernel behind this one sums them up in a fixed order");
  if (slices > 1)
    n.note("operands in slices of columns: the scores and dP are sums over two, and the second slice of dO is loaded "
           "where the first of V was");
  if (gradient.maps())
    n.note(std::string("epilogue: its gradients are computed in f32 from shared memory") +
           (gradient.o ? " and o, which is made again from P and V" : "") + ", and rounded once");
}

void BackwardNetwork::declareChannels() {
  Type f32 = n.b.getF32Type();
  const int64_t rows = s.tileRows;
  const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
  // tcgen05 takes a whole tile as A and disables the lanes of other blocks, so P and dS lie where their keys are.
  const int64_t pairColumns = target.tcgen05 ? rows : p.block;
  rotary.declare(n, rows);

  declareInput("Q", p.headDim, {"qk", "product_dk"});
  declareInput("K", p.headDim, {"qk", "product_dq"});
  declareInput("V", p.valueDim, gradient.o ? Names{"pv", "dp"} : Names{"dp"});
  declareInput("DO", p.valueDim, {"dp", "product_dv"});
  elements.declare(n, rows, [&](size_t k) {
    Names stations{"elements"};
    for (auto [out, output] : llvm::enumerate(gradient.outputs))
      if (output.value && elements.find(output.tensor) == k)
        stations.push_back(storeRole(out));
    return stations;
  });
  for (auto [k, output] : llvm::enumerate(gradient.outputs))
    if (output.value && !elements.find(output.tensor))
      n.channel(gradientChannel(k), rows, p.valueDim, p.element, Space::Smem, {"elements", storeRole(k)});

  n.channel("S", rows, p.block, f32, accumulator, separate ? Names{"qk", "softmax", "ds"} : Names{"qk", "softmax"});
  Names dp{"dp"};
  if (slices > 1)
    dp.push_back("dp2");
  dp.push_back(separate ? "ds" : "softmax");
  n.channel("DP", rows, p.block, f32, accumulator, dp);
  Names readers{"softmax"}; // of P
  if (gradient.o) {
    readers.push_back("pv");
    n.channel("O", rows, p.valueDim, f32, accumulator, {"pv", "elements"});
  }
  Names dsReaders{separate ? "ds" : "softmax"};
  for (const Gradient &g : gradients())
    for (int64_t i = 0; i < slices; ++i)
      (g.pairs == "P" ? readers : dsReaders).push_back("product_" + sliced(g.name, i));
  n.channel("P", rows, pairColumns, p.element, Space::Smem, readers);
  n.channel("DS", rows, pairColumns, p.element, Space::Smem, dsReaders);
  for (const Gradient &g : gradients())
    for (int64_t i = 0; i < slices; ++i) {
      std::string role = sliced(g.name, i), channel = StringRef(role).upper();
      n.channel(channel, rows, g.cols / slices, f32, accumulator, {"product_" + role, "epilogue_" + role});
      n.channel("Out" + channel, rows, g.cols / slices, p.element, Space::Smem, {"epilogue_" + role, "store_" + role});
    }
  if (p.spec)
    n.check(declareTables(n.b, gradient.spec));
}

// The stations of an operand's channels: its load, what changes or stores it as it is, its clear, and `behindClear`.
void BackwardNetwork::declareInput(const std::string &name, int64_t cols, const Names &behindClear) {
  for (int64_t i = 0; i < slices; ++i) {
    Names stations = behindClear;
    const bool second = i == 1;
    for (std::string &station : stations)
      if (slices > 1 && station != "qk")
        station = station == "dp" ? (second ? "dp2" : "dp") : sliced(station, i);
    stations.insert(stations.begin(), clearRole(name, i));
    if (name == "DO") {
      if (gradient.maps())
        stations.insert(stations.begin(), "elements");
      for (auto [k, output] : llvm::enumerate(gradient.outputs))
        if (!output.value)
          stations.insert(stations.begin(), storeRole(k));
    }
    stations.insert(stations.begin(), name == "DO" && second ? "load_do2" : "load");
    n.channel(sliced(name, i), s.tileRows, cols / slices, p.element, Space::Smem, rotary.stations(name, stations));
  }
}

void BackwardNetwork::addLoads() {
  n.role("load", [&](Item item) {
    if (rotary.hasPrologue())
      rotary.emitLoads(n, item, loc);
    for (const Operand &o : operands())
      for (int64_t i = 0; i < slices; ++i)
        if (!(o.channel == "DO" && i == 1))
          load(item, o, i);
    elements.emitLoads(n, item, loc);
    if (!rotary.hasPrologue()) // not before the epilogues
      rotary.emitLoads(n, item, loc);
  });
  if (slices > 1)
    n.role("load_do2", [&](Item item) { load(item, operands()[3], 1); });
}

void BackwardNetwork::load(Item item, const Operand &o, int64_t slice) {
  Value slot = n.take(sliced(o.channel, slice), 0, Unit::Tma);
  LoadOp::create(n.b, loc, sliced(o.tensor, slice), item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
  n.pass(slot);
}

// Sums run over queries and over keys here, so rows of a neighbour must be zero in all four. Several roles, so that a
// product starts when its own operands are there.
std::string BackwardNetwork::clearRole(StringRef channel, int64_t slice) const {
  if (channel == "Q" || channel == "K")
    return "clear_qk";
  if (channel == "V" && gradient.o)
    return "clear_v";
  return channel == "DO" && slice == 1 ? "clear_do2" : "clear_dp";
}

void BackwardNetwork::addClears() {
  std::vector<std::pair<std::string, Names>> clears; // role, channels
  for (const Operand &o : operands())
    for (int64_t i = 0; i < slices; ++i) {
      std::string role = clearRole(o.channel, i);
      auto it = llvm::find_if(clears, [&](auto &entry) { return entry.first == role; });
      if (it == clears.end())
        it = clears.insert(it, {role, {}});
      it->second.push_back(sliced(o.channel, i));
    }
  for (auto &[role, channels] : clears)
    n.role(role, [&, &channels = channels](Item item) {
      SmallVector<Value> slots;
      for (const std::string &channel : channels)
        slots.push_back(n.takeFor(channel, Unit::Threads));
      for (Value slot : slots)
        ClearTailOp::create(n.b, loc, slot, item.rows);
      for (Value slot : slots)
        n.pass(slot);
    });
}

// What an epilogue makes of dout, in its place, and the gradients of the epilogue's tensors, in theirs.
void BackwardNetwork::addElements() {
  for (auto [k, output] : llvm::enumerate(gradient.outputs)) {
    std::optional<size_t> in = elements.find(output.tensor);
    std::string channel = !output.value ? "DO" : in ? ElementTensors::channel(*in) : gradientChannel(k);
    n.role(storeRole(k), [&, k = k](Item item) {
      Value slot = n.takeFor(channel, Unit::Tma);
      StoreOp::create(n.b, loc, gradientSymbol(k), item.row, item.rows, item.head, slot);
      n.pass(slot);
    });
  }
  if (!gradient.maps())
    return;
  if (gradient.o)
    addProductForO();
  n.role("elements", [&](Item item) {
    SmallVector<std::pair<Value, Value>> operands;
    SmallVector<ElementOutput> outputs;
    SmallVector<Value> taken;
    auto take = [&](const std::string &channel) { return taken.emplace_back(n.takeFor(channel, Unit::Threads)); };
    if (attn::CombineOp o = gradient.o)
      operands.push_back({o.getResult(), take("O")});
    attn::SpecOp spec = gradient.spec;
    for (auto [k, name] : llvm::enumerate(gradient.inputs))
      operands.push_back({spec.getInput(name), take(ElementTensors::channel(k))});
    operands.push_back({spec.getInput("dout"), take("DO")});
    bool position = false;
    auto output = [&](attn::MapElementsOp value, Value slot) {
      outputs.push_back({value, slot});
      position |= asksForPosition(value);
    };
    if (gradient.dO)
      output(gradient.dO, taken.back());
    for (auto [k, o] : llvm::enumerate(gradient.outputs)) {
      if (!o.value)
        continue;
      std::optional<size_t> in = elements.find(o.tensor);
      output(o.value, in ? taken[*in + (gradient.o ? 1 : 0)] : take(gradientChannel(k)));
    }
    Value at = position ? Value(PositionOp::create(n.b, loc, n.b.getI32Type())) : Value();
    n.check(emitMapElements(n.b, loc, operands, outputs, {item.row, item.head, at}));
    for (Value slot : taken)
      n.pass(slot);
  });
}

KernelOp fovea::buildBackward(ModuleOp module, const Problem &p, const Schedule &s, const Target &target,
                              Location loc) {
  return BackwardNetwork(module, p, s, target, loc).build();
}
