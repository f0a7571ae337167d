// test/unit/emulator/machine/FlashForwardTest.cpp - known-good sm_90a kernels: warp-specialised dense and causal attention.
#include "test/unit/emulator/machine/Device.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

constexpr size_t kHeads = 16, kDim = 128, kRows = 192;

struct How { bool causal; AsyncPolicy policy; uint64_t seed; };

class FlashForward : public ::testing::TestWithParam<How> {};

TEST_P(FlashForward, matchesReference) {
  How how = GetParam();
  AddressSpace memory;
  std::string file = how.causal ? "/flash_fwd_d128_causal_sm90a.ptx" : "/flash_fwd_d128_sm90a.ptx";
  Program program(readFile(KERNELS + file), *findChip("sm_90a"), memory);
  size_t n = kRows * kHeads * kDim;
  std::vector<uint16_t> in[3];
  uint64_t address[3];
  for (int t = 0; t < 3; ++t) {
    in[t] = randomBf16(n, uint32_t(t + 1));
    address[t] = upload(memory, in[t], (const char *[]){"q", "k", "v"}[t]);
  }
  uint64_t o = memory.allocate(n * 2, "o"), lse = memory.allocate(kHeads * kRows * 4, "lse");
  uint64_t counter = upload(memory, std::vector<uint32_t>(1, 0), "counter");
  std::vector<int32_t> list;
  for (int32_t h = 0; h < int32_t(kHeads); ++h)
    for (int32_t row0 = 0; row0 < int32_t(kRows); row0 += 128) {
      int32_t rows = std::min<int32_t>(128, int32_t(kRows) - row0);
      int32_t keys = how.causal ? row0 + rows : int32_t(kRows);
      list.insert(list.end(), {(keys + 127) / 128, row0 | (rows / 64) << 28, h, 0});
    }
  int32_t items = int32_t(list.size() / 4);
  list.insert(list.end(), 4, 0);
  auto map = [&](uint64_t a, uint32_t rows) {
    return makeMap(MapType::BF16, a, {64, kRows, kDim / 64, kHeads, 1}, {2 * kHeads * kDim, 128, 2 * kDim, 2 * kRows * kHeads * kDim}, {64, rows, 2, 1, 1}, 3);
  };
  Params p;
  p << map(address[0], 64) << map(address[1], 128) << map(address[2], 128) << map(o, 64) << lse << counter
    << float(1.4426950408889634 / std::sqrt(double(kDim))) << int32_t(kRows) << items << upload(memory, list, "list");
  const Code *code = program.kernel("fa");
  ASSERT_TRUE(code);
  Report r = program.run(*code, launch(uint32_t(std::min(132, items)), 384, 229632, p, how.policy, how.seed));
  ASSERT_EQ(r.text(), "");
  std::vector<uint16_t> got = download<uint16_t>(memory, o, n);
  std::vector<float> gotLse = download<float>(memory, lse, kHeads * kRows);
  double error = 0, norm = 0, worst = 0;
  for (size_t h = 0; h < kHeads; ++h)
    for (size_t i = 0; i < kRows; ++i) {
      size_t keys = how.causal ? i + 1 : kRows;
      std::vector<double> s(keys);
      double max = -1e300, sum = 0;
      auto at = [&](size_t row, size_t d) { return (row * kHeads + h) * kDim + d; };
      for (size_t j = 0; j < keys; ++j) {
        for (size_t d = 0; d < kDim; ++d)
          s[j] += double(bf16ToFloat(in[0][at(i, d)])) * bf16ToFloat(in[1][at(j, d)]);
        s[j] /= std::sqrt(double(kDim));
        max = std::max(max, s[j]);
      }
      for (double &x : s)
        sum += x = std::exp(x - max);
      worst = std::max(worst, std::fabs(gotLse[h * kRows + i] - (max + std::log(sum))));
      for (size_t d = 0; d < kDim; ++d) {
        double want = 0, g = bf16ToFloat(got[at(i, d)]);
        for (size_t j = 0; j < keys; ++j)
          want += s[j] / sum * bf16ToFloat(in[2][at(j, d)]);
        ASSERT_TRUE(std::isfinite(g));
        error += (g - want) * (g - want);
        norm += want * want;
      }
    }
  EXPECT_LT(std::sqrt(error / norm), 5e-3);
  EXPECT_LT(worst, 1e-4);
  EXPECT_EQ(download<uint32_t>(memory, counter, 1)[0], 0u);
}

INSTANTIATE_TEST_SUITE_P(policies, FlashForward,
                         ::testing::Values(How{false, AsyncPolicy::Lazy, 0}, How{false, AsyncPolicy::Random, 1}, How{true, AsyncPolicy::Eager, 0}, How{true, AsyncPolicy::Random, 2}));

} // namespace
