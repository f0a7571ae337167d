// runtime/emulator/machine/tensor/Approximate.cpp - the .approx functions of the special function unit
#include "runtime/emulator/machine/tensor/Approximate.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>

namespace fovea::emulator {
namespace {

constexpr uint32_t canonicalNan = 0x7FFFFFFF;

float flush(float x, bool ftz) { return ftz && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

/// A double result as f32: rounded once, flushed, canonical NaN.
float finish(double y, bool ftz) { return std::isnan(y) ? bitsToFloat(canonicalNan) : flush(float(y), ftz); }

} // namespace

float ex2Approx(float x, bool ftz) { return finish(std::exp2(double(flush(x, ftz))), ftz); }
float lg2Approx(float x, bool ftz) { return finish(std::log2(double(flush(x, ftz))), ftz); }
float rcpApprox(float x, bool ftz) { return finish(1.0 / double(flush(x, ftz)), ftz); }
float rsqrtApprox(float x, bool ftz) {
  x = flush(x, ftz);
  return finish(x == 0 ? std::copysign(INFINITY, x) : 1.0 / std::sqrt(double(x)), ftz);
}
float sqrtApprox(float x, bool ftz) { return finish(std::sqrt(double(flush(x, ftz))), ftz); }
float sinApprox(float x, bool ftz) { return finish(std::sin(double(flush(x, ftz))), ftz); }
float cosApprox(float x, bool ftz) { return finish(std::cos(double(flush(x, ftz))), ftz); }
float tanhApprox(float x) { return finish(std::tanh(double(x)), false); }
float divApprox(float x, float y, bool ftz) { return finish(double(flush(x, ftz)) / double(flush(y, ftz)), ftz); }

uint16_t ex2ApproxF16(uint16_t x) { return floatToF16(ex2Approx(f16ToFloat(x), false)); }
uint16_t ex2ApproxBf16Ftz(uint16_t x) { return floatToBf16(ex2Approx(bf16ToFloat(x), true)); }
uint16_t tanhApproxF16(uint16_t x) { return floatToF16(tanhApprox(f16ToFloat(x))); }
uint16_t tanhApproxBf16(uint16_t x) { return floatToBf16(tanhApprox(bf16ToFloat(x))); }

namespace {
/// The upper word carries 20 mantissa bits; subnormals flush in and out (".ftz" of the f64 forms).
double upperWord(double y) {
  uint64_t bits;
  std::memcpy(&bits, &y, 8);
  if (std::isnan(y))
    bits = 0x7FFFFFFF00000000;
  bits &= 0xFFFFFFFF00000000;
  std::memcpy(&y, &bits, 8);
  return y;
}
double flush64(double x) { return std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x; }
} // namespace

double rcpApproxF64(double x) { return upperWord(flush64(1.0 / flush64(upperWord(x)))); }
double rsqrtApproxF64(double x, bool ftz) {
  x = upperWord(x);
  if (ftz)
    x = flush64(x);
  return upperWord(x == 0 ? std::copysign(double(INFINITY), x) : 1.0 / std::sqrt(x));
}

void ex2ApproxWarp(const float *x, float *y, unsigned n, bool ftz) {
  for (unsigned i = 0; i != n; ++i)
    y[i] = ex2Approx(x[i], ftz);
}

} // namespace fovea::emulator
