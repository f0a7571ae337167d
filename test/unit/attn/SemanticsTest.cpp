// test/unit/attn/SemanticsTest.cpp - what language.md fixes: empty rows, empty sequences, neighbours, alignment, windows
#include "passes/Attn/DeriveBackward.h"
#include "test/unit/attn/Support.h"

#include <cmath>

namespace fovea::attn::reference {
namespace {

/// Attention with one head of 4 features and a mask given as text over %q, %k.
std::string specText(const std::string &mask, const std::string &queries = "jagged(\"qs\")",
                     const std::string &keys = "jagged(\"ks\")") {
  return "!Q = !attn.tensor<" + queries + " x heads(1) x 4 x f32>\n!K = !attn.tensor<" + keys +
         " x heads(1) x 4 x f32>\n!M = !attn.mask<" + queries + " x " + keys + ">\n!S = !attn.pairs<" + queries +
         " x " + keys + " x heads(1) x f32>\n!L = !attn.tensor<" + queries + " x heads(1) x f32>\n" +
         "attn.spec @a(q = %q : !Q, k = %k : !K, v = %v : !K) {\n" + mask +
         "\n%s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S\n"
         "%p, %lse = attn.softmax %s : !S -> !S, !L\n"
         "%o = attn.combine %p, %v : (!S, !K) -> !Q\n"
         "attn.yield o = %o, lse = %lse : !Q, !L\n}";
}
std::string pattern(const std::string &attribute) { return "%m = attn.pattern " + attribute + " -> !M"; }

/// Which (i, j) of a single sequence are present: zero queries make equal weights, and v is a unit vector for one key.
std::vector<std::string> presentPairs(const std::string &mask, int64_t queries, int64_t keys) {
  SpecModule module = SpecModule::parse(specText(mask));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {queries}}, {"ks", {keys}}}});
  std::vector<std::string> rows(queries, std::string(keys, '.'));
  std::fill(in.tensors.at("q").values.begin(), in.tensors.at("q").values.end(), 0.0);
  for (int64_t j = 0; j < keys; ++j) {
    HostTensor &v = in.tensors.at("v");
    std::fill(v.values.begin(), v.values.end(), 0.0);
    v.at({j, 0, 0}) = 1;
    HostTensor o = run(module.spec(), in).tensors.at("o");
    for (int64_t i = 0; i < queries; ++i)
      if (o.at({i, 0, 0}) > 0)
        rows[i][j] = 'x';
  }
  return rows;
}
using Picture = std::vector<std::string>;

/// A sink is one more key, of its score and the value 0.
TEST(Sink, IsAKeyOfValueZero) {
  std::string text = specText(pattern("#attn.causal<bottom_right>"));
  text.replace(text.find("v = %v : !K"), 11, "v = %v : !K, sink = %sink : !H");
  text.replace(text.find("attn.softmax %s"), 15, "attn.softmax %s sink(%sink : !H)");
  SpecModule with = SpecModule::parse("!H = !attn.tensor<heads(1) x f32>\n" + text);
  SpecModule without = SpecModule::parse(specText(pattern("#attn.causal<bottom_right>")));
  NamedTensors in = randomLaunch(with.spec(), {{{"qs", {4}}, {"ks", {3}}}}); // row 0 sees no key
  NamedTensors plainInputs = in;
  plainInputs.tensors.erase("sink");
  Evaluation plain = run(without.spec(), plainInputs);
  for (double sink : {-HUGE_VAL, -1e30, -3.0, 2.5, 40.0, 1e4, 1e30}) {
    in.tensors.at("sink").values[0] = sink;
    Evaluation out = run(with.spec(), in);
    for (int64_t i = 0; i < 4; ++i) {
      double lse = plain.tensors.at("lse").at({i, 0});
      double top = std::max(lse, sink);
      double sum = top == -INFINITY ? -INFINITY : top + std::log(std::exp(lse - top) + std::exp(sink - top));
      EXPECT_DOUBLE_EQ(out.tensors.at("lse").at({i, 0}), sum) << sink;
      for (int64_t d = 0; d < 4; ++d) {
        double o = i == 0 ? 0 : plain.tensors.at("o").at({i, 0, d}) * std::exp(lse - sum);
        EXPECT_NEAR(out.tensors.at("o").at({i, 0, d}), o, 1e-15) << sink;
      }
    }
  }
  for (double sink : {double(NAN), double(INFINITY)}) {
    in.tensors.at("sink").values[0] = sink;
    Evaluation out = run(with.spec(), in);
    EXPECT_TRUE(std::isnan(out.tensors.at("lse").at({0, 0}))); // without a key, too
    for (int64_t i = 1; i < 4; ++i) {
      EXPECT_TRUE(std::isnan(out.tensors.at("lse").at({i, 0})));
      EXPECT_TRUE(std::isnan(out.tensors.at("o").at({i, 0, 0})));
    }
  }
}

TEST(Pattern, CausalIsBottomRight) {
  EXPECT_EQ(presentPairs(pattern("#attn.causal<bottom_right>"), 2, 4), (Picture{"xxx.", "xxxx"}));
  EXPECT_EQ(presentPairs(pattern("#attn.causal<bottom_right>"), 4, 2), (Picture{"..", "..", "x.", "xx"}));
  EXPECT_EQ(presentPairs(pattern("#attn.causal<top_left>"), 2, 4), (Picture{"x...", "xx.."}));
}

TEST(Pattern, WindowIncludesBothEndsAfterAlignment) {
  EXPECT_EQ(presentPairs(pattern("#attn.window<left = 1, right = 0>"), 3, 3), (Picture{"x..", "xx.", ".xx"}));
  EXPECT_EQ(presentPairs(pattern("#attn.window<left = 1, right = 1>"), 2, 4), (Picture{".xxx", "..xx"}));
  EXPECT_EQ(presentPairs(pattern("#attn.window<left = 1>"), 3, 3), (Picture{"xxx", "xxx", ".xx"}));
  EXPECT_EQ(presentPairs(pattern("#attn.window<right = 0>"), 3, 3), (Picture{"x..", "xx.", "xxx"}));
}

TEST(Pattern, BlockDiagonalCountsFromTheSequencesOwnStart) {
  EXPECT_EQ(presentPairs(pattern("#attn.block_diagonal<2>"), 3, 5), (Picture{"xx...", "xx...", "..xx."}));
}

TEST(Pattern, PrefixIsTheFirstKeys) {
  EXPECT_EQ(presentPairs(pattern("#attn.prefix<2>"), 2, 4), (Picture{"xx..", "xx.."}));
  EXPECT_EQ(presentPairs(pattern("#attn.prefix<9>"), 1, 2), (Picture{"xx"}));
}

TEST(Pattern, MasksCombine) {
  std::string two = "%a = attn.pattern #attn.causal<bottom_right> -> !M\n%b = attn.pattern #attn.prefix<2> -> !M\n";
  EXPECT_EQ(presentPairs(two + "%m = attn.mask_and %a, %b : !M", 3, 3), (Picture{"x..", "xx.", "xx."}));
  EXPECT_EQ(presentPairs(two + "%m = attn.mask_or %a, %b : !M", 3, 3), (Picture{"xx.", "xx.", "xxx"}));
  EXPECT_EQ(presentPairs(two + "%m = attn.mask_not %a : !M", 3, 3), (Picture{".xx", "..x", "..."}));
}

TEST(Pattern, ExpressionsSeePositionsAndLengths) {
  std::string head = "%m = attn.mask_where : !M {\n^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):\n";
  EXPECT_EQ(presentPairs(head + "%c = arith.cmpi sle, %j, %i : i64\nattn.result %c : i1\n}", 2, 4),
            (Picture{"x...", "xx.."})); // i and j are not aligned
  EXPECT_EQ(presentPairs(head + "%d = arith.subi %nk, %nq : i64\n%c = arith.cmpi eq, %j, %d : i64\n"
                                "attn.result %c : i1\n}", 1, 3), (Picture{"..x"}));
}

TEST(Rows, WithoutAKeyAreZeroWithLseMinusInfinity) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.causal<bottom_right>")));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {4, 3}}, {"ks", {2, 0}}}});
  Evaluation out = run(module.spec(), in);
  for (int64_t i : {0, 1, 4, 5, 6}) {
    EXPECT_EQ(out.tensors.at("lse").at({i, 0}), -INFINITY);
    for (int64_t d = 0; d < 4; ++d)
      EXPECT_EQ(out.tensors.at("o").at({i, 0, d}), 0.0);
  }
  EXPECT_TRUE(std::isfinite(out.tensors.at("lse").at({2, 0})));

  // Their gradients are 0, whichever way the statistics come.
  for (bool saved : {false, true}) {
    mlir::FailureOr<SpecOp> backward = deriveBackward(module.spec("a"), {{}, saved, {}});
    ASSERT_TRUE(succeeded(backward));
    NamedTensors launch = in;
    launch.tensors["dout"] = HostTensor({7, 1, 4}, 1.0);
    for (auto &[name, tensor] : out.tensors)
      launch.tensors[name] = tensor;
    Evaluation gradients = run(*backward, launch);
    for (int64_t i : {0, 1, 4, 5, 6})
      for (int64_t d = 0; d < 4; ++d)
        EXPECT_EQ(gradients.tensors.at("dq").at({i, 0, d}), 0.0);
    EXPECT_FALSE(hasNaN(gradients.tensors.at("dk")));
    EXPECT_FALSE(hasNaN(gradients.tensors.at("dv")));
    backward->erase();
  }
}

TEST(Rows, WhoseScoresAreAllMinusInfinityHaveNoKey) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.full")));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {1}}, {"ks", {3}}}});
  std::fill(in.tensors.at("q").values.begin(), in.tensors.at("q").values.end(), -INFINITY);
  std::fill(in.tensors.at("k").values.begin(), in.tensors.at("k").values.end(), 1.0);
  Evaluation out = run(module.spec(), in);
  EXPECT_EQ(out.tensors.at("lse").values[0], -INFINITY);
  EXPECT_EQ(out.tensors.at("o").values[0], 0.0);
}

/// A score expression may say -inf instead of a pattern: the row has no key either, and no gradient.
TEST(Rows, WhoseExpressionsAreAllMinusInfinityHaveNoGradient) {
  std::string text = specText(pattern("#attn.full"));
  size_t softmax = text.find("%p, %lse = attn.softmax %s");
  text.replace(softmax, std::string("%p, %lse = attn.softmax %s").size(), R"(%t = attn.map_pairs %s : (!S) -> !S {
    ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
      %one = arith.constant 1 : i64
      %inf = arith.constant 0xFF800000 : f32
      %c = arith.cmpi eq, %i, %one : i64
      %y = arith.select %c, %inf, %x : f32
      attn.result %y : f32
    }
    %p, %lse = attn.softmax %t)");
  SpecModule module = SpecModule::parse(text);
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {3}}, {"ks", {4}}}});
  Evaluation out = run(module.spec(), in);
  EXPECT_EQ(out.tensors.at("lse").at({1, 0}), -INFINITY);
  for (bool saved : {false, true}) {
    mlir::FailureOr<SpecOp> backward = deriveBackward(module.spec("a"), {{}, saved, {}});
    ASSERT_TRUE(succeeded(backward));
    NamedTensors launch = in;
    launch.tensors["dout"] = HostTensor({3, 1, 4}, 1.0);
    for (auto &[name, tensor] : out.tensors)
      launch.tensors[name] = tensor;
    Evaluation gradients = run(*backward, launch);
    for (int64_t d = 0; d < 4; ++d)
      EXPECT_EQ(gradients.tensors.at("dq").at({1, 0, d}), 0.0);
    EXPECT_FALSE(hasNaN(gradients.tensors.at("dk")) || hasNaN(gradients.tensors.at("dv")));
    backward->erase();
  }
}

TEST(Rows, WithHugeScoresStayFinite) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.full")));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {5}}, {"ks", {5}}}});
  for (double &value : in.tensors.at("q").values)
    value *= 1e5;
  Evaluation out = run(module.spec(), in);
  EXPECT_FALSE(hasNaN(out.tensors.at("o")));
}

TEST(Sequences, MayBeEmptyOnEitherSideAndInAll) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.full")));
  NamedTensors none = randomLaunch(module.spec(), {{{"qs", {}}, {"ks", {}}}});
  EXPECT_TRUE(run(module.spec(), none).tensors.at("o").values.empty());
  NamedTensors noQueries = randomLaunch(module.spec(), {{{"qs", {0, 2}}, {"ks", {3, 1}}}});
  EXPECT_FALSE(hasNaN(run(module.spec(), noQueries).tensors.at("o")));
}

TEST(Neighbours, NaNReachesNothingOfOthers) {
  SpecModule module = SpecModule::example("ads_block");
  mlir::FailureOr<SpecOp> backward = deriveBackward(module.spec());
  ASSERT_TRUE(succeeded(backward));
  NamedTensors in = randomLaunch(module.spec("ads_block"), {{{"offsets", {10, 70, 5}}}});
  in.tensors["dout"] = HostTensor({85, 4, 128}, 1.0);
  Evaluation clean = run(*backward, in), cleanForward = run(module.spec("ads_block"), in);
  // Poison block 1 of sequence 1: rows 74 to 79.
  for (const char *name : {"q", "k", "v", "dout"})
    for (int64_t t = 74; t < 80; ++t)
      for (int64_t h = 0; h < 4; ++h)
        in.tensors.at(name).at({t, h, 5}) = NAN;
  Evaluation poisoned = run(*backward, in), forward = run(module.spec("ads_block"), in);
  for (int64_t t = 0; t < 85; ++t)
    for (int64_t h = 0; h < 4; ++h) {
      bool isPoisoned = t >= 74 && t < 80;
      EXPECT_EQ(std::isnan(forward.tensors.at("o").at({t, h, 5})), isPoisoned);
      if (isPoisoned)
        continue;
      EXPECT_EQ(forward.tensors.at("o").at({t, h, 5}), cleanForward.tensors.at("o").at({t, h, 5}));
      for (const char *name : {"dq", "dk", "dv"})
        EXPECT_EQ(poisoned.tensors.at(name).at({t, h, 5}), clean.tensors.at(name).at({t, h, 5}));
    }
}

TEST(Neighbours, ANaNAtAMaskedKeyOfTheSameSequenceReachesNothing) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.causal<bottom_right>")));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {3}}, {"ks", {3}}}});
  for (const char *name : {"k", "v"})
    in.tensors.at(name).at({2, 0, 0}) = NAN;
  HostTensor o = run(module.spec(), in).tensors.at("o");
  EXPECT_TRUE(std::isfinite(o.at({0, 0, 0})) && std::isfinite(o.at({1, 0, 0})));
  EXPECT_TRUE(std::isnan(o.at({2, 0, 0})));
}

TEST(Strides, AreThoseOfTheLaunch) {
  SpecModule module = SpecModule::parse(specText(pattern("#attn.full")));
  NamedTensors in = randomLaunch(module.spec(), {{{"qs", {4}}, {"ks", {4}}}});
  HostTensor expected = run(module.spec(), in).tensors.at("o");
  HostTensor &k = in.tensors.at("k");
  HostTensor wide({4, 1, 4});
  wide.strides = {10, 7, 2}; // rows of 10, every second element
  wide.values.assign(40, NAN);
  for (int64_t j = 0; j < 4; ++j)
    for (int64_t d = 0; d < 4; ++d)
      wide.at({j, 0, d}) = k.at({j, 0, d});
  k = wide;
  EXPECT_EQ(largestDifference(run(module.spec(), in).tensors.at("o"), expected), 0.0);
  // Stride 0: all keys are the first one.
  k.strides = {0, 7, 2};
  HostTensor same = run(module.spec(), in).tensors.at("lse");
  EXPECT_FALSE(hasNaN(same));
}

} // namespace
} // namespace fovea::attn::reference
