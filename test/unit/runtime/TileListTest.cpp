// test/unit/runtime/TileListTest.cpp - does the list hold each row of each sequence exactly once?
#include "runtime/core/TileList.h"
#include <gtest/gtest.h>

using namespace fovea;

static int64_t entry(int64_t row, int64_t rows) { return row | rows << 32; }

TEST(TileList, CutsEachSequenceFromItsOwnStart) {
  const int32_t offsets[] = {7, 7, 8, 72, 201};
  std::vector<int64_t> expected = {entry(7, 1), entry(8, 64), entry(72, 64), entry(136, 64), entry(200, 1)};
  EXPECT_EQ(tileList(offsets, 4, 64), expected);
}

TEST(TileList, IsEmptyForAnEmptyBatch) {
  const int64_t offsets[] = {0, 0};
  EXPECT_TRUE(tileList(offsets, 0, 64).empty());
  EXPECT_TRUE(tileList(offsets, 1, 64).empty());
}
