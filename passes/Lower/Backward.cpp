// passes/Lower/Backward.cpp - the backward network of block-diagonal attention.
//
// The schedule's roles decide its shape. With the role "ds" the softmax hands P on through the slot of S, so that other
// roles, or other warps, work between the two; without it one role makes P and dS. With "dp2" each operand is two
// slices of its columns, whose products are summed, and the second slice of dO lies where V's first was.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/Elements.h"
#include "passes/Lower/MapPairs.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
using Names = std::vector<std::string>;

class BackwardNetwork {
public:
  BackwardNetwork(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc)
      : p(p), s(s), target(target), loc(loc), n(module, p.name + "_backward", p.offsets, s, target, loc),
        slices(s.groupOf("dp2") ? 2 : 1), separate(s.groupOf("ds")), rotary(backwardRotary(p)),
        gradient(p.epilogueGradient), elements(p, gradient.inputs) {}

  KernelOp run() {
    declareTensors();
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

private:
  /// q, k, v or dout: the name of its channels, its tensor and columns.
  struct Operand {
    std::string channel, tensor;
    int64_t cols;
  };
  std::vector<Operand> operands() const {
    return {{"Q", p.q, p.headDim}, {"K", p.k, p.headDim}, {"V", p.v, p.valueDim}, {"DO", "dout", p.valueDim}};
  }
  struct Gradient {
    std::string name; ///< "dv": of the roles; the channel is DV
    std::string tensor;
    int64_t cols;
    const Rotation *rotation;
    std::string pairs, operand; ///< the product: pairs (transposed but for dq) times a loaded operand
  };
  std::vector<Gradient> gradients() const {
    auto rotation = [](const std::optional<Rotation> &r) { return r ? &*r : nullptr; };
    return {{"dv", "d" + p.v, p.valueDim, rotation(p.rotaryV), "P", "DO"},
            {"dq", "d" + p.q, p.headDim, rotation(p.rotaryQ), "DS", "K"},
            {"dk", "d" + p.k, p.headDim, rotation(p.rotaryK), "DS", "Q"}};
  }
  // Of slice i: "Q1", "Q2"; the whole has no number.
  std::string sliced(const std::string &name, int64_t i) const {
    return slices == 1 ? name : name + std::to_string(i + 1);
  }
  // The gradient of an epilogue's tensor that is not changed in place.
  static std::string gradientChannel(size_t k) { return "DElement" + std::to_string(k); }
  static std::string storeRole(size_t k) { return "store_delement" + std::to_string(k); }
  static std::string gradientSymbol(size_t k) { return "delement" + std::to_string(k); }

  void declareTensors() {
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
    for (auto [k, output] : llvm::enumerate(gradient.outputs)) {
      n.tensor(gradientSymbol(k), "output", p.element, p.heads, p.valueDim, "d" + output.tensor);
      n.note(storeRole(k) + " stores 'd" + output.tensor + (output.value ? "'" : "', which is dout as it is"));
    }

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

  void declareChannels() {
    Type f32 = n.b.getF32Type();
    const int64_t rows = s.tileRows;
    const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
    // tcgen05 takes a whole tile as A and disables the lanes of other blocks, so P and dS lie where their keys are.
    const int64_t pairColumns = target.tcgen05 ? rows : p.block;
    rotary.declare(n, rows);

    auto input = [&](const char *name, int64_t cols, const Names &behindClear) {
      for (int64_t i = 0; i < slices; ++i) {
        Names stations = behindClear;
        const bool second = i == 1;
        for (std::string &station : stations)
          if (slices > 1 && station != "qk")
            station = station == "dp" ? (second ? "dp2" : "dp") : sliced(station, i);
        stations.insert(stations.begin(), clearRole(name, i));
        if (StringRef(name) == "DO") {
          if (gradient.maps())
            stations.insert(stations.begin(), "elements");
          for (auto [k, output] : llvm::enumerate(gradient.outputs))
            if (!output.value)
              stations.insert(stations.begin(), storeRole(k));
        }
        stations.insert(stations.begin(), StringRef(name) == "DO" && second ? "load_do2" : "load");
        n.channel(sliced(name, i), rows, cols / slices, p.element, Space::Smem, rotary.stations(name, stations));
      }
    };
    input("Q", p.headDim, {"qk", "product_dk"});
    input("K", p.headDim, {"qk", "product_dq"});
    input("V", p.valueDim, gradient.o ? Names{"pv", "dp"} : Names{"dp"});
    input("DO", p.valueDim, {"dp", "product_dv"});
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

  // --- shared memory ----------------------------------------------------------------------------------------------

  void addLoads() {
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

  void load(Item item, const Operand &o, int64_t slice) {
    Value slot = n.take(sliced(o.channel, slice), 0, Unit::Tma);
    LoadOp::create(n.b, loc, sliced(o.tensor, slice), item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
    n.pass(slot);
  }

  // Sums run over queries and over keys here, so rows of a neighbour must be zero in all four. Several roles, so that a
  // product starts when its own operands are there.
  std::string clearRole(StringRef channel, int64_t slice) const {
    if (channel == "Q" || channel == "K")
      return "clear_qk";
    if (channel == "V" && gradient.o)
      return "clear_v";
    return channel == "DO" && slice == 1 ? "clear_do2" : "clear_dp";
  }

  void addClears() {
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
  void addElements() {
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
      n.role("pv", [&](Item) {
        Value prob = n.takeFor("P", Unit::Tensor), v = n.takeFor("V", Unit::Tensor);
        product("O", prob, false, v, false);
        n.pass(prob), n.pass(v);
      });
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

  // --- products and pairs -----------------------------------------------------------------------------------------

  void product(StringRef d, Value a, bool aTransposed, Value b, bool bTransposed, bool accumulate = false) {
    Value slot = n.takeFor(d, Unit::Tensor);
    Value sum = accumulate ? Value(arith::ConstantOp::create(n.b, loc, n.b.getBoolAttr(true))) : Value();
    MmaOp::create(n.b, loc, slot, a, b, aTransposed, bTransposed, n.diagonal(p.block), sum);
    n.pass(slot);
  }

  void addScores() {
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

  void addSoftmax() {
    auto probabilities = [&](Item item, Value slot) {
      Value scores = n.read(slot);
      if (!separate)
        n.pass(slot);
      return emitTileSoftmax(n, scores, p, item, loc).probabilities;
    };
    auto dScores = [&](Value prob) -> Value {
      Value slot = n.takeFor("DP", Unit::Threads);
      Value dP = n.read(slot);
      n.pass(slot);
      // dS = P o (dP - D) scale with D = rowsum(P o dP); the scale enters before the one rounding.
      Value d = n.reduce(Reduction::Add, arith::MulFOp::create(n.b, loc, prob, dP));
      Value dScaled = arith::MulFOp::create(n.b, loc, d, n.splat(-p.scale, d.getType()));
      Value centred =
          math::FmaOp::create(n.b, loc, dP, n.splat(p.scale, dP.getType()), n.broadcast(dScaled, dP));
      return arith::MulFOp::create(n.b, loc, prob, centred);
    };
    auto write = [&](Value tile, const char *channel) {
      Value out = n.take(channel, 0, Unit::Threads);
      WriteOp::create(n.b, loc, tile, out);
      return out;
    };
    n.role("softmax", [&](Item item) {
      Value s = n.take("S", 1, Unit::Threads);
      Value prob = probabilities(item, s);
      if (separate) {
        WriteOp::create(n.b, loc, prob, s);
        n.pass(s);
        n.pass(write(prob, "P"));
        return;
      }
      Value dS = dScores(prob);
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
        n.pass(write(dScores(prob), "DS"));
      });
  }

  void addGradient(const Gradient &g) {
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

  const Problem &p;
  const Schedule &s;
  const Target &target;
  Location loc;
  NetworkBuilder n;
  const int64_t slices;
  const bool separate;
  const RotaryPlan rotary;
  const EpilogueGradient &gradient;
  const ElementTensors elements;
};
} // namespace

KernelOp fovea::buildBackward(ModuleOp module, const Problem &p, const Schedule &s, const Target &target,
                              Location loc) {
  return BackwardNetwork(module, p, s, target, loc).run();
}
