// codegen/kernel/Synchronisation.cpp - waits, arrivals and the group's own barrier.
#include "codegen/common/Mbarrier.h"
#include "codegen/common/Sync.h"
#include "codegen/kernel/Emitter.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

void Emitter::emitWait(WaitOp op) {
  int64_t depth = kernel.lookupSymbol<BarrierOp>(op.getBarrier()).getDepth();
  Value parity = ring(depth, op.getVisit()).parity;
  if (op.getEmpty())
    parity = LLVM::XOrOp::create(b, loc, parity, i32(1));
  mbarrierWait(b, loc, barrierAddress(op.getBarrier(), op.getVisit()), parity);
}

void Emitter::emitArrive(ArriveOp op) {
  Value bar = barrierAddress(op.getBarrier(), op.getVisit());
  if (op.getUnit() == Unit::Tma && !op.getBytes() && !op.getRows())
    return mbarrierArrive(b, loc, bar); // for stores that have read the slot
  if (op.getUnit() == Unit::Tma && op.getBytes()) {
    mbarrierArriveExpectTx(b, loc, bar, i32(int64_t(*op.getBytes())));
    return;
  }
  if (op.getUnit() == Unit::Tma) {
    // Whole boxes complete, whatever part of the last one is used.
    Value rows = LLVM::AndOp::create(b, loc, add(scalars[op.getRows()], i32(kTailRows - 1)), i32(-kTailRows));
    mbarrierArriveExpectTx(b, loc, bar, mul(rows, i32(int64_t(*op.getBytesPerRow()))));
    return;
  }
  // One arrival a warp: its lanes meet first, so that the arrival covers all of them.
  warpSync(b, loc);
  mbarrierArrive(b, loc, bar, cmp(LLVM::ICmpPredicate::eq, lane, i32(0)));
}

void Emitter::emitSync() {
  if (group.twin)
    return barSync(b, loc, addI32(b, loc, group.inTwin, group.index + 1), uint32_t(groupThreads()));
  if (!group.team)
    return barSync(b, loc, group.index + 1, uint32_t(groupThreads()));
  // The ids behind those of groups. Teams are of kernels with one CTA per SM, where ids in registers cost nothing.
  uint32_t groups = uint32_t(std::distance(kernel.getBody().getOps<GroupOp>().begin(), kernel.getBody().getOps<GroupOp>().end()));
  barSync(b, loc, addI32(b, loc, group.team, groups + 1), uint32_t(teamThreads()));
}
