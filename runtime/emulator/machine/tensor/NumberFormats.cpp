// runtime/emulator/machine/tensor/NumberFormats.cpp - the small floating-point formats and their conversions
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace fovea::emulator {
namespace {

struct Layout {
  int exponentBits, mantissaBits, bias;
  bool infinity;         ///< all-ones exponent is infinity and NaN, as in IEEE 754
  double max;            ///< largest finite value
  uint32_t nan;          ///< canonical NaN; 0 when the format has none
  unsigned storage, pad; ///< storage bits; zero bits below the mantissa
};

constexpr Layout layouts[] = {
    {5, 10, 15, true, 65504.0, 0x7FFF, 16, 0},             // F16
    {8, 7, 127, true, 0x1.FEp127, 0x7FFF, 16, 0},          // BF16
    {8, 10, 127, true, 0x1.FFCp127, 0x7FFFFFFF, 32, 13},   // TF32
    {8, 23, 127, true, 0x1.FFFFFEp127, 0x7FFFFFFF, 32, 0}, // F32
    {4, 3, 7, false, 448.0, 0x7F, 8, 0},                   // E4M3
    {5, 2, 15, true, 57344.0, 0x7F, 8, 0},                 // E5M2
    {2, 3, 1, false, 7.5, 0, 6, 0},                        // E2M3
    {3, 2, 3, false, 28.0, 0, 6, 0},                       // E3M2
    {2, 1, 1, false, 6.0, 0, 4, 0},                        // E2M1
    {8, 0, 127, false, 0x1p127, 0xFF, 8, 0},               // UE8M0
    {4, 3, 7, false, 448.0, 0x7F, 8, 0},                   // UE4M3
};
const Layout &layoutOf(Format format) { return layouts[unsigned(format)]; }

/// `q` >= 0 rounded to an integer; `negative` tells the direction of .rm and .rp.
double roundInteger(double q, Rounding rounding, bool negative) {
  double low = std::floor(q), rest = q - low;
  switch (rounding) {
  case Rounding::NearestEven:
    return low + (rest > 0.5 || (rest == 0.5 && std::fmod(low, 2.0) != 0));
  case Rounding::NearestAway:
    return low + (rest >= 0.5);
  case Rounding::TowardZero:
    return low;
  case Rounding::Down:
    return low + (negative && rest > 0);
  case Rounding::Up:
    return low + (!negative && rest > 0);
  }
  return low;
}

uint32_t encodeUe8m0(double x, Conversion how) {
  double value = std::fabs(x);
  if (value <= 0x1p-127)
    return 0;
  int exponent = std::isinf(value) ? 1024 : std::ilogb(value);
  if (exponent < 1024) {
    double fraction = std::ldexp(value, -exponent); // [1, 2)
    bool up = how.rounding == Rounding::Up ? fraction > 1
              : how.rounding == Rounding::TowardZero || how.rounding == Rounding::Down ? false
                                                                                       : fraction >= 1.5;
    exponent += up;
  }
  if (exponent > 127)
    return how.satfinite ? 0xFE : 0xFF;
  return uint32_t(exponent < -127 ? 0 : exponent + 127);
}

template <size_t N> std::array<float, N> tableOf(Format format) {
  std::array<float, N> table;
  const Layout &l = layoutOf(format);
  for (uint32_t bits = 0; bits != N; ++bits) {
    uint32_t mantissa = bits & ((1u << l.mantissaBits) - 1);
    uint32_t exponent = (bits >> l.mantissaBits) & ((1u << l.exponentBits) - 1);
    bool negative = format != Format::UE8M0 && format != Format::UE4M3 && (bits >> (l.mantissaBits + l.exponentBits) & 1);
    uint32_t top = (1u << l.exponentBits) - 1;
    double value;
    if (format == Format::UE8M0)
      value = exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, int(exponent) - 127);
    else if (l.infinity && exponent == top)
      value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else if (l.nan && !l.infinity && exponent == top && mantissa == (1u << l.mantissaBits) - 1)
      value = std::numeric_limits<double>::quiet_NaN();
    else if (exponent == 0)
      value = std::ldexp(double(mantissa), 1 - l.bias - l.mantissaBits);
    else
      value = std::ldexp(double(mantissa + (1u << l.mantissaBits)), int(exponent) - l.bias - l.mantissaBits);
    table[bits] = float(negative ? -value : value);
  }
  return table;
}

} // namespace

unsigned widthOf(Format format) { return layoutOf(format).storage; }
double maxOf(Format format) { return layoutOf(format).max; }

uint32_t encode(Format format, double x, Conversion how) {
  const Layout &l = layoutOf(format);
  unsigned signAt = unsigned(l.exponentBits + l.mantissaBits);
  uint32_t infinity = ((1u << l.exponentBits) - 1) << l.mantissaBits;
  if (std::isnan(x)) {
    if (l.nan)
      return l.nan;
    x = l.max;
  }
  if (format == Format::UE8M0)
    return encodeUe8m0(x, how);
  bool negative = std::signbit(x) && format != Format::UE4M3;
  if (negative && how.relu)
    return 0;
  double value = std::fabs(x);
  uint32_t magnitude;
  if (value == 0) {
    magnitude = 0;
  } else if (std::isinf(value)) {
    magnitude = l.infinity && !how.satfinite ? infinity : uint32_t(-1);
  } else {
    int exponent = std::max(std::ilogb(value), 1 - l.bias);
    double rounded = roundInteger(std::ldexp(value, l.mantissaBits - exponent), how.rounding, negative);
    if (std::ldexp(rounded, exponent - l.mantissaBits) > l.max) {
      bool away = how.rounding == Rounding::NearestEven || how.rounding == Rounding::NearestAway ||
                  how.rounding == (negative ? Rounding::Down : Rounding::Up);
      magnitude = l.infinity && !how.satfinite && away ? infinity : uint32_t(-1);
    } else {
      // The carry of the mantissa runs into the exponent field on its own.
      magnitude = uint32_t(rounded) + (uint32_t(exponent + l.bias - 1) << l.mantissaBits);
    }
  }
  if (magnitude == uint32_t(-1)) { // saturated: the code of max
    magnitude = l.infinity ? infinity - 1 : (1u << (l.exponentBits + l.mantissaBits)) - 1 - (l.nan ? 1 : 0);
  }
  return ((negative ? 1u << signAt : 0) | magnitude) << l.pad;
}

float decode(Format format, uint32_t bits) {
  static const auto e4m3 = tableOf<256>(Format::E4M3), e5m2 = tableOf<256>(Format::E5M2), ue8m0 = tableOf<256>(Format::UE8M0),
                    ue4m3 = tableOf<256>(Format::UE4M3);
  static const auto e2m3 = tableOf<64>(Format::E2M3), e3m2 = tableOf<64>(Format::E3M2);
  static const auto e2m1 = tableOf<16>(Format::E2M1);
  switch (format) {
  case Format::F16:
    return f16ToFloat(uint16_t(bits));
  case Format::BF16:
    return bf16ToFloat(uint16_t(bits));
  case Format::TF32:
    return bitsToFloat(bits & 0xFFFFE000);
  case Format::F32:
    return bitsToFloat(bits);
  case Format::E4M3:
    return e4m3[bits & 255];
  case Format::E5M2:
    return e5m2[bits & 255];
  case Format::E2M3:
    return e2m3[bits & 63];
  case Format::E3M2:
    return e3m2[bits & 63];
  case Format::E2M1:
    return e2m1[bits & 15];
  case Format::UE8M0:
    return ue8m0[bits & 255];
  case Format::UE4M3:
    return ue4m3[bits & 127];
  }
  return 0;
}

float f16ToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7FFF;
  if (rest >= 0x7C00)
    return bitsToFloat(sign | 0x7F800000 | (rest & 0x3FF) << 13 | (rest > 0x7C00 ? 0x400000 : 0));
  // Exponents rebased by a multiplication that is exact for normals and subnormals alike.
  float magnitude = bitsToFloat(rest << 13) * 0x1p112f;
  return bitsToFloat(sign | floatToBits(magnitude));
}

uint16_t floatToF16(float f) {
  uint32_t bits = floatToBits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  if (rest > 0x7F800000)
    return 0x7FFF;
  if (rest >= 0x477FF000) // 65520 and above round to infinity
    return uint16_t(sign | 0x7C00);
  if (rest < 0x38800000) // below 2^-14: adding 0.5 rounds at the subnormal quantum
    return uint16_t(sign | (floatToBits(bitsToFloat(rest) + 0.5f) - 0x3F000000));
  return uint16_t(sign | (rest - 0x38000000 + 0xFFF + (rest >> 13 & 1)) >> 13);
}

uint32_t encodePair(Format format, double high, double low, Conversion how) {
  unsigned width = widthOf(format);
  unsigned shift = width == 6 ? 8 : width;
  return encode(format, low, how) | encode(format, high, how) << shift;
}

void decodePair(Format format, uint32_t bits, float out[2]) {
  unsigned width = widthOf(format);
  out[0] = decode(format, bits);
  out[1] = decode(format, bits >> (width == 6 ? 8 : width));
}

} // namespace fovea::emulator
