// test/unit/emulator/machine/RacesTest.cpp - the race detector: silent on right kernels, loud when one synchronising instruction is gone.
#include "runtime/emulator/detect/Races.h"
#include "test/unit/emulator/machine/Device.h"
#include <gtest/gtest.h>
#include <iostream>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

// C[128 x 128] = A B^T with K = 320 through a ring of two stages (see Tcgen05Test).
Report product(const std::string &text, AsyncPolicy policy) {
  constexpr uint32_t M = 128, N = 128, K = 320;
  AddressSpace memory;
  Program program(text, *findChip("sm_100a"), memory);
  auto a = randomBf16(M * K, 1), b = randomBf16(N * K, 2);
  uint64_t c = memory.allocate(M * N * 4, "c");
  Params p;
  p << makeMap(MapType::BF16, upload(memory, a, "a"), {K, M}, {2 * K}, {64, 128}, 3)
    << makeMap(MapType::BF16, upload(memory, b, "b"), {K, N}, {2 * K}, {64, 128}, 3) << c << uint32_t(K / 64) << uint32_t(N);
  LaunchConfig config = launch(1, 192, 65536, p, policy, 1);
  auto races = makeRaceDetector();
  config.observer = races.get();
  config.limit = 4u << 20;
  return program.run(*program.kernel("kernel"), config);
}

// A short and a full block of block-diagonal attention (see BlockDiagonalTest).
Report blockDiagonal(const std::string &text, AsyncPolicy policy) {
  AddressSpace memory;
  Program program(text, *findChip("sm_90a"), memory);
  Params p;
  constexpr uint64_t rows = 128, width = 512;
  for (uint32_t t = 0; t < 3; ++t)
    p << makeMap(MapType::BF16, upload(memory, randomBf16(rows * width, t + 1), "in"), {width, rows}, {2 * width}, {64, 16}, 3);
  uint64_t o = memory.allocate(rows * width * 2, "o"), list = upload(memory, std::vector<uint64_t>{uint64_t(50) << 32, uint64_t(64) << 32 | 64}, "list");
  p << makeMap(MapType::BF16, o, {64, rows, 8}, {2 * width, 128}, {64, 64, 2}, 3) << list << uint32_t(2) << o << uint64_t(0) << uint64_t(0) << uint64_t(0) << uint32_t(0);
  LaunchConfig config = launch(8, 128, 49184, p, policy, 1);
  auto races = makeRaceDetector();
  config.observer = races.get();
  config.limit = 4u << 20;
  return program.run(*program.kernel("bd"), config);
}

using Run = Report (*)(const std::string &, AsyncPolicy);

/// Comments out each line that holds `part`, one at a time; returns how often the emulator noticed, of how many.
std::pair<int, int> without(const std::string &text, const std::string &part, Run run) {
  int caught = 0, all = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
    std::string mutant = text;
    size_t line = mutant.rfind('\n', at) + 1;
    mutant.insert(line, "//");
    ++all;
    Report r = run(mutant, AsyncPolicy::Lazy);
    if (!r.findings.empty())
      ++caught;
    else
      std::cout << "survived: " << text.substr(line, text.find('\n', line) - line) << "\n";
  }
  return {caught, all};
}

TEST(Races, silentOnRightKernels) {
  for (AsyncPolicy policy : {AsyncPolicy::Lazy, AsyncPolicy::Eager, AsyncPolicy::Random}) {
    EXPECT_EQ(product(readFile(KERNELS "/warp_specialised_gemm_sm100a.ptx"), policy).text(), "");
    EXPECT_EQ(blockDiagonal(readFile(KERNELS "/blockdiag_fwd_sm90a.ptx"), policy).text(), "");
  }
}

void expectAllCaught(const std::string &file, const std::string &part, Run run) {
  auto [caught, all] = without(readFile(KERNELS + file), part, run);
  EXPECT_GT(all, 0) << part;
  EXPECT_EQ(caught, all) << part;
}

TEST(Races, productNeedsEachOfThese) {
  for (const char *part : {"tcgen05.commit", "mbarrier.arrive.expect_tx", "bar.sync", "mbarrier.try_wait", "tcgen05.wait::ld", "mbarrier.init", "tcgen05.dealloc"})
    expectAllCaught("/warp_specialised_gemm_sm100a.ptx", part, product);
}

TEST(Races, blockDiagonalNeedsEachOfThese) {
  // The fence after mbarrier.init is custom: a barrier is reached through the generic proxy (PTX ISA, mbarrier).
  auto [caught, all] = without(readFile(KERNELS "/blockdiag_fwd_sm90a.ptx"), "fence.proxy.async", blockDiagonal);
  EXPECT_EQ(all, 3);
  EXPECT_EQ(caught, 2);
  for (const char *part : {"bar.sync", "mbarrier.try_wait", "wgmma.wait_group", "wgmma.commit_group"})
    expectAllCaught("/blockdiag_fwd_sm90a.ptx", part, blockDiagonal);
}

} // namespace
