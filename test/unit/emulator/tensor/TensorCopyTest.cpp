// test/unit/emulator/tensor/TensorCopyTest.cpp - which bytes does a tensor copy move, fill, skip, and refuse?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include <gtest/gtest.h>
#include <vector>

using namespace fovea::emulator;

namespace {

constexpr uint64_t base = 0x700000000000;

struct Memory : GlobalPort {
  std::vector<uint8_t> bytes;
  explicit Memory(size_t n) : bytes(n) {}
  size_t at(uint64_t address, size_t n) {
    if (address < base || address + n > base + bytes.size())
      throw Fault("outside the allocation");
    return size_t(address - base);
  }
  void read(uint64_t address, void *to, size_t n) override { std::memcpy(to, &bytes[at(address, n)], n); }
  void write(uint64_t address, const void *from, size_t n) override { std::memcpy(&bytes[at(address, n)], from, n); }
};

TensorMap map2d(MapType type, uint64_t d0, uint64_t d1, uint64_t stride, uint32_t b0, uint32_t b1, Swizzle s = Swizzle::None) {
  TensorMap m;
  m.type = type;
  m.rank = 2;
  m.address = base;
  m.dims = {{d0, d1}};
  m.strides = {{stride}};
  m.box = {{b0, b1}};
  m.swizzle = s;
  return m;
}
BoxPosition at(int32_t c0, int32_t c1 = 0, int32_t c2 = 0, int32_t c3 = 0, int32_t c4 = 0) {
  BoxPosition p;
  int32_t c[] = {c0, c1, c2, c3, c4};
  std::copy(c, c + 5, p.coords);
  return p;
}

struct TensorCopy : testing::Test {
  Memory memory{1 << 16};
  std::vector<uint8_t> shared = std::vector<uint8_t>(1 << 16, 0xEE);
  SharedSpan smem{shared.data(), uint32_t(shared.size())};
  TensorCopy() {
    for (size_t i = 0; i < memory.bytes.size(); i += 2) {
      uint16_t v = uint16_t(i / 2);
      std::memcpy(&memory.bytes[i], &v, 2);
    }
  }
  uint16_t half(uint32_t offset) {
    uint16_t v;
    std::memcpy(&v, &shared[offset], 2);
    return v;
  }
};

TEST_F(TensorCopy, LoadPacksRowsInnermostFirst) {
  loadBox(map2d(MapType::U16, 100, 50, 256, 16, 4), at(8, 3), memory, smem, 1024);
  for (int r = 0; r != 4; ++r)
    for (int c = 0; c != 16; ++c)
      EXPECT_EQ(half(1024 + r * 32 + c * 2), (3 + r) * 128 + 8 + c);
  EXPECT_EQ(shared[1023], 0xEE);
  EXPECT_EQ(shared[1024 + 128], 0xEE);
}

TEST_F(TensorCopy, SwizzleFollowsTheAbsoluteAddress) {
  for (Swizzle s : {Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64}) {
    uint32_t span = spanOf(s), elements = span / 2, start = 1024 + 3 * 128; // not a multiple of the pattern
    loadBox(map2d(MapType::U16, 256, 64, 512, elements, 16, s), at(0), memory, smem, start);
    for (uint32_t r = 0; r != 16; ++r)
      for (uint32_t c = 0; c != elements; ++c)
        ASSERT_EQ(half(swizzle(s, start + r * span + c * 2)), r * 256 + c) << int(s);
  }
}

TEST_F(TensorCopy, NarrowSwizzledRowsKeepThePitchAndLeaveGaps) {
  loadBox(map2d(MapType::U16, 256, 64, 512, 8, 4, Swizzle::B128), at(0), memory, smem, 2048);
  for (uint32_t r = 0; r != 4; ++r) {
    EXPECT_EQ(half(swizzle(Swizzle::B128, 2048 + r * 128 + 14)), r * 256 + 7);
    EXPECT_EQ(shared[swizzle(Swizzle::B128, 2048 + r * 128 + 16)], 0xEE);
  }
  EXPECT_EQ(boxBytes(map2d(MapType::U16, 256, 64, 512, 8, 4, Swizzle::B128), at(0)), 64u);
}

TEST_F(TensorCopy, OutOfBoundsLoadsFillAndStillCountTheFullBox) {
  TensorMap m = map2d(MapType::BF16, 20, 10, 64, 16, 8);
  loadBox(m, at(-8, -2), memory, smem, 0);
  for (int r = 0; r != 8; ++r)
    for (int c = 0; c != 16; ++c) {
      bool inside = c >= 8 && r >= 2;
      EXPECT_EQ(half(r * 32 + c * 2), inside ? (r - 2) * 32 + (c - 8) : 0);
    }
  m.nanFill = true;
  loadBox(m, at(16, 8), memory, smem, 0);
  EXPECT_EQ(half(0), 8 * 32 + 16);
  EXPECT_EQ(half(6), 8 * 32 + 19);
  EXPECT_EQ(half(8), 0x7FF7);
  EXPECT_EQ(half(2 * 32), 0x7FF7);
  EXPECT_EQ(boxBytes(m, at(16, 8)), 256u);
  loadBox(m, at(1000, 1000), memory, smem, 0); // fully outside is legal
  EXPECT_EQ(half(0), 0x7FF7);
}

TEST_F(TensorCopy, FiveDimensionsAndElementStrides) {
  TensorMap m;
  m.type = MapType::U16;
  m.rank = 5;
  m.address = base;
  m.dims = {{8, 4, 4, 4, 4}};
  m.strides = {{16, 64, 256, 1024}};
  m.box = {{8, 2, 4, 2, 3}};
  m.elementStrides = {{1, 1, 2, 1, 2}};
  EXPECT_EQ(boxBytes(m, at(0)), 8u * 2 * 2 * 2 * 2 * 2);
  loadBox(m, at(0, 1, 0, 2, 1), memory, smem, 0);
  uint32_t row = 0;
  for (int e = 0; e != 2; ++e)
    for (int d = 0; d != 2; ++d)
      for (int c = 0; c != 2; ++c)
        for (int b = 0; b != 2; ++b, ++row)
          EXPECT_EQ(half(row * 16 + 6), ((1 + 2 * e) * 1024 + (2 + d) * 256 + 2 * c * 64 + (1 + b) * 16) / 2 + 3);
}

TEST_F(TensorCopy, OneDimension) {
  TensorMap m;
  m.type = MapType::U8;
  m.address = base;
  m.dims = {{100}};
  m.box = {{64}};
  loadBox(m, at(48), memory, smem, 128);
  EXPECT_EQ(shared[128 + 2], memory.bytes[50]);
  EXPECT_EQ(shared[128 + 51], memory.bytes[99]);
  EXPECT_EQ(shared[128 + 52], 0);
}

TEST_F(TensorCopy, GatherTakesFourRows) {
  BoxPosition p = at(16);
  p.fourRows = true;
  int32_t rows[] = {9, 2, -1, 4};
  std::copy(rows, rows + 4, p.rows);
  TensorMap m = map2d(MapType::U16, 64, 20, 128, 64, 1, Swizzle::B128);
  loadBox(m, p, memory, smem, 1024);
  EXPECT_EQ(boxBytes(m, p), 512u);
  for (uint32_t r = 0; r != 4; ++r)
    EXPECT_EQ(half(swizzle(Swizzle::B128, 1024 + r * 128)), rows[r] < 0 ? 0 : rows[r] * 64 + 16);
  EXPECT_EQ(half(swizzle(Swizzle::B128, 1024 + 96)), 0); // column 64 is outside
}

TEST_F(TensorCopy, TouchesAreTheBytesThatMove) {
  struct Case { TensorMap map; BoxPosition at; } cases[] = {
      {map2d(MapType::BF16, 128, 16, 256, 64, 8, Swizzle::B128), at(64, 4)},   // whole rows of a swizzle
      {map2d(MapType::BF16, 128, 16, 256, 32, 8, Swizzle::B64), at(32, 2)},
      {map2d(MapType::BF16, 64, 16, 128, 64, 8), at(0, 8)},                    // rows that follow each other
      {map2d(MapType::BF16, 128, 16, 256, 32, 8, Swizzle::B128), at(32, 2)},   // a pitch with gaps
      {map2d(MapType::BF16, 128, 16, 256, 64, 8, Swizzle::B128), at(96, 12)},  // beyond the tensor on two sides
      {map2d(MapType::F32, 20, 5, 80, 4, 3), at(-4, -1)}};
  for (Case &c : cases) {
    std::vector<bool> inShared(shared.size(), false), inGlobal(memory.bytes.size(), false);
    boxTouches(c.map, c.at, 1024, BoxDirection::Load, [&](const BoxTouch &t) {
      std::vector<bool> &set = t.global ? inGlobal : inShared;
      for (size_t row = 0; row < t.count; ++row) {
        size_t begin = size_t(t.global ? t.address - base : t.address) + row * t.stride;
        for (size_t k = begin; k < begin + t.bytes; ++k) {
          EXPECT_FALSE(set[k]) << "twice: " << k;
          set[k] = true;
        }
      }
    });
    // What is written is what no longer depends on what was there; what is read is what it depends on.
    std::vector<uint8_t> other(shared.size(), 0x11);
    std::fill(shared.begin(), shared.end(), 0xEE);
    loadBox(c.map, c.at, memory, smem, 1024);
    Memory outside = memory;
    for (size_t k = 0; k < outside.bytes.size(); ++k)
      if (!inGlobal[k])
        outside.bytes[k] ^= 0xFF;
    loadBox(c.map, c.at, outside, {other.data(), uint32_t(other.size())}, 1024);
    for (size_t k = 0; k < shared.size(); ++k)
      EXPECT_EQ(shared[k] == other[k], inShared[k]) << k;
    Memory inside = memory;
    for (size_t k = 0; k < inside.bytes.size(); ++k)
      if (inGlobal[k])
        inside.bytes[k] ^= 0xFF;
    loadBox(c.map, c.at, inside, {other.data(), uint32_t(other.size())}, 1024);
    size_t changed = 0, read = size_t(std::count(inGlobal.begin(), inGlobal.end(), true));
    for (size_t k = 0; k < shared.size(); ++k)
      changed += inShared[k] && shared[k] != other[k];
    EXPECT_EQ(changed, read);
  }
}

/// The places of a filter's corner, W first, and what lies under them: C = 8 of u16, W = 4, H = 3, N = 2; places -1..2 and 0..2.
TEST_F(TensorCopy, Im2colWalksTheBoundingBox) {
  TensorMap m = map2d(MapType::U16, 8, 4, 16, 8, 1);
  m.rank = 4;
  m.dims = {{8, 4, 3, 2}}, m.strides = {{16, 64, 192}}, m.box = {{8, 1, 1, 1}};
  m.im2col = true, m.pixels = 11;
  m.lower = {{-1, 0, 0}}, m.upper = {{-1, 0, 0}};
  BoxPosition p = at(0, 1, 1, 1);
  p.im2col = true;
  p.offsets[0] = 1;
  loadBox(m, p, memory, smem, 1024);
  EXPECT_EQ(boxBytes(m, p), 11u * 16);
  // Corners (1,1) (2,1) | (-1,2) (0,2) (1,2) (2,2) of image 1, then image 2, which is not there; W is one further.
  const int w[] = {2, 3, 0, 1, 2, 3}, h[] = {1, 1, 2, 2, 2, 2};
  for (uint32_t k = 0; k != 6; ++k)
    EXPECT_EQ(half(1024 + 16 * k), 96 + 32 * h[k] + 8 * w[k]) << k;
  for (uint32_t k = 6; k != 11; ++k)
    EXPECT_EQ(half(1024 + 16 * k), 0) << k;
  EXPECT_EQ(shared[1024 + 11 * 16], 0xEE);

  auto says = [&](const char *text) {
    try {
      loadBox(m, p, memory, smem, 1024);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const Fault &fault) {
      EXPECT_EQ(std::string(fault.what()), text);
    }
  };
  p.coords[1] = 3;
  says("im2col copy starts at 3 in dimension 1, outside of the bounding box: -1..2");
  p.coords[1] = 1, p.offsets[1] = 256;
  says("im2col offset in dimension 2 is 256, expected 0..255 of rank 4");
  p.im2col = false;
  says("tensor copy of a tile needs a tensor map of cuTensorMapEncodeTiled, found one for im2col");
  m.im2col = false, p.im2col = true;
  says("tensor copy of im2col pixels needs a tensor map of cuTensorMapEncodeIm2col, found one for tiles");
}

TEST_F(TensorCopy, StoreClipsAndScatters) {
  for (size_t i = 0; i != 4096; ++i)
    shared[i] = uint8_t(i * 7);
  std::vector<uint8_t> before = memory.bytes;
  TensorMap m = map2d(MapType::U16, 20, 10, 64, 16, 8);
  storeBox(m, at(8, 6), memory, smem, 0);
  for (int r = 0; r != 20; ++r)
    for (int c = 0; c != 64; ++c) {
      bool written = r >= 6 && r < 10 && c >= 16 && c < 48; // 40 bytes a row, and the rest of the last 16
      EXPECT_EQ(memory.bytes[r * 64 + c], written ? shared[(r - 6) * 32 + c - 16] : before[r * 64 + c]);
    }
  before = memory.bytes;
  storeBox(m, at(64, 64), memory, smem, 0);
  EXPECT_EQ(memory.bytes, before);

  BoxPosition p = at(0);
  p.fourRows = true;
  int32_t rows[] = {3, 100, 0, 1};
  std::copy(rows, rows + 4, p.rows);
  storeBox(map2d(MapType::U16, 32, 4, 64, 32, 1), p, memory, smem, 0);
  EXPECT_EQ(memory.bytes[3 * 64], shared[0]);
  EXPECT_EQ(memory.bytes[0], shared[128]);
  EXPECT_EQ(memory.bytes[64], shared[192]);
}

TEST_F(TensorCopy, CountsAllBytesOfBoxesOfWideElements) {
  EXPECT_EQ(boxBytes(map2d(MapType::F32, 8, 5, 32, 4, 1), at(0)), 16u);
  EXPECT_EQ(boxBytes(map2d(MapType::F32, 8, 5, 32, 4, 3), at(0)), 48u);
  EXPECT_EQ(boxBytes(map2d(MapType::F64, 8, 5, 64, 2, 3), at(0)), 48u);
}

TEST_F(TensorCopy, PaddedFourBitTypesUnpackToOneSixteenByteUnit) {
  TensorMap m = map2d(MapType::U4Align16, 256, 4, 128, 128, 2, Swizzle::B128);
  EXPECT_EQ(boxBytes(m, at(0)), 128u); // the packed data, not the padding
  loadBox(m, at(128, 1), memory, smem, 1024);
  for (uint32_t unit = 0; unit != 8; ++unit)
    for (uint32_t b = 0; b != 8; ++b)
      EXPECT_EQ(shared[swizzle(Swizzle::B128, 1024 + unit * 16) + b], memory.bytes[128 + 64 + unit * 8 + b]);
  TensorMap six = map2d(MapType::U6Align16, 128, 4, 96, 128, 2, Swizzle::None);
  loadBox(six, at(0, 1), memory, smem, 1024);
  for (uint32_t b = 0; b != 12; ++b)
    EXPECT_EQ(shared[1024 + 3 * 16 + b], memory.bytes[96 + 36 + b]);
  EXPECT_THROW(storeBox(m, at(0), memory, smem, 1024), Fault);
}

TEST_F(TensorCopy, RulesThatAChipEnforces) {
  TensorMap m = map2d(MapType::U16, 64, 64, 128, 16, 4);
  EXPECT_THROW(loadBox(m, at(0), memory, smem, 64), Fault);            // shared alignment
  EXPECT_THROW(loadBox(m, at(4), memory, smem, 128), Fault);           // 8-byte start
  EXPECT_NO_THROW(loadBox(m, at(-8, -1), memory, smem, 128));          // negative loads are legal
  EXPECT_THROW(storeBox(m, at(-8, 0), memory, smem, 128), Fault);      // negative stores are not
  EXPECT_THROW(storeBox(m, at(0, -1), memory, smem, 128), Fault);
  EXPECT_THROW(loadBox(m, at(0), memory, smem, (1 << 16) - 64 * 1), Fault);
  EXPECT_THROW(loadBox(m, at(0), memory, SharedSpan{shared.data(), 192}, 128), Fault);
  BoxPosition p = at(0);
  p.fourRows = true;
  EXPECT_THROW(loadBox(m, p, memory, smem, 128), Fault); // box of 4 rows
  TensorMap huge = m;
  huge.rank = 5;
  huge.dims = {{256, 256, 256, 256, 256}};
  huge.box = {{256, 256, 256, 256, 256}};
  EXPECT_THROW(loadBox(huge, at(0), memory, smem, 128), Fault);
  m.address = base + (1 << 20);
  EXPECT_THROW(loadBox(m, at(0), memory, smem, 128), Fault); // outside every allocation
  m.address = base - (1ull << 30) * 128;                     // far base, but the box itself is inside
  m.dims[1] = 1ull << 31;
  EXPECT_NO_THROW(loadBox(m, at(0, 1 << 30), memory, smem, 128));
}

TEST_F(TensorCopy, ReductionsFollowTheirType) {
  auto reduced = [&](MapType type, ReduceOp op, auto old, auto operand) {
    auto v = old;
    reduceElement(type, op, &v, &operand);
    return v;
  };
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Add, 0xFFFFFFFFu, 2u), 1u);
  EXPECT_EQ(reduced(MapType::S32, ReduceOp::Min, 3, -5), -5);
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Max, 3u, 0xFFFFFFFBu), 0xFFFFFFFBu);
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Inc, 4u, 5u), 5u);
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Inc, 5u, 5u), 0u);
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Dec, 0u, 5u), 5u);
  EXPECT_EQ(reduced(MapType::U32, ReduceOp::Dec, 3u, 5u), 2u);
  EXPECT_EQ(reduced(MapType::U64, ReduceOp::Xor, uint64_t(6), uint64_t(3)), 5u);
  EXPECT_EQ(reduced(MapType::S64, ReduceOp::Min, int64_t(-6), int64_t(3)), -6);
  EXPECT_EQ(reduced(MapType::F32, ReduceOp::Add, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(reduced(MapType::F32, ReduceOp::Add, 1e-40f, 1e-40f), 0.0f);
  uint16_t one = 0x3F80, tiny = 0x3B80; // bf16 1 and 2^-8: halfway, to even
  EXPECT_EQ(reduced(MapType::BF16, ReduceOp::Add, one, tiny), one);
  EXPECT_EQ(reduced(MapType::BF16, ReduceOp::Min, one, uint16_t(0x7FFF)), one);
  EXPECT_EQ(reduced(MapType::F16, ReduceOp::Max, uint16_t(0x8000), uint16_t(0)), 0);
  float f = 1;
  EXPECT_THROW(reduceElement(MapType::F32, ReduceOp::Min, &f, &f), Fault);
  EXPECT_THROW(reduceElement(MapType::F16, ReduceOp::And, &f, &f), Fault);
  EXPECT_THROW(reduceElement(MapType::S32, ReduceOp::Inc, &f, &f), Fault);
  EXPECT_THROW(reduceElement(MapType::U8, ReduceOp::Add, &f, &f), Fault);
  int64_t wide = 1;
  EXPECT_THROW(reduceElement(MapType::S64, ReduceOp::And, &wide, &wide), Fault);
  EXPECT_THROW(reduceElement(MapType::S64, ReduceOp::Add, &wide, &wide), Fault);

  float *global = reinterpret_cast<float *>(memory.bytes.data()), *source = reinterpret_cast<float *>(shared.data());
  for (int i = 0; i != 64; ++i)
    global[i] = float(i), source[i] = 100;
  TensorMap m = map2d(MapType::F32, 6, 3, 32, 8, 4);
  reduceBox(m, at(0), ReduceOp::Add, memory, smem, 0);
  EXPECT_EQ(global[5], 105);
  EXPECT_EQ(global[6], 106); // inside the last 16 bytes of the row: written by an H200 too
  EXPECT_EQ(global[8], 108);
  EXPECT_EQ(global[16], 116);
  EXPECT_EQ(global[24], 24);
}

} // namespace
