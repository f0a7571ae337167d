// passes/Schedule/Cost.cpp - durations of tile ops, and the period of the event graph under them.
#include "passes/Schedule/Cost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Schedule/UnitRates.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

const char *Cost::bound() const {
  double busiest = std::max({memory, l2, tensor, exponential, arithmetic, fma, shared, tmem, circuit});
  return busiest == memory        ? "memory"
         : busiest == l2          ? "L2"
         : busiest == tensor      ? "tensor core"
         : busiest == exponential ? "exponentials"
         : busiest == arithmetic  ? "arithmetic"
         : busiest == fma         ? "FMA units"
         : busiest == shared      ? "shared memory"
         : busiest == tmem        ? "tensor memory"
                                  : "latency";
}

namespace {
// What one op costs: its threads' clocks, the clocks until its asynchronous work is done, and the units' work.
struct OpCost {
  double threads = 0, asynchronous = 0;
  double issue = 0, special = 0; ///< more of its threads' clocks: instructions, and what waits for the special unit
  double bytes = 0, tensor = 0, exponential = 0, arithmetic = 0, fma = 0, shared = 0, tmem = 0;
};

int64_t elements(Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  return shaped ? shaped.getNumElements() : 0;
}

constexpr double kPricedKeys = 1024; // see addWork

class Pricer {
public:
  Pricer(KernelOp kernel, const Schedule &schedule, const Target &target)
      : kernel(kernel), schedule(schedule), target(target), rates(unitRates(target)),
        bytesPerClock(rates.hbmBytesPerSecond / (target.sms * rates.clockGhz * 1e9)),
        overlaps(target.tcgen05 && schedule.keyRows) {}

  KeyTileCost keyTile(bool coldPaths) {
    counted = coldPaths;
    KeyTileCost cost;
    for (GroupOp group : kernel.getBody().getOps<GroupOp>())
      for (LoopOp loop : group.getBody().getOps<LoopOp>())
        if (!loop.getEdge())
          loop.getBody().walk([&](Operation *op) {
            if (op->getParentOfType<RareOp>() && !coldPaths)
              return;
            OpCost c = priceOp(*op, group);
            if (isa<LoadOp>(op))
              cost.l2 += c.bytes / rates.l2Bytes;
            cost.tensor += c.tensor, cost.exponential += c.exponential, cost.fma += c.fma, cost.issue += c.arithmetic;
            cost.shared += c.shared, cost.tmem += c.tmem;
          });
    auto circuit = [&](unsigned blocks) -> double {
      FailureOr<EventGraph> graph = EventGraph::build(kernel, blocks);
      if (failed(graph))
        return 0;
      programClocks.clear();
      addDurations(*graph);
      std::optional<Circuit> critical = graph->findCritical();
      return critical ? critical->period() : 0;
    };
    cost.circuit = (circuit(kPricedBlocks + 4) - circuit(kPricedBlocks)) / 4;
    return cost;
  }

  Cost run(std::string &refusal) {
    Cost cost;
    ScopedDiagnosticHandler handler(kernel.getContext(), [&](Diagnostic &d) {
      refusal = d.str();
      return success();
    });
    FailureOr<EventGraph> graph = EventGraph::build(kernel, kPricedBlocks);
    if (failed(graph))
      return cost;
    if (std::optional<Circuit> deadlock = graph->findDeadlock()) {
      refusal = "deadlocks: " + graph->describeWaits(*deadlock);
      return cost;
    }
    addWork(cost);
    addDurations(*graph);
    if (std::optional<Circuit> critical = graph->findCritical()) {
      cost.circuit = critical->period() / schedule.ctasPerSm;
      cost.critical = graph->describe(*critical);
    }
    if (schedule.persistent && !schedule.keyRows) // a counter hands items to whoever is free
      cost.imbalance = rates.stridingLoss;
    return cost;
  }

private:
  void addWork(Cost &cost) {
    llvm::MapVector<StringRef, RoleCost> roles;
    for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
      for (Attribute role : group.getRoles()) {
        RoleCost &r = roles[cast<StringAttr>(role).getValue()];
        r.role = cast<StringAttr>(role).str(), r.group = group.getSymName().str();
      }
      for (const ProgramOp &step : unrolledProgram(group, kPricedBlocks)) {
        if (step.rare && !counted)
          continue;
        Operation &op = *step.op;
        OpCost c = priceOp(op, group);
        // Key blocks come from L2, where other tiles of the head have brought them, unless few tiles are known to.
        auto load = dyn_cast<LoadOp>(op);
        const bool ofKeys = load && takeOf(load.getSlot()).getVisit();
        if (ofKeys)
          cost.l2 += c.bytes / rates.l2Bytes, cost.tensor += c.bytes * rates.l2Drag;
        if (!ofKeys) // of an item that meets kPricedKeys, as if it met the blocks that are priced
          cost.bytes += c.bytes * (schedule.keyRows ? double(kPricedBlocks * schedule.keyRows) / kPricedKeys : 1);
        else if (auto readers = kernel->getAttrOfType<IntegerAttr>("key_readers"))
          cost.bytes += c.bytes / double(readers.getInt());
        cost.tensor += c.tensor;
        cost.exponential += c.exponential;
        cost.arithmetic += c.arithmetic;
        cost.fma += c.fma, cost.shared += c.shared, cost.tmem += c.tmem;
        if (auto role = op.getAttrOfType<StringAttr>("tile.role")) {
          roles[role.getValue()].threads += c.threads + c.issue + c.special;
          roles[role.getValue()].asynchronous += c.asynchronous;
        }
      }
    }
    for (auto &[name, role] : roles)
      cost.roles.push_back(role);
    cost.memory = cost.bytes / bytesPerClock;
  }

  // Program edges take what the threads do between two events; a hop takes the hand-over, and before it the rest of
  // the asynchronous work on the slot, which the program itself does not wait for.
  void addDurations(EventGraph &graph) {
    std::vector<double> tail(graph.groups.size(), 0);
    for (auto [g, program] : llvm::enumerate(graph.programs))
      for (size_t i = 0; i < program.size(); ++i) {
        double clocks = threadsBetween(graph, g, graph.events[program[i]].position,
                                       i + 1 < program.size() ? graph.events[program[i + 1]].position
                                                              : unsigned(graph.bodies[g].size()));
        if (i + 1 == program.size())
          tail[g] = clocks;
        else
          programClocks[{program[i], program[i + 1]}] = clocks;
      }
    std::vector<Edge> parts;
    for (Edge &edge : graph.edges) {
      const Event &from = graph.events[edge.from], &to = graph.events[edge.to];
      switch (edge.kind) {
      case Edge::Kind::Program:
        edge.duration = programClocks.lookup({edge.from, edge.to});
        break;
      case Edge::Kind::Closing:
        if (from.kind == Event::Kind::NextCta)
          edge.duration = rates.ctaStart;
        else
          edge.duration = tail[from.group] + (to.kind == Event::Kind::NextCta ? drain(from) : rates.itemSearch);
        break;
      case Edge::Kind::Full:
      case Edge::Kind::Empty: {
        // Products that one thread issues run one behind the other.
        if (overlaps && from.group == to.group && TakeOp(from.take).getUnit() == Unit::Tensor) {
          if (addPartsOfSum(graph, edge, parts))
            break;
          for (Operation *user : TakeOp(from.take).getSlot().getUsers())
            edge.duration = std::max(edge.duration, priceOp(*user, graph.groups[from.group]).tensor);
          break;
        }
        if (overlaps && TakeOp(from.take).getUnit() == Unit::Tensor && addPartsOfSum(graph, edge, parts))
          break;
        edge.duration = from.group == to.group && TakeOp(from.take).getUnit() == Unit::Threads ? rates.groupSync
                                                                                               : rates.handover;
        for (Operation *user : TakeOp(from.take).getSlot().getUsers())
          edge.duration = std::max(edge.duration, rates.handover + priceOp(*user, graph.groups[from.group]).asynchronous);
        break;
      }
      }
    }
    graph.edges.insert(graph.edges.end(), parts.begin(), parts.end());
  }

  // A hop behind products that add up parts (tile.mma … from), which the tensor core takes up one by one as they are
  // issued: when the slot is passed, only the last one is sure to be ahead; each of the others is, with those behind it,
  // since the event before it. Those are edges of their own. False: there is one product at most.
  bool addPartsOfSum(const EventGraph &graph, Edge &edge, std::vector<Edge> &parts) {
    const Event &pass = graph.events[edge.from];
    const std::vector<ProgramOp> &body = graph.bodies[pass.group];
    const Value slot = TakeOp(pass.take).getSlot();
    if (llvm::none_of(slot.getUsers(), [](Operation *user) { return isa<MmaOp>(user) && cast<MmaOp>(user).getFrom(); }))
      return false;
    SmallVector<unsigned> products; // positions
    for (unsigned at = pass.position; at-- > 0 && body[at].op != slot.getDefiningOp();)
      if (auto mma = dyn_cast<MmaOp>(body[at].op); mma && mma.getFrom())
        products.push_back(at);
    if (products.size() < 2)
      return false;
    const bool here = pass.group == graph.events[edge.to].group;
    double clocks = here ? 0 : rates.handover + rates.productLatency;
    for (unsigned at : products) {
      clocks += priceOp(*body[at].op, graph.groups[pass.group]).tensor;
      if (at == products.front()) {
        edge.duration = clocks;
        continue;
      }
      Edge part = edge;
      part.kind = Edge::Kind::Program;
      for (unsigned event : graph.programs[pass.group])
        if (graph.events[event].position < at)
          part.from = event;
      part.duration = clocks;
      parts.push_back(part);
    }
    return true;
  }

  // A CTA leaves when its last store has read its source.
  double drain(const Event &last) {
    double clocks = 0;
    for (Operation *user : TakeOp(last.take).getSlot().getUsers())
      if (isa<StoreOp>(user))
        clocks = rates.storeLatency;
    return clocks;
  }

  // Items of the heads of one tile follow one another, so that one of them brings a table's rows and the others find
  // them in L2.
  double sharers(LoadOp load) {
    if (!kernel.lookupSymbol<TensorOp>(load.getTensor()).isShared())
      return 1;
    for (TensorOp tensor : kernel.getBody().getOps<TensorOp>())
      if (tensor.getRole() == "input")
        return std::max<double>(1, double(tensor.getHeads()));
    return 1;
  }

  double threadsBetween(const EventGraph &graph, size_t group, unsigned from, unsigned to) {
    double clocks = 0, issue = 0, special = 0;
    for (unsigned i = from + 1; i < to; ++i)
      if (!graph.bodies[group][i].rare || counted) {
        OpCost c = priceOp(*graph.bodies[group][i].op, graph.groups[group]);
        clocks += c.threads, issue += c.issue, special += c.special;
      }
    return clocks + (overlaps ? std::max(issue, special) : issue + special);
  }

  OpCost priceOp(Operation &op, GroupOp group) {
    OpCost c;
    // Four schedulers share the warps of a group. Teams go their own ways, so that a circuit has one's part of the work,
    // as if the others let it through; what they take from each other is in the units' sums.
    const double teams = double(group.getTeams()), warps = double(group.getWarps()) / teams;
    const double lanes = std::min<double>(rates.issue, 32 * warps);
    const double mufu = std::min(rates.mufu, rates.mufu / 4 * warps);
    auto compute = [&](double instructions) {
      (overlaps ? c.issue : c.threads) += instructions / teams / lanes;
      c.arithmetic += instructions / rates.issue;
    };
    // f32 products and sums of whole tiles take two elements an instruction where they are packed, but each its own FMA unit.
    auto arithmetic = [&](double n, double units = 1) {
      compute(overlaps ? n / 2 : n);
      if (overlaps)
        c.fma += units * n / rates.issue;
    };
    auto tensorTraffic = [&](double bytes) {
      c.tmem += bytes / rates.tmemBytes;
      c.threads += bytes / teams / rates.tmemBytes;
    };
    auto inTmem = [&](Value slot) { return overlaps && cast<SlotType>(slot.getType()).getSpace() == Space::Tmem; };
    auto slotElements = [](Value slot) {
      auto type = cast<SlotType>(slot.getType());
      return double(type.getRows() * type.getCols());
    };
    auto slotBytes = [](Value slot) { return double(cast<SlotType>(slot.getType()).getBytes()); };
    auto sharedTraffic = [&](double bytes) {
      c.threads += bytes / teams / rates.sharedBytes;
      if (overlaps)
        c.shared += bytes / rates.sharedBytes;
    };
    // The ops of an expression on each of n elements; functions take the special unit, about twice each.
    auto evaluate = [&](Block &body, double n) {
      auto isFunction = [](Operation &op) { return op.getDialect()->getNamespace() == "math"; };
      compute(n * double(std::distance(body.begin(), body.end())));
      c.exponential = 2 * double(llvm::count_if(body, isFunction)) * n / rates.mufu;
    };
    // A pair takes two products, two fused ones and the conversion of sine and cosine.
    auto turn = [&](Value tile, Value table) {
      compute(3 * slotElements(tile));
      sharedTraffic(slotBytes(table));
    };
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](LoadOp load) {
          c.bytes = slotBytes(load.getSlot()) / sharers(load);
          // Boxes of 32 rows and 128 bytes.
          c.threads = slotBytes(load.getSlot()) / 4096 * rates.tmaIssue;
          c.asynchronous = rates.loadLatency + slotBytes(load.getSlot()) / (4 * bytesPerClock);
          if (overlaps)
            c.shared = slotBytes(load.getSlot()) / rates.sharedBytes;
        })
        .Case([&](StoreOp store) {
          c.bytes = slotBytes(store.getSlot());
          c.threads = rates.tmaIssue;
          c.asynchronous = rates.storeLatency + c.bytes / rates.sharedBytes;
          if (overlaps)
            c.shared = c.bytes / rates.sharedBytes;
        })
        .Case([&](StoreRowsOp store) {
          c.bytes = 4.0 * elements(store.getValues().getType());
          c.threads = 2 * rates.dependent;
        })
        .Case([&](MmaOp mma) {
          auto d = cast<SlotType>(mma.getD().getType()), b = cast<SlotType>(mma.getB().getType());
          double rows = double(d.getRows()), block = double(mma.getDiagonal().value_or(d.getRows()));
          // The diagonal's blocks are separate products of all rows (tcgen05) or of their own rows only (wgmma, mma).
          double width = target.tcgen05 ? rows : block;
          double across = mma.getBTransposed() ? double(b.getCols()) : double(d.getCols());
          if (!mma.getDiagonal())
            width = mma.getBTransposed() ? double(d.getCols()) : double(b.getRows());
          if (mma.getFrom())
            width = double(cast<SlotType>(mma.getA().getType()).getCols());
          c.tensor = 2 * rows * width * across / (rates.tensorFlops * (rows == 64 ? rates.halfTileFactor : 1));
          c.threads = rates.dependent;
          c.asynchronous = rates.productLatency + c.tensor / teams;
          for (Value operand : {mma.getA(), mma.getB()})
            if (overlaps && cast<SlotType>(operand.getType()).getSpace() == Space::Smem)
              c.shared += slotBytes(operand) * (mma.getFrom() ? width / double(b.getRows()) : 1) / rates.sharedBytes;
          // A product of a warpgroup begins when its last one is read; meanwhile other teams' products may run. (The power
          // is a fit.)
          c.tensor += rates.productGap * std::max(1.0, double(group.getWarps()) / 4) / std::pow(std::max(1.0, teams - 1), 1.5);
        })
        .Case([&](ReadOp read) {
          if (cast<SlotType>(read.getSlot().getType()).getSpace() != Space::Registers) {
            if (inTmem(read.getSlot()))
              tensorTraffic(slotBytes(read.getSlot()));
            else
              compute(slotElements(read.getSlot()));
            c.threads += 2 * rates.dependent;
          }
        })
        .Case([&](WriteOp write) {
          compute(slotElements(write.getSlot()) / 2); // one conversion a pair
          if (cast<SlotType>(write.getSlot().getType()).getSpace() != Space::Registers) {
            if (inTmem(write.getSlot()))
              tensorTraffic(slotBytes(write.getSlot()));
            else
              sharedTraffic(slotBytes(write.getSlot()));
            c.threads += rates.dependent;
          }
        })
        .Case([&](CopyOp copy) {
          compute(1.5 * slotElements(copy.getTo()));
          sharedTraffic(slotBytes(copy.getTo()));
          if (inTmem(copy.getFrom()))
            tensorTraffic(slotBytes(copy.getFrom()));
          c.threads += 3 * rates.dependent;
          if (copy.getTable())
            turn(copy.getTo(), copy.getTable());
        })
        .Case([&](RotateOp rotate) {
          compute(2 * slotElements(rotate.getSlot())); // conversions and addresses
          sharedTraffic(2 * slotBytes(rotate.getSlot()));
          turn(rotate.getSlot(), rotate.getTable());
          c.threads += 2 * rates.dependent;
        })
        .Case<ClearTailOp, MaskTailOp, MaskKeysOp>([&](auto) { c.threads = rates.dependent / 2; }) // full tiles skip the work
        .Case([&](RowReduceOp reduce) {
          // Packed sums, maxima of three.
          arithmetic(double(elements(reduce.getTile().getType())), reduce.getKind() == Reduction::Add);
          c.threads += 2 * rates.dependent;
        })
        .Case([&](MapPairsOp map) {
          evaluate(map.getBody().front(), double(elements(map.getResult().getType())));
        })
        .Case([&](MapElementsOp map) {
          for (Value slot : map.getOperands()) {
            compute(slotElements(slot));
            if (cast<SlotType>(slot.getType()).getSpace() == Space::Smem)
              sharedTraffic(slotBytes(slot));
          }
          evaluate(map.getBody().front(), slotElements(map.getInputs().front()));
          c.threads += 3 * rates.dependent;
        })
        .Case<math::Exp2Op, math::Log2Op, math::TanhOp>([&](auto special) {
          double n = double(elements(special.getType()));
          auto attribute = special->template getAttrOfType<IntegerAttr>("tile.polynomial");
          const double polynomial = attribute ? attribute.getInt() / 16.0 * n : 0;
          c.exponential = (n - polynomial) / rates.mufu;
          (overlaps ? c.special : c.threads) += (n - polynomial) / teams / mufu;
          if (overlaps) // see codegen/kernel/Exponential.h: 14 instructions a pair, 8 products and sums an element
            compute(n - polynomial + 7 * polynomial), c.fma += 8 * polynomial / rates.issue;
        })
        .Case<BroadcastOp, ColumnsOp, arith::ConstantOp, TakeOp, PassOp, RareOp, StorePartialOp>([](auto) {}) // parts are for idle chips
        .Case([&](StoreScratchOp store) {
          compute(2 * slotElements(store.getSlot()));
          if (inTmem(store.getSlot()))
            tensorTraffic(slotBytes(store.getSlot()));
        })
        .Case([&](ScaleOp scale) {
          if (inTmem(scale.getSlot()))
            return arithmetic(slotElements(scale.getSlot())), tensorTraffic(2 * slotBytes(scale.getSlot()));
          compute(slotElements(scale.getSlot()));
          if (scale->getParentOfType<LoopOp>()) // behind the last product nothing waits for it
            c.tensor += rates.rescaleGap * double(group.getWarps()) / 4;
          if (cast<SlotType>(scale.getSlot().getType()).getSpace() != Space::Registers)
            compute(2 * slotElements(scale.getSlot()));
        })
        .Case([&](SyncOp) { c.threads = rates.groupSync; })
        .Default([&](Operation *other) {
          if (other->getNumResults() != 1)
            return;
          double n = double(elements(other->getResult(0).getType()));
          if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(other))
            arithmetic(n);
          else
            compute(n);
        });
    return c;
  }

  KernelOp kernel;
  const Schedule &schedule;
  const Target &target;
  const UnitRates rates;
  const double bytesPerClock;
  // A thread's exponentials run beside its other instructions: what counts is the longer of the two. On sm_90a the sum
  // agrees with what was timed.
  const bool overlaps;
  bool counted = false; ///< cold paths are priced as if they were always taken
  llvm::DenseMap<std::pair<unsigned, unsigned>, double> programClocks;
};
} // namespace

Cost fovea::price(KernelOp kernel, const Schedule &schedule, const Target &target, std::string &refusal) {
  return Pricer(kernel, schedule, target).run(refusal);
}

KeyTileCost fovea::priceKeyTile(KernelOp kernel, const Schedule &schedule, const Target &target, bool coldPaths) {
  return Pricer(kernel, schedule, target).keyTile(coldPaths);
}
