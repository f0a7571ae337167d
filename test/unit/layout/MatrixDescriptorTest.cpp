// test/unit/layout/MatrixDescriptorTest.cpp - do descriptors encode, and do K steps reach every
// element through the ISA's canonical layouts?
#include "dialect/Layout/MatrixDescriptor.h"

#include <gtest/gtest.h>

using namespace fovea::layout;

TEST(MatrixDescriptor, BitPositions) {
  EXPECT_EQ(encodeAddress(0), 0u);
  EXPECT_EQ(encodeAddress(1024), 64u);
  EXPECT_EQ(encodeAddress(0x3FFF0), 0x3FFFu);
  EXPECT_EQ(encodeAddress(0x40010), 1u) << "18 bits of the address count";
  MatrixDescriptor d;
  EXPECT_EQ(d.encode(TensorCore::Wgmma), 0u);
  EXPECT_EQ(d.encode(TensorCore::Tcgen05), uint64_t(1) << 46);
  d.lboBytes = 0x3FFF0;
  EXPECT_EQ(d.encode(TensorCore::Wgmma), uint64_t(0x3FFF) << 16);
  d.lboBytes = 0;
  d.sboBytes = 0x3FFF0;
  EXPECT_EQ(d.encode(TensorCore::Wgmma), uint64_t(0x3FFF) << 32);
  d.sboBytes = 0;
  const struct {
    SwizzleMode mode;
    uint64_t wgmma, tcgen05;
  } codes[] = {{SwizzleMode::None, 0, 0},
               {SwizzleMode::B128, 1, 2},
               {SwizzleMode::B64, 2, 4},
               {SwizzleMode::B32, 3, 6}};
  for (auto &c : codes) {
    d.swizzle = c.mode;
    EXPECT_EQ(d.encode(TensorCore::Wgmma), c.wgmma << 62);
    EXPECT_EQ(d.encode(TensorCore::Tcgen05), c.tcgen05 << 61 | uint64_t(1) << 46);
  }
}

// (a) 128 x 64 bf16, K-major, 128B: a Q or K tile.
TEST(MatrixDescriptor, KMajorOnePanel) {
  SmemTile tile(128, 64, 2);
  MatrixOperand op = describeOperand(tile, Major::K);
  EXPECT_EQ(op.mn, 128u);
  EXPECT_EQ(op.k, 64u);
  EXPECT_EQ(op.descriptor.encode(TensorCore::Tcgen05), 0x4000404000000000u);
  EXPECT_EQ(op.descriptor.encode(TensorCore::Wgmma), 0x4000004000000000u);
  EXPECT_EQ(op.stepOffsets, (std::vector<uint32_t>{0, 32, 64, 96}));
  EXPECT_EQ(tile.offset(1, 0), 144u);
}

// The example's elements, as physical addresses through the canonical formula and the swizzle.
TEST(MatrixDescriptor, WorkedElements) {
  SmemTile q(128, 64, 2), v(128, 128, 2);
  EXPECT_EQ(q.offset(1, 0), 144u);
  EXPECT_EQ(q.offset(3, 20), 408u);
  EXPECT_EQ(q.offset(9, 63), 1262u);
  EXPECT_EQ(q.offset(127, 63), 16270u);
  EXPECT_EQ(v.offset(1, 0), 144u); // (key, d)
  EXPECT_EQ(v.offset(5, 17), 754u);
  EXPECT_EQ(v.offset(9, 63), 1262u);
  EXPECT_EQ(v.offset(17, 70), 18588u);
  EXPECT_EQ(v.offset(127, 127), 32654u);
  SmemTile fp8(128, 128, 1);
  EXPECT_EQ(fp8.offset(5, 33), 753u);
  EXPECT_EQ(fp8.offset(127, 127), 16271u);
}

// (b) 128 x 128 bf16, K-major: two panels 16384 bytes apart.
TEST(MatrixDescriptor, KMajorTwoPanels) {
  MatrixOperand op = describeOperand(SmemTile(128, 128, 2), Major::K);
  EXPECT_EQ(op.descriptor.encode(TensorCore::Tcgen05), 0x4000404000000000u);
  EXPECT_EQ(op.stepOffsets, (std::vector<uint32_t>{0, 32, 64, 96, 16384, 16416, 16448, 16480}));
  EXPECT_EQ(encodeAddress(16384), 1024u);
}

// (c), (d), (e): V tiles, MN-major.
TEST(MatrixDescriptor, MnMajor) {
  MatrixOperand c = describeOperand(SmemTile(64, 64, 2), Major::MN);
  EXPECT_EQ(c.mn, 64u);
  EXPECT_EQ(c.k, 64u);
  EXPECT_EQ(c.descriptor.encode(TensorCore::Tcgen05), 0x4000404000000000u);
  EXPECT_EQ(c.stepOffsets, (std::vector<uint32_t>{0, 2048, 4096, 6144}));
  MatrixOperand d = describeOperand(SmemTile(128, 128, 2), Major::MN);
  EXPECT_EQ(d.descriptor.encode(TensorCore::Tcgen05), 0x4000404004000000u);
  EXPECT_EQ(encodeAddress(d.stepOffsets[1]), 128u);
  EXPECT_EQ(d.stepOffsets.size(), 8u);
  MatrixOperand e = describeOperand(SmemTile(64, 128, 2), Major::MN);
  EXPECT_EQ(e.descriptor.lboBytes, 8192u);
}

// (f), (g): fp8. (h), (i): no swizzle, by fields.
TEST(MatrixDescriptor, OtherElementSizes) {
  MatrixOperand f = describeOperand(SmemTile(128, 128, 1), Major::K);
  EXPECT_EQ(f.kStep, 32u);
  EXPECT_EQ(f.stepOffsets, (std::vector<uint32_t>{0, 32, 64, 96}));
  MatrixOperand g = describeOperand(SmemTile(128, 64, 1), Major::MN);
  EXPECT_EQ(g.descriptor.encode(TensorCore::Tcgen05), 0x8000402000000000u);
  EXPECT_EQ(g.stepOffsets[1], 2048u);
  MatrixDescriptor h{SwizzleMode::None, 2048, 128};
  EXPECT_EQ(h.encode(TensorCore::Tcgen05), 0x0000400800800000u);
  EXPECT_EQ(canonicalOffset(h, Major::K, 2, 9, 3), 150u);
  EXPECT_EQ(canonicalOffset(h, Major::K, 2, 17, 21), 4378u);
  MatrixDescriptor i{SwizzleMode::None, 16, 128};
  EXPECT_EQ(i.encode(TensorCore::Tcgen05), 0x0000400800010000u);
}

// Every element of every head dim and both majors: what the instruction reads at (i, k) is the
// tile's element.
TEST(MatrixDescriptor, ReachesEveryElement) {
  for (uint32_t cols : {16u, 32u, 48u, 64u, 80u, 96u, 128u, 192u, 256u})
    for (uint32_t rows : {16u, 64u, 80u, 128u})
      for (Major major : {Major::K, Major::MN}) {
        SmemTile tile(rows, cols, 2);
        MatrixOperand op = describeOperand(tile, major);
        ASSERT_EQ(op.stepOffsets.size() * op.kStep, op.k);
        for (uint32_t i = 0; i < op.mn; ++i)
          for (uint32_t k = 0; k < op.k; ++k) {
            uint32_t linear = op.stepOffsets[k / op.kStep] +
                              canonicalOffset(op.descriptor, major, 2, i, k % op.kStep);
            uint32_t expected = major == Major::K ? tile.offset(i, k) : tile.offset(k, i);
            ASSERT_EQ(apply(op.descriptor.swizzle, linear), expected)
                << rows << "x" << cols << (major == Major::K ? " K" : " MN") << " i " << i << " k "
                << k;
          }
      }
}

TEST(MatrixDescriptor, SubTiles) {
  SmemTile tile(128, 128, 2);
  SubTile rows{64, 0, 64, 0}, half{0, 64, 0, 64}, keys{32, 64, 48, 64};
  MatrixOperand a = describeOperand(tile, Major::K, rows);
  EXPECT_EQ(a.mn, 64u);
  EXPECT_EQ(a.stepOffsets[0], 64u * 128);
  for (auto [major, part] : {std::pair{Major::K, rows},
                             {Major::K, half},
                             {Major::MN, half},
                             {Major::MN, keys},
                             {Major::K, keys}}) {
    MatrixOperand op = describeOperand(tile, major, part);
    for (uint32_t i = 0; i < op.mn; ++i)
      for (uint32_t k = 0; k < op.k; ++k) {
        uint32_t linear =
            op.stepOffsets[k / 16] + canonicalOffset(op.descriptor, major, 2, i, k % 16);
        uint32_t row = part.row0 + (major == Major::K ? i : k);
        uint32_t col = part.col0 + (major == Major::K ? k : i);
        ASSERT_EQ(apply(op.descriptor.swizzle, linear), tile.offset(row, col));
      }
  }
}
