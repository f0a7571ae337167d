// runtime/emulator/machine/tensor/DotKernel.h - the one dense product behind every matrix instruction
#pragma once
#include <cstddef>

namespace fovea::emulator {

/// c[m x n] = a[m x k] * b[k x n] (`add`: +=), all row-major, f32, a and b dense, rows of c `pitch` floats apart. The k products of
/// an element are summed in order from zero; with the tensor cores' input formats each product is exact. Uses AVX2+FMA or AVX-512
/// where the CPU has it.
void multiply(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add);
inline void multiply(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) { multiply(a, b, c, m, n, k, n, false); }

/// The same into accumulator fragments (PTX ISA, "Register Fragments for wgmma.mma_async"), where multipliesFragments(m, n).
/// b's columns stand with the even ones of each eight first (gather's `evensFirst`); registers[i / 16 * n / 2 + r] is register r of the
/// warp that holds rows i .. i + 15, as an array over its 32 lanes.
bool multipliesFragments(unsigned m, unsigned n);
void multiplyFragments(const float *a, const float *b, float *const *registers, unsigned m, unsigned n, unsigned k, bool add);

} // namespace fovea::emulator
