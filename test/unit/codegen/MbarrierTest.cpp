// test/unit/codegen/MbarrierTest.cpp - does each mbarrier function print the instruction it
// documents?
#include "codegen/common/Mbarrier.h"

#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class MbarrierTest : public KernelFixture {};

TEST_F(MbarrierTest, LifeCycle) {
  begin({{global()}}, {128});
  Value bar = dynamicSharedBase(b, loc, *module);
  mbarrierInit(b, loc, bar, 3);
  mbarrierInitFence(b, loc);
  ctaSync(b, loc);
  mbarrierArriveExpectTx(b, loc, bar, constI32(b, loc, 4096));
  mbarrierArrive(b, loc, bar);
  mbarrierArrive(b, loc, bar, electOne(b, loc));
  mbarrierArriveExpectTx(b, loc, bar, constI32(b, loc, 64), electOne(b, loc));
  mbarrierWait(b, loc, bar, constI32(b, loc, 0));
  Value more = mbarrierTryWait(b, loc, bar, constI32(b, loc, 1));
  keep(LLVM::ZExtOp::create(b, loc, i32(), more), 0);
  std::string ptx = finish("sm_100a");
  EXPECT_TRUE(hasInOrder(
      ptx,
      {"mbarrier.init.shared.b64", "fence.mbarrier_init.release.cluster", "bar.sync", "4096",
       "mbarrier.arrive.expect_tx", "mbarrier.arrive.shared::cta.b64 _, [%r", "@%p",
       "mbarrier.arrive.shared::cta.b64 _", "@%p", "mbarrier.arrive.expect_tx.shared::cta.b64 _",
       "WAIT:", "mbarrier.try_wait.parity.shared::cta.b64 p, [%r", "@p bra DONE;", "bra WAIT;",
       "DONE:", "mbarrier.try_wait.parity.shared.b64"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

// A wait is an acquire: a load of what it guards must not move above it, nor be merged with one
// before it.
TEST_F(MbarrierTest, WaitKeepsLoadsBelow) {
  begin({{global()}}, {32});
  Value bar = dynamicSharedBase(b, loc, *module);
  Value data = addI32(b, loc, bar, 64);
  keep(loadShared(b, loc, i32(), data), 0);
  mbarrierWait(b, loc, bar, constI32(b, loc, 0));
  keep(loadShared(b, loc, i32(), data), 0);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"ld.shared", "mbarrier.try_wait", "DONE:", "ld.shared"}));
}

TEST_F(MbarrierTest, ClusterArrivalHasNoReleaseCluster) {
  begin({{i32()}}, {32, 0, 0, /*clusterX=*/2});
  Value bar = dynamicSharedBase(b, loc, *module);
  clusterSync(b, loc);
  mbarrierArriveCluster(b, loc, bar, arg(0));
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(
      hasInOrder(ptx, {".reqnctapercluster 2", "barrier.cluster.arrive", "barrier.cluster.wait",
                       "mapa.shared::cluster.u32", "mbarrier.arrive.shared::cluster.b64 _"}));
  EXPECT_EQ(ptx.find("mbarrier.arrive.release.cluster"), std::string::npos);
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}
