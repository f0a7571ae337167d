// frontend/cli/Elements.cpp - conversions of element types, by their definitions.
#include "frontend/cli/Elements.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace fovea {

namespace {

/// A binary format by the widths of its fields (IEEE 754 layout, no sign of zero special).
struct Format {
  int exponentBits, mantissaBits;
  bool hasInfinity; ///< e4m3 has none: its largest exponent holds numbers, and all ones is NaN

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int maxExponent() const { return (1 << exponentBits) - 1 - bias() - (hasInfinity ? 1 : 0); }
  double largest() const {
    double mantissa = hasInfinity ? 2 - std::ldexp(1, -mantissaBits) : 2 - std::ldexp(1, 1 - mantissaBits);
    return std::ldexp(mantissa, maxExponent());
  }
};
constexpr Format kBF16{8, 7, true}, kF16{5, 10, true}, kE4M3{4, 3, false};

uint32_t encode(double value, Format f) {
  uint32_t sign = std::signbit(value) ? 1u << (f.exponentBits + f.mantissaBits) : 0;
  uint32_t allOnes = (1u << (f.exponentBits + f.mantissaBits)) - 1;
  uint32_t infinity = f.hasInfinity ? allOnes & ~((1u << f.mantissaBits) - 1) : allOnes - 1;
  if (std::isnan(value))
    return sign | allOnes;
  double size = std::fabs(value);
  if (size == 0)
    return sign;
  int exponent = std::max(std::ilogb(size), 1 - f.bias());
  if (std::isinf(size))
    return sign | infinity;
  // An integer count of units in the last place; nearbyint rounds ties to even.
  double units = std::nearbyint(std::ldexp(size, f.mantissaBits - exponent));
  double rounded = std::ldexp(units, exponent - f.mantissaBits);
  if (rounded > f.largest())
    return sign | infinity;
  exponent = std::max(std::ilogb(rounded), 1 - f.bias());
  uint32_t mantissa = uint32_t(std::ldexp(rounded, f.mantissaBits - exponent));
  bool normal = mantissa >> f.mantissaBits;
  return sign | (normal ? uint32_t(exponent + f.bias()) << f.mantissaBits : 0) |
         (mantissa & ((1u << f.mantissaBits) - 1));
}

double decode(uint32_t bits, Format f) {
  uint32_t mantissaMask = (1u << f.mantissaBits) - 1, exponentMask = (1u << f.exponentBits) - 1;
  double sign = bits >> (f.exponentBits + f.mantissaBits) & 1 ? -1 : 1;
  uint32_t exponent = bits >> f.mantissaBits & exponentMask, mantissa = bits & mantissaMask;
  if (exponent == exponentMask && (f.hasInfinity || mantissa == mantissaMask)) {
    if (mantissa || !f.hasInfinity)
      return std::numeric_limits<double>::quiet_NaN();
    return sign * std::numeric_limits<double>::infinity();
  }
  double value = exponent ? std::ldexp(double(mantissa | 1u << f.mantissaBits), int(exponent) - f.bias() - f.mantissaBits)
                          : std::ldexp(double(mantissa), 1 - f.bias() - f.mantissaBits);
  return sign * value;
}

template <typename T> void append(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

template <typename T> T load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

} // namespace

std::string encodeElements(const std::vector<double> &values, DType dtype) {
  std::string bytes;
  bytes.reserve(values.size() * dtypeBytes(dtype));
  for (double value : values) {
    switch (dtype) {
    case DType::BF16:
      append(bytes, uint16_t(encode(value, kBF16)));
      break;
    case DType::F16:
      append(bytes, uint16_t(encode(value, kF16)));
      break;
    case DType::E4M3:
      append(bytes, uint8_t(encode(value, kE4M3)));
      break;
    case DType::UE8M0:
      append(bytes, uint8_t(std::isnan(value) || value <= 0 ? 255 : std::lrint(std::log2(value)) + 127));
      break;
    case DType::F32:
      append(bytes, float(value));
      break;
    case DType::F64:
      append(bytes, value);
      break;
    case DType::I32:
    case DType::U32:
      append(bytes, int32_t(value));
      break;
    case DType::I64:
      append(bytes, int64_t(value));
      break;
    case DType::U16:
      append(bytes, uint16_t(value));
      break;
    case DType::E5M2:
    case DType::U8:
      append(bytes, uint8_t(value));
      break;
    }
  }
  return bytes;
}

std::vector<double> decodeElements(std::string_view bytes, DType dtype) {
  std::vector<double> values(bytes.size() / dtypeBytes(dtype));
  const char *at = bytes.data();
  for (double &value : values) {
    switch (dtype) {
    case DType::BF16:
      value = decode(load<uint16_t>(at), kBF16);
      break;
    case DType::F16:
      value = decode(load<uint16_t>(at), kF16);
      break;
    case DType::E4M3:
      value = decode(load<uint8_t>(at), kE4M3);
      break;
    case DType::UE8M0:
      value = load<uint8_t>(at) == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1, load<uint8_t>(at) - 127);
      break;
    case DType::F32:
      value = load<float>(at);
      break;
    case DType::F64:
      value = load<double>(at);
      break;
    case DType::I32:
      value = load<int32_t>(at);
      break;
    case DType::U32:
      value = load<uint32_t>(at);
      break;
    case DType::I64:
      value = double(load<int64_t>(at));
      break;
    case DType::U16:
      value = load<uint16_t>(at);
      break;
    case DType::E5M2:
    case DType::U8:
      value = load<uint8_t>(at);
      break;
    }
    at += dtypeBytes(dtype);
  }
  return values;
}

} // namespace fovea
