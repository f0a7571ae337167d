// test/unit/emulator/tensor/TmemTest.cpp - which allocations and accesses of tensor memory are legal, and what is in it?
#include "runtime/emulator/machine/tensor/Tmem.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace fovea::emulator;

namespace {

TEST(Tmem, AllocatesPowersOfTwoFirstFit) {
  Tmem tmem;
  EXPECT_EQ(tmem.allocate(256), 0u);
  EXPECT_EQ(tmem.allocate(128), 256u);
  EXPECT_EQ(tmem.allocate(64), 384u);
  tmem.deallocate(256, 128);
  EXPECT_EQ(tmem.allocate(32), 256u);
  EXPECT_EQ(tmem.live().size(), 3u);
}

TEST(Tmem, AFullMemoryMakesTheWarpWait) {
  Tmem tmem;
  ASSERT_TRUE(tmem.allocate(512));
  EXPECT_FALSE(tmem.allocate(32));
  tmem.deallocate(0, 512);
  EXPECT_TRUE(tmem.allocate(32));
}

TEST(Tmem, BrokenAllocationRulesFault) {
  Tmem tmem;
  for (uint32_t n : {0u, 16u, 48u, 96u, 1024u})
    EXPECT_THROW(tmem.allocate(n), Fault) << n;
  tmem.allocate(64);
  EXPECT_THROW(tmem.allocate(128), Fault); // must not grow
  EXPECT_THROW(tmem.deallocate(0, 32), Fault);
  EXPECT_THROW(tmem.deallocate(64, 64), Fault);
  tmem.deallocate(0, 64);
  EXPECT_THROW(tmem.deallocate(0, 64), Fault); // twice
  tmem.relinquish();
  EXPECT_THROW(tmem.allocate(32), Fault);
}

TEST(Tmem, ColumnsOutsideAllocationsFault) {
  Tmem tmem;
  EXPECT_THROW(tmem.checkRange(0, 0, 1, "test"), Fault);
  tmem.allocate(64);
  tmem.allocate(32);
  EXPECT_NO_THROW(tmem.checkRange(127, 0, 96, "test"));
  EXPECT_THROW(tmem.checkRange(0, 90, 8, "test"), Fault);
  EXPECT_THROW(tmem.checkRange(128, 0, 1, "test"), Fault);
  EXPECT_THROW(tmem.checkRange(0, 510, 4, "test"), Fault);
  EXPECT_THROW(tmem.checkRange(0, 0xFFFFFFFF, 4, "test"), Fault);
}

TEST(Tmem, StartsPoisonedAndRemembersWhatWasWritten) {
  Tmem tmem;
  tmem.allocate(128);
  float f;
  std::memcpy(&f, &tmem.row(5)[7], 4);
  EXPECT_TRUE(std::isnan(f));
  tmem.markWritten(3, 60, 10);
  tmem.noteRead(3, 60, 10);
  EXPECT_FALSE(tmem.takeUninitialised());
  tmem.noteRead(3, 55, 10);
  EXPECT_EQ(tmem.takeUninitialised(), tmemAddress(3, 55));
  tmem.noteRead(3, 64, 20);
  EXPECT_EQ(tmem.takeUninitialised(), tmemAddress(3, 70));
  EXPECT_FALSE(tmem.takeUninitialised());
  tmem.deallocate(0, 128);
  tmem.allocate(128); // contents are gone
  tmem.noteRead(3, 60, 1);
  EXPECT_EQ(tmem.takeUninitialised(), tmemAddress(3, 60));
}

} // namespace
