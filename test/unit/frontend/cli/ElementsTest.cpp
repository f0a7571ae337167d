// test/unit/frontend/cli/ElementsTest.cpp - every bit pattern survives, and rounding is to nearest even.
#include "frontend/cli/Elements.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace fovea;

namespace {
uint16_t bits(double value, DType dtype) {
  std::string bytes = encodeElements({value}, dtype);
  uint16_t result = 0;
  std::memcpy(&result, bytes.data(), bytes.size());
  return result;
}
} // namespace

TEST(Elements, EveryPatternSurvives) {
  for (DType dtype : {DType::BF16, DType::F16, DType::E4M3}) {
    int size = dtypeBytes(dtype);
    for (uint32_t pattern = 0; pattern < 1u << (8 * size); ++pattern) {
      std::string bytes(reinterpret_cast<const char *>(&pattern), size);
      std::vector<double> value = decodeElements(bytes, dtype);
      if (std::isnan(value[0]))
        continue;
      ASSERT_EQ(encodeElements(value, dtype), bytes) << dtypeName(dtype) << " " << pattern;
    }
  }
}

TEST(Elements, RoundToNearestEven) {
  EXPECT_EQ(bits(1.0, DType::BF16), 0x3f80);
  EXPECT_EQ(bits(1 + 0x1p-8, DType::BF16), 0x3f80);          // a tie goes to even
  EXPECT_EQ(bits(1 + 3 * 0x1p-8, DType::BF16), 0x3f82);
  EXPECT_EQ(bits(1 + 0x1p-8 + 0x1p-40, DType::BF16), 0x3f81); // no rounding twice
  EXPECT_EQ(bits(2 - 0x1p-9, DType::BF16), 0x4000);          // into the next exponent
  EXPECT_EQ(bits(0x1p-133, DType::BF16), 0x0001);            // subnormal
  EXPECT_EQ(bits(0x1p-135, DType::BF16), 0x0000);
  EXPECT_EQ(bits(1e39, DType::BF16), 0x7f80);
  EXPECT_EQ(bits(65519, DType::F16), 0x7bff);
  EXPECT_EQ(bits(65520, DType::F16), 0x7c00);
  EXPECT_EQ(bits(-0.0, DType::F16), 0x8000);
}

TEST(Elements, E4m3SaturatesAndHasNoInfinity) {
  EXPECT_EQ(bits(448, DType::E4M3), 0x7e);
  EXPECT_EQ(bits(1e9, DType::E4M3), 0x7e);
  EXPECT_EQ(bits(-INFINITY, DType::E4M3), 0xfe);
  EXPECT_EQ(bits(std::nan(""), DType::E4M3) & 0x7f, 0x7f);
}

TEST(Elements, ScalesArePowersOfTwo) {
  EXPECT_EQ(decodeElements(encodeElements({1, 0.125, 2}, DType::UE8M0), DType::UE8M0),
            (std::vector<double>{1, 0.125, 2}));
  EXPECT_EQ(encodeElements({1}, DType::UE8M0), "\x7f");
}

TEST(Elements, IntegersAndWideFloatsAreExact) {
  EXPECT_EQ(decodeElements(encodeElements({-5, 7}, DType::I32), DType::I32), (std::vector<double>{-5, 7}));
  EXPECT_EQ(decodeElements(encodeElements({0x1p40}, DType::I64), DType::I64), (std::vector<double>{0x1p40}));
  EXPECT_EQ(decodeElements(encodeElements({M_PI}, DType::F64), DType::F64), (std::vector<double>{M_PI}));
}
