// passes/Analysis/Execution.cpp - unrolling an explicit kernel, and the closure of its order.
#include "passes/Analysis/Execution.h"
#include "passes/Analysis/EventGraph.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace fovea::tile {

class Unroller {
public:
  Unroller(KernelOp kernel, const Target &target, unsigned items) : kernel(kernel), target(target), items(items) {}

  FailureOr<Execution> run() {
    for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
      barriers[barrier.getSymName()], x.phases[barrier.getSymName()];
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
      if (!channel.getView())
        registerFile[channel.getSymName()] = int64_t(registerFile.size());
    const unsigned most = blocksToUnroll(kernel);
    for (unsigned i = 0; i < items; ++i) {
      firstBlock.push_back(firstBlock.empty() ? 0 : firstBlock.back() + blocks.back());
      blocks.push_back(i % 3 == 0 ? most : i % 3 == 1 ? 1 : std::min(most, 2u));
    }
    for (GroupOp group : kernel.getBody().getOps<GroupOp>())
      x.groups.push_back(group);
    x.fences.resize(x.groups.size());
    for (index = 0; index < x.groups.size(); ++index)
      if (failed(unrollGroup(x.groups[index])))
        return failure();
    if (failed(connectWaits()) || failed(x.close()))
      return failure();
    return std::move(x);
  }

private:
  struct Phase {
    int64_t arrivals = 0, expected = 0, loaded = 0;
  };
  struct Barrier {
    std::vector<Phase> phases;
  };

  // --- steps ------------------------------------------------------------------------------------------------------

  unsigned addStep(Operation *op, int warp) {
    Step step;
    step.op = op, step.group = index, step.item = item, step.block = block, step.warp = warp;
    x.steps.push_back(step);
    x.successors.emplace_back();
    return x.steps.size() - 1;
  }
  void order(unsigned from, unsigned to) { x.successors[from].push_back(to); }

  unsigned programStep(Operation *op, int warp) {
    unsigned step = addStep(op, warp);
    if (last[warp] >= 0)
      order(unsigned(last[warp]), step);
    last[warp] = int(step);
    return step;
  }

  unsigned asyncStep(Operation *op, unsigned issue) {
    unsigned step = addStep(op, x.steps[issue].warp);
    x.steps[step].issue = int(issue);
    order(issue, step);
    return step;
  }

  // How often a channel was visited before this take, or a barrier's phase was over before this op.
  unsigned ring(std::optional<uint64_t> visit) const {
    return visit ? firstBlock[item] + block - unsigned(*visit) : item;
  }

  Phase &phaseOf(BarrierOp barrier, unsigned at) {
    auto &all = barriers[barrier.getSymName()].phases;
    if (all.size() <= at)
      all.resize(at + 1);
    return all[at];
  }

  unsigned phaseStep(BarrierOp barrier, unsigned at) {
    std::vector<int> &steps = x.phases[barrier.getSymName()];
    if (steps.size() <= at)
      steps.resize(at + 1, -1);
    if (steps[at] < 0) {
      unsigned step = addStep(barrier, -1);
      steps[at] = int(step);
    }
    return unsigned(steps[at]);
  }

  void arrive(BarrierOp barrier, unsigned at, unsigned step, int64_t count, bool ordered) {
    phaseOf(barrier, at).arrivals += count;
    order(step, phaseStep(barrier, at));
    x.arrivals.push_back({step, barrier, at, ordered});
  }

  FailureOr<BarrierOp> lookup(Operation *op, StringRef name) {
    if (auto barrier = kernel.lookupSymbol<BarrierOp>(name))
      return barrier;
    return op->emitOpError("expected a barrier of this kernel, found '") << name << "'", failure();
  }

  bool byLeader(Unit unit) const { return unit == Unit::Tma || (unit == Unit::Tensor && target.tcgen05); }
  // Of several teams two are looked at, with two warps each; the first of a team leads it.
  int teamOf(int warp) const { return groupTeams > 1 ? warp / 2 : 0; }
  bool leads(int warp) const { return groupTeams > 1 ? warp % 2 == 0 : warp == 0; }
  void forWarps(bool leader, llvm::function_ref<void(int)> body) {
    for (int warp = 0; warp < warps; ++warp)
      if (!leader || leads(warp))
        body(warp);
  }

  // --- memory -----------------------------------------------------------------------------------------------------

  // `teamRows`: rows of the team of the step's warp, as a warp's own are.
  void access(unsigned step, Value slot, bool write, Unit unit, bool ownRows = false, bool divided = false,
              bool teamRows = false) {
    Access a;
    a.step = step;
    a.channel = channelOf(slot);
    SlotType type = a.channel.getSlotType();
    a.space = type.getSpace();
    a.slot = ring(takeOf(slot).getVisit()) % int64_t(a.channel.getDepth());
    a.write = write, a.unit = unit, a.ownRows = ownRows, a.divided = divided;
    if (groupTeams > 1 && (ownRows || teamRows))
      a.team = teamOf(x.steps[step].warp);
    if (a.space == Space::Registers) {
      a.begin = registerFile.lookup(ownerOf(a.channel).getSymName()), a.end = a.begin + 1;
      a.ownRows = true;
    } else {
      // What the tile covers, not the slot: an aliased slot may be larger.
      int64_t bits = type.getRows() * type.getCols() * type.getElementType().getIntOrFloatBitWidth();
      a.begin = int64_t(a.channel.getOffset().value_or(0)) + a.slot * int64_t(a.channel.getSlotSize().value_or(0));
      a.end = a.begin + (a.space == Space::Smem ? bits / 8 : bits / 32 / type.getRows());
    }
    x.accesses.push_back(a);
  }

  // --- programs ---------------------------------------------------------------------------------------------------

  LogicalResult unrollGroup(GroupOp group) {
    groupWarps = int64_t(group.getWarps()), groupTeams = int64_t(group.getTeams());
    warps = groupTeams > 1 ? 4 : int(std::min<int64_t>(groupWarps, 3));
    last.assign(warps, -1);
    products.assign(warps, {});
    stores.clear();
    x.fences[index].resize(warps);
    for (item = 0; item < items; ++item)
      for (const ProgramOp &step : unrolledProgram(group, blocks[item])) {
        if (step.rare && item % 2)
          continue; // every other item meets no cold path: what follows must not count on what one waits for
        block = step.block;
        if (groupTeams > 1 && (isa<LoadOp, CommitOp>(step.op) || (isa<MmaOp>(step.op) && target.tcgen05)))
          return step.op->emitOpError("in group '") << group.getSymName() << "' would be issued by each of its teams";
        if (failed(unrollOp(*step.op)))
          return failure();
      }
    return success();
  }

  LogicalResult unrollOp(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](LoadOp load) { return unrollLoad(load); })
        .Case([&](MmaOp mma) { return unrollMma(mma), success(); })
        .Case([&](CommitOp commit) { return unrollCommit(commit); })
        .Case([&](ArriveOp arrive) { return unrollArrive(arrive); })
        .Case([&](WaitOp wait) { return unrollWait(wait); })
        .Case([&](FenceOp fence) { return unrollFence(fence), success(); })
        .Case([&](ProductWaitOp wait) {
          forWarps(false, [&](int warp) {
            // Products end in order: those up to the last that writes or reads the slot.
            unsigned step = programStep(wait, warp);
            ChannelOp owner = ownerOf(channelOf(wait.getSlot()));
            size_t ended = 0;
            for (size_t i = 0; i < products[warp].size(); ++i)
              if (llvm::is_contained(products[warp][i].registers, owner))
                ended = i + 1;
            for (size_t i = 0; i < ended; ++i)
              order(products[warp][i].step, step);
            products[warp].erase(products[warp].begin(), products[warp].begin() + ended);
          });
          return success();
        })
        .Case([&](SyncOp sync) {
          for (int leader = 0; leader < warps; ++leader) {
            if (!leads(leader))
              continue;
            unsigned step = addStep(sync, -1);
            for (int warp = 0; warp < warps; ++warp) {
              if (teamOf(warp) != teamOf(leader))
                continue;
              if (last[warp] >= 0)
                order(unsigned(last[warp]), step);
              last[warp] = int(step);
            }
          }
          return success();
        })
        .Case([&](StoreOp store) {
          // A full tile goes by TMA from the leader; of a short one the threads divide the valid rows.
          // A batched tensor ends where the sequence does, so that all of its tiles go by TMA.
          forWarps(false, [&](int warp) {
            unsigned step = programStep(store, warp);
            if (!store.getBatch())
              access(step, store.getSlot(), false, Unit::Threads, false, /*divided=*/true, /*teamRows=*/true);
            if (leads(warp)) {
              stores.push_back({asyncStep(store, step), warp});
              access(stores.back().first, store.getSlot(), false, Unit::Tma, false, false, /*teamRows=*/true);
            }
          });
          return success();
        })
        .Case([&](StoreWaitOp wait) {
          // A short tile issues no TMA store, so that `pending` > 0 later stores cannot be counted on.
          forWarps(true, [&](int warp) {
            unsigned step = programStep(wait, warp);
            if (wait.getPending())
              return;
            for (auto [store, leader] : stores)
              if (leader == warp)
                order(store, step);
            llvm::erase_if(stores, [&](auto &store) { return store.second == warp; });
          });
          return success();
        })
        .Case([&](ReadOp read) {
          forWarps(false, [&](int warp) { access(programStep(read, warp), read.getSlot(), false, Unit::Threads, true); });
          return success();
        })
        .Case([&](WriteOp write) {
          forWarps(false, [&](int warp) { access(programStep(write, warp), write.getSlot(), true, Unit::Threads, true); });
          return success();
        })
        .Case([&](WarpProductOp product) {
          forWarps(false, [&](int warp) {
            unsigned step = programStep(product, warp);
            access(step, product.getA(), false, Unit::Threads, true);
            access(step, product.getB(), false, Unit::Threads);
          });
          return success();
        })
        .Case([&](ScaleOp scale) {
          forWarps(false, [&](int warp) {
            unsigned step = programStep(scale, warp);
            access(step, scale.getSlot(), false, Unit::Threads, true);
            access(step, scale.getSlot(), true, Unit::Threads, true);
          });
          return success();
        })
        .Case([&](StorePartialOp store) {
          forWarps(false, [&](int warp) { access(programStep(store, warp), store.getSlot(), false, Unit::Threads, true); });
          return success();
        })
        .Case([&](StoreScratchOp store) {
          forWarps(false, [&](int warp) { access(programStep(store, warp), store.getSlot(), false, Unit::Threads, true); });
          return success();
        })
        .Case([&](CopyOp copy) {
          forWarps(false, [&](int warp) {
            unsigned step = programStep(copy, warp);
            access(step, copy.getFrom(), false, Unit::Threads, true);
            access(step, copy.getTo(), true, Unit::Threads, true);
            if (copy.getTable())
              access(step, copy.getTable(), false, Unit::Threads, true);
          });
          return success();
        })
        .Case([&](MapElementsOp map) {
          forWarps(false, [&](int warp) {
            unsigned step = programStep(map, warp);
            for (Value slot : map.getInputs())
              access(step, slot, false, Unit::Threads, true);
            for (Value slot : map.getOutputs())
              access(step, slot, true, Unit::Threads, true);
          });
          return success();
        })
        .Case([&](RotateOp rotate) {
          forWarps(false, [&](int warp) {
            unsigned step = programStep(rotate, warp);
            access(step, rotate.getTable(), false, Unit::Threads);
            access(step, rotate.getSlot(), true, Unit::Threads, false, /*divided=*/true);
          });
          return success();
        })
        .Case([&](ClearTailOp clear) {
          forWarps(false, [&](int warp) {
            access(programStep(clear, warp), clear.getSlot(), true, Unit::Threads, false, /*divided=*/true);
          });
          return success();
        })
        .Default([&](Operation *other) -> LogicalResult {
          // Register mathematics and global rows touch no slot. Anything else that takes one must be known here.
          if (!isa<TakeOp, PassOp>(other))
            for (Value operand : other->getOperands())
              if (isa<SlotType>(operand.getType()))
                return other->emitOpError("works on a slot in a way that the hazard analysis does not know");
          return success();
        });
  }

  LogicalResult unrollLoad(LoadOp load) {
    if (!load.getBarrier())
      return load.emitOpError("signals no barrier: nobody can know when its copy is complete");
    FailureOr<BarrierOp> barrier = lookup(load, *load.getBarrier());
    if (failed(barrier))
      return failure();
    unsigned issue = programStep(load, 0), copy = asyncStep(load, issue);
    access(copy, load.getSlot(), true, Unit::Tma);
    const unsigned at = ring(takeOf(load.getSlot()).getVisit());
    order(copy, phaseStep(*barrier, at));
    auto type = cast<SlotType>(load.getSlot().getType());
    phaseOf(*barrier, at).loaded +=
        load.getWhole() ? type.getBytes() : type.getCols() * type.getElementType().getIntOrFloatBitWidth() / 8;
    return success();
  }

  void unrollMma(MmaOp mma) {
    if (target.tcgen05) {
      unsigned product = asyncStep(mma, programStep(mma, 0));
      access(product, mma.getA(), false, Unit::Tensor);
      access(product, mma.getB(), false, Unit::Tensor);
      access(product, mma.getD(), true, Unit::Tensor);
      products[0].push_back({product, {}});
      return;
    }
    // The ISA does not say which warp of the warpgroup reads which rows of A. Products of blocks below 64 rows are
    // mma.sync: the warp itself reads its own rows, and is done when it goes on.
    const bool synchronous = mma.getDiagonal() && *mma.getDiagonal() < 64;
    const Unit unit = synchronous ? Unit::Threads : Unit::Tensor;
    forWarps(false, [&](int warp) {
      unsigned issue = programStep(mma, warp), product = synchronous ? issue : asyncStep(mma, issue);
      access(product, mma.getA(), false, unit, synchronous && !mma.getATransposed(), false,
             /*teamRows=*/!mma.getATransposed() && !mma.getDiagonal());
      access(product, mma.getB(), false, unit);
      access(product, mma.getD(), true, unit, true);
      if (!synchronous)
        products[warp].push_back({product, {ownerOf(channelOf(mma.getD())), ownerOf(channelOf(mma.getA()))}});
    });
  }

  LogicalResult unrollCommit(CommitOp commit) {
    FailureOr<BarrierOp> barrier = lookup(commit, commit.getBarrier());
    if (failed(barrier))
      return failure();
    unsigned done = asyncStep(commit, programStep(commit, 0));
    for (const Product &product : products[0])
      order(product.step, done);
    products[0].assign(1, {done, {}}); // a later commit covers what this one does
    arrive(*barrier, ring(commit.getVisit()), done, 1, /*ordered=*/true);
    return success();
  }

  LogicalResult unrollArrive(ArriveOp op) {
    FailureOr<BarrierOp> barrier = lookup(op, op.getBarrier());
    if (failed(barrier))
      return failure();
    if (op.getUnit() == Unit::Tma) {
      phaseOf(*barrier, ring(op.getVisit())).arrivals += groupTeams;
      forWarps(true, [&](int warp) { arrive(*barrier, ring(op.getVisit()), programStep(op, warp), 0, false); });
      phaseOf(*barrier, ring(op.getVisit())).expected += op.getBytesPerRow().value_or(0) + op.getBytes().value_or(0);
      return success();
    }
    phaseOf(*barrier, ring(op.getVisit())).arrivals += groupWarps;
    forWarps(false, [&](int warp) { arrive(*barrier, ring(op.getVisit()), programStep(op, warp), 0, false); });
    return success();
  }

  LogicalResult unrollWait(WaitOp op) {
    FailureOr<BarrierOp> barrier = lookup(op, op.getBarrier());
    if (failed(barrier))
      return failure();
    int64_t awaited = int64_t(ring(op.getVisit())) - (op.getEmpty() ? int64_t(barrier->getDepth()) : 0);
    if (awaited >= 0)
      phaseOf(*barrier, unsigned(awaited)); // which must then be completed by somebody
    forWarps(byLeader(op.getUnit()), [&](int warp) { x.waits.push_back({programStep(op, warp), *barrier, awaited}); });
    return success();
  }

  void unrollFence(FenceOp op) {
    forWarps(byLeader(op.getUnit()), [&](int warp) {
      x.fences[index][warp].push_back({programStep(op, warp), op.getKind()});
    });
  }

  LogicalResult connectWaits() {
    for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
      for (const Phase &phase : barriers[barrier.getSymName()].phases) {
        if (phase.arrivals != int64_t(barrier.getCount()))
          return barrier.emitOpError("expects ") << barrier.getCount() << " arrivals a phase, but its programs make "
                                                 << phase.arrivals << " per item: the phases do not match the items";
        if (phase.expected != phase.loaded)
          return barrier.emitOpError("expects ") << phase.expected << " bytes per row, but its loads bring "
                                                 << phase.loaded << ": the phase completes too early or never";
      }
    for (const WaitStep &wait : x.waits)
      if (std::optional<unsigned> phase = x.phase(wait.barrier, wait.item))
        order(*phase, wait.step);
    return success();
  }

  KernelOp kernel;
  const Target &target;
  const unsigned items;
  Execution x;
  llvm::StringMap<Barrier> barriers;
  llvm::StringMap<int64_t> registerFile;
  std::vector<unsigned> blocks, firstBlock;             ///< of each item: its key blocks, and those of items before it
  // Of the group being unrolled.
  unsigned index = 0, item = 0, block = 0;
  int warps = 1;
  int64_t groupWarps = 1, groupTeams = 1;
  std::vector<int> last;                                ///< each warp's last step
  struct Product {
    unsigned step;
    SmallVector<ChannelOp, 2> registers;                ///< what it writes and reads in registers
  };
  std::vector<SmallVector<Product>> products;           ///< each warp's products not yet waited for
  SmallVector<std::pair<unsigned, int>> stores;         ///< TMA stores not yet waited for, and the warp that leads
};

} // namespace fovea::tile

FailureOr<Execution> Execution::unroll(KernelOp kernel, const Target &target, unsigned items) {
  return Unroller(kernel, target, items).run();
}

unsigned Execution::itemsToUnroll(KernelOp kernel, const Schedule &schedule) {
  if (!schedule.persistent)
    return 1;
  if (hasKeyBlocks(kernel))
    return 5; // long, single, double, long, single: item rings hold two, and block rings wrap in the long ones
  int64_t depth = 1;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    depth = std::max(depth, int64_t(channel.getDepth()));
  for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
    depth = std::max(depth, int64_t(barrier.getDepth()));
  return unsigned(depth) + 2;
}

std::optional<unsigned> Execution::phase(BarrierOp barrier, int64_t item) const {
  auto it = phases.find(barrier.getSymName());
  if (it == phases.end() || item < 0 || item >= int64_t(it->second.size()) || it->second[item] < 0)
    return std::nullopt;
  return unsigned(it->second[item]);
}

const std::vector<Execution::Fence> &Execution::fencesOf(const Step &step) const {
  return fences[step.group][std::max(step.warp, 0)];
}

// A warp's fences are in program order, and steps of one warp are numbered in program order.
std::optional<unsigned> Execution::fenceAfter(unsigned step, FenceKind kind) const {
  for (const Fence &fence : fencesOf(steps[step]))
    if (fence.kind == kind && fence.step > step)
      return fence.step;
  return std::nullopt;
}

std::optional<unsigned> Execution::fenceBefore(unsigned step, FenceKind kind) const {
  const Step &s = steps[step];
  unsigned at = s.issue >= 0 ? unsigned(s.issue) : step;
  std::optional<unsigned> found;
  for (const Fence &fence : fencesOf(s)) {
    if (fence.step >= at)
      break;
    if (fence.kind == kind)
      found = fence.step;
  }
  return found;
}

LogicalResult Execution::close() {
  const unsigned n = steps.size();
  std::vector<unsigned> incoming(n, 0), sorted;
  for (const auto &next : successors)
    for (unsigned to : next)
      ++incoming[to];
  for (unsigned i = 0; i < n; ++i)
    if (incoming[i] == 0)
      sorted.push_back(i);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (unsigned to : successors[sorted[i]])
      if (--incoming[to] == 0)
        sorted.push_back(to);
  if (sorted.size() != n) {
    for (unsigned i = 0; i < n; ++i)
      if (incoming[i] && isa<WaitOp>(steps[i].op))
        return steps[i].op->emitOpError("in group '")
               << groupName(steps[i].group) << "' never returns: in item " << steps[i].item
               << " the arrivals it waits for wait for it";
    llvm_unreachable("programs are joined by waits only");
  }
  reach.assign(n, llvm::BitVector(n));
  for (unsigned i : llvm::reverse(sorted)) {
    reach[i].set(i);
    for (unsigned to : successors[i])
      reach[i] |= reach[to];
  }
  if (groups.size() == 1)
    return success();
  tells.assign(n, llvm::BitVector(n));
  for (unsigned i : llvm::reverse(sorted)) {
    tells[i].set(i);
    for (unsigned to : successors[i])
      if (steps[to].issue == int(i))
        tells[i].set(to);
      else
        tells[i] |= tells[to];
  }
  return success();
}
