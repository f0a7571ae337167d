// test/unit/emulator/tensor/ApproximateTest.cpp - are the .approx functions inside the ISA's error bounds, special values included?
#include "runtime/emulator/machine/tensor/Approximate.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;

namespace {

constexpr float inf = INFINITY, subnormal = 0x1p-130f;
bool positiveZero(float x) { return x == 0 && !std::signbit(x); }
bool negativeZero(float x) { return x == 0 && std::signbit(x); }

TEST(Approximate, SpecialValuesOfTheIsaTables) {
  EXPECT_TRUE(positiveZero(ex2Approx(-inf, true)));
  EXPECT_EQ(ex2Approx(-subnormal, true), 1.0f);
  EXPECT_EQ(ex2Approx(0.0f, false), 1.0f);
  EXPECT_EQ(ex2Approx(inf, true), inf);
  EXPECT_EQ(ex2Approx(128.0f, true), inf);
  EXPECT_TRUE(positiveZero(ex2Approx(-127.0f, true)));
  EXPECT_EQ(ex2Approx(-127.0f, false), 0x1p-127f);
  EXPECT_EQ(floatToBits(ex2Approx(NAN, true)), 0x7FFFFFFFu);
  EXPECT_EQ(lg2Approx(0.0f, false), -inf);
  EXPECT_EQ(lg2Approx(-0.0f, false), -inf);
  EXPECT_EQ(lg2Approx(subnormal, true), -inf);
  EXPECT_EQ(lg2Approx(subnormal, false), -130.0f);
  EXPECT_TRUE(std::isnan(lg2Approx(-1.0f, false)));
  EXPECT_EQ(lg2Approx(inf, false), inf);
  EXPECT_TRUE(negativeZero(rcpApprox(-inf, true)));
  EXPECT_EQ(rcpApprox(-0.0f, false), -inf);
  EXPECT_EQ(rcpApprox(-subnormal, true), -inf);
  EXPECT_TRUE(positiveZero(rcpApprox(0x1p127f, true)));
  EXPECT_EQ(rcpApprox(0x1p127f, false), 0x1p-127f);
  EXPECT_EQ(rsqrtApprox(0.0f, false), inf);
  EXPECT_EQ(rsqrtApprox(-0.0f, false), -inf);
  EXPECT_TRUE(std::isnan(rsqrtApprox(-1.0f, false)));
  EXPECT_TRUE(positiveZero(rsqrtApprox(inf, false)));
  EXPECT_TRUE(negativeZero(sqrtApprox(-0.0f, false)));
  EXPECT_TRUE(negativeZero(sqrtApprox(-subnormal, true)));
  EXPECT_TRUE(std::isnan(sqrtApprox(-1.0f, true)));
  EXPECT_TRUE(negativeZero(sinApprox(-0.0f, false)));
  EXPECT_TRUE(std::isnan(sinApprox(inf, false)));
  EXPECT_EQ(cosApprox(-subnormal, true), 1.0f);
  EXPECT_TRUE(std::isnan(cosApprox(-inf, false)));
  EXPECT_EQ(tanhApprox(inf), 1.0f);
  EXPECT_EQ(tanhApprox(-inf), -1.0f);
  EXPECT_TRUE(negativeZero(tanhApprox(-0.0f)));
}

TEST(Approximate, ErrorsStayInsideTheIsaBounds) {
  for (uint32_t bits = 0x00800000; bits < 0x7F800000; bits += 65521) {
    float x = bitsToFloat(bits);
    double d = x;
    EXPECT_LE(std::fabs(rcpApprox(x, false) - 1 / d), std::ldexp(1 / d, -23) + 0x1p-149);
    EXPECT_LE(std::fabs(rsqrtApprox(x, true) - 1 / std::sqrt(d)), std::ldexp(1 / std::sqrt(d), -22));
    EXPECT_LE(std::fabs(sqrtApprox(x, true) - std::sqrt(d)), std::ldexp(std::sqrt(d), -22));
    EXPECT_LE(std::fabs(lg2Approx(x, true) - std::log2(d)), 0x1p-22 * std::max(1.0, std::fabs(std::log2(d))));
    if (x < 120)
      EXPECT_LE(std::fabs(ex2Approx(-x, false) - std::exp2(-d)), std::ldexp(std::exp2(-d), -22) + 0x1p-149);
    if (x < 3.14) {
      EXPECT_LE(std::fabs(sinApprox(x, false) - std::sin(d)), 0x1p-20);
      EXPECT_LE(std::fabs(cosApprox(x, false) - std::cos(d)), 0x1p-20);
      EXPECT_LE(std::fabs(tanhApprox(x) - std::tanh(d)), 0x1p-10);
    }
  }
}

TEST(Approximate, HalfFormsRoundTheFloatResult) {
  EXPECT_EQ(ex2ApproxF16(0x3C00), 0x4000);     // 2^1
  EXPECT_EQ(ex2ApproxBf16Ftz(0x4040), 0x4100); // 2^3
  EXPECT_EQ(ex2ApproxBf16Ftz(0xFF80), 0);      // 2^-inf
  EXPECT_EQ(tanhApproxF16(0x7C00), 0x3C00);
  EXPECT_EQ(tanhApproxBf16(0xFF80), 0xBF80);
}

TEST(Approximate, DoubleFormsClearTheLowerWord) {
  for (double x : {3.0, 1e-300, -7.5e200}) {
    double y = rcpApproxF64(x);
    uint64_t bits;
    std::memcpy(&bits, &y, 8);
    EXPECT_EQ(uint32_t(bits), 0u);
    EXPECT_LE(std::fabs(y * x - 1), 0x1p-19);
  }
  EXPECT_LE(std::fabs(rsqrtApproxF64(16.0, true) - 0.25), 0x1p-20);
  EXPECT_EQ(rsqrtApproxF64(-0.0, false), -INFINITY);
}

TEST(Approximate, TheWarpFormIsTheScalarForm) {
  float x[40], y[40];
  for (int i = 0; i != 40; ++i)
    x[i] = float(i) * 7.3f - 150;
  ex2ApproxWarp(x, y, 40, true);
  for (int i = 0; i != 40; ++i)
    EXPECT_EQ(floatToBits(y[i]), floatToBits(ex2Approx(x[i], true)));
}

} // namespace
