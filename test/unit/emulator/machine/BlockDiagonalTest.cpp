// test/unit/emulator/machine/BlockDiagonalTest.cpp - known-good sm_90a kernels: block-diagonal attention forward and backward.
#include "test/unit/emulator/machine/Device.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

constexpr size_t kHeads = 4, kDim = 128, kWidth = kHeads * kDim;

struct Problem {
  std::vector<std::pair<uint32_t, uint32_t>> blocks;  ///< first row, rows
  size_t rows;
};

std::vector<float> decode(const std::vector<uint16_t> &v) {
  std::vector<float> f(v.size());
  for (size_t k = 0; k < v.size(); ++k)
    f[k] = bf16ToFloat(v[k]);
  return f;
}

/// f64 attention inside one block of rows and one head; gradients as well when dO is given.
void reference(const Problem &p, const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
               std::vector<double> &o, const std::vector<float> *dO, std::vector<double> *dq, std::vector<double> *dk, std::vector<double> *dv) {
  double scale = 1 / std::sqrt(double(kDim));
  for (const auto &block : p.blocks)
    for (size_t h = 0; h < kHeads; ++h) {
      size_t row0 = block.first, n = block.second;
      auto at = [&](size_t i, size_t d) { return (row0 + i) * kWidth + h * kDim + d; };
      std::vector<double> P(n * n);
      for (size_t i = 0; i < n; ++i) {
        double max = -1e300, sum = 0;
        for (size_t j = 0; j < n; ++j) {
          double s = 0;
          for (size_t d = 0; d < kDim; ++d)
            s += double(q[at(i, d)]) * k[at(j, d)];
          P[i * n + j] = s * scale;
          max = std::max(max, s * scale);
        }
        for (size_t j = 0; j < n; ++j)
          sum += P[i * n + j] = std::exp(P[i * n + j] - max);
        for (size_t j = 0; j < n; ++j)
          P[i * n + j] /= sum;
        for (size_t d = 0; d < kDim; ++d) {
          double x = 0;
          for (size_t j = 0; j < n; ++j)
            x += P[i * n + j] * v[at(j, d)];
          o[at(i, d)] = x;
        }
      }
      if (!dO)
        continue;
      for (size_t i = 0; i < n; ++i) {
        double delta = 0;
        std::vector<double> dP(n);
        for (size_t j = 0; j < n; ++j) {
          for (size_t d = 0; d < kDim; ++d)
            dP[j] += double((*dO)[at(i, d)]) * v[at(j, d)];
          delta += dP[j] * P[i * n + j];
        }
        for (size_t j = 0; j < n; ++j) {
          double dS = P[i * n + j] * (dP[j] - delta) * scale;
          for (size_t d = 0; d < kDim; ++d) {
            (*dq)[at(i, d)] += dS * k[at(j, d)];
            (*dk)[at(j, d)] += dS * q[at(i, d)];
            (*dv)[at(j, d)] += P[i * n + j] * (*dO)[at(i, d)];
          }
        }
      }
    }
}

/// Rows of blocks: relative error of the whole; rows outside: still poisoned.
void check(const Problem &p, const std::vector<uint16_t> &got, const std::vector<double> &want, double tolerance, const char *what) {
  std::vector<bool> inside(p.rows, false);
  for (auto [row0, n] : p.blocks)
    for (uint32_t r = 0; r < n; ++r)
      inside[row0 + r] = true;
  double error = 0, norm = 0;
  std::vector<uint16_t> poisoned(2);
  poison(poisoned.data(), 4);
  size_t touched = 0;
  for (size_t r = 0; r < p.rows; ++r)
    for (size_t c = 0; c < kWidth; ++c) {
      size_t k = r * kWidth + c;
      if (!inside[r]) {
        touched += got[k] != poisoned[k % 2];
        continue;
      }
      double g = bf16ToFloat(got[k]);
      ASSERT_TRUE(std::isfinite(g)) << what << " row " << r << " column " << c;
      error += (g - want[k]) * (g - want[k]);
      norm += want[k] * want[k];
    }
  EXPECT_LT(std::sqrt(error / norm), tolerance) << what;
  EXPECT_EQ(touched, 0u) << what << ": elements outside every block were written";
}

class BlockDiagonal : public ::testing::TestWithParam<std::pair<AsyncPolicy, uint64_t>> {
protected:
  AddressSpace memory;
  Problem p{{{0, 64}, {64, 17}, {90, 1}, {100, 48}}, 160};
  std::vector<uint16_t> inputs[4];
  uint64_t address[4];
  void SetUp() override {
    for (int t = 0; t < 4; ++t) {
      inputs[t] = randomBf16(p.rows * kWidth, uint32_t(t + 1));
      std::vector<uint16_t> raw = inputs[t];
      // A NaN outside the blocks must not spread.
      for (size_t c = 0; c < kWidth; ++c)
        raw[85 * kWidth + c] = 0x7fc0;
      address[t] = upload(memory, raw, (const char *[]){"q", "k", "v", "dO"}[t]);
    }
  }
  Map128 inputMap(uint64_t a) { return makeMap(MapType::BF16, a, {kWidth, p.rows}, {2 * kWidth}, {64, 16}, 3); }
  Map128 outputMap(uint64_t a) { return makeMap(MapType::BF16, a, {64, p.rows, 2 * kHeads}, {2 * kWidth, 128}, {64, 64, 2}, 3); }
  uint64_t list() {
    std::vector<uint64_t> l;
    for (auto [row0, n] : p.blocks)
      l.push_back(row0 | uint64_t(n) << 32);
    return upload(memory, l, "list");
  }
};

TEST_P(BlockDiagonal, forward) {
  Program program(readFile(KERNELS "/blockdiag_fwd_sm90a.ptx"), *findChip("sm_90a"), memory);
  uint64_t o = memory.allocate(p.rows * kWidth * 2, "o");
  Params a;
  for (int t = 0; t < 3; ++t)
    a << inputMap(address[t]);
  a << outputMap(o) << list() << uint32_t(p.blocks.size()) << o << uint64_t(0) << uint64_t(0) << uint64_t(0) << uint32_t(0);
  const Code *code = program.kernel("bd");
  ASSERT_TRUE(code);
  Report r = program.run(*code, launch(uint32_t(p.blocks.size() * kHeads), 128, 49184, a, GetParam().first, GetParam().second));
  ASSERT_EQ(r.text(), "");
  std::vector<double> want(p.rows * kWidth);
  reference(p, decode(inputs[0]), decode(inputs[1]), decode(inputs[2]), want, nullptr, nullptr, nullptr, nullptr);
  check(p, download<uint16_t>(memory, o, p.rows * kWidth), want, 4e-3, "O");
}

TEST_P(BlockDiagonal, backward) {
  Program program(readFile(KERNELS "/blockdiag_bwd_sm90a.ptx"), *findChip("sm_90a"), memory);
  uint64_t g[3] = {memory.allocate(p.rows * kWidth * 2, "dq"), memory.allocate(p.rows * kWidth * 2, "dk"), memory.allocate(p.rows * kWidth * 2, "dv")};
  Params a;
  for (int t = 0; t < 4; ++t)
    a << inputMap(address[t]);
  for (int t = 0; t < 3; ++t)
    a << outputMap(g[t]);
  a << list() << uint32_t(p.blocks.size()) << g[0] << g[1] << g[2] << uint64_t(0) << uint64_t(0) << uint64_t(0) << uint32_t(0);
  const Code *code = program.kernel("bd");
  ASSERT_TRUE(code);
  Report r = program.run(*code, launch(uint32_t(p.blocks.size() * kHeads), 128, 65568, a, GetParam().first, GetParam().second));
  ASSERT_EQ(r.text(), "");
  size_t n = p.rows * kWidth;
  std::vector<double> o(n), dq(n), dk(n), dv(n);
  std::vector<float> dO = decode(inputs[3]);
  reference(p, decode(inputs[0]), decode(inputs[1]), decode(inputs[2]), o, &dO, &dq, &dk, &dv);
  check(p, download<uint16_t>(memory, g[0], n), dq, 8e-3, "dQ");
  check(p, download<uint16_t>(memory, g[1], n), dk, 8e-3, "dK");
  check(p, download<uint16_t>(memory, g[2], n), dv, 8e-3, "dV");
}

INSTANTIATE_TEST_SUITE_P(policies, BlockDiagonal,
                         ::testing::Values(std::make_pair(AsyncPolicy::Lazy, 0), std::make_pair(AsyncPolicy::Eager, 0),
                                           std::make_pair(AsyncPolicy::Random, 1), std::make_pair(AsyncPolicy::Random, 2)));

} // namespace
