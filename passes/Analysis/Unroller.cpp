// passes/Analysis/Unroller.cpp - walking items, key blocks and warps of every group; barriers' phases.
#include "passes/Analysis/Unroller.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

FailureOr<Execution> Unroller::run() {
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

LogicalResult Unroller::unrollGroup(GroupOp group) {
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

LogicalResult Unroller::connectWaits() {
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

// --- steps ----------------------------------------------------------------------------------------------------------

unsigned Unroller::addStep(Operation *op, int warp) {
  Step step;
  step.op = op, step.group = index, step.item = item, step.block = block, step.warp = warp;
  x.steps.push_back(step);
  x.successors.emplace_back();
  return x.steps.size() - 1;
}

unsigned Unroller::programStep(Operation *op, int warp) {
  unsigned step = addStep(op, warp);
  if (last[warp] >= 0)
    order(unsigned(last[warp]), step);
  last[warp] = int(step);
  return step;
}

unsigned Unroller::asyncStep(Operation *op, unsigned issue) {
  unsigned step = addStep(op, x.steps[issue].warp);
  x.steps[step].issue = int(issue);
  order(issue, step);
  return step;
}

void Unroller::forLeaders(llvm::function_ref<void(int)> body) {
  forWarps([&](int warp) {
    if (leads(warp))
      body(warp);
  });
}
void Unroller::forWarps(llvm::function_ref<void(int)> body) {
  for (int warp = 0; warp < warps; ++warp)
    body(warp);
}

// --- phases ---------------------------------------------------------------------------------------------------------

FailureOr<BarrierOp> Unroller::lookup(Operation *op, StringRef name) {
  if (auto barrier = kernel.lookupSymbol<BarrierOp>(name))
    return barrier;
  return op->emitOpError("expected a barrier of this kernel, found '") << name << "'", failure();
}

Unroller::Phase &Unroller::phaseOf(BarrierOp barrier, unsigned at) {
  auto &all = barriers[barrier.getSymName()].phases;
  if (all.size() <= at)
    all.resize(at + 1);
  return all[at];
}

unsigned Unroller::phaseStep(BarrierOp barrier, unsigned at) {
  std::vector<int> &steps = x.phases[barrier.getSymName()];
  if (steps.size() <= at)
    steps.resize(at + 1, -1);
  if (steps[at] < 0) {
    unsigned step = addStep(barrier, -1);
    steps[at] = int(step);
  }
  return unsigned(steps[at]);
}

void Unroller::arrive(BarrierOp barrier, unsigned at, unsigned step, int64_t count, bool ordered) {
  phaseOf(barrier, at).arrivals += count;
  order(step, phaseStep(barrier, at));
  x.arrivals.push_back({step, barrier, at, ordered});
}

// --- memory ---------------------------------------------------------------------------------------------------------

void Unroller::access(unsigned step, Value slot, bool write, Unit unit, Rows rows, bool divided) {
  Access a;
  a.step = step;
  a.channel = channelOf(slot);
  SlotType type = a.channel.getSlotType();
  a.space = type.getSpace();
  a.slot = ring(takeOf(slot).getVisit()) % int64_t(a.channel.getDepth());
  a.write = write, a.unit = unit, a.ownRows = rows == Rows::OfWarp, a.divided = divided;
  if (groupTeams > 1 && rows != Rows::All)
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
