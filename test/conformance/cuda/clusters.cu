// test/conformance/cuda/clusters.cu - cooperative groups in a cluster, and inline PTX for what has no intrinsic
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

/// Each block of a cluster of 4 sums its 256 numbers; every block then adds up what all have, through distributed shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int *x, int *out) {
  __shared__ int mine;
  auto cluster = cg::this_cluster();
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x == 0)
    mine = 0;
  __syncthreads();
  int sum = cg::reduce(tile, x[blockIdx.x * 256 + threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0)
    atomicAdd(&mine, sum);
  cluster.sync();
  if (threadIdx.x == 0) {
    int all = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r)
      all += *cluster.map_shared_rank(&mine, r) * (r + 1);
    out[blockIdx.x] = all;
  }
  cluster.sync();
}

/// red.async to the next block's shared memory, counted on its mbarrier; then votes, matches and warp reductions of the sum.
extern "C" __global__ void __cluster_dims__(2, 1, 1) ring(const unsigned *x, unsigned *out) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ unsigned sum;
  unsigned bar_at = (unsigned)__cvta_generic_to_shared(&bar), sum_at = (unsigned)__cvta_generic_to_shared(&sum), rank, peer_bar, peer_sum;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    sum = 7;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(bar_at) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(bar_at) : "memory");
  }
  cg::this_cluster().sync();
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer_bar) : "r"(bar_at), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer_sum) : "r"(sum_at), "r"(rank ^ 1));
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(peer_sum), "r"(x[blockIdx.x * 64 + threadIdx.x]),
               "r"(peer_bar) : "memory");
  asm volatile("{\n\t.reg .pred done;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n\t@!done bra AGAIN;\n\t}" ::"r"(bar_at) : "memory");
  unsigned v = sum + threadIdx.x % 5, least = __reduce_min_sync(~0u, v), same = __match_any_sync(~0u, v), odd = __ballot_sync(~0u, v & 1);
  out[blockIdx.x * 64 + threadIdx.x] = v + 3 * least + 5 * __popc(same) + 7 * __popc(odd) + __shfl_xor_sync(~0u, v, 9);
  cg::this_cluster().sync();
}
