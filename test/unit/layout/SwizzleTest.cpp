// test/unit/layout/SwizzleTest.cpp - is the swizzle the hardware's, bit for bit?
#include "dialect/Layout/Swizzle.h"

#include <gtest/gtest.h>
#include <set>

using namespace fovea::layout;

// Offsets read from an H200: {linear, 32B, 64B, 128B}.
TEST(Swizzle, MeasuredVectors) {
  const uint32_t vectors[][4] = {
      {16, 16, 16, 16},       {128, 144, 144, 144},    {144, 128, 128, 128}, {256, 256, 288, 288},
      {400, 384, 416, 416},   {416, 432, 400, 400},    {512, 512, 512, 576}, {640, 656, 656, 720},
      {1000, 1016, 984, 920}, {1152, 1168, 1168, 1168}};
  for (auto &v : vectors) {
    EXPECT_EQ(apply(SwizzleMode::None, v[0]), v[0]);
    EXPECT_EQ(apply(SwizzleMode::B32, v[0]), v[1]) << v[0];
    EXPECT_EQ(apply(SwizzleMode::B64, v[0]), v[2]) << v[0];
    EXPECT_EQ(apply(SwizzleMode::B128, v[0]), v[3]) << v[0];
  }
}

TEST(Swizzle, IsAPermutationOfItsPattern) {
  for (SwizzleMode mode :
       {SwizzleMode::None, SwizzleMode::B32, SwizzleMode::B64, SwizzleMode::B128}) {
    std::set<uint32_t> seen;
    for (uint32_t x = 0; x < 2048; ++x) {
      EXPECT_EQ(apply(mode, apply(mode, x)), x) << "must undo itself";
      EXPECT_EQ(apply(mode, x) / patternBytes(mode), x / patternBytes(mode))
          << "stays in the pattern";
      EXPECT_EQ(apply(mode, x) % 16, x % 16) << "moves 16-byte chunks whole";
      seen.insert(apply(mode, x));
    }
    EXPECT_EQ(seen.size(), 2048u);
  }
}

// Eight rows of one 16-byte column fall on eight different bank groups: what the swizzle is for.
TEST(Swizzle, SpreadsAColumnOverTheBanks) {
  std::set<uint32_t> chunks;
  for (uint32_t row = 0; row < 8; ++row)
    chunks.insert(apply(SwizzleMode::B128, row * 128) / 16 % 8);
  EXPECT_EQ(chunks.size(), 8u);
}

TEST(Swizzle, WidestThatDividesTheRow) {
  EXPECT_EQ(widestSwizzle(128), SwizzleMode::B128); // 64 columns of 16 bit
  EXPECT_EQ(widestSwizzle(512), SwizzleMode::B128);
  EXPECT_EQ(widestSwizzle(192), SwizzleMode::B64); // 96 columns
  EXPECT_EQ(widestSwizzle(64), SwizzleMode::B64);
  EXPECT_EQ(widestSwizzle(160), SwizzleMode::B32); // 80 columns
  EXPECT_EQ(widestSwizzle(48), SwizzleMode::None);
  EXPECT_EQ(widestSwizzle(0), SwizzleMode::None);
}

TEST(Swizzle, NamesAndDriverCodes) {
  EXPECT_STREQ(name(SwizzleMode::None), "none");
  EXPECT_STREQ(name(SwizzleMode::B128), "128B");
  EXPECT_EQ(tensorMapCode(SwizzleMode::None), 0u);
  EXPECT_EQ(tensorMapCode(SwizzleMode::B32), 1u);
  EXPECT_EQ(tensorMapCode(SwizzleMode::B64), 2u);
  EXPECT_EQ(tensorMapCode(SwizzleMode::B128), 3u);
  EXPECT_EQ(spanBytes(SwizzleMode::B64), 64u);
}
