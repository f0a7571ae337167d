// codegen/common/Sync.cpp - barriers of threads, election, register hand-over, dependent launch.
#include "codegen/common/Sync.h"

#include "codegen/common/RawPtx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

void barSync(OpBuilder &b, Location loc, uint32_t id, uint32_t threads) {
  assert(id < 16 && "barrier id out of range");
  barSync(b, loc, constI32(b, loc, id), threads);
}

void barSync(OpBuilder &b, Location loc, Value id, uint32_t threads) {
  assert(threads % 32 == 0 && "thread count out of range");
  NVVM::BarrierOp::create(b, loc, /*res=*/Type(), id, constI32(b, loc, threads), NVVM::BarrierReductionAttr(),
                          /*reductionPredicate=*/Value());
}

void barArrive(OpBuilder &b, Location loc, uint32_t id, uint32_t threads) {
  assert(id < 16 && threads % 32 == 0 && "barrier id or thread count out of range");
  emitRawPtx(b, loc, RawPtx::BarArrive, {constI32(b, loc, id), constI32(b, loc, threads)});
}

void ctaSync(OpBuilder &b, Location loc) { NVVM::BarrierOp::create(b, loc); }

void warpSync(OpBuilder &b, Location loc) {
  NVVM::SyncWarpOp::create(b, loc, constI32(b, loc, ~0u));
}

Value electOne(OpBuilder &b, Location loc) {
  return NVVM::ElectSyncOp::create(b, loc, b.getI1Type(), /*membermask=*/Value());
}

static void setRegisters(OpBuilder &b, Location loc, uint32_t count,
                         NVVM::SetMaxRegisterAction action) {
  assert(count >= 24 && count <= 256 && count % 8 == 0 && "setmaxnreg takes 24..256 in steps of 8");
  NVVM::SetMaxRegisterOp::create(b, loc, count, action);
}

void increaseRegisters(OpBuilder &b, Location loc, uint32_t count) {
  setRegisters(b, loc, count, NVVM::SetMaxRegisterAction::increase);
}
void decreaseRegisters(OpBuilder &b, Location loc, uint32_t count) {
  setRegisters(b, loc, count, NVVM::SetMaxRegisterAction::decrease);
}

void clusterSync(OpBuilder &b, Location loc) {
  NVVM::ClusterArriveOp::create(b, loc, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, loc, b.getUnitAttr());
}

void gridDependencyWait(OpBuilder &b, Location loc) {
  NVVM::GriddepcontrolOp::create(b, loc, NVVM::GridDepActionKind::wait);
}
void gridDependencyLaunch(OpBuilder &b, Location loc) {
  NVVM::GriddepcontrolOp::create(b, loc, NVVM::GridDepActionKind::launch_dependents);
}

} // namespace fovea::codegen
