// codegen/common/Tma.cpp - bulk copies.
#include "codegen/common/Tma.h"

#include "codegen/common/RawPtx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

Value l2Policy(OpBuilder &b, Location loc, L2Policy policy) {
  return constI64(b, loc, static_cast<uint64_t>(policy));
}

void tmaLoad(OpBuilder &b, Location loc, Value dst, Value map, ValueRange coords, Value bar,
             Value cacheHint) {
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, sharedPointer(b, loc, dst), map, coords, sharedPointer(b, loc, bar),
      /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(), cacheHint, NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/true, NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}

void tmaLoadMulticast(OpBuilder &b, Location loc, Value dst, Value map, ValueRange coords,
                      Value bar, Value mask, Value cacheHint) {
  Value cluster = LLVM::AddrSpaceCastOp::create(b, loc, pointerType(b, SharedCluster),
                                                sharedPointer(b, loc, dst));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, loc, cluster, map, coords, sharedPointer(b, loc, bar), /*im2colOffsets=*/ValueRange(),
      mask, cacheHint, NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(),
      /*predicate=*/Value());
}

void tmaStore(OpBuilder &b, Location loc, Value map, ValueRange coords, Value src,
              Value cacheHint) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(b, loc, map, sharedPointer(b, loc, src),
                                                     coords, cacheHint, NVVM::TMAStoreMode::TILE,
                                                     /*predicate=*/Value());
}

void tmaReduceAdd(OpBuilder &b, Location loc, Value map, ValueRange coords, Value src) {
  NVVM::CpAsyncBulkTensorReduceOp::create(b, loc, map, sharedPointer(b, loc, src),
                                          NVVM::TMAReduxKind::ADD, NVVM::TMAStoreMode::TILE, coords,
                                          /*l2CacheHint=*/Value());
}

void tmaPrefetchMap(OpBuilder &b, Location loc, Value map) {
  NVVM::PrefetchOp::create(b, loc, NVVM::PrefetchCacheLevelAttr(),
                           NVVM::CacheEvictionPriorityAttr(), map, /*predicate=*/Value(),
                           b.getUnitAttr());
}

void bulkLoad(OpBuilder &b, Location loc, Value dst, Value src, Value bytes, Value bar,
              Value cacheHint) {
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(b, loc, sharedPointer(b, loc, dst), src,
                                                   sharedPointer(b, loc, bar), bytes,
                                                   /*multicastMask=*/Value(), cacheHint);
}

void bulkStore(OpBuilder &b, Location loc, Value dst, Value src, Value bytes) {
  NVVM::CpAsyncBulkSharedCTAToGlobalOp::create(b, loc, dst, sharedPointer(b, loc, src), bytes,
                                               /*l2CacheHint=*/Value(), /*byteMask=*/Value());
}

void bulkReduceAddF32(OpBuilder &b, Location loc, Value dst, Value src, Value bytes) {
  emitRawPtx(b, loc, RawPtx::BulkReduceAddF32, {dst, sharedAddress(b, loc, src), bytes});
}

void bulkCommitGroup(OpBuilder &b, Location loc) { NVVM::CpAsyncBulkCommitGroupOp::create(b, loc); }

static void waitGroup(OpBuilder &b, Location loc, uint32_t pending, bool read) {
  auto op = NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, b.getI32IntegerAttr(pending),
                                                 read ? b.getUnitAttr() : UnitAttr());
  (void)op;
}

void bulkWaitGroup(OpBuilder &b, Location loc, uint32_t pending) {
  waitGroup(b, loc, pending, /*read=*/false);
}
void bulkWaitGroupRead(OpBuilder &b, Location loc, uint32_t pending) {
  waitGroup(b, loc, pending, /*read=*/true);
}

} // namespace fovea::codegen
