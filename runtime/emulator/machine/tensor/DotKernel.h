// runtime/emulator/machine/tensor/DotKernel.h - the one dense product behind every matrix instruction
#pragma once

namespace fovea::emulator {

/// c[m x n] = a[m x k] * b[k x n], all row-major and dense, f32. The k products of an element are summed in order from
/// zero; with the tensor cores' input formats each product is exact. Uses AVX2+FMA or AVX-512 where the CPU has it.
void multiply(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k);

} // namespace fovea::emulator
