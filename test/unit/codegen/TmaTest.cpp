// test/unit/codegen/TmaTest.cpp - does each bulk-copy function print the instruction it documents?
#include "codegen/common/Tma.h"

#include "codegen/common/Fence.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class TmaTest : public KernelFixture {};

TEST_F(TmaTest, TensorLoadsOfEveryRank) {
  begin({KernelParam::tensorMap()}, {32});
  Value smem = dynamicSharedBase(b, loc, *module), bar = addI32(b, loc, smem, 65536);
  Value zero = constI32(b, loc, 0);
  tmaPrefetchMap(b, loc, arg(0));
  for (unsigned rank = 1; rank <= 5; ++rank)
    tmaLoad(b, loc, smem, arg(0), SmallVector<Value>(rank, zero), bar,
            rank == 3 ? l2Policy(b, loc, L2Policy::EvictLast) : Value());
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(
      ptx, {".param .align 64 .b8 kernel_param_0[128]", "prefetch.tensormap",
            "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [",
            "cp.async.bulk.tensor.2d.shared::cta", "cp.async.bulk.tensor.3d.shared::cta",
            ".L2::cache_hint", "cp.async.bulk.tensor.4d.shared::cta",
            "cp.async.bulk.tensor.5d.shared::cta"}));
  EXPECT_NE(ptx.find("1508705875169116160"), std::string::npos); // 0x14F0...
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}

TEST_F(TmaTest, MulticastNamesTheCluster) {
  begin({KernelParam::tensorMap()}, {32, 0, 0, /*clusterX=*/2});
  Value smem = dynamicSharedBase(b, loc, *module), bar = addI32(b, loc, smem, 65536);
  Value zero = constI32(b, loc, 0);
  tmaLoadMulticast(b, loc, smem, arg(0), {zero, zero}, bar, constI16(b, loc, 3));
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
                               "complete_tx::bytes.multicast::cluster"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}

TEST_F(TmaTest, StoresGroupsAndReductions) {
  begin({KernelParam::tensorMap(), {global()}}, {32});
  Value smem = dynamicSharedBase(b, loc, *module), bar = addI32(b, loc, smem, 65536);
  Value zero = constI32(b, loc, 0), bytes = constI32(b, loc, 1024);
  fenceProxyAsyncShared(b, loc);
  fenceProxyAsyncGlobal(b, loc);
  tmaStore(b, loc, arg(0), {zero, zero, zero}, smem);
  tmaReduceAdd(b, loc, arg(0), {zero, zero}, smem);
  bulkCommitGroup(b, loc);
  bulkLoad(b, loc, smem, arg(1), bytes, bar);
  bulkStore(b, loc, arg(1), smem, bytes);
  bulkReduceAddF32(b, loc, arg(1), smem, bytes);
  bulkCommitGroup(b, loc);
  bulkWaitGroupRead(b, loc, 1);
  bulkWaitGroup(b, loc, 0);
  std::string ptx = finish("sm_100a");
  EXPECT_TRUE(
      hasInOrder(ptx, {"fence.proxy.async.shared::cta", "fence.proxy.async.global",
                       "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group",
                       "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
                       "cp.async.bulk.commit_group",
                       "cp.async.bulk.shared::", "cp.async.bulk.global.shared::cta.bulk_group",
                       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
                       "cp.async.bulk.wait_group.read 1", "cp.async.bulk.wait_group 0"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}
