// test/unit/emulator/tensor/MatrixMoveTest.cpp - which element does each thread get from ldmatrix and give to stmatrix?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/MatrixMove.h"
#include <gtest/gtest.h>
#include <vector>

using namespace fovea::emulator;

namespace {

struct MatrixMove : testing::Test {
  std::vector<uint8_t> shared = std::vector<uint8_t>(4096);
  SharedSpan smem{shared.data(), 4096};
  uint32_t address[32], values[4][32] = {};
  WarpRegister regs[4];
  MatrixMove() {
    for (unsigned t = 0; t != 32; ++t)
      address[t] = 64 * ((5 * t) % 32); // rows need not be contiguous
    for (unsigned r = 0; r != 4; ++r)
      regs[r] = {values[r], 4};
    for (unsigned i = 0; i < 4096; i += 2) {
      uint16_t v = uint16_t(i);
      std::memcpy(&shared[i], &v, 2);
    }
  }
};

TEST_F(MatrixMove, LoadGivesTwoNeighboursOfARow) {
  EXPECT_EQ(checkForm({MatrixShape::M8N8, 4}, false), 4u);
  ldmatrix({MatrixShape::M8N8, 4}, smem, address, regs);
  for (unsigned m = 0; m != 4; ++m)
    for (unsigned t = 0; t != 32; ++t) {
      unsigned at = address[8 * m + t / 4] + 4 * (t % 4);
      EXPECT_EQ(values[m][t], at | (at + 2) << 16);
    }
}

TEST_F(MatrixMove, TransposedLoadGivesTwoNeighboursOfAColumn) {
  ldmatrix({MatrixShape::M8N8, 2, true}, smem, address, regs);
  for (unsigned m = 0; m != 2; ++m)
    for (unsigned t = 0; t != 32; ++t)
      EXPECT_EQ(values[m][t], (address[8 * m + 2 * (t % 4)] + 2 * (t / 4)) | (address[8 * m + 2 * (t % 4) + 1] + 2 * (t / 4)) << 16);
}

TEST_F(MatrixMove, StoresUndoLoads) {
  for (bool trans : {false, true})
    for (unsigned count : {1u, 2u, 4u}) {
      MatrixForm form{MatrixShape::M8N8, count, trans};
      ldmatrix(form, smem, address, regs);
      std::vector<uint8_t> before = shared;
      for (unsigned r = 0; r != 8 * count; ++r)
        std::fill_n(&shared[address[r]], 16, 0xEE);
      stmatrix(form, smem, address, regs);
      EXPECT_EQ(shared, before);
    }
}

TEST_F(MatrixMove, ByteMatricesTranspose) {
  for (unsigned i = 0; i != 4096; ++i)
    shared[i] = uint8_t(i % 64 + 64 * (i / 64 % 3));
  EXPECT_EQ(checkForm({MatrixShape::M16N16, 2, true, MatrixFormat::B8}, false), 4u);
  ldmatrix({MatrixShape::M16N16, 2, true, MatrixFormat::B8}, smem, address, regs);
  for (unsigned m = 0; m != 2; ++m)
    for (unsigned t = 0; t != 32; ++t)
      for (unsigned h = 0; h != 2; ++h)
        for (unsigned e = 0; e != 4; ++e)
          EXPECT_EQ(values[2 * m + h][t] >> 8 * e & 255, shared[address[16 * m + 4 * (t % 4) + e] + t / 4 + 8 * h]);
  for (unsigned t = 0; t != 32; ++t)
    values[0][t] = 0x01010101 * t;
  stmatrix({MatrixShape::M16N8, 1, true, MatrixFormat::B8}, smem, address, regs);
  for (unsigned t = 0; t != 32; ++t) { // accumulator order: rows t/4 and t/4 + 8, columns 2*(t%4) and the next
    EXPECT_EQ(shared[address[2 * (t % 4)] + t / 4], t);
    EXPECT_EQ(shared[address[2 * (t % 4) + 1] + t / 4 + 8], t);
  }
}

TEST_F(MatrixMove, PackedElementsSpreadToBytes) {
  for (unsigned r = 0; r != 8; ++r)
    for (unsigned b = 0; b != 8; ++b)
      shared[address[r] + b] = uint8_t((2 * b) | (2 * b + 1) << 4); // codes 0..15
  ldmatrix({MatrixShape::M8N16, 1, false, MatrixFormat::B8FromB4x16P64}, smem, address, regs);
  for (unsigned t = 0; t != 32; ++t)
    for (unsigned e = 0; e != 4; ++e)
      EXPECT_EQ(values[0][t] >> 8 * e & 255, (4 * (t % 4) + e) << 2);
}

TEST_F(MatrixMove, BadFormsAndAddressesFault) {
  EXPECT_THROW(checkForm({MatrixShape::M8N8, 3}, false), Fault);
  EXPECT_THROW(checkForm({MatrixShape::M8N8, 1, false, MatrixFormat::B8}, false), Fault);
  EXPECT_THROW(checkForm({MatrixShape::M16N16, 1, false, MatrixFormat::B8}, false), Fault);
  EXPECT_THROW(checkForm({MatrixShape::M16N16, 4, true, MatrixFormat::B8}, false), Fault);
  EXPECT_THROW(checkForm({MatrixShape::M16N16, 1, true, MatrixFormat::B8}, true), Fault);
  EXPECT_THROW(checkForm({MatrixShape::M16N8, 1, true, MatrixFormat::B8}, false), Fault);
  address[3] = 8;
  EXPECT_THROW(ldmatrix({MatrixShape::M8N8, 1}, smem, address, regs), Fault);
  address[3] = 4096;
  EXPECT_THROW(stmatrix({MatrixShape::M8N8, 1}, smem, address, regs), Fault);
}

} // namespace
