// test/unit/attn/ForwardTest.cpp - do the examples mean what the language says? Against attention written out by hand
#include "test/unit/attn/Support.h"

#include <cmath>
#include <functional>

namespace fovea::attn::reference {
namespace {

/// One head of one sequence: rows of doubles.
using Rows = std::vector<std::vector<double>>;
using Allowed = std::function<bool(int64_t i, int64_t j)>;
using Score = std::function<double(double dot, int64_t i, int64_t j)>;

struct Naive {
  Rows o;
  std::vector<double> lse;
};

Naive softmaxAttention(const Rows &q, const Rows &k, const Rows &v, int64_t dv, const Allowed &allowed,
                       const Score &score) {
  Naive result;
  for (int64_t i = 0; i < int64_t(q.size()); ++i) {
    std::vector<double> o(dv, 0.0);
    double sum = 0;
    for (int64_t j = 0; j < int64_t(k.size()); ++j) {
      if (!allowed(i, j))
        continue;
      double dot = 0;
      for (size_t d = 0; d < q[i].size(); ++d)
        dot += q[i][d] * k[j][d];
      double weight = std::exp(score(dot, i, j)); // the tests' scores are small
      sum += weight;
      for (int64_t d = 0; d < dv; ++d)
        o[d] += weight * v[j][d];
    }
    for (double &value : o)
      value = sum > 0 ? value / sum : 0;
    result.o.push_back(o);
    result.lse.push_back(std::log(sum)); // -inf for an empty row
  }
  return result;
}

/// Rows [start, start + count) of a jagged [total, heads, features].
Rows jaggedRows(const HostTensor &x, int64_t start, int64_t count, int64_t h) {
  Rows rows(count, std::vector<double>(x.shape[2]));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < x.shape[2]; ++d)
      rows[i][d] = x.at({start + i, h, d});
  return rows;
}
Rows denseRows(const HostTensor &x, int64_t b, int64_t h) {
  Rows rows(x.shape[1], std::vector<double>(x.shape[3]));
  for (int64_t i = 0; i < x.shape[1]; ++i)
    for (int64_t d = 0; d < x.shape[3]; ++d)
      rows[i][d] = x.at({b, i, h, d});
  return rows;
}

double scaled(double dot, int64_t, int64_t) { return dot * double(float(1 / std::sqrt(128.0))); }
bool always(int64_t, int64_t) { return true; }

void expectNear(double found, double expected) {
  if (std::isinf(expected))
    EXPECT_EQ(found, expected);
  else
    EXPECT_NEAR(found, expected, 1e-12 * std::max(1.0, std::fabs(expected)));
}

/// Compares a jagged self attention, sequence by sequence and head by head.
void compareJagged(const NamedTensors &in, const Evaluation &out, const std::string &queries, const std::string &keys,
                   const std::function<Naive(int64_t b, int64_t h, const Rows &q, const Rows &k, const Rows &v)> &naive) {
  const auto &qs = in.offsets.at(queries), &ks = in.offsets.at(keys);
  const HostTensor &q = in.tensors.at("q"), &k = in.tensors.at("k"), &v = in.tensors.at("v"), &o = out.tensors.at("o");
  for (size_t b = 0; b + 1 < qs.size(); ++b)
    for (int64_t h = 0; h < q.shape[1]; ++h) {
      int64_t nq = qs[b + 1] - qs[b], nk = ks[b + 1] - ks[b];
      Naive expected = naive(b, h, jaggedRows(q, qs[b], nq, h), jaggedRows(k, ks[b], nk, h), jaggedRows(v, ks[b], nk, h));
      for (int64_t i = 0; i < nq; ++i) {
        for (int64_t d = 0; d < o.shape[2]; ++d)
          expectNear(o.at({qs[b] + i, h, d}), expected.o[i][d]);
        if (out.tensors.count("lse"))
          expectNear(out.tensors.at("lse").at({qs[b] + i, h}), expected.lse[i]);
      }
    }
}

TEST(Forward, AdsBlock) {
  SpecModule module = SpecModule::example("ads_block");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {70, 0, 1, 130}}}});
  compareJagged(in, run(module.spec(), in), "offsets", "offsets", [](int64_t, int64_t, auto &q, auto &k, auto &v) {
    return softmaxAttention(q, k, v, 128, [](int64_t i, int64_t j) { return i / 64 == j / 64; }, scaled);
  });
}

TEST(Forward, AdsBlockRotaryIsAppliedByTheCaller) {
  SpecModule module = SpecModule::example("ads_block_rotary");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {70, 3}}}});
  compareJagged(in, run(module.spec(), in), "offsets", "offsets", [](int64_t, int64_t, auto &q, auto &k, auto &v) {
    return softmaxAttention(q, k, v, 128, [](int64_t i, int64_t j) { return i / 64 == j / 64; }, scaled);
  });
}

TEST(Forward, GemPool) {
  SpecModule module = SpecModule::example("gem_pool");
  NamedTensors in = randomLaunch(module.spec(), {{{"kv_offsets", {5, 0, 20}}}});
  Evaluation out = run(module.spec(), in);
  const auto &ks = in.offsets.at("kv_offsets");
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t h = 0; h < 4; ++h) {
      int64_t nk = ks[b + 1] - ks[b];
      Naive expected = softmaxAttention(jaggedRows(in.tensors.at("q"), 0, 64, h), jaggedRows(in.tensors.at("k"), ks[b], nk, h),
                                        jaggedRows(in.tensors.at("v"), ks[b], nk, h), 128, always, scaled);
      for (int64_t i = 0; i < 64; ++i) {
        expectNear(out.tensors.at("lse").at({b, i, h}), expected.lse[i]);
        for (int64_t d = 0; d < 128; ++d)
          expectNear(out.tensors.at("o").at({b, i, h, d}), expected.o[i][d]);
      }
    }
}

TEST(Forward, Cross) {
  SpecModule module = SpecModule::example("cross");
  NamedTensors in = randomLaunch(module.spec(), {{{"q_offsets", {3, 0, 9, 4}}, {"kv_offsets", {7, 5, 0, 2}}}});
  auto score = [](double dot, int64_t, int64_t) { return dot * 0.125; };
  compareJagged(in, run(module.spec(), in), "q_offsets", "kv_offsets", [&](int64_t, int64_t, auto &q, auto &k, auto &v) {
    return softmaxAttention(q, k, v, 64, always, score);
  });
}

TEST(Forward, Llm) {
  SpecModule module = SpecModule::example("llm");
  NamedTensors in = randomLaunch(module.spec(), {{}, {{"seq", 11}}, 2});
  Evaluation out = run(module.spec(), in);
  auto score = [](double dot, int64_t, int64_t) { return 50 * std::tanh(scaled(dot, 0, 0) / 50); };
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 32; ++h) {
      Naive expected = softmaxAttention(denseRows(in.tensors.at("q"), b, h), denseRows(in.tensors.at("k"), b, h / 4),
                                        denseRows(in.tensors.at("v"), b, h / 4), 128,
                                        [](int64_t i, int64_t j) { return j <= i && j >= i - 4096; }, score);
      for (int64_t i = 0; i < 11; ++i) {
        expectNear(out.tensors.at("lse").at({b, i, h}), expected.lse[i]);
        for (int64_t d = 0; d < 128; ++d)
          expectNear(out.tensors.at("o").at({b, i, h, d}), expected.o[i][d]);
      }
    }
}

TEST(Forward, Selected) {
  SpecModule module = SpecModule::example("selected");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {300, 0, 129}}}, {}, 1, /*tables=*/4});
  const HostTensor &picks = in.tensors.at("picks");
  const int64_t firstBlock[] = {0, 3, 3};
  compareJagged(in, run(module.spec(), in), "offsets", "offsets", [&](int64_t b, int64_t h, auto &q, auto &k, auto &v) {
    auto allowed = [&](int64_t i, int64_t j) {
      for (int64_t n = 0; n < 4 && picks.at({firstBlock[b] + i / 128, h, n}) >= 0; ++n)
        if (picks.at({firstBlock[b] + i / 128, h, n}) == j / 128)
          return true;
      return false;
    };
    return softmaxAttention(q, k, v, 128, allowed, scaled);
  });
}

TEST(Forward, Mx) {
  SpecModule module = SpecModule::example("mx");
  NamedTensors in = randomLaunch(module.spec(), {{}, {{"seq", 40}}, 2});
  Evaluation out = run(module.spec(), in);
  auto dequantised = [&](const std::string &name, int64_t b, int64_t h) {
    Rows rows = denseRows(in.tensors.at(name), b, h);
    for (int64_t i = 0; i < 40; ++i)
      for (int64_t d = 0; d < 128; ++d)
        rows[i][d] *= name == "v" ? in.tensors.at("v_scale").at({b, i / 32, h, d})
                                  : in.tensors.at(name + "_scale").at({b, i, h, d / 32});
    return rows;
  };
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 16; ++h) {
      Naive expected = softmaxAttention(dequantised("q", b, h), dequantised("k", b, h), dequantised("v", b, h), 128,
                                        always, scaled);
      for (int64_t i = 0; i < 40; ++i)
        for (int64_t d = 0; d < 128; ++d)
          expectNear(out.tensors.at("o").at({b, i, h, d}), expected.o[i][d]);
    }
}

TEST(Forward, Custom) {
  SpecModule module = SpecModule::example("custom");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {9, 0, 4}}}});
  const auto &starts = in.offsets.at("offsets");
  const HostTensor &doc = in.tensors.at("doc");
  compareJagged(in, run(module.spec(), in), "offsets", "offsets", [&](int64_t b, int64_t h, auto &q, auto &k, auto &v) {
    auto allowed = [&](int64_t i, int64_t j) { return j <= i && doc.at({starts[b] + i}) == doc.at({starts[b] + j}); };
    auto score = [&](double dot, int64_t i, int64_t j) {
      return scaled(dot, i, j) + in.tensors.at("slope").at({h}) * double(j - i);
    };
    Naive result = softmaxAttention(q, k, v, 128, allowed, score);
    for (size_t i = 0; i < result.o.size(); ++i)
      for (int64_t d = 0; d < 128; ++d)
        result.o[i][d] = result.o[i][d] / (1 + std::exp(-in.tensors.at("gate").at({starts[b] + int64_t(i), h, d}))) +
                         in.tensors.at("residual").at({starts[b] + int64_t(i), h, d});
    return result;
  });
}

TEST(Forward, Hstu) {
  SpecModule module = SpecModule::example("hstu");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {9, 0, 4}}}});
  compareJagged(in, run(module.spec(), in), "offsets", "offsets", [](int64_t, int64_t, auto &q, auto &k, auto &v) {
    Naive result;
    for (size_t i = 0; i < q.size(); ++i) {
      std::vector<double> o(128, 0.0);
      for (size_t j = 0; j <= i; ++j) {
        double dot = 0;
        for (int64_t d = 0; d < 128; ++d)
          dot += q[i][d] * k[j][d];
        double s = scaled(dot, 0, 0);
        double weight = s / (1 + std::exp(-s)) / double(k.size());
        for (int64_t d = 0; d < 128; ++d)
          o[d] += weight * v[j][d];
      }
      result.o.push_back(o);
    }
    return result;
  });
}

} // namespace
} // namespace fovea::attn::reference
