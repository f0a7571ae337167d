// test/conformance/cuda/matrices.cu - nvcuda::wmma, whose fragments nvcc loads and stores by itself
#include <mma.h>
using namespace nvcuda;

/// C[64, 64] = 2 A[64, 48] B[48, 64] + C, f16 in, f32 out; one warp a 16 x 16 tile, B column-major.
extern "C" __global__ void wmma_f16(const half *a, const half *b, float *c) {
  int row = blockIdx.x * 16, column = blockIdx.y * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc, old;
  wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < 48; k += 16) {
    wmma::load_matrix_sync(fa, a + row * 48 + k, 48);
    wmma::load_matrix_sync(fb, b + column * 48 + k, 48);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  wmma::load_matrix_sync(old, c + row * 64 + column, 64, wmma::mem_row_major);
  for (int i = 0; i < acc.num_elements; ++i)
    acc.x[i] = 2 * acc.x[i] + old.x[i];
  wmma::store_matrix_sync(c + row * 64 + column, acc, 64, wmma::mem_row_major);
}

/// 8-bit integers through shared memory.
extern "C" __global__ void wmma_s8(const signed char *a, const signed char *b, int *c) {
  __shared__ signed char sa[16 * 16], sb[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32)
    sa[i] = a[i], sb[i] = b[i];
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc;
  wmma::fill_fragment(acc, 5);
  wmma::load_matrix_sync(fa, sa, 16);
  wmma::load_matrix_sync(fb, sb, 16);
  wmma::mma_sync(acc, fa, fb, acc);
  wmma::store_matrix_sync(c, acc, 16, wmma::mem_row_major);
}
