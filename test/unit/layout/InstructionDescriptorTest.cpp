// test/unit/layout/InstructionDescriptorTest.cpp - are the instruction descriptor's fields where
// the ISA puts them?
#include "dialect/Layout/InstructionDescriptor.h"

#include <gtest/gtest.h>

using namespace fovea::layout;

static InstructionDescriptor shape(uint32_t m, uint32_t n) {
  InstructionDescriptor d;
  d.m = m;
  d.n = n;
  return d;
}

TEST(InstructionDescriptor, WorkedExamples) {
  EXPECT_EQ(shape(128, 128).encode(), 0x08200490u);
  EXPECT_EQ(shape(64, 128).encode(), 0x04200490u);
  EXPECT_EQ(shape(256, 256).encode(), 0x10400490u);
  InstructionDescriptor pv = shape(128, 64);
  pv.transposeB = true;
  EXPECT_EQ(pv.encode(), 0x08110490u);
  pv.n = 128;
  EXPECT_EQ(pv.encode(), 0x08210490u);
  InstructionDescriptor half = shape(128, 128);
  half.a = half.b = F16Type::F16;
  EXPECT_EQ(half.encode(), 0x08200010u);
  half.d = AccType::F16;
  EXPECT_EQ(half.encode(), 0x08200000u);
}

// Each field alone, against an otherwise empty descriptor.
TEST(InstructionDescriptor, BitPositions) {
  InstructionDescriptor zero;
  zero.m = zero.n = 0;
  zero.a = zero.b = F16Type::F16;
  zero.d = AccType::F16;
  EXPECT_EQ(zero.encode(), 0u);
  auto with = [&](auto change) {
    InstructionDescriptor d = zero;
    change(d);
    return d.encode();
  };
  EXPECT_EQ(with([](auto &d) { d.d = AccType::F32; }), 1u << 4);
  EXPECT_EQ(with([](auto &d) { d.a = F16Type::BF16; }), 1u << 7);
  EXPECT_EQ(with([](auto &d) { d.b = F16Type::BF16; }), 1u << 10);
  EXPECT_EQ(with([](auto &d) { d.negateA = true; }), 1u << 13);
  EXPECT_EQ(with([](auto &d) { d.negateB = true; }), 1u << 14);
  EXPECT_EQ(with([](auto &d) { d.transposeA = true; }), 1u << 15);
  EXPECT_EQ(with([](auto &d) { d.transposeB = true; }), 1u << 16);
  EXPECT_EQ(with([](auto &d) { d.n = 8; }), 1u << 17);
  EXPECT_EQ(with([](auto &d) { d.n = 256; }), 32u << 17);
  EXPECT_EQ(with([](auto &d) { d.m = 64; }), 4u << 24);
  EXPECT_EQ(with([](auto &d) { d.m = 256; }), 16u << 24);
}

TEST(InstructionDescriptor, SaysWhyAShapeIsInvalid) {
  EXPECT_STREQ(shape(128, 256).whyInvalid(), "");
  EXPECT_STREQ(shape(64, 8).whyInvalid(), "");
  EXPECT_STREQ(shape(256, 256).whyInvalid(2), "");
  EXPECT_STREQ(shape(256, 64).whyInvalid(), "expected M of 64 or 128 for one CTA");
  EXPECT_STREQ(shape(64, 64).whyInvalid(2), "expected M of 128 or 256 for a CTA pair");
  EXPECT_STREQ(shape(128, 12).whyInvalid(), "expected N of 8 to 256 in steps of 8 for one CTA");
  EXPECT_STREQ(shape(128, 264).whyInvalid(), "expected N of 8 to 256 in steps of 8 for one CTA");
  EXPECT_STREQ(shape(256, 24).whyInvalid(2),
               "expected N of 16 to 256 in steps of 16 for a CTA pair");
  InstructionDescriptor d = shape(128, 64);
  d.d = AccType::F16;
  EXPECT_STREQ(d.whyInvalid(), "expected an f32 accumulator for bf16 operands");
}
