// test/unit/runtime/BenchTest.cpp - the figures that are made of measured times.
#include "runtime/core/Bench.h"

#include <gtest/gtest.h>

using namespace fovea;

TEST(Bench, TakesTheMiddleOfTheTimes) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1}), 2.5) << "of an even count, the mean of the two in the middle";
  EXPECT_EQ(median({100, 3, 1, 2}), 2.5);
}
