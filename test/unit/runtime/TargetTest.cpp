// test/unit/runtime/TargetTest.cpp - finding a target by name and by chip.
#include "runtime/abi/Target.h"

#include <gtest/gtest.h>

using namespace fovea;

TEST(Target, IsFoundByNameAndByExactCapability) {
  ASSERT_NE(findTarget("sm_100a"), nullptr);
  EXPECT_EQ(findTarget("sm_80"), nullptr);
  EXPECT_EQ(targetForCapability(9, 0), findTarget("sm_90a"));
  EXPECT_EQ(targetForCapability(10, 0), findTarget("sm_100a"));
  // Architecture-specific code does not run on a neighbour of the same family.
  EXPECT_EQ(targetForCapability(10, 3), nullptr);
  EXPECT_EQ(targetForCapability(12, 0), nullptr);
}

TEST(Target, HasOneMatrixUnitEach) {
  for (const Target &target : allTargets()) {
    EXPECT_NE(target.wgmma, target.tcgen05) << target.name;
    EXPECT_EQ(target.tmemColumns > 0, target.tcgen05) << target.name;
    EXPECT_LE(target.smemPerCta + target.smemReservedPerCta, target.smemPerSm) << target.name;
  }
}
