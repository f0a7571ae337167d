// test/unit/codegen/SyncTest.cpp - do the thread barriers keep constant ids, and the rest print as
// documented?
#include "codegen/common/Sync.h"

#include "codegen/common/Sreg.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class SyncTest : public KernelFixture {};

// An id in a register makes ptxas reserve all 16 barriers ("used 16 barriers") and costs residency.
TEST_F(SyncTest, NamedBarriersUseImmediates) {
  begin({}, {256, 1});
  Value low =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, warpId(b, loc), constI32(b, loc, 4));
  when(low, [&] { barArrive(b, loc, 2, 256); });
  Value high = LLVM::XOrOp::create(b, loc, low, constI1(b, loc, true));
  when(high, [&] {
    barSync(b, loc, 2, 256);
    barSync(b, loc, 1, 128);
  });
  ctaSync(b, loc);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"bar.arrive 2, 256;"}));
  EXPECT_NE(ptx.find("2, 256;"), std::string::npos);
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_TRUE(log.has("used 3 barriers")) << log.log;
}

TEST_F(SyncTest, RegistersAndDependentLaunch) {
  begin({}, {256, 1, 168});
  gridDependencyWait(b, loc);
  Value low =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, warpId(b, loc), constI32(b, loc, 4));
  when(low, [&] { decreaseRegisters(b, loc, 40); });
  Value high = LLVM::XOrOp::create(b, loc, low, constI1(b, loc, true));
  when(high, [&] { increaseRegisters(b, loc, 232); });
  warpSync(b, loc);
  gridDependencyLaunch(b, loc);
  std::string ptx = finish("sm_100a");
  EXPECT_TRUE(
      hasInOrder(ptx, {".reqntid 256", ".minnctapersm 1", ".maxnreg 168", "griddepcontrol.wait",
                       "setmaxnreg.dec.sync.aligned.u32 40", "setmaxnreg.inc.sync.aligned.u32 232",
                       "bar.warp.sync", "griddepcontrol.launch_dependents"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
  EXPECT_FALSE(log.has("setmaxnreg")) << log.log; // ptxas warns when it ignores it
}
