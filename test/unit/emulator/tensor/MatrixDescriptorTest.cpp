// test/unit/emulator/tensor/MatrixDescriptorTest.cpp - what does a matrix descriptor say, and where are its elements?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/MatrixDescriptor.h"
#include <gtest/gtest.h>

using namespace fovea::emulator;

namespace {

// The worked examples of the hardware reference (3.5); start address 0 unless said. The K step is reached by moving the
// start, so k beyond a step is split into (start, k) here as a kernel would.
uint32_t at(uint64_t bits, Major major, unsigned es, uint32_t i, uint32_t k, uint32_t start = 0) {
  return elementAddress(decodeTcgen05Descriptor(bits | start >> 4), major, es, i, k);
}

TEST(MatrixDescriptor, KMajorBf16Swizzle128) { // (a)
  const uint64_t d = 0x4000404000000000;
  EXPECT_EQ(at(d, Major::K, 2, 1, 0), 144u);
  EXPECT_EQ(at(d, Major::K, 2, 3, 20 % 16, 32), 408u);
  EXPECT_EQ(at(d, Major::K, 2, 9, 63 % 16, 96), 1262u);
  EXPECT_EQ(at(d, Major::K, 2, 127, 63 % 16, 96), 16270u);
  const MatrixDescriptor wgmma = decodeWgmmaDescriptor(0x4000004000000000);
  EXPECT_EQ(elementAddress(wgmma, Major::K, 2, 1, 0), 144u);
  EXPECT_EQ(wgmma.stride, 1024u);
}

TEST(MatrixDescriptor, MnMajorBf16TwoAtoms) { // (d)
  const uint64_t d = 0x4000404004000000;
  EXPECT_EQ(at(d, Major::MN, 2, 0, 1), 144u);
  EXPECT_EQ(at(d, Major::MN, 2, 17, 5), 754u);
  EXPECT_EQ(at(d, Major::MN, 2, 63, 9), 1262u);
  EXPECT_EQ(at(d, Major::MN, 2, 70, 17 % 16, 2048), 18588u);
  EXPECT_EQ(at(d, Major::MN, 2, 127, 127 % 16, 7 * 2048), 32654u);
}

TEST(MatrixDescriptor, KMajorFp8Swizzle128) { // (f)
  const uint64_t d = 0x4000404000000000;
  EXPECT_EQ(at(d, Major::K, 1, 5, 33 % 32, 32), 753u);
  EXPECT_EQ(at(d, Major::K, 1, 127, 127 % 32, 96), 16271u);
}

TEST(MatrixDescriptor, MnMajorFp8Swizzle64) { // (g), D = 64
  const MatrixDescriptor d = decodeTcgen05Descriptor(0x8000402000000000);
  EXPECT_EQ(d.swizzle, Swizzle::B64);
  EXPECT_EQ(d.stride, 512u);
  EXPECT_EQ(elementAddress(d, Major::MN, 1, 20, 9), swizzle(Swizzle::B64, 512 + 64 + 20));
}

TEST(MatrixDescriptor, KMajorWithoutSwizzle) { // (h)
  const uint64_t d = 0x0000400800800000;
  EXPECT_EQ(at(d, Major::K, 2, 9, 3), 150u);
  EXPECT_EQ(at(d, Major::K, 2, 17, 21 % 16, 2 * 2048), 4378u);
}

TEST(MatrixDescriptor, MnMajorWithoutSwizzle) {
  // 16-byte units of 8 elements along M; LBO 512 to the next 8 k, SBO 256 to the next 8 of M.
  MatrixDescriptor d;
  d.leading = 512;
  d.stride = 256;
  EXPECT_EQ(elementAddress(d, Major::MN, 2, 3, 5), 5u * 16 + 6);
  EXPECT_EQ(elementAddress(d, Major::MN, 2, 11, 13), 256u + 512 + 5 * 16 + 6);
}

TEST(MatrixDescriptor, MnMajorTf32UsesGroupsOfFourRows) {
  MatrixDescriptor d;
  d.swizzle = Swizzle::B128Atom32;
  d.leading = 4096;
  d.stride = 512;
  EXPECT_EQ(elementAddress(d, Major::MN, 4, 33, 5), swizzle(Swizzle::B128Atom32, 4096 + 4 + 128 + 512));
}

TEST(MatrixDescriptor, AddressesWrapInTheWindow) {
  MatrixDescriptor d;
  d.start = 0x3FFF0;
  d.stride = 1024;
  EXPECT_EQ(elementAddress(d, Major::K, 2, 1, 0), 0u);
}

TEST(MatrixDescriptor, ReservedBitsFault) {
  EXPECT_NO_THROW(decodeTcgen05Descriptor(0x4000404000000000));
  EXPECT_THROW(decodeTcgen05Descriptor(0x4000004000000000), Fault); // bits 46-48
  EXPECT_THROW(decodeTcgen05Descriptor(0x4000404000004000), Fault); // bit 14
  EXPECT_THROW(decodeTcgen05Descriptor(0x4000404040000000), Fault); // bit 30
  EXPECT_THROW(decodeTcgen05Descriptor(0x4020404000000000), Fault); // bit 53
  EXPECT_THROW(decodeTcgen05Descriptor(0x4010404000000000), Fault); // bit 52
  EXPECT_THROW(decodeTcgen05Descriptor(0x6000404000000000), Fault); // swizzle 3
  EXPECT_THROW(decodeTcgen05Descriptor(0xA000404000000000), Fault); // swizzle 5
  EXPECT_THROW(decodeWgmmaDescriptor(0x4000404000000000), Fault);   // bit 46 belongs to tcgen05
}

TEST(MatrixDescriptor, TransposeRulesFault) {
  MatrixDescriptor plain, swizzled, atom32;
  swizzled.swizzle = Swizzle::B128;
  atom32.swizzle = Swizzle::B128Atom32;
  EXPECT_THROW(checkOperand(swizzled, Major::MN, 4), Fault);
  EXPECT_THROW(checkOperand(swizzled, Major::MN, 32), Fault);
  EXPECT_NO_THROW(checkOperand(atom32, Major::MN, 32));
  EXPECT_THROW(checkOperand(atom32, Major::MN, 16), Fault);
  EXPECT_NO_THROW(checkOperand(plain, Major::MN, 8));
  std::string warning;
  EXPECT_NO_THROW(checkOperand(atom32, Major::K, 32, &warning));
  EXPECT_FALSE(warning.empty());
}

} // namespace
