// test/unit/emulator/tensor/TmemCopyTest.cpp - where do tcgen05.cp and tcgen05.shift put shared memory's rows?
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

using namespace fovea::emulator;

namespace {

/// No swizzle, rows of 16 bytes in groups of 8 (SBO 128), 16-byte columns `leading` bytes apart.
uint64_t descriptor(uint32_t start, uint32_t leading) { return 1ull << 46 | 8ull << 32 | uint64_t(leading >> 4) << 16 | start >> 4; }

struct TmemCopyTest : testing::Test {
  Tmem tmem;
  std::vector<uint8_t> shared = std::vector<uint8_t>(16384);
  SharedSpan smem{shared.data(), 16384};
  TmemCopyTest() {
    tmem.allocate(128);
    for (size_t i = 0; i < shared.size(); i += 4) {
      uint32_t v = uint32_t(i);
      std::memcpy(&shared[i], &v, 4);
    }
  }
};

TEST_F(TmemCopyTest, Shape32x128bReplicatesToAllQuarters) {
  copy(tmem, smem, {CpShape::S32x128b, CpMulticast::Warpx4}, 4, descriptor(512, 16));
  for (unsigned r = 0; r != 32; ++r)
    for (unsigned q = 0; q != 4; ++q)
      for (unsigned c = 0; c != 4; ++c)
        EXPECT_EQ(tmem.row(r + 32 * q)[4 + c], 512 + 16 * r + 4 * c);
}

TEST_F(TmemCopyTest, Shapes128) {
  copy(tmem, smem, {CpShape::S128x256b, CpMulticast::None}, 0, descriptor(0, 4096));
  for (unsigned r = 0; r != 128; ++r)
    for (unsigned c = 0; c != 8; ++c)
      EXPECT_EQ(tmem.row(r)[c], 16 * r + 4 * (c % 4) + 4096 * (c / 4));
  copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None}, 8, descriptor(1024, 0));
  EXPECT_EQ(tmem.row(127)[11], 1024u + 127 * 16 + 12);
  tmem.noteRead(127, 0, 12);
  EXPECT_FALSE(tmem.takeUninitialised());
}

TEST_F(TmemCopyTest, Shapes4And64) {
  copy(tmem, smem, {CpShape::S4x256b, CpMulticast::None}, 0, descriptor(0, 4096));
  EXPECT_EQ(tmem.row(96)[5], 4096u + 3 * 16 + 4);
  copy(tmem, smem, {CpShape::S64x128b, CpMulticast::Warpx2_02_13}, 16, descriptor(0, 0));
  EXPECT_EQ(tmem.row(40)[16], 640u);
  EXPECT_EQ(tmem.row(104)[16], 640u);
  copy(tmem, smem, {CpShape::S64x128b, CpMulticast::Warpx2_01_23}, 16, descriptor(0, 0));
  EXPECT_EQ(tmem.row(5)[16], 80u);
  EXPECT_EQ(tmem.row(37)[16], 80u);
  EXPECT_EQ(tmem.row(64 + 8)[16], 640u);
  EXPECT_EQ(tmem.row(96 + 8)[16], 640u);
}

TEST_F(TmemCopyTest, PaddedElementsSpreadToBytes) {
  for (unsigned i = 0; i != 16; ++i)
    shared[i] = uint8_t(0x10 * ((2 * i + 1) % 16) + (2 * i) % 16);
  copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None, CpFormat::B4x16P64}, 0, descriptor(0, 0));
  for (unsigned e = 0; e != 16; ++e) // element e has code e: bits 5:2 of its byte
    EXPECT_EQ(tmem.row(0)[e / 4] >> 8 * (e % 4) & 255, e << 2);
  // 6-bit codes 0..15, low first: 4 codes in 3 bytes.
  std::fill(shared.begin(), shared.begin() + 16, 0);
  for (unsigned e = 0; e != 16; ++e)
    for (unsigned bit = 0; bit != 6; ++bit)
      if ((e * 3 + 1) >> bit & 1)
        shared[(6 * e + bit) / 8] |= uint8_t(1 << (6 * e + bit) % 8);
  copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None, CpFormat::B6x16P32}, 0, descriptor(0, 0));
  for (unsigned e = 0; e != 16; ++e)
    EXPECT_EQ(tmem.row(0)[e / 4] >> 8 * (e % 4) & 255, e * 3 + 1);
}

TEST_F(TmemCopyTest, BadFormsFault) {
  EXPECT_THROW(copy(tmem, smem, {CpShape::S32x128b, CpMulticast::None}, 0, descriptor(0, 0)), Fault);
  EXPECT_THROW(copy(tmem, smem, {CpShape::S64x128b, CpMulticast::Warpx4}, 0, descriptor(0, 0)), Fault);
  EXPECT_THROW(copy(tmem, smem, {CpShape::S128x128b, CpMulticast::Warpx4}, 0, descriptor(0, 0)), Fault);
  EXPECT_THROW(copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None}, tmemAddress(32, 0), descriptor(0, 0)), Fault);
  EXPECT_THROW(copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None}, 126, descriptor(0, 0)), Fault);
  EXPECT_THROW(copy(tmem, smem, {CpShape::S128x128b, CpMulticast::None}, 0, descriptor(16000, 0)), Fault);
}

TEST_F(TmemCopyTest, ShiftMovesRowsInsideThirtyTwoLanes) {
  for (unsigned l = 0; l != 128; ++l)
    std::iota(tmem.row(l), tmem.row(l) + 8, 100 * l);
  shiftDown(tmem, tmemAddress(32, 0));
  EXPECT_EQ(tmem.row(31)[0], 3100u);
  EXPECT_EQ(tmem.row(32)[3], 3303u);
  EXPECT_EQ(tmem.row(62)[7], 6307u);
  EXPECT_EQ(tmem.row(63)[7], 6307u);
  EXPECT_EQ(tmem.row(64)[0], 6400u);
  EXPECT_THROW(shiftDown(tmem, tmemAddress(16, 0)), Fault);
}

} // namespace
