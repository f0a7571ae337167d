// passes/Tile/Synchronise.cpp - pass tile-synchronise: derives every barrier, phase, byte count and fence.
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Tile/Coalesce.h"
#include "passes/Tile/CoveredHops.h"
#include "passes/Tile/Hops.h"
#include "passes/Tile/Passes.h"
#include "runtime/abi/Target.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
class Synchroniser {
public:
  Synchroniser(KernelOp kernel, const Target &target, const Schedule &schedule)
      : kernel(kernel), target(target), schedule(schedule), b(kernel.getContext()) {}

  LogicalResult run() {
    for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
      if (FailureOr<Stations> stations = stationsOf(kernel, channel); succeeded(stations))
        channelStations[channel.getSymName()] = std::move(*stations), order.push_back(channel);
      else
        return failure();
    if (failed(findCovered()))
      return failure();
    // Registers first: the release of an operand is tied to the wait for its product.
    for (bool registers : {true, false})
      for (ChannelOp channel : order)
        if ((channel.getSlotType().getSpace() == Space::Registers) == registers)
          if (failed(hops(channel)))
            return failure();
    for (ChannelOp channel : order)
      if (hostOf(channel) && !schedule.persistent && failed(aliasHop(channel)))
        return failure();
    for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
      coalesce(group.getBody().front(), fenced);
      group.walk([&](LoopOp loop) { coalesce(loop.getBody().front(), fenced); });
    }
    return placeBarriers();
  }

private:
  LogicalResult hops(ChannelOp channel) {
    Stations &stations = channelStations[channel.getSymName()];
    for (size_t i = 0, n = stations.size(); i < n; ++i) {
      bool wrap = i + 1 == n;
      // One item per CTA never meets an old slot, unless the item's own key blocks do.
      if (wrap && !schedule.persistent && !stations[0].visits.front().take.getVisit())
        continue;
      // Slots that others lie over come back through them.
      if (wrap && schedule.persistent && isHost(channel))
        continue;
      ChannelOp host = wrap && schedule.persistent ? hostOf(channel) : ChannelOp();
      Station &first = host ? channelStations[host.getSymName()].front() : stations[0];
      // Through a view that no unit works on nothing is kept from anybody.
      if (wrap && channel.getView() && stations[0].unit() == Unit::Threads && stations[i].unit() == Unit::Threads)
        continue;
      if (failed(hop(channel, i, stations[i], wrap ? first : stations[i + 1], wrap)))
        return failure();
    }
    return success();
  }

  // Hops of loops over key blocks that others cover (passes/Tile/CoveredHops.h): they keep their fences and need no
  // barrier. wgmma's products have no commits that would cover them.
  LogicalResult findCovered() {
    if (!hasKeyBlocks(kernel) || !target.tcgen05 || !schedule.persistent)
      return success();
    FailureOr<CoveredHops> found = coveredHops(kernel);
    if (failed(found))
      return failure();
    covered = *found;
    return success();
  }

  LogicalResult hop(ChannelOp channel, size_t index, Station &from, Station &to, bool wrap) {
    Space space = channel.getSlotType().getSpace();
    FailureOr<HopRule> rule = hopRule(from, to, space, wrap, target);
    if (failed(rule))
      return channel.emitOpError("no rule for a hop from ")
             << stringifyUnit(from.unit()) << " to " << stringifyUnit(to.unit()) << " in " << stringifySpace(space);
    // What only threads touch needs no fence between proxies.
    if (llvm::none_of(channelStations[channel.getSymName()], [](Station &s) { return s.unit() != Unit::Threads; }))
      llvm::erase(rule->before, FenceKind::AsyncProxy);
    if (covered.count({channel.getSymName().str(), unsigned(index)}))
      rule->barrier = false;
    StringRef barrier;
    if (rule->barrier)
      barrier = declare(channel, index, wrap,
                        rule->byTma || rule->commit ? 1
                        : rule->drainStores         ? int64_t(from.group.getTeams()) // each stores its own rows
                                                    : int64_t(from.group.getWarps()));
    if (rule->barrier)
      for (FenceKind kind : rule->before)
        fenced[kind].insert(barrier);
    // A commit tells of products alone: what threads wrote into the slot before them is handed on by an arrival.
    const bool handOn = rule->commit && !wrap && from.group != to.group && writtenByThreads(channel, index);
    if (handOn)
      lookup(barrier).setCount(1 + from.group.getWarps());
    for (Visit &visit : from.visits)
      if (failed(produce(channel, *rule, barrier, from, visit)))
        return failure();
      else if (handOn)
        ArriveOp::create(b, channel.getLoc(), barrier, Unit::Threads, IntegerAttr(), Value(), IntegerAttr(), visit.take.getVisitAttr());
    for (Visit &visit : to.visits)
      consume(channel, *rule, barrier, to, visit, wrap);
    return success();
  }

  bool writtenByThreads(ChannelOp channel, size_t before) {
    auto &stations = channelStations[channel.getSymName()];
    return llvm::any_of(llvm::seq<size_t>(0, before),
                        [&](size_t i) { return stations[i].unit() == Unit::Threads && !stations[i].reads; });
  }
  BarrierOp lookup(StringRef barrier) { return kernel.lookupSymbol<BarrierOp>(barrier); }

  // The producer's side of a hop, before its pass.
  LogicalResult produce(ChannelOp channel, const HopRule &rule, StringRef barrier, Station &from, Visit &visit) {
    Location loc = channel.getLoc();
    IntegerAttr at = visit.take.getVisitAttr();
    b.setInsertionPoint(visit.pass);
    if (worksOn(visit.take)) // who only hands a slot on owes no fence: those at the two ends do
      for (FenceKind kind : rule.before)
        FenceOp::create(b, loc, kind, from.unit());
    if (!rule.barrier)
      return success();
    if (rule.byTma) {
      for (Operation *user : llvm::make_early_inc_range(visit.take.getSlot().getUsers()))
        if (auto load = dyn_cast<LoadOp>(user)) {
          b.setInsertionPoint(load);
          SlotType type = channel.getSlotType();
          int64_t rowBytes = type.getCols() * type.getElementType().getIntOrFloatBitWidth() / 8;
          ArriveOp::create(b, loc, barrier, Unit::Tma, load.getWhole() ? IntegerAttr() : b.getI64IntegerAttr(rowBytes),
                           load.getWhole() ? Value() : load.getRows(),
                           load.getWhole() ? b.getI64IntegerAttr(type.getBytes()) : IntegerAttr(), at);
          load.setBarrierAttr(FlatSymbolRefAttr::get(b.getContext(), barrier));
        }
    } else if (rule.drainStores) {
      // Threads read the slot where a tile is too short for TMA.
      for (Operation *user : visit.take.getSlot().getUsers())
        if (auto store = dyn_cast<StoreOp>(user); store && !store.getBatch())
          SyncOp::create(b, loc);
      StoreWaitOp::create(b, loc, 0);
      ArriveOp::create(b, loc, barrier, Unit::Tma, IntegerAttr(), Value(), IntegerAttr(), at);
    } else if (rule.commit) {
      CommitOp::create(b, loc, barrier, at);
    } else {
      // wgmma reads its operands until its product is waited for, so the release stands there.
      if (rule.afterProduct) {
        Operation *wait = endOfProducts(visit);
        if (!wait)
          return channel.emitOpError("no wait for the product that reads this slot");
        b.setInsertionPointAfter(wait);
      }
      ArriveOp::create(b, loc, barrier, Unit::Threads, IntegerAttr(), Value(), IntegerAttr(), at);
    }
    return success();
  }

  // The consumer's side, before its take.
  void consume(ChannelOp channel, const HopRule &rule, StringRef barrier, Station &to, Visit &visit, bool wrap) {
    Location loc = channel.getLoc();
    if (rule.waitProduct) {
      // Who touches the slot on a cold path only lets the product run until the path begins, or the slot is handed on. A
      // loop over masked blocks waits twice, too: it has the events of the plain one.
      RareOp cold = coldPath(visit);
      if (cold)
        b.setInsertionPointToStart(&cold.getBody().front());
      else
        b.setInsertionPointAfter(visit.take);
      ProductWaitOp::create(b, loc, visit.take.getSlot());
      if (isa<LoopOp>(visit.take->getParentOp()) && llvm::any_of(to.visits, [](Visit &other) { return coldPath(other); })) {
        b.setInsertionPoint(visit.pass);
        ProductWaitOp::create(b, loc, visit.take.getSlot());
      }
      return;
    }
    b.setInsertionPoint(visit.take);
    if (rule.drainStores && !rule.barrier)
      StoreWaitOp::create(b, loc, channel.getDepth() - 1);
    if (rule.barrier) // threads store the rows of a tile that is too short for TMA
      WaitOp::create(b, loc, barrier, to.stores ? Unit::Threads : to.unit(), wrap, visit.take.getVisitAttr());
    if (rule.sync)
      SyncOp::create(b, loc);
    if (worksOn(visit.take))
      for (FenceKind kind : rule.after)
        FenceOp::create(b, loc, kind, to.unit());
  }

  // The first station of a slot that lies over another's follows that one's last station, as the next item would.
  LogicalResult aliasHop(ChannelOp channel) {
    ChannelOp other = kernel.lookupSymbol<ChannelOp>(*channel.getAlias());
    Station &reader = channelStations[other.getSymName()].back();
    Station &writer = channelStations[channel.getSymName()].front();
    if (reader.visits.size() != 1 || writer.visits.size() != 1)
      return channel.emitOpError("aliases '") << other.getSymName() << "', but one of them lives a key block, not an item";
    if (reader.group != writer.group)
      return channel.emitOpError("aliases '") << other.getSymName() << "', which another warp group still reads";
    OpBuilder::InsertionGuard guard(b);
    Location loc = channel.getLoc();
    if (reader.unit() == Unit::Tensor)
      return aliasBehindProduct(channel, other, reader.visits.front(), writer);
    FailureOr<HopRule> rule = hopRule(reader, writer, channel.getSlotType().getSpace(), /*wrap=*/true, target);
    if (failed(rule))
      return channel.emitOpError("no rule for a hop from '") << other.getSymName() << "'";
    b.setInsertionPoint(reader.visits.front().pass);
    for (FenceKind kind : rule->before)
      FenceOp::create(b, loc, kind, reader.unit());
    b.setInsertionPoint(writer.visits.front().take);
    SyncOp::create(b, loc);
    for (FenceKind kind : rule->after)
      FenceOp::create(b, loc, kind, writer.unit());
    return success();
  }

  // The writer comes when the product that read the slot is over: as its result is waited for in between, or because it
  // is waited for here.
  LogicalResult aliasBehindProduct(ChannelOp channel, ChannelOp other, Visit &reader, Station &writer) {
    Location loc = channel.getLoc();
    TakeOp writing = writer.visits.front().take;
    MmaOp mma;
    for (Operation *user : reader.take.getSlot().getUsers())
      if (auto candidate = dyn_cast<MmaOp>(user))
        mma = candidate;
    ChannelOp result = ownerOf(channelOf(mma.getD()));
    bool over = false;
    for (Operation *op = mma->getNextNode(); op && op != writing; op = op->getNextNode()) {
      if (auto wait = dyn_cast<ProductWaitOp>(op))
        over |= ownerOf(channelOf(wait.getSlot())) == result;
      if (auto take = dyn_cast<TakeOp>(op)) // behind the wait for the products that made it; these end in order
        over |= target.tcgen05 && take.getUnit() == Unit::Threads && take.getStation() > 0 &&
                writer.unit() == Unit::Threads && madeBehind(take, mma);
    }
    if (target.tcgen05 && !over) {
      StringRef barrier = declare(other, 0, /*wrap=*/true, 1);
      b.setInsertionPoint(reader.pass);
      CommitOp::create(b, loc, barrier, IntegerAttr());
      b.setInsertionPoint(writing);
      WaitOp::create(b, loc, barrier, writer.unit(), /*empty=*/false, IntegerAttr());
    }
    if (target.tcgen05)
      return success();
    if (!over) {
      for (Operation *user : mma.getD().getUsers())
        if (isa<PassOp>(user))
          b.setInsertionPoint(user);
      ProductWaitOp::create(b, loc, mma.getD());
    }
    // Each warp has waited for its own part of the product; the others' may still read.
    b.setInsertionPoint(writing);
    SyncOp::create(b, loc);
    return success();
  }

  // Whether the slot that is taken was made by a product that is not before `mma`.
  bool madeBehind(TakeOp take, MmaOp mma) {
    for (Operation *op = mma; op && op != take; op = op->getNextNode())
      if (auto other = dyn_cast<MmaOp>(op); other && channelOf(other.getD()) == channelOf(take))
        return true;
    return false;
  }

  StringRef declare(ChannelOp channel, size_t index, bool wrap, int64_t count) {
    std::string name = channel.getSymName().str() + (wrap ? "_empty" : "_full");
    if (!wrap && index)
      name += std::to_string(index);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(*kernel.getBody().getOps<GroupOp>().begin());
    auto op = BarrierOp::create(b, channel.getLoc(), name, count, channel.getDepth(), IntegerAttr());
    return op.getSymName();
  }

  LogicalResult placeBarriers() {
    int64_t smem = kernel->getAttrOfType<IntegerAttr>("smem_bytes").getInt();
    for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>()) {
      barrier.setOffset(smem);
      smem += 8 * barrier.getDepth();
    }
    // The ring through which whoever finds the items tells the groups (codegen/kernel/ItemRing.cpp).
    if (schedule.persistent && schedule.keyRows) {
      smem = (smem + 15) / 16 * 16;
      kernel->setAttr("item_ring", b.getI64IntegerAttr(smem));
      smem += kItemRingBytes;
    }
    // The word that tcgen05.alloc writes stands last.
    kernel->setAttr("tmem_slot", b.getI64IntegerAttr(smem));
    smem += 16 - smem % 16;
    if (smem > target.smemPerCta)
      return kernel.emitOpError("needs ") << smem << " bytes of shared memory, " << target.name << " gives a CTA "
                                          << target.smemPerCta << ": ask for fewer stages or smaller tiles";
    if ((smem + target.smemReservedPerCta) * schedule.ctasPerSm > target.smemPerSm)
      return kernel.emitOpError("schedule asks for ")
             << schedule.ctasPerSm << " CTAs per SM of " << smem << " bytes of shared memory each, " << target.name
             << " has " << target.smemPerSm << " per SM: ask for fewer CTAs or stages";
    kernel->setAttr("smem_bytes", b.getI64IntegerAttr(smem));
    return success();
  }

  KernelOp kernel;
  const Target &target;
  const Schedule &schedule;
  OpBuilder b;
  SmallVector<ChannelOp> order;
  llvm::StringMap<Stations> channelStations;
  CoveredHops covered;
  FencedBarriers fenced;
};

struct Synchronise : PassWrapper<Synchronise, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Synchronise)
  StringRef getArgument() const final { return "tile-synchronise"; }
  StringRef getDescription() const final { return "derive barriers, phases, expected bytes and fences from the hops"; }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      const Target *target = findTarget(kernel.getTarget());
      llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
      if (!target || !schedule) {
        if (!schedule)
          llvm::consumeError(schedule.takeError());
        kernel.emitOpError("unknown target or malformed schedule");
        return signalPassFailure();
      }
      if (failed(Synchroniser(kernel, *target, *schedule).run()))
        return signalPassFailure();
    }
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createSynchronisePass() { return std::make_unique<Synchronise>(); }
