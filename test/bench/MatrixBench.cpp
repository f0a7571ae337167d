// test/bench/MatrixBench.cpp - bf16 products and attention on the emulator, one thread: floating-point operations per second from
// launch to end (tensor copies, barriers, tensor memory and the stores of the result included), detectors off and on.
#include "runtime/emulator/detect/Races.h"
#include "test/unit/emulator/machine/Device.h"

#include <benchmark/benchmark.h>
#include <cmath>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

static void run(benchmark::State &state, Program &program, const char *kernel, LaunchConfig config, double flops) {
  config.threads = 1;
  double done = 0;
  for (auto _ : state) {
    std::unique_ptr<Observer> detector = state.range(0) ? makeRaceDetector() : nullptr;
    config.observer = detector.get();
    Report report = program.run(*program.kernel(kernel), config);
    if (report.failed())
      return state.SkipWithError(report.text().c_str());
    done += flops;
  }
  state.counters["flop"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
}

/// C[512, 128] = A[512, 1024] B[128, 1024]^T: warp specialised, two stages of TMA, tcgen05.mma m128n128k16, tcgen05.ld.
static void tcgen05Product(benchmark::State &state) {
  constexpr uint32_t M = 512, N = 128, K = 1024;
  AddressSpace memory;
  Program program(readFile(KERNELS "/warp_specialised_gemm_sm100a.ptx"), *findChip("sm_100a"), memory);
  uint64_t c = memory.allocate(M * N * 4, "c");
  Params p;
  p << makeMap(MapType::BF16, upload(memory, randomBf16(M * K, 1), "a"), {K, M}, {2 * K}, {64, 128}, 3)
    << makeMap(MapType::BF16, upload(memory, randomBf16(N * K, 2), "b"), {K, N}, {2 * K}, {64, 128}, 3) << c << uint32_t(K / 64) << uint32_t(N);
  run(state, program, "kernel", launch(M / 128, 192, 65536, p, AsyncPolicy::Lazy), 2.0 * M * N * K);
}

/// `rows` queries of one head of 128 against as many keys, without a mask: the kernel that was timed on an H200.
static void wgmmaAttention(benchmark::State &state, int32_t rows) {
  constexpr uint64_t heads = 16, dim = 128;
  AddressSpace memory;
  Program program(readFile(KERNELS "/flash_fwd_d128_sm90a.ptx"), *findChip("sm_90a"), memory);
  uint64_t t = uint64_t(rows), n = t * heads * dim, address[3];
  for (int k = 0; k < 3; ++k)
    address[k] = upload(memory, randomBf16(n, uint32_t(k + 1)), "qkv");
  uint64_t o = memory.allocate(n * 2, "o"), lse = memory.allocate(heads * t * 4, "lse"), counter = upload(memory, std::vector<uint32_t>(1, 0), "counter");
  std::vector<int32_t> list;
  for (int32_t row = 0; row < rows; row += 128)
    list.insert(list.end(), {(rows + 127) / 128, row | 2 << 28, 0, 0});
  int32_t items = int32_t(list.size() / 4);
  list.insert(list.end(), 4, 0);
  auto map = [&](uint64_t a, uint32_t box) {
    return makeMap(MapType::BF16, a, {64, t, dim / 64, heads, 1}, {2 * heads * dim, 128, 2 * dim, 2 * t * heads * dim}, {64, box, 2, 1, 1}, 3);
  };
  Params p;
  p << map(address[0], 64) << map(address[1], 128) << map(address[2], 128) << map(o, 64) << lse << counter << float(1.4426950408889634 / std::sqrt(double(dim)))
    << rows << items << upload(memory, list, "list");
  run(state, program, "fa", launch(uint32_t(std::min(132, items)), 384, 229632, p, AsyncPolicy::Lazy), 4.0 * rows * rows * dim);
}

BENCHMARK(tcgen05Product)->Arg(0)->Arg(1)->ArgName("detect")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmmaAttention, 1024, 1024)->Arg(0)->Arg(1)->ArgName("detect")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wgmmaAttention, 4096, 4096)->Arg(0)->Arg(1)->ArgName("detect")->Unit(benchmark::kMillisecond)->Iterations(1);
