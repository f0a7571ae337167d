// test/unit/layout/TmemLayoutTest.cpp - addresses, data paths and register placement of tensor
// memory.
#include "dialect/Layout/TmemLayout.h"

#include "dialect/Layout/Fragment.h"

#include <gtest/gtest.h>
#include <set>

using namespace fovea::layout;

TEST(TmemLayout, Addresses) {
  EXPECT_EQ(tmemAddress(0, 0), 0u);
  EXPECT_EQ(tmemAddress(32, 128), 0x00200080u);
  EXPECT_EQ(tmemLane(0x00200080), 32u);
  EXPECT_EQ(tmemColumn(0x00200080), 128u);
}

TEST(TmemLayout, AllocationSizes) {
  EXPECT_EQ(tmemAllocation(1), 32u);
  EXPECT_EQ(tmemAllocation(33), 64u);
  EXPECT_EQ(tmemAllocation(256), 256u);
  EXPECT_EQ(tmemAllocation(257), 512u);
  EXPECT_EQ(tmemAllocation(513), 0u);
}

TEST(TmemLayout, DataPathsOfTheAccumulator) {
  EXPECT_EQ(dataPathOf(128), DataPath::D);
  EXPECT_EQ(dataPathOf(64), DataPath::F);
  for (uint32_t row = 0; row < 128; ++row)
    EXPECT_EQ(accumulatorCell(DataPath::D, row, 5), (TmemCell{row, 5}));
  // F uses the lower 16 lanes of each quarter.
  const uint32_t expected[][2] = {{0, 0}, {15, 15}, {16, 32}, {31, 47}, {32, 64}, {63, 111}};
  for (auto &e : expected)
    EXPECT_EQ(accumulatorCell(DataPath::F, e[0], 7), (TmemCell{e[1], 7}));
  for (uint32_t row = 0; row < 64; ++row)
    EXPECT_LT(accumulatorCell(DataPath::F, row, 0).lane % 32, 16u);
}

TEST(TmemLayout, OperandA) {
  EXPECT_EQ(operandACell(DataPath::D, 100, 0), (TmemCell{100, 0}));
  EXPECT_EQ(operandACell(DataPath::D, 100, 33), (TmemCell{100, 16}));
  EXPECT_EQ(operandABit(33), 16u);
  EXPECT_EQ(operandACell(DataPath::F, 17, 16), (TmemCell{33, operandAColumnsPerStep}));
}

TEST(TmemLayout, RegistersAndColumns) {
  EXPECT_EQ(registersOf(TmemShape::S32x32b, 64), 64u);
  EXPECT_EQ(registersOf(TmemShape::S16x64b, 64), 64u);
  EXPECT_EQ(registersOf(TmemShape::S16x128b, 8), 16u);
  EXPECT_EQ(registersOf(TmemShape::S16x256b, 8), 32u);
  EXPECT_EQ(columnsOf(TmemShape::S32x32b, 64), 64u);
  EXPECT_EQ(columnsOf(TmemShape::S16x64b, 4), 8u);
  EXPECT_EQ(columnsOf(TmemShape::S16x128b, 4), 16u);
  EXPECT_EQ(columnsOf(TmemShape::S16x256b, 8), 64u);
}

// Each shape covers its lanes and columns exactly once.
TEST(TmemLayout, ShapesAreBijections) {
  for (TmemShape shape :
       {TmemShape::S32x32b, TmemShape::S16x64b, TmemShape::S16x128b, TmemShape::S16x256b}) {
    uint32_t num = 4, lanes = shape == TmemShape::S32x32b ? 32 : 16;
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (uint32_t t = 0; t < 32; ++t)
      for (uint32_t r = 0; r < registersOf(shape, num); ++r) {
        TmemCell cell = loadCell(shape, t, r);
        EXPECT_LT(cell.lane, lanes);
        EXPECT_LT(cell.column, columnsOf(shape, num));
        seen.insert({cell.lane, cell.column});
      }
    EXPECT_EQ(seen.size(), size_t(lanes) * columnsOf(shape, num));
  }
}

// 16x256b is the accumulator fragment of mma and wgmma.
TEST(TmemLayout, Shape16x256bIsTheMmaFragment) {
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t r = 0; r < 32; ++r) {
      TmemCell cell = loadCell(TmemShape::S16x256b, t, r);
      EXPECT_EQ(mmaAccumulatorElement(t, r), (Element{cell.lane, cell.column}));
    }
}
