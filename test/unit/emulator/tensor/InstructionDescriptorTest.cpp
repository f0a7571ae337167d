// test/unit/emulator/tensor/InstructionDescriptorTest.cpp - what does an instruction descriptor say, and which are refused?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include <gtest/gtest.h>

using namespace fovea::emulator;

namespace {

MmaForm form(MmaKind kind, unsigned scales = 0) {
  MmaForm f;
  f.kind = kind;
  f.scalesPerRow = scales;
  return f;
}

TEST(InstructionDescriptor, WorkedExamplesOfThePlainKinds) {
  InstructionDescriptor d = decodeInstruction(form(MmaKind::F16), 0x08200490);
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 128u);
  EXPECT_EQ(d.k, 16u);
  EXPECT_EQ(d.a, MmaElement::BF16);
  EXPECT_EQ(d.d, MmaResult::F32);
  EXPECT_EQ(d.bMajor, Major::K);
  EXPECT_EQ(decodeInstruction(form(MmaKind::F16), 0x04200490).m, 64u);
  d = decodeInstruction(form(MmaKind::F16), 0x08110490);
  EXPECT_EQ(d.n, 64u);
  EXPECT_EQ(d.bMajor, Major::MN);
  EXPECT_EQ(decodeInstruction(form(MmaKind::F16), 0x08210490).n, 128u);
  MmaForm pair = form(MmaKind::F16);
  pair.pair = true;
  d = decodeInstruction(pair, 0x10400490);
  EXPECT_EQ(d.m, 256u);
  EXPECT_EQ(d.n, 256u);
  EXPECT_EQ(decodeInstruction(form(MmaKind::F16), 0x08200010).a, MmaElement::F16);
  EXPECT_EQ(decodeInstruction(form(MmaKind::F16), 0x08200000).d, MmaResult::F16);
  EXPECT_EQ(decodeInstruction(form(MmaKind::TF32), 0x08200910).k, 8u);
  EXPECT_EQ(decodeInstruction(form(MmaKind::F8F6F4), 0x08200010).a, MmaElement::E4M3);
  d = decodeInstruction(form(MmaKind::F8F6F4), 0x08210410);
  EXPECT_EQ(d.b, MmaElement::E5M2);
  EXPECT_EQ(d.bMajor, Major::MN);
  d = decodeInstruction(form(MmaKind::I8), 0x082004A0);
  EXPECT_EQ(d.a, MmaElement::S8);
  EXPECT_EQ(d.d, MmaResult::S32);
}

TEST(InstructionDescriptor, WorkedExamplesOfTheScaledKinds) {
  InstructionDescriptor d = decodeInstruction(form(MmaKind::MXF8F6F4, 1), 0x68A00030);
  EXPECT_EQ(d.sfaId, 3u);
  EXPECT_EQ(d.sfbId, 3u);
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 128u);
  EXPECT_EQ(d.scaleFormat, Format::UE8M0);
  EXPECT_EQ(decodeInstruction(form(MmaKind::MXF8F6F4, 1), 0x28A00010).sfaId, 1u);
  EXPECT_EQ(decodeInstruction(form(MmaKind::MXF8F6F4, 1), 0x08A00000).sfbId, 0u);
  MmaForm pair = form(MmaKind::MXF8F6F4, 1);
  pair.pair = true;
  EXPECT_EQ(decodeInstruction(pair, 0x10C00000).m, 256u);
  d = decodeInstruction(form(MmaKind::MXF4, 2), 0x48A004A0);
  EXPECT_EQ(d.a, MmaElement::E2M1);
  EXPECT_EQ(d.b, MmaElement::E2M1);
  EXPECT_EQ(d.k, 64u);
  EXPECT_EQ(d.sfaId, 2u);
  EXPECT_EQ(decodeInstruction(form(MmaKind::MXF4NVF4, 4), 0x08200480).scaleFormat, Format::UE4M3);
  EXPECT_EQ(decodeInstruction(form(MmaKind::MXF4NVF4, 2), 0x08A00480).scaleFormat, Format::UE8M0);
}

TEST(InstructionDescriptor, BrokenFieldsAreRefused) {
  const uint32_t bf16 = 0x08200490;
  auto refused = [](const MmaForm &f, uint32_t bits) {
    try {
      decodeInstruction(f, bits);
    } catch (const Fault &) {
      return true;
    }
    return false;
  };
  MmaForm f16 = form(MmaKind::F16);
  EXPECT_FALSE(refused(f16, bf16));
  EXPECT_TRUE(refused(f16, bf16 | 1));        // sparsity selector
  EXPECT_TRUE(refused(f16, bf16 | 1 << 2));   // sparse
  EXPECT_TRUE(refused(f16, bf16 | 1 << 3));   // saturate
  EXPECT_TRUE(refused(f16, bf16 & ~0x30u));   // f16 result of bf16
  EXPECT_TRUE(refused(f16, bf16 | 1 << 6));   // reserved
  EXPECT_TRUE(refused(f16, bf16 | 1 << 8));   // A type 3
  EXPECT_TRUE(refused(f16, bf16 & ~(1u << 7))); // f16 * bf16
  EXPECT_TRUE(refused(f16, bf16 | 1 << 23));
  EXPECT_TRUE(refused(f16, bf16 | 1 << 29));
  EXPECT_TRUE(refused(f16, bf16 | 1u << 30)); // max shift without .ws
  EXPECT_TRUE(refused(f16, 0x00200490));      // M 0
  EXPECT_TRUE(refused(f16, 0x0C200490));      // M 192
  EXPECT_TRUE(refused(f16, 0x10200490));      // M 256 without a pair
  EXPECT_TRUE(refused(f16, 0x08000490));      // N 0
  EXPECT_TRUE(refused(f16, 0x08420490));      // N 264
  MmaForm pair = f16;
  pair.pair = true;
  EXPECT_TRUE(refused(pair, 0x04200490));     // M 64
  EXPECT_TRUE(refused(pair, 0x08220490));     // N 136
  MmaForm ws = f16;
  ws.ws = true;
  EXPECT_FALSE(refused(ws, 0x02200490)); // M 32
  EXPECT_FALSE(refused(ws, 0x42200490)); // max shift 8
  EXPECT_TRUE(refused(ws, 0x02080490));  // N 32
  MmaForm i8 = form(MmaKind::I8);
  EXPECT_TRUE(refused(i8, 0x082024A0));  // negate
  EXPECT_TRUE(refused(i8, 0x080A04A0));  // N 40
  MmaForm f8 = form(MmaKind::F8F6F4);
  EXPECT_TRUE(refused(f8, 0x08200110));  // A type 2
  EXPECT_FALSE(refused(f8, 0x08200290)); // A e2m1
  EXPECT_TRUE(refused(f8, 0x08208290));  // A e2m1 transposed
  EXPECT_TRUE(refused(f8, 0x080B0010));  // N 40, transposed 8-bit B
  MmaForm mx8 = form(MmaKind::MXF8F6F4, 1);
  EXPECT_TRUE(refused(mx8, 0x08200000)); // UE4M3
  EXPECT_TRUE(refused(mx8, 0x04A00000)); // M 64
  EXPECT_TRUE(refused(mx8, 0x09A00000)); // bit 24
  EXPECT_TRUE(refused(form(MmaKind::MXF4, 2), 0x28A00490));     // SF id 1
  EXPECT_TRUE(refused(form(MmaKind::MXF4NVF4, 4), 0x48A004A0)); // SF id 2 with four scales
  EXPECT_TRUE(refused(form(MmaKind::MXF4, 2), 0x88A00480));     // K 96
  EXPECT_TRUE(refused(form(MmaKind::MXF4, 2), 0x08A08480));     // transposed
}

TEST(InstructionDescriptor, BlockSizesOfTheKinds) {
  EXPECT_EQ(scalesPerRow(MmaKind::MXF8F6F4, 0), 1u);
  EXPECT_EQ(scalesPerRow(MmaKind::MXF8F6F4, 32), 1u);
  EXPECT_EQ(scalesPerRow(MmaKind::MXF4, 32), 2u);
  EXPECT_EQ(scalesPerRow(MmaKind::MXF4NVF4, 32), 2u);
  EXPECT_EQ(scalesPerRow(MmaKind::MXF4NVF4, 16), 4u);
  EXPECT_THROW(scalesPerRow(MmaKind::MXF8F6F4, 16), Fault);
  EXPECT_THROW(scalesPerRow(MmaKind::MXF4, 16), Fault);
  EXPECT_THROW(scalesPerRow(MmaKind::MXF4NVF4, 0), Fault);
  EXPECT_THROW(scalesPerRow(MmaKind::F16, 32), Fault);
}

} // namespace
