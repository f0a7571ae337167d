// test/conformance/cuda/language.cu - what CUDA C++ makes of functions, structs, tables, switches and local arrays
#include <cuda_fp16.h>

struct Pair { float scale; int shift; double weight; };

__constant__ float table[8] = {1, -2, 4, -8, 16, -32, 64, -128};
__device__ int counters[4] = {100, 200, 300, 400};
__device__ const char *names[2] = {"even", "odd"};

__device__ __noinline__ float transform(Pair p, const float *values, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += values[(i + p.shift) % n] * p.scale;
  return sum + float(p.weight);
}

__device__ __noinline__ int decide(int kind, int x) {
  switch (kind) {
  case 0: return x + 1;
  case 1: return x * 3;
  case 2: return x - 7;
  case 3: return x ^ 0x55;
  case 4: return x << 2;
  case 5: return -x;
  case 6: return x / 3;
  case 7: return x % 5;
  default: return 0;
  }
}

/// out[t]: f32 from the call through a struct and a local array; decisions[t]: the switch, a character of a string, a counter.
extern "C" __global__ void language(float *out, int *decisions, Pair p, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float local[9];
  for (int i = 0; i < 9; ++i)
    local[i] = table[(t + i) & 7] + float(i);
  if (t >= n)
    return;
  p.shift += t % 3;
  out[t] = transform(p, local, 5 + t % 5);
  int old = atomicAdd(&counters[t & 3], 0);
  decisions[t] = decide(t % 9, t) + names[t & 1][t % 3] + old;
}

/// Half-precision intrinsics, doubles, 64-bit integers and predicated stores.
extern "C" __global__ void numbers(const double *x, const __half2 *h, double *out, __half2 *hout, unsigned long long *wide, int n) {
  int t = threadIdx.x;
  if (t < n) {
    out[t] = fma(x[t], x[(t + 1) % n], sqrt(fabs(x[t]))) / (1.0 + x[t] * x[t]);
    hout[t] = __hfma2(h[t], h[(t + 1) % n], __hmax2(h[t], __float2half2_rn(0.5f)));
    wide[t] = __umul64hi(0x9E3779B97F4A7C15ull * (t + 1), 0xD1B54A32D192ED03ull) ^ __brevll(t) ^ (unsigned long long)__popcll(0x0123456789abcdefull << (t & 31));
  }
}
