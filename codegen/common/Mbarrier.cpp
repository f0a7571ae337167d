// codegen/common/Mbarrier.cpp - mbarrier objects.
#include "codegen/common/Mbarrier.h"

#include "codegen/common/RawPtx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

void mbarrierInit(OpBuilder &b, Location loc, Value bar, uint32_t count) {
  assert(count >= 1 && count < (1u << 20) && "arrival count out of range");
  NVVM::MBarrierInitOp::create(b, loc, sharedPointer(b, loc, bar), constI32(b, loc, count),
                               /*predicate=*/Value());
}

void mbarrierInitFence(OpBuilder &b, Location loc) { NVVM::FenceMbarrierInitOp::create(b, loc); }

void mbarrierArrive(OpBuilder &b, Location loc, Value bar, Value predicate) {
  Value address = sharedAddress(b, loc, bar);
  if (predicate)
    emitRawPtx(b, loc, RawPtx::MbarrierArriveIf, {address, predicate});
  else
    emitRawPtx(b, loc, RawPtx::MbarrierArrive, address);
}

void mbarrierArriveExpectTx(OpBuilder &b, Location loc, Value bar, Value bytes, Value predicate) {
  if (predicate) {
    emitRawPtx(b, loc, RawPtx::MbarrierArriveExpectTxIf,
               {sharedAddress(b, loc, bar), bytes, predicate});
    return;
  }
  NVVM::MBarrierArriveExpectTxOp::create(b, loc, /*res=*/Type(), sharedPointer(b, loc, bar), bytes,
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false,
                                         /*predicate=*/Value());
}

void mbarrierArriveCluster(OpBuilder &b, Location loc, Value bar, Value rank) {
  emitRawPtx(b, loc, RawPtx::MbarrierArriveCluster, {sharedAddress(b, loc, bar), rank});
}

void mbarrierWait(OpBuilder &b, Location loc, Value bar, Value parity) {
  emitRawPtx(b, loc, RawPtx::MbarrierWaitParity, {sharedAddress(b, loc, bar), parity});
}

Value mbarrierTryWait(OpBuilder &b, Location loc, Value bar, Value parity) {
  return NVVM::MBarrierTryWaitOp::create(b, loc, b.getI1Type(), sharedPointer(b, loc, bar), parity,
                                         /*ticks=*/Value());
}

} // namespace fovea::codegen
