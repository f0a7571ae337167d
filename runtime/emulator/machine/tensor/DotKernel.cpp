// runtime/emulator/machine/tensor/DotKernel.cpp - the one dense product behind every matrix instruction
#include "runtime/emulator/machine/tensor/DotKernel.h"

namespace fovea::emulator {
namespace {

// Eight or sixteen floats; the compiler splits a vector that is wider than the machine's.
template <int Width> struct VectorOf;
template <> struct VectorOf<8> { typedef float type __attribute__((vector_size(32), aligned(4), may_alias)); };
template <> struct VectorOf<16> { typedef float type __attribute__((vector_size(64), aligned(4), may_alias)); };

/// Rows x (Columns * Width) outputs stay in registers over all of k.
template <int Width, int Rows, int Columns> struct Block {
  using V = typename VectorOf<Width>::type;
  V sum[Rows][Columns];

  inline __attribute__((always_inline)) void multiply(const float *a, const float *b, unsigned n, unsigned k) {
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
  }
  inline __attribute__((always_inline)) void store(float *c, size_t pitch, bool add) const {
    for (int r = 0; r != Rows; ++r)
      for (int v = 0; v != Columns; ++v) {
        V &to = *reinterpret_cast<V *>(c + r * pitch + v * Width);
        to = add ? to + sum[r][v] : sum[r][v];
      }
  }
};

template <int Width, int Rows, int Columns>
inline __attribute__((always_inline)) void product(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add) {
  unsigned j = 0;
  for (; j + Width * Columns <= n; j += Width * Columns)
    for (unsigned i = 0; i + Rows <= m; i += Rows) {
      Block<Width, Rows, Columns> block;
      block.multiply(a + i * k, b + j, n, k);
      block.store(c + i * pitch + j, pitch, add);
    }
  for (; j + 8 <= n; j += 8)
    for (unsigned i = 0; i + Rows <= m; i += Rows) {
      Block<8, Rows, 1> block;
      block.multiply(a + i * k, b + j, n, k);
      block.store(c + i * pitch + j, pitch, add);
    }
}

using Product = void (*)(const float *, const float *, float *, unsigned, unsigned, unsigned, size_t, bool);

void productPlain(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add) {
  product<8, 4, 1>(a, b, c, m, n, k, pitch, add);
}
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) void productAvx2(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add) {
  product<8, 4, 2>(a, b, c, m, n, k, pitch, add);
}
#define FOVEA_AVX512 __attribute__((target("avx512f,avx512vl,avx2,fma")))
FOVEA_AVX512 void productAvx512(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add) {
  product<16, 8, 2>(a, b, c, m, n, k, pitch, add);
}

/// Four rows of one quarter of their 16 columns each: rows[r][4q .. 4q+3] to quarters[q][4r .. 4r+3].
inline __attribute__((always_inline)) void exchangeQuarters(const VectorOf<16>::type rows[4], VectorOf<16>::type quarters[4]) {
  VectorOf<16>::type low[2], high[2];
  for (int h = 0; h != 2; ++h) {
    low[h] = __builtin_shufflevector(rows[2 * h], rows[2 * h + 1], 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    high[h] = __builtin_shufflevector(rows[2 * h], rows[2 * h + 1], 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  }
  quarters[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  quarters[1] = __builtin_shufflevector(low[0], low[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  quarters[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  quarters[3] = __builtin_shufflevector(high[0], high[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}

FOVEA_AVX512 void fragmentsAvx512(const float *a, const float *b, float *const *registers, unsigned m, unsigned n, unsigned k, bool add) {
  using V = VectorOf<16>::type;
  for (unsigned j = 0; j != n; j += 32)
    for (unsigned i = 0; i != m; i += 8) {
      Block<16, 8, 2> block;
      block.multiply(a + i * k, b + j, n, k);
      float *const *to = registers + i / 16 * (n / 2) + i / 8 % 2 * 2 + j / 2;
      for (int v = 0; v != 2; ++v)
        for (int half = 0; half != 2; ++half) {
          V rows[4], quarters[4];
          for (int r = 0; r != 4; ++r)
            rows[r] = block.sum[4 * half + r][v];
          exchangeQuarters(rows, quarters);
          for (int q = 0; q != 4; ++q) {  // even and odd columns of one eight, then of the next
            V &d = *reinterpret_cast<V *>(to[8 * v + q / 2 * 4 + q % 2] + 16 * half);
            d = add ? d + quarters[q] : quarters[q];
          }
        }
    }
}

bool hasAvx512() {
  static const bool yes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  return yes;
}
#endif

Product choose() {
#ifdef __x86_64__
  if (hasAvx512())
    return productAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return productAvx2;
#endif
  return productPlain;
}

} // namespace

void multiply(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k, size_t pitch, bool add) {
  static const Product best = choose();
  if (m % 8 == 0 && n % 8 == 0)
    return best(a, b, c, m, n, k, pitch, add);
  for (unsigned i = 0; i != m; ++i)
    for (unsigned j = 0; j != n; ++j) {
      float sum = 0;
      for (unsigned x = 0; x != k; ++x)
        sum += a[i * k + x] * b[x * n + j];
      float &to = c[i * pitch + j];
      to = add ? to + sum : sum;
    }
}

bool multipliesFragments(unsigned m, unsigned n) {
#ifdef __x86_64__
  return hasAvx512() && m % 16 == 0 && n % 32 == 0;
#else
  (void)m, (void)n;
  return false;
#endif
}

void multiplyFragments(const float *a, const float *b, float *const *registers, unsigned m, unsigned n, unsigned k, bool add) {
#ifdef __x86_64__
  fragmentsAvx512(a, b, registers, m, n, k, add);
#endif
}

} // namespace fovea::emulator
