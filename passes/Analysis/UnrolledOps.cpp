// passes/Analysis/UnrolledOps.cpp - which steps each op is, and which memory they touch.
#include "passes/Analysis/Unroller.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

LogicalResult Unroller::unrollOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](LoadOp load) { return unrollLoad(load); })
      .Case([&](MmaOp mma) { return unrollMma(mma), success(); })
      .Case([&](CommitOp commit) { return unrollCommit(commit); })
      .Case([&](ArriveOp arrive) { return unrollArrive(arrive); })
      .Case([&](WaitOp wait) { return unrollWait(wait); })
      .Case([&](FenceOp fence) { return unrollFence(fence), success(); })
      .Case([&](ProductWaitOp wait) { return unrollProductWait(wait), success(); })
      .Case([&](SyncOp sync) { return unrollSync(sync), success(); })
      .Case([&](StoreOp store) { return unrollStore(store), success(); })
      .Case([&](StoreWaitOp wait) { return unrollStoreWait(wait), success(); })
      .Case<ReadOp, StorePartialOp, StoreScratchOp>([&](auto reader) {
        forWarps([&](int warp) { read(programStep(reader, warp), reader.getSlot(), Rows::OfWarp); });
        return success();
      })
      .Case([&](WriteOp writer) {
        forWarps([&](int warp) { write(programStep(writer, warp), writer.getSlot(), Rows::OfWarp); });
        return success();
      })
      .Case([&](WarpProductOp product) {
        forWarps([&](int warp) {
          unsigned step = programStep(product, warp);
          read(step, product.getA(), Rows::OfWarp);
          read(step, product.getB(), Rows::All);
        });
        return success();
      })
      .Case([&](ScaleOp scale) {
        forWarps([&](int warp) {
          unsigned step = programStep(scale, warp);
          read(step, scale.getSlot(), Rows::OfWarp);
          write(step, scale.getSlot(), Rows::OfWarp);
        });
        return success();
      })
      .Case([&](CopyOp copy) {
        forWarps([&](int warp) {
          unsigned step = programStep(copy, warp);
          read(step, copy.getFrom(), Rows::OfWarp);
          write(step, copy.getTo(), Rows::OfWarp);
          if (copy.getTable())
            read(step, copy.getTable(), Rows::OfWarp);
        });
        return success();
      })
      .Case([&](MapElementsOp map) {
        forWarps([&](int warp) {
          unsigned step = programStep(map, warp);
          for (Value slot : map.getInputs())
            read(step, slot, Rows::OfWarp);
          for (Value slot : map.getOutputs())
            write(step, slot, Rows::OfWarp);
        });
        return success();
      })
      .Case([&](RotateOp rotate) {
        forWarps([&](int warp) {
          unsigned step = programStep(rotate, warp);
          read(step, rotate.getTable(), Rows::All);
          access(step, rotate.getSlot(), true, Unit::Threads, Rows::All, /*divided=*/true);
        });
        return success();
      })
      .Case([&](ClearTailOp clear) {
        forWarps([&](int warp) {
          access(programStep(clear, warp), clear.getSlot(), true, Unit::Threads, Rows::All, /*divided=*/true);
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

// --- copies between memories ----------------------------------------------------------------------------------------

LogicalResult Unroller::unrollLoad(LoadOp load) {
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

// A full tile goes by TMA from the leader; of a short one the threads divide the valid rows.
// A batched tensor ends where the sequence does, so that all of its tiles go by TMA.
void Unroller::unrollStore(StoreOp store) {
  forWarps([&](int warp) {
    unsigned step = programStep(store, warp);
    if (!store.getBatch())
      access(step, store.getSlot(), false, Unit::Threads, Rows::OfTeam, /*divided=*/true);
    if (leads(warp)) {
      stores.push_back({asyncStep(store, step), warp});
      access(stores.back().first, store.getSlot(), false, Unit::Tma, Rows::OfTeam);
    }
  });
}

// A short tile issues no TMA store, so that `pending` > 0 later stores cannot be counted on.
void Unroller::unrollStoreWait(StoreWaitOp wait) {
  forLeaders([&](int warp) {
    unsigned step = programStep(wait, warp);
    if (wait.getPending())
      return;
    for (auto [store, leader] : stores)
      if (leader == warp)
        order(store, step);
    llvm::erase_if(stores, [&](auto &store) { return store.second == warp; });
  });
}

// --- products -------------------------------------------------------------------------------------------------------

void Unroller::unrollMma(MmaOp mma) {
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
  Rows ofA = Rows::All;
  if (!mma.getATransposed() && (synchronous || !mma.getDiagonal()))
    ofA = synchronous ? Rows::OfWarp : Rows::OfTeam;
  forWarps([&](int warp) {
    unsigned issue = programStep(mma, warp), product = synchronous ? issue : asyncStep(mma, issue);
    access(product, mma.getA(), false, unit, ofA);
    access(product, mma.getB(), false, unit);
    access(product, mma.getD(), true, unit, Rows::OfWarp);
    if (!synchronous)
      products[warp].push_back({product, {ownerOf(channelOf(mma.getD())), ownerOf(channelOf(mma.getA()))}});
  });
}

// Products end in order: those up to the last that writes or reads the slot.
void Unroller::unrollProductWait(ProductWaitOp wait) {
  ChannelOp owner = ownerOf(channelOf(wait.getSlot()));
  forWarps([&](int warp) {
    unsigned step = programStep(wait, warp);
    size_t ended = 0;
    for (size_t i = 0; i < products[warp].size(); ++i)
      if (llvm::is_contained(products[warp][i].registers, owner))
        ended = i + 1;
    for (size_t i = 0; i < ended; ++i)
      order(products[warp][i].step, step);
    products[warp].erase(products[warp].begin(), products[warp].begin() + ended);
  });
}

LogicalResult Unroller::unrollCommit(CommitOp commit) {
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

// --- waits ----------------------------------------------------------------------------------------------------------

LogicalResult Unroller::unrollArrive(ArriveOp op) {
  FailureOr<BarrierOp> barrier = lookup(op, op.getBarrier());
  if (failed(barrier))
    return failure();
  const unsigned at = ring(op.getVisit());
  auto arriveAll = [&](int warp) { arrive(*barrier, at, programStep(op, warp), 0, /*ordered=*/false); };
  if (op.getUnit() == Unit::Tma) {
    phaseOf(*barrier, at).arrivals += groupTeams;
    forLeaders(arriveAll);
    phaseOf(*barrier, at).expected += op.getBytesPerRow().value_or(0) + op.getBytes().value_or(0);
    return success();
  }
  phaseOf(*barrier, at).arrivals += groupWarps;
  forWarps(arriveAll);
  return success();
}

LogicalResult Unroller::unrollWait(WaitOp op) {
  FailureOr<BarrierOp> barrier = lookup(op, op.getBarrier());
  if (failed(barrier))
    return failure();
  int64_t awaited = int64_t(ring(op.getVisit())) - (op.getEmpty() ? int64_t(barrier->getDepth()) : 0);
  if (awaited >= 0)
    phaseOf(*barrier, unsigned(awaited)); // which must then be completed by somebody
  forThoseOf(op.getUnit(), [&](int warp) { x.waits.push_back({programStep(op, warp), *barrier, awaited}); });
  return success();
}

void Unroller::unrollSync(SyncOp sync) {
  forLeaders([&](int leader) {
    unsigned step = addStep(sync, -1);
    forWarps([&](int warp) {
      if (teamOf(warp) != teamOf(leader))
        return;
      if (last[warp] >= 0)
        order(unsigned(last[warp]), step);
      last[warp] = int(step);
    });
  });
}

void Unroller::unrollFence(FenceOp op) {
  forThoseOf(op.getUnit(), [&](int warp) { x.fences[index][warp].push_back({programStep(op, warp), op.getKind()}); });
}
