// passes/Tile/Synchronise.cpp - pass tile-synchronise: derives every barrier, phase, byte count and fence.
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
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
      if (failed(collect(channel)))
        return failure();
    // Registers first: the release of an operand is tied to the wait for its product.
    for (bool registers : {true, false})
      for (ChannelOp channel : order)
        if ((channel.getSlotType().getSpace() == Space::Registers) == registers)
          if (failed(hops(channel)))
            return failure();
    for (ChannelOp channel : order)
      if (channel.getAlias() && failed(aliasHop(channel)))
        return failure();
    for (GroupOp group : kernel.getBody().getOps<GroupOp>())
      coalesce(group.getBody().front());
    return placeBarriers();
  }

private:
  LogicalResult collect(ChannelOp channel) {
    SmallVector<Station> stations(channel.getStations().size());
    for (GroupOp group : kernel.getBody().getOps<GroupOp>())
      group.walk([&](TakeOp take) {
        if (take.getChannel() != channel.getSymName())
          return;
        Station &s = stations[take.getStation()];
        s.take = take, s.group = group;
        for (Operation *user : take.getSlot().getUsers())
          if (auto pass = dyn_cast<PassOp>(user))
            s.pass = pass;
          else if (isa<StoreOp>(user))
            s.stores = true;
        s.reads = take.getUnit() == Unit::Threads && llvm::all_of(take.getSlot().getUsers(), [&](Operation *user) {
                    if (auto rotate = dyn_cast<RotateOp>(user))
                      return rotate.getSlot() != take.getSlot();
                    if (auto copy = dyn_cast<CopyOp>(user))
                      return copy.getTo() != take.getSlot();
                    return isa<PassOp, ReadOp>(user);
                  });
      });
    for (auto [i, s] : llvm::enumerate(stations))
      if (!s.take)
        return channel.emitOpError("no role takes station ") << i;
    channelStations[channel.getSymName()] = std::move(stations);
    order.push_back(channel);
    return success();
  }

  LogicalResult hops(ChannelOp channel) {
    auto &stations = channelStations[channel.getSymName()];
    for (size_t i = 0, n = stations.size(); i < n; ++i) {
      bool wrap = i + 1 == n;
      // One item per CTA never meets an old slot.
      if (wrap && !schedule.persistent)
        continue;
      if (failed(hop(channel, i, stations[i], stations[wrap ? 0 : i + 1], wrap)))
        return failure();
    }
    return success();
  }

  LogicalResult hop(ChannelOp channel, size_t index, Station &from, Station &to, bool wrap) {
    Space space = channel.getSlotType().getSpace();
    FailureOr<HopRule> rule = hopRule(from, to, space, wrap, target);
    if (failed(rule))
      return channel.emitOpError("no rule for a hop from ")
             << stringifyUnit(from.unit()) << " to " << stringifyUnit(to.unit()) << " in " << stringifySpace(space);
    Location loc = channel.getLoc();
    if (rule->waitProduct) {
      b.setInsertionPointAfter(to.take);
      productWaits[channel.getSymName()] = ProductWaitOp::create(b, loc, to.take.getSlot());
      return success();
    }
    // The producer's side, before its pass.
    b.setInsertionPoint(from.pass);
    for (FenceKind kind : rule->before)
      FenceOp::create(b, loc, kind, from.unit());
    StringRef barrier;
    if (rule->barrier) {
      barrier = declare(channel, index, wrap, rule->byTma || rule->commit ? 1 : int64_t(from.group.getWarps()));
      if (rule->byTma) {
        for (Operation *user : llvm::make_early_inc_range(from.take.getSlot().getUsers()))
          if (auto load = dyn_cast<LoadOp>(user)) {
            b.setInsertionPoint(load);
            SlotType type = channel.getSlotType();
            int64_t rowBytes = type.getCols() * type.getElementType().getIntOrFloatBitWidth() / 8;
            ArriveOp::create(b, loc, barrier, Unit::Tma, b.getI64IntegerAttr(rowBytes), load.getRows());
            load.setBarrierAttr(FlatSymbolRefAttr::get(b.getContext(), barrier));
          }
      } else if (rule->commit) {
        CommitOp::create(b, loc, barrier);
      } else if (rule->afterProduct) {
        // wgmma reads its operands until its product is waited for, so the release stands there.
        Operation *wait = productWaitOf(from);
        if (!wait)
          return channel.emitOpError("no wait for the product that reads this slot");
        b.setInsertionPointAfter(wait);
        ArriveOp::create(b, loc, barrier, Unit::Threads, IntegerAttr(), Value());
      } else {
        ArriveOp::create(b, loc, barrier, Unit::Threads, IntegerAttr(), Value());
      }
    }
    // The consumer's side, before its take.
    b.setInsertionPoint(to.take);
    if (rule->drainStores)
      StoreWaitOp::create(b, loc, channel.getDepth() - 1);
    if (rule->barrier)
      WaitOp::create(b, loc, barrier, to.unit(), wrap);
    if (rule->sync)
      SyncOp::create(b, loc);
    for (FenceKind kind : rule->after)
      FenceOp::create(b, loc, kind, to.unit());
    return success();
  }

  // The first station of a slot that lies over another's follows that one's last station, as the next item would.
  LogicalResult aliasHop(ChannelOp channel) {
    ChannelOp other = kernel.lookupSymbol<ChannelOp>(*channel.getAlias());
    Station &reader = channelStations[other.getSymName()].back();
    Station &writer = channelStations[channel.getSymName()].front();
    if (reader.group != writer.group)
      return channel.emitOpError("aliases '") << other.getSymName() << "', which another warp group still reads";
    OpBuilder::InsertionGuard guard(b);
    Location loc = channel.getLoc();
    if (reader.unit() == Unit::Tensor && target.tcgen05)
      return success(); // a later commit that the writer waits for covers it; tile-prove-no-hazard checks that
    if (reader.unit() == Unit::Tensor) {
      // Each warp has waited for its own part of the product (wgmma); the others may still read.
      b.setInsertionPoint(writer.take);
      SyncOp::create(b, loc);
      return success();
    }
    FailureOr<HopRule> rule = hopRule(reader, writer, channel.getSlotType().getSpace(), /*wrap=*/true, target);
    if (failed(rule))
      return channel.emitOpError("no rule for a hop from '") << other.getSymName() << "'";
    b.setInsertionPoint(reader.pass);
    for (FenceKind kind : rule->before)
      FenceOp::create(b, loc, kind, reader.unit());
    b.setInsertionPoint(writer.take);
    SyncOp::create(b, loc);
    for (FenceKind kind : rule->after)
      FenceOp::create(b, loc, kind, writer.unit());
    return success();
  }

  // Hops that meet at one place ask for the same fence or barrier; once is enough when nothing happens in between.
  void coalesce(Block &block) {
    SmallVector<Operation *> run; // synchronising ops since the last access
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<TakeOp, PassOp>(op))
        continue;
      if (!isa<SyncOp, FenceOp>(op)) {
        run.clear();
        continue;
      }
      bool repeated = llvm::any_of(run, [&](Operation *other) {
        return OperationEquivalence::isEquivalentTo(other, &op, OperationEquivalence::IgnoreLocations);
      });
      if (repeated) {
        op.erase();
        continue;
      }
      // A fence counts only if a barrier follows it.
      if (isa<FenceOp>(op))
        llvm::erase_if(run, [](Operation *other) { return isa<SyncOp>(other); });
      run.push_back(&op);
    }
  }

  Operation *productWaitOf(Station &s) {
    for (Operation *user : s.take.getSlot().getUsers())
      if (auto mma = dyn_cast<MmaOp>(user))
        return productWaits.lookup(channelOf(mma.getD()).getSymName());
    return nullptr;
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
  llvm::StringMap<SmallVector<Station>> channelStations;
  llvm::StringMap<Operation *> productWaits;
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
