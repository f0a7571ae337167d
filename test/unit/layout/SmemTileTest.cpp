// test/unit/layout/SmemTileTest.cpp - do panels and TMA boxes put every element where the tile
// says?
#include "dialect/Layout/SmemTile.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace fovea::layout;

namespace {

const uint32_t headDims[] = {16, 32, 48, 64, 80, 96, 128, 192, 256};

/// What the TMA unit does (PTX ISA, "Tensors"): box elements in order, innermost contiguous, each
/// row one swizzle span, then the swizzle on the address. Maps physical byte offset -> (row, col)
/// of the tile.
void writeBox(std::map<uint32_t, std::pair<uint32_t, uint32_t>> &smem, const SmemTile &tile,
              const TmaBox &box) {
  uint32_t panels = box.dims.size() == 3 ? box.dims[2] : 1;
  uint32_t at = 0;
  for (uint32_t p = 0; p < panels; ++p)
    for (uint32_t r = 0; r < box.dims[1]; ++r)
      for (uint32_t c = 0; c < box.dims[0]; ++c, at += tile.elemBytes()) {
        uint32_t address = apply(tile.swizzle(), box.smemOffset + at);
        bool fresh =
            smem.insert({address, {box.origin[1] + r, box.origin[0] + p * box.dims[0] + c}}).second;
        EXPECT_TRUE(fresh) << "two elements at " << address;
      }
  EXPECT_EQ(at, box.bytes);
}

} // namespace

TEST(SmemTile, PanelsOfHeadDims) {
  struct {
    uint32_t cols;
    SwizzleMode swizzle;
    uint32_t panels, panelCols;
  } const expected[] = {{16, SwizzleMode::B32, 1, 16},   {32, SwizzleMode::B64, 1, 32},
                        {64, SwizzleMode::B128, 1, 64},  {80, SwizzleMode::B32, 5, 16},
                        {96, SwizzleMode::B64, 3, 32},   {128, SwizzleMode::B128, 2, 64},
                        {192, SwizzleMode::B128, 3, 64}, {256, SwizzleMode::B128, 4, 64}};
  for (auto &e : expected) {
    SmemTile tile(128, e.cols, 2);
    EXPECT_EQ(tile.swizzle(), e.swizzle) << e.cols;
    EXPECT_EQ(tile.panelCount(), e.panels) << e.cols;
    EXPECT_EQ(tile.panelCols(), e.panelCols) << e.cols;
    EXPECT_EQ(tile.bytes(), 128 * e.cols * 2);
    EXPECT_EQ(tile.panelBytes() % tile.alignment(), 0u) << "panels keep the swizzle phase";
  }
}

TEST(SmemTile, OffsetsAreABijection) {
  for (uint32_t cols : headDims) {
    SmemTile tile(40, cols, 2);
    std::set<uint32_t> seen;
    for (uint32_t r = 0; r < tile.rows(); ++r)
      for (uint32_t c = 0; c < cols; ++c) {
        EXPECT_LT(tile.offset(r, c), tile.bytes());
        seen.insert(tile.offset(r, c));
      }
    EXPECT_EQ(seen.size(), size_t(40) * cols) << cols;
  }
}

TEST(SmemTile, PanelBoxesFillTheTile) {
  for (uint32_t cols : headDims) {
    SmemTile tile(64, cols, 2);
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> smem;
    for (uint32_t row0 = 0; row0 < 64; row0 += 16) // in boxes of 16 rows
      for (const TmaBox &box : tile.panelBoxes(row0, 16)) {
        EXPECT_EQ(box.smemOffset % 128, 0u);
        EXPECT_EQ(box.dims[0] * 2, spanBytes(tile.swizzle()));
        writeBox(smem, tile, box);
      }
    ASSERT_EQ(smem.size(), size_t(64) * cols);
    for (auto &[address, element] : smem)
      ASSERT_EQ(tile.offset(element.first, element.second), address) << cols;
  }
}

TEST(SmemTile, OneBoxFillsTheTile) {
  for (uint32_t elemBytes : {1u, 2u, 4u})
    for (uint32_t cols : {32u, 96u, 128u}) {
      SmemTile tile(64, cols, elemBytes);
      TmaBox box = tile.wholeBox();
      EXPECT_EQ(box.bytes, tile.bytes());
      std::map<uint32_t, std::pair<uint32_t, uint32_t>> smem;
      writeBox(smem, tile, box);
      for (auto &[address, element] : smem)
        ASSERT_EQ(tile.offset(element.first, element.second), address) << cols;
    }
}

TEST(SmemTile, SaysWhyATileIsInvalid) {
  EXPECT_STREQ(SmemTile::whyInvalid(64, 64, 2), "");
  EXPECT_TRUE(SmemTile(64, 64, 2).isValid());
  EXPECT_STREQ(SmemTile::whyInvalid(64, 64, 8), "expected an element of 1, 2 or 4 bytes");
  EXPECT_STREQ(
      SmemTile::whyInvalid(60, 64, 2),
      "expected a positive multiple of 8 rows, because the swizzle pattern repeats every 8 rows");
  EXPECT_STREQ(SmemTile::whyInvalid(64, 72, 2), "expected rows of a positive multiple of 32 bytes, "
                                                "because the narrowest swizzle spans 32 bytes");
}
