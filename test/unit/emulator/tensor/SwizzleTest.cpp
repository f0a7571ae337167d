// test/unit/emulator/tensor/SwizzleTest.cpp - where does each swizzle mode move an address?
#include "runtime/emulator/machine/tensor/Swizzle.h"
#include <gtest/gtest.h>
#include <set>

using namespace fovea::emulator;

namespace {

TEST(Swizzle, AddressesMeasuredOnHopper) {
  const struct {
    uint32_t linear, b32, b64, b128;
  } vectors[] = {{16, 16, 16, 16},    {128, 144, 144, 144}, {144, 128, 128, 128}, {256, 256, 288, 288},   {400, 384, 416, 416},
                 {416, 432, 400, 400}, {512, 512, 512, 576}, {640, 656, 656, 720}, {1000, 1016, 984, 920}, {1152, 1168, 1168, 1168}};
  for (const auto &v : vectors) {
    EXPECT_EQ(swizzle(Swizzle::None, v.linear), v.linear);
    EXPECT_EQ(swizzle(Swizzle::B32, v.linear), v.b32);
    EXPECT_EQ(swizzle(Swizzle::B64, v.linear), v.b64);
    EXPECT_EQ(swizzle(Swizzle::B128, v.linear), v.b128);
  }
}

TEST(Swizzle, LargerAtomsMoveWholeAtoms) {
  EXPECT_EQ(swizzle(Swizzle::B128Atom32, 128), 160u);
  EXPECT_EQ(swizzle(Swizzle::B128Atom32, 3 * 128 + 40), 3u * 128 + 72);
  EXPECT_EQ(swizzle(Swizzle::B128Atom32, 4 * 128 + 40), 4u * 128 + 40);
  EXPECT_EQ(swizzle(Swizzle::B128Atom64, 128 + 5), 128u + 69);
  EXPECT_EQ(swizzle(Swizzle::B128Atom32Flip8, 128), 168u);
  EXPECT_EQ(swizzle(Swizzle::B128Atom32Flip8, 256 + 8), 256u + 72);
}

TEST(Swizzle, BaseOffsetShiftsThePattern) {
  // A pattern that starts 3 rows late reads as if it started at row 0.
  for (uint32_t a = 0; a != 1024; a += 16)
    EXPECT_EQ(swizzle(Swizzle::B128, a + 3 * 128, 3), swizzle(Swizzle::B128, a) + 3 * 128);
}

TEST(Swizzle, EveryModePermutesEachKibibyte) {
  for (Swizzle mode : {Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64}) {
    std::set<uint32_t> seen;
    for (uint32_t a = 4096; a != 5120; ++a)
      seen.insert(swizzle(mode, a));
    EXPECT_EQ(seen.size(), 1024u);
    EXPECT_EQ(*seen.begin(), 4096u);
    EXPECT_EQ(*seen.rbegin(), 5119u);
  }
}

} // namespace
