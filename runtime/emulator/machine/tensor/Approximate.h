// runtime/emulator/machine/tensor/Approximate.h - the .approx functions of the special function unit
#pragma once
#include <cstdint>

namespace fovea::emulator {

/// Deterministic stand-ins inside the ISA's error bounds: the double result rounded once to f32. `ftz` flushes
/// subnormal inputs and results to sign-preserving zero; without it subnormals are kept. NaN results are 0x7FFFFFFF.
float ex2Approx(float x, bool ftz);
float lg2Approx(float x, bool ftz);
float rcpApprox(float x, bool ftz);
float rsqrtApprox(float x, bool ftz);
float sqrtApprox(float x, bool ftz);
float sinApprox(float x, bool ftz);
float cosApprox(float x, bool ftz);
float tanhApprox(float x);
/// div.approx and div.full: x / y in double, rounded.
float divApprox(float x, float y, bool ftz);

/// ex2.approx.{f16,bf16}, tanh.approx.{f16,bf16}: f32 result rounded to the format; bits in and out.
uint16_t ex2ApproxF16(uint16_t x);
uint16_t ex2ApproxBf16Ftz(uint16_t x);
uint16_t tanhApproxF16(uint16_t x);
uint16_t tanhApproxBf16(uint16_t x);
/// rcp.approx.ftz.f64 and rsqrt.approx(.ftz).f64: the upper 32 bits carry the result, the lower are zero.
double rcpApproxF64(double x);
double rsqrtApproxF64(double x, bool ftz);

/// 32 lanes at once for hot loops (same results as ex2Approx).
void ex2ApproxWarp(const float *x, float *y, unsigned n, bool ftz);

} // namespace fovea::emulator
