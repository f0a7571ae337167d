// runtime/emulator/machine/tensor/DotKernel.cpp - the one dense product behind every matrix instruction
#include "runtime/emulator/machine/tensor/DotKernel.h"

namespace fovea::emulator {
namespace {

// Eight or sixteen floats; the compiler splits a vector that is wider than the machine's.
template <int Width> struct VectorOf;
template <> struct VectorOf<8> { typedef float type __attribute__((vector_size(32), aligned(4), may_alias)); };
template <> struct VectorOf<16> { typedef float type __attribute__((vector_size(64), aligned(4), may_alias)); };

/// Rows x (Columns * Width) outputs stay in registers over all of k.
template <int Width, int Rows, int Columns>
inline __attribute__((always_inline)) void block(const float *a, const float *b, float *c, unsigned n, unsigned k) {
  using V = typename VectorOf<Width>::type;
  V sum[Rows][Columns];
  for (int r = 0; r != Rows; ++r)
    for (int v = 0; v != Columns; ++v)
      sum[r][v] = V{};
  for (unsigned i = 0; i != k; ++i) {
    V right[Columns];
    for (int v = 0; v != Columns; ++v)
      right[v] = *reinterpret_cast<const V *>(b + i * n + v * Width);
    for (int r = 0; r != Rows; ++r)
      for (int v = 0; v != Columns; ++v)
        sum[r][v] += a[r * k + i] * right[v];
  }
  for (int r = 0; r != Rows; ++r)
    for (int v = 0; v != Columns; ++v)
      *reinterpret_cast<V *>(c + r * n + v * Width) = sum[r][v];
}

template <int Width, int Rows, int Columns>
inline __attribute__((always_inline)) void product(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  unsigned j = 0;
  for (; j + Width * Columns <= n; j += Width * Columns)
    for (unsigned i = 0; i + Rows <= m; i += Rows)
      block<Width, Rows, Columns>(a + i * k, b + j, c + i * n + j, n, k);
  for (; j + 8 <= n; j += 8)
    for (unsigned i = 0; i + Rows <= m; i += Rows)
      block<8, Rows, 1>(a + i * k, b + j, c + i * n + j, n, k);
}

using Product = void (*)(const float *, const float *, float *, unsigned, unsigned, unsigned);

void productPlain(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  product<8, 4, 1>(a, b, c, m, n, k);
}
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) void productAvx2(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  product<8, 4, 2>(a, b, c, m, n, k);
}
__attribute__((target("avx512f,avx512vl,avx2,fma"))) void productAvx512(const float *a, const float *b, float *c, unsigned m, unsigned n,
                                                                         unsigned k) {
  product<16, 8, 2>(a, b, c, m, n, k);
}
#endif

Product choose() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
    return productAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return productAvx2;
#endif
  return productPlain;
}

} // namespace

void multiply(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k) {
  static const Product best = choose();
  if (m % 8 == 0 && n % 8 == 0)
    return best(a, b, c, m, n, k);
  for (unsigned i = 0; i != m; ++i)
    for (unsigned j = 0; j != n; ++j) {
      float sum = 0;
      for (unsigned x = 0; x != k; ++x)
        sum += a[i * k + x] * b[x * n + j];
      c[i * n + j] = sum;
    }
}

} // namespace fovea::emulator
