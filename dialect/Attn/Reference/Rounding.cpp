// dialect/Attn/Reference/Rounding.cpp - rounds a double to the values of a narrower format
#include "dialect/Attn/Reference/Rounding.h"

#include <cmath>

using namespace mlir;

namespace fovea::attn::reference {

/// Rounds the magnitude to `bits` of significand, with the exponent no lower than `minExponent` (subnormals below).
/// scalbn and nearbyint are exact, so the one rounding is nearbyint's: to nearest, ties to even.
static double roundSignificand(double value, int bits, int minExponent) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), minExponent);
  int shift = bits - 1 - exponent;
  return std::scalbn(std::nearbyint(std::scalbn(value, shift)), -shift);
}

static double overflowToInfinity(double value, double largest) {
  return std::fabs(value) > largest ? std::copysign(INFINITY, value) : value;
}

double roundTo(Type type, double value) {
  if (type.isF32())
    return float(value);
  if (type.isBF16())
    return overflowToInfinity(roundSignificand(value, 8, -126), 0x1.FEp127);
  if (type.isF16())
    return overflowToInfinity(roundSignificand(value, 11, -14), 65504.0);
  if (isa<Float8E4M3FNType>(type)) {
    if (std::isnan(value))
      return value;
    double rounded = roundSignificand(value, 4, -6);
    return std::fabs(rounded) > 448.0 ? std::copysign(448.0, rounded) : rounded;
  }
  if (isa<Float8E8M0FNUType>(type)) {
    if (!(value > 0) || !std::isfinite(value))
      return NAN;
    // Powers of two from 2^-127 to 2^127; a tie between two of them goes to the larger (even or not is no question
    // of a format without significand bits).
    int exponent = std::ilogb(value);
    if (value / std::scalbn(1.0, exponent) >= 1.5)
      ++exponent;
    return std::scalbn(1.0, std::clamp(exponent, -127, 127));
  }
  return value;
}

void roundToMicroscaled(MutableArrayRef<double> values) {
  double largest = 0;
  for (double value : values) {
    if (!std::isfinite(value)) {
      llvm::fill(values, NAN); // the shared scale has no other way to say so
      return;
    }
    largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0)
    return;
  double scale = std::scalbn(1.0, std::clamp(std::ilogb(largest) - 8, -127, 127));
  for (double &value : values) {
    double rounded = roundSignificand(value / scale, 4, -6);
    value = std::copysign(std::min(std::fabs(rounded), 448.0), rounded) * scale;
  }
}

} // namespace fovea::attn::reference
