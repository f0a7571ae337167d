// test/unit/emulator/tensor/NumberFormatsTest.cpp - do all codes and roundings of the small formats agree with their definitions?
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace fovea::emulator;

namespace {

/// The OCP/IEEE definition of one code, written from the field widths and independent of the library's tables.
struct Definition {
  Format format;
  int exponentBits, mantissaBits, bias;
  enum { Ieee, OneNan, Finite } special;
};
const Definition definitions[] = {
    {Format::F16, 5, 10, 15, Definition::Ieee},  {Format::BF16, 8, 7, 127, Definition::Ieee},
    {Format::E4M3, 4, 3, 7, Definition::OneNan}, {Format::E5M2, 5, 2, 15, Definition::Ieee},
    {Format::E2M3, 2, 3, 1, Definition::Finite}, {Format::E3M2, 3, 2, 3, Definition::Finite},
    {Format::E2M1, 2, 1, 1, Definition::Finite},
};

double valueOf(const Definition &d, unsigned code) {
  int mantissa = code % (1 << d.mantissaBits), exponent = code / (1 << d.mantissaBits) % (1 << d.exponentBits);
  double sign = code >> (d.mantissaBits + d.exponentBits) ? -1 : 1;
  int last = (1 << d.exponentBits) - 1;
  if (d.special == Definition::Ieee && exponent == last)
    return mantissa ? NAN : sign * INFINITY;
  if (d.special == Definition::OneNan && exponent == last && mantissa == (1 << d.mantissaBits) - 1)
    return NAN;
  double fraction = mantissa / std::pow(2.0, d.mantissaBits);
  return sign * (exponent ? (1 + fraction) * std::pow(2.0, exponent - d.bias) : fraction * std::pow(2.0, 1 - d.bias));
}

/// All finite values with their codes, positive ones only (the formats are symmetric).
std::map<double, unsigned> positives(const Definition &d) {
  std::map<double, unsigned> values;
  for (unsigned code = 0; code < 1u << (d.exponentBits + d.mantissaBits); ++code)
    if (std::isfinite(valueOf(d, code)))
      values[valueOf(d, code)] = code;
  return values;
}

TEST(NumberFormats, EveryCodeDecodesToItsDefinition) {
  for (const Definition &d : definitions)
    for (unsigned code = 0; code < 1u << (1 + d.exponentBits + d.mantissaBits); ++code) {
      double expected = valueOf(d, code);
      float got = decode(d.format, code);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << int(d.format) << " " << code;
      else {
        EXPECT_EQ(double(got), expected) << int(d.format) << " " << code;
        EXPECT_EQ(std::signbit(got), std::signbit(expected));
      }
    }
}

TEST(NumberFormats, EveryValueEncodesToItsCode) {
  for (const Definition &d : definitions)
    for (unsigned code = 0; code < 1u << (1 + d.exponentBits + d.mantissaBits); ++code) {
      double value = valueOf(d, code);
      if (!std::isnan(value))
        for (Rounding r : {Rounding::NearestEven, Rounding::TowardZero, Rounding::Down, Rounding::Up, Rounding::NearestAway})
          EXPECT_EQ(encode(d.format, value, {r}), code) << int(d.format);
    }
}

TEST(NumberFormats, BetweenNeighboursEveryRoundingPicksItsSide) {
  for (const Definition &d : definitions) {
    unsigned sign = 1u << (d.exponentBits + d.mantissaBits);
    auto values = positives(d);
    for (auto low = values.begin(), high = std::next(low); high != values.end(); ++low, ++high) {
      unsigned even = low->second % 2 ? high->second : low->second;
      double middle = (low->first + high->first) / 2, below = (low->first + middle) / 2, above = (middle + high->first) / 2;
      for (double x : {below, middle, above}) {
        unsigned nearest = x < middle ? low->second : x > middle ? high->second : even;
        EXPECT_EQ(encode(d.format, x), nearest) << int(d.format) << " " << x;
        EXPECT_EQ(encode(d.format, -x), nearest | sign);
        EXPECT_EQ(encode(d.format, x, {Rounding::NearestAway}), x < middle ? low->second : high->second);
        EXPECT_EQ(encode(d.format, x, {Rounding::TowardZero}), low->second);
        EXPECT_EQ(encode(d.format, -x, {Rounding::TowardZero}), low->second | sign);
        EXPECT_EQ(encode(d.format, x, {Rounding::Down}), low->second);
        EXPECT_EQ(encode(d.format, -x, {Rounding::Down}), high->second | sign);
        EXPECT_EQ(encode(d.format, x, {Rounding::Up}), high->second);
        EXPECT_EQ(encode(d.format, -x, {Rounding::Up}), low->second | sign);
        EXPECT_EQ(encode(d.format, -x, {Rounding::NearestEven, false, true}), 0u);
      }
    }
  }
}

TEST(NumberFormats, OverflowSaturatesOrBecomesInfinityAsCvtSays) {
  Conversion finite{Rounding::NearestEven, true};
  EXPECT_EQ(encode(Format::F16, 65519.9), 0x7BFFu);
  EXPECT_EQ(encode(Format::F16, 65520), 0x7C00u);
  EXPECT_EQ(encode(Format::F16, 1e9, finite), 0x7BFFu);
  EXPECT_EQ(encode(Format::F16, -INFINITY, finite), 0xFBFFu);
  EXPECT_EQ(encode(Format::F16, 1e9, {Rounding::TowardZero}), 0x7BFFu);
  EXPECT_EQ(encode(Format::F16, 1e9, {Rounding::Down}), 0x7BFFu);
  EXPECT_EQ(encode(Format::F16, -1e9, {Rounding::Down}), 0xFC00u);
  EXPECT_EQ(encode(Format::E4M3, 463.9, finite), 0x7Eu);
  EXPECT_EQ(encode(Format::E4M3, 1e30, finite), 0x7Eu);
  EXPECT_EQ(encode(Format::E4M3, -INFINITY, finite), 0xFEu);
  EXPECT_EQ(encode(Format::E5M2, 1e30, finite), 0x7Bu);
  EXPECT_EQ(encode(Format::E5M2, 1e30), 0x7Cu);
  EXPECT_EQ(encode(Format::E2M3, 100), 0x1Fu);
  EXPECT_EQ(encode(Format::E3M2, -100), 0x3Fu);
  EXPECT_EQ(encode(Format::E2M1, -INFINITY), 0xFu);
}

TEST(NumberFormats, NanIsCanonicalOrTheLargestValueWhereThereIsNone) {
  EXPECT_EQ(encode(Format::F16, NAN), 0x7FFFu);
  EXPECT_EQ(encode(Format::BF16, -NAN), 0x7FFFu);
  EXPECT_EQ(encode(Format::TF32, NAN), 0x7FFFFFFFu);
  EXPECT_EQ(encode(Format::E4M3, -NAN), 0x7Fu);
  EXPECT_EQ(encode(Format::E5M2, NAN, {Rounding::NearestEven, true}), 0x7Fu);
  EXPECT_EQ(encode(Format::E2M3, -NAN), 0x1Fu);
  EXPECT_EQ(encode(Format::E3M2, NAN), 0x1Fu);
  EXPECT_EQ(encode(Format::E2M1, -NAN), 0x7u);
  EXPECT_EQ(encode(Format::UE8M0, NAN), 0xFFu);
  EXPECT_EQ(encode(Format::F16, NAN, {Rounding::NearestEven, false, true}), 0x7FFFu);
}

TEST(NumberFormats, Tf32KeepsTenMantissaBits) {
  EXPECT_EQ(encode(Format::TF32, 1.0 + 0x1p-11, {Rounding::NearestAway}), 0x3F802000u);
  EXPECT_EQ(encode(Format::TF32, 1.0 + 0x1p-11), 0x3F800000u);
  EXPECT_EQ(encode(Format::TF32, 1.0 + 0x3p-11), 0x3F804000u);
  EXPECT_EQ(encode(Format::TF32, -1.0 - 0x1.8p-11), 0xBF802000u);
  EXPECT_EQ(decode(Format::TF32, 0x3F801FFF), 1.0f);
}

TEST(NumberFormats, Ue8m0IsAPowerOfTwo) {
  for (unsigned code = 0; code != 255; ++code) {
    EXPECT_EQ(double(decode(Format::UE8M0, code)), std::pow(2.0, int(code) - 127));
    EXPECT_EQ(encode(Format::UE8M0, std::pow(2.0, int(code) - 127), {Rounding::Up}), code);
    EXPECT_EQ(encode(Format::UE8M0, -std::pow(2.0, int(code) - 127), {Rounding::TowardZero}), code);
    if (code < 254) {
      EXPECT_EQ(encode(Format::UE8M0, 1.25 * std::pow(2.0, int(code) - 127), {Rounding::Up}), code + 1);
    }
    EXPECT_EQ(encode(Format::UE8M0, 1.75 * std::pow(2.0, int(code) - 127), {Rounding::TowardZero}), code);
  }
  EXPECT_TRUE(std::isnan(decode(Format::UE8M0, 255)));
  EXPECT_EQ(encode(Format::UE8M0, INFINITY, {Rounding::Up, true}), 0xFEu);
}

TEST(NumberFormats, Ue4m3IsE4m3WithoutSign) {
  for (unsigned code = 0; code != 127; ++code)
    EXPECT_EQ(decode(Format::UE4M3, code), decode(Format::E4M3, code));
  EXPECT_EQ(encode(Format::UE4M3, 448), 0x7Eu);
}

TEST(NumberFormats, FastPathsEqualTheGeneralConversion) {
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 9973) {
    float f = bitsToFloat(uint32_t(bits));
    ASSERT_EQ(floatToBf16(f), encode(Format::BF16, f)) << bits;
    ASSERT_EQ(floatToF16(f), encode(Format::F16, f)) << bits;
  }
  for (uint32_t bits = 0x38000000; bits < 0x39000000; bits += 17)
    ASSERT_EQ(floatToF16(bitsToFloat(bits)), encode(Format::F16, bitsToFloat(bits)));
}

TEST(NumberFormats, PairsPutTheLastOperandLow) {
  EXPECT_EQ(encodePair(Format::BF16, 1.0, -2.0), 0x3F80C000u);
  EXPECT_EQ(encodePair(Format::E4M3, 1.0, 2.0), 0x3840u);
  EXPECT_EQ(encodePair(Format::E2M1, 1.0, 6.0), 0x27u);
  EXPECT_EQ(encodePair(Format::E2M3, 1.0, -7.5), 0x083Fu);
  float pair[2];
  decodePair(Format::E2M1, 0x27, pair);
  EXPECT_EQ(pair[0], 6.0f);
  EXPECT_EQ(pair[1], 1.0f);
  decodePair(Format::E2M3, 0x083F, pair);
  EXPECT_EQ(pair[0], -7.5f);
  EXPECT_EQ(pair[1], 1.0f);
}

} // namespace
