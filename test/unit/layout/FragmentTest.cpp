// test/unit/layout/FragmentTest.cpp - fragment maps against the ISA's formulas, and matrix
// loads/stores by simulation.
#include "dialect/Layout/Fragment.h"

#include <gtest/gtest.h>
#include <map>

using namespace fovea::layout;

TEST(Fragment, WgmmaAccumulator) {
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t r = 0; r < 128; ++r) {
      uint32_t w = t / 32, l = t % 32;
      Element e = wgmmaAccumulatorElement(t, r);
      EXPECT_EQ(e,
                (Element{16 * w + l / 4 + 8 * ((r / 2) % 2), 8 * (r / 4) + 2 * (l % 4) + r % 2}));
      EXPECT_EQ(wgmmaAccumulatorSlot(e.row, e.col), (RegisterSlot{t, r, 0}));
    }
}

TEST(Fragment, WgmmaOperandA) {
  for (uint32_t i = 0; i < 64; ++i)
    for (uint32_t k = 0; k < 16; ++k) {
      RegisterSlot s = wgmmaOperandASlot(i, k);
      EXPECT_EQ(s, (RegisterSlot{(i / 16) * 32 + (i % 8) * 4 + (k % 8) / 2,
                                 (i % 16) / 8 + 2 * (k / 8), k % 2}));
      EXPECT_EQ(wgmmaOperandAElement(s.thread, s.reg, s.half), (Element{i, k}));
    }
}

// The accumulator of S becomes the A fragment of P in place.
TEST(Fragment, AccumulatorPairsAreOperandA) {
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t step = 0; step < 4; ++step)
      for (uint32_t reg = 0; reg < 4; ++reg)
        for (uint32_t half = 0; half < 2; ++half) {
          Element s = wgmmaAccumulatorElement(t, accumulatorPairOf(step, reg) + half);
          Element a = wgmmaOperandAElement(t, reg, half);
          EXPECT_EQ(s, (Element{a.row, a.col + 16 * step}));
        }
}

TEST(Fragment, MmaOperandsCoverTheirMatrices) {
  std::map<std::pair<uint32_t, uint32_t>, int> a, b, c;
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t h = 0; h < 2; ++h) {
      for (uint32_t r = 0; r < 4; ++r)
        ++a[{mmaOperandAElement(l, r, h).row, mmaOperandAElement(l, r, h).col}];
      for (uint32_t r = 0; r < 2; ++r)
        ++b[{mmaOperandBElement(l, r, h).row, mmaOperandBElement(l, r, h).col}];
    }
    for (uint32_t r = 0; r < 4; ++r)
      ++c[{mmaAccumulatorElement(l, r).row, mmaAccumulatorElement(l, r).col}];
  }
  EXPECT_EQ(a.size(), 256u);
  EXPECT_EQ(b.size(), 128u);
  EXPECT_EQ(c.size(), 128u);
  // b0 of lane 5: k = 2, n = 1 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
  EXPECT_EQ(mmaOperandBElement(5, 0, 0), (Element{2, 1}));
  EXPECT_EQ(mmaOperandBElement(5, 1, 1), (Element{11, 1}));
}

namespace {

/// Shared memory of 16-bit elements that hold (row, col) of something.
using Memory = std::map<uint32_t, Element>;

/// stmatrix.x4 by one warp (PTX ISA, "stmatrix"): thread l's register j holds elements (l/4,
/// 2*(l%4)) and +1 of matrix j; row r of matrix j goes to the address of lane 8*j + r; .trans
/// exchanges row and column of each matrix.
template <typename Address, typename Value>
void storeMatrix(Memory &memory, bool trans, Address address, Value value) {
  for (uint32_t j = 0; j < 4; ++j)
    for (uint32_t l = 0; l < 32; ++l)
      for (uint32_t h = 0; h < 2; ++h) {
        uint32_t row = l / 4, col = 2 * (l % 4) + h;
        if (trans)
          std::swap(row, col);
        memory[address(8 * j + row) + 2 * col] = value(l, j, h);
      }
}

/// ldmatrix.x4: the inverse; returns the element in register j, half h of lane l.
template <typename Address>
Element loadMatrix(const Memory &memory, bool trans, Address address, uint32_t l, uint32_t j,
                   uint32_t h) {
  uint32_t row = l / 4, col = 2 * (l % 4) + h;
  if (trans)
    std::swap(row, col);
  return memory.at(address(8 * j + row) + 2 * col);
}

uint32_t blockOffset(const SmemTile &tile, MatrixOrder order, uint32_t lane, uint32_t rowShift,
                     uint32_t colShift, uint32_t row0, uint32_t col0) {
  uint32_t lanePart = MatrixAddress::laneOffset(tile, order, lane, rowShift) ^ (colShift * 2);
  return (lanePart ^ MatrixAddress::xorBytes(tile, col0)) +
         MatrixAddress::addBytes(tile, row0, col0);
}

Memory fullTile(const SmemTile &tile) {
  Memory memory;
  for (uint32_t r = 0; r < tile.rows(); ++r)
    for (uint32_t c = 0; c < tile.cols(); ++c)
      memory[tile.offset(r, c)] = {r, c};
  return memory;
}

} // namespace

// A 64 x N wgmma accumulator, packed in pairs, stored as a tile.
TEST(Fragment, StoreAccumulatorAsTile) {
  for (uint32_t n : {16u, 32u, 64u, 80u, 96u, 128u, 192u, 256u}) {
    SmemTile tile(64, n, 2);
    Memory memory;
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t step = 0; step < n / 16; ++step)
        storeMatrix(
            memory, false,
            [&](uint32_t lane) {
              return blockOffset(tile, MatrixOrder::RowsFirst, lane, 16 * w, 0, 0, 16 * step);
            },
            [&](uint32_t l, uint32_t j, uint32_t h) {
              return wgmmaAccumulatorElement(32 * w + l, accumulatorPairOf(step, j) + h);
            });
    ASSERT_EQ(memory.size(), size_t(64) * n);
    for (auto &[offset, e] : memory)
      ASSERT_EQ(tile.offset(e.row, e.col), offset) << n;
  }
}

// The same, transposed: tile(row, col) = fragment(col, row); the warps lie side by side in columns.
TEST(Fragment, StoreAccumulatorTransposed) {
  for (uint32_t n : {16u, 64u, 128u}) {
    SmemTile tile(n, 64, 2);
    Memory memory;
    for (uint32_t w = 0; w < 4; ++w)
      for (uint32_t step = 0; step < n / 16; ++step)
        storeMatrix(
            memory, true,
            [&](uint32_t lane) {
              return blockOffset(tile, MatrixOrder::ColsFirst, lane, 0, 16 * w, 16 * step, 0);
            },
            [&](uint32_t l, uint32_t j, uint32_t h) {
              Element e = wgmmaAccumulatorElement(32 * w + l, accumulatorPairOf(step, j) + h);
              return Element{e.col, e.row};
            });
    ASSERT_EQ(memory.size(), size_t(64) * n);
    for (auto &[offset, e] : memory)
      ASSERT_EQ(tile.offset(e.row, e.col), offset) << n;
  }
}

TEST(Fragment, LoadOperandsFromTiles) {
  SmemTile tile(64, 96, 2);
  Memory memory = fullTile(tile);
  for (uint32_t row0 : {0u, 16u, 48u})
    for (uint32_t col0 : {0u, 16u, 32u, 80u})
      for (uint32_t l = 0; l < 32; ++l)
        for (uint32_t j = 0; j < 4; ++j)
          for (uint32_t h = 0; h < 2; ++h) {
            auto at = [&](MatrixOrder order) {
              return [&, order](uint32_t lane) {
                return blockOffset(tile, order, lane, 0, 0, row0, col0);
              };
            };
            // A, K-major tile: element (m, k) = tile(row0 + m, col0 + k).
            Element a = mmaOperandAElement(l, j, h);
            EXPECT_EQ(loadMatrix(memory, false, at(MatrixOrder::RowsFirst), l, j, h),
                      (Element{row0 + a.row, col0 + a.col}));
            // A, MN-major tile: element (m, k) = tile(row0 + k, col0 + m).
            EXPECT_EQ(loadMatrix(memory, true, at(MatrixOrder::ColsFirst), l, j, h),
                      (Element{row0 + a.col, col0 + a.row}));
            // Two B fragments, n 0..7 in registers 0 and 1, n 8..15 in 2 and 3.
            Element b = mmaOperandBElement(l, j % 2, h);
            uint32_t n = b.col + 8 * (j / 2);
            EXPECT_EQ(loadMatrix(memory, false, at(MatrixOrder::ColsFirst), l, j, h),
                      (Element{row0 + n, col0 + b.row}));
            EXPECT_EQ(loadMatrix(memory, true, at(MatrixOrder::RowsFirst), l, j, h),
                      (Element{row0 + b.row, col0 + n}));
          }
}
