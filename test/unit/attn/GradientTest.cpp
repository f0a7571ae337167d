// test/unit/attn/GradientTest.cpp - do derived gradients agree with central finite differences?
#include "passes/Attn/DeriveBackward.h"
#include "test/unit/attn/Support.h"

#include <cmath>

namespace fovea::attn::reference {
namespace {

/// Σ dout · o, over what the sequences own.
double loss(SpecOp forward, const NamedTensors &inputs, const HostTensor &dout) {
  const Evaluation out = run(forward, inputs);
  const HostTensor &o = out.tensors.at("o");
  double sum = 0;
  for (size_t n = 0; n < o.values.size(); ++n)
    if (!std::isnan(o.values[n]))
      sum += o.values[n] * dout.values[n];
  return sum;
}

/// The derivative of the loss when `name` moves along a random direction, by differences and by the gradient.
void checkDirection(SpecOp forward, const NamedTensors &inputs, const HostTensor &dout, const std::string &name,
                    const HostTensor &gradient, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const HostTensor &x = inputs.tensors.at(name);
  ASSERT_EQ(gradient.shape, x.shape) << name;
  std::vector<double> direction(x.values.size());
  double derived = 0, size = 0;
  for (size_t n = 0; n < direction.size(); ++n) {
    direction[n] = normal(random);
    if (std::isnan(x.values[n])) // a row that no sequence owns: its gradient is not written
      EXPECT_TRUE(std::isnan(gradient.values[n]));
    else
      derived += gradient.values[n] * direction[n], size += std::fabs(gradient.values[n] * direction[n]);
  }
  const double step = 1e-5;
  auto lossAt = [&](double distance) {
    NamedTensors moved = inputs;
    for (size_t n = 0; n < direction.size(); ++n)
      moved.tensors.at(name).values[n] += distance * direction[n];
    return loss(forward, moved, dout);
  };
  double differences = (lossAt(step) - lossAt(-step)) / (2 * step);
  EXPECT_GT(size, 0) << name;
  // Relative to the terms of the sum, not to what is left of them.
  EXPECT_NEAR(derived, differences, 1e-6 * std::max(std::fabs(derived), size / std::sqrt(double(direction.size()))))
      << name;
}

void checkGradients(SpecModule &module, const Lengths &lengths, const BackwardOptions &options = {}) {
  SpecOp forward = module.spec();
  mlir::FailureOr<SpecOp> backward = deriveBackward(forward, options);
  ASSERT_TRUE(succeeded(backward));
  ASSERT_TRUE(succeeded(backward->verify()));
  NamedTensors inputs = randomLaunch(forward, lengths);
  Evaluation out = run(forward, inputs);
  HostTensor dout(out.tensors.at("o").shape);
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const HostTensor &o = out.tensors.at("o");
  for (size_t n = 0; n < dout.values.size(); ++n)
    dout.values[n] = std::isnan(o.values[n]) ? NAN : normal(random); // NaN where no sequence owns the row
  NamedTensors launch = inputs;
  launch.tensors["dout"] = dout;
  for (auto &[name, tensor] : out.tensors)
    launch.tensors[name] = tensor;
  Evaluation gradients = run(*backward, launch);
  ASSERT_FALSE(gradients.tensors.empty());
  for (auto &[name, gradient] : gradients.tensors) {
    ASSERT_EQ(name[0], 'd');
    for (unsigned seed : {11u, 12u, 13u})
      checkDirection(forward, inputs, dout, name.substr(1), gradient, seed);
  }
  backward->erase();
}

BackwardOptions with(std::optional<bool> saved, RowStatistic statistic, std::vector<std::string> wrt = {}) {
  return {std::move(wrt), saved, statistic};
}

const Lengths kJagged = {{{"offsets", {9, 0, 4, 70}}}, {}, 1, 64, 2, /*before=*/2, /*after=*/3};

TEST(Gradient, AdsBlock) {
  SpecModule module = SpecModule::example("ads_block");
  checkGradients(module, kJagged);
  checkGradients(module, kJagged, with(false, RowStatistic::FromOutput));
}

TEST(Gradient, AdsBlockRotary) {
  // The caller has rotated: move the un-rotated tensors, by rotating the direction. Written out, since the packed dz has
  // the gradients of all three.
  SpecModule module = SpecModule::example("ads_block_rotary");
  SpecOp forward = module.spec();
  mlir::FailureOr<SpecOp> backward = deriveBackward(forward);
  ASSERT_TRUE(succeeded(backward));
  NamedTensors inputs = randomLaunch(forward, {{{"offsets", {5, 0, 66}}}});
  HostTensor dout = run(forward, inputs).tensors.at("o");
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (double &value : dout.values)
    value = normal(random);
  NamedTensors launch = inputs;
  launch.tensors["dout"] = dout;
  HostTensor dz = run(*backward, launch).tensors.at("dz");
  ASSERT_EQ(dz.shape, (std::vector<int64_t>{71, 9 * 128}));
  const char *names[] = {"q", "k", "v"};
  for (int tensor = 0; tensor < 3; ++tensor) {
    HostTensor direction(dout.shape);
    double derived = 0;
    for (int64_t t = 0; t < 71; ++t)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t m = 0; m < 64; ++m) {
          double x0 = normal(random), x1 = normal(random);
          double sine = inputs.tensors.at("sinu").at({t, m}), cosine = inputs.tensors.at("sinu").at({t, 64 + m});
          direction.at({t, h, 2 * m}) = x0 * cosine - x1 * sine;
          direction.at({t, h, 2 * m + 1}) = x1 * cosine + x0 * sine;
          int64_t column = (tensor * 3 + h) * 128 + 2 * m;
          derived += x0 * dz.at({t, column}) + x1 * dz.at({t, column + 1});
        }
    auto lossAt = [&](double distance) {
      NamedTensors moved = inputs;
      for (size_t n = 0; n < direction.values.size(); ++n)
        moved.tensors.at(names[tensor]).values[n] += distance * direction.values[n];
      return loss(forward, moved, dout);
    };
    double differences = (lossAt(1e-5) - lossAt(-1e-5)) / 2e-5;
    EXPECT_NEAR(derived, differences, 1e-6 * std::fabs(differences)) << names[tensor];
  }
}

TEST(Gradient, GemPool) {
  SpecModule module = SpecModule::example("gem_pool");
  Lengths lengths = {{{"kv_offsets", {5, 0, 12}}}};
  checkGradients(module, lengths);
  checkGradients(module, lengths, with(false, RowStatistic::FromPairs));
}

TEST(Gradient, Cross) {
  SpecModule module = SpecModule::example("cross");
  checkGradients(module, {{{"q_offsets", {3, 0, 9, 4}}, {"kv_offsets", {7, 5, 0, 2}}}});
}

TEST(Gradient, Llm) {
  SpecModule module = SpecModule::example("llm");
  checkGradients(module, {{}, {{"seq", 7}}, 2});
}

TEST(Gradient, Selected) {
  SpecModule module = SpecModule::example("selected");
  checkGradients(module, {{{"offsets", {140, 0, 20}}}, {}, 1, /*tables=*/2});
}

TEST(Gradient, CustomWithItsGateResidualAndSlope) {
  SpecModule module = SpecModule::example("custom");
  checkGradients(module, kJagged);
  checkGradients(module, kJagged,
                 with(false, RowStatistic::FromPairs, {"q", "k", "v", "gate", "residual", "slope"}));
}

TEST(Gradient, Hstu) {
  SpecModule module = SpecModule::example("hstu");
  checkGradients(module, kJagged);
}

TEST(Gradient, RotaryOnTheLoadPathAndHeadsKnownAtLaunch) {
  SpecModule module = SpecModule::parse(R"(
    !Q = !attn.tensor<jagged("lens") x heads(?) x 8 x f32>
    !M = !attn.mask<jagged("lens") x jagged("lens")>
    !S = !attn.pairs<jagged("lens") x jagged("lens") x heads(?) x f32>
    !T = !attn.tensor<? x 8 x f32>
    attn.spec @a(q = %q : !Q, k = %k : !Q, v = %v : !Q, table = %table : !T) {
      %rq = attn.rotary %q, %table halves : (!Q, !T) -> !Q
      %rk = attn.rotary %k, %table interleaved : (!Q, !T) -> !Q
      %m = attn.pattern #attn.window<left = 2, right = 1> -> !M
      %s = attn.dots %rq, %rk where %m : (!Q, !Q, !M) -> !S
      %p, %lse = attn.softmax %s : !S -> !S, !attn.tensor<jagged("lens") x heads(?) x f32>
      %o = attn.combine %p, %v : (!S, !Q) -> !Q
      attn.yield o = %o, lse = %lse : !Q, !attn.tensor<jagged("lens") x heads(?) x f32>
    })");
  Lengths lengths = {{{"lens", {5, 0, 3}}}, {}, 1, /*tables=*/9, /*launchHeads=*/3};
  checkGradients(module, lengths);
  checkGradients(module, lengths, with(true, RowStatistic::FromOutput));
  // Of the table itself: over both tensors, all heads, and the sequences that reach a position. None reaches the last four.
  BackwardOptions byTable;
  byTable.wrt = {"q", "k", "table"};
  checkGradients(module, lengths, byTable);
  mlir::FailureOr<SpecOp> backward = deriveBackward(module.spec(), byTable);
  ASSERT_TRUE(succeeded(backward));
  NamedTensors inputs = randomLaunch(module.spec(), lengths);
  inputs.tensors["dout"] = run(module.spec(), inputs).tensors.at("o");
  HostTensor dtable = run(*backward, inputs).tensors.at("dtable");
  ASSERT_EQ(dtable.shape, (std::vector<int64_t>{9, 8}));
  for (int64_t m = 0; m < 8; ++m) {
    EXPECT_NE(dtable.at({4, m}), 0);
    EXPECT_EQ(dtable.at({5, m}), 0);
    EXPECT_EQ(dtable.at({8, m}), 0);
  }
}

TEST(Gradient, OfARotaryTableWithARowPerToken) {
  SpecModule module = SpecModule::parse(R"(
    !Q = !attn.tensor<jagged("lens") x heads(2) x 8 x f32>
    !M = !attn.mask<jagged("lens") x jagged("lens")>
    !S = !attn.pairs<jagged("lens") x jagged("lens") x heads(2) x f32>
    !T = !attn.tensor<jagged("lens") x 8 x f32>
    attn.spec @a(q = %q : !Q, k = %k : !Q, v = %v : !Q, angles = %angles : !T, others = %others : !T)
        attributes {emit = #attn.emit<forward, backward, tables ["angles", "others"]>} {
      %rq = attn.rotary %q, %angles interleaved : (!Q, !T) -> !Q
      %rk = attn.rotary %k, %angles halves : (!Q, !T) -> !Q
      %rv = attn.rotary %v, %others halves transpose : (!Q, !T) -> !Q
      %m = attn.pattern #attn.block_diagonal<4> -> !M
      %s = attn.dots %rq, %rk where %m : (!Q, !Q, !M) -> !S
      %p, %lse = attn.softmax %s : !S -> !S, !attn.tensor<jagged("lens") x heads(2) x f32>
      %o = attn.combine %p, %rv : (!S, !Q) -> !Q
      attn.yield o = %o : !Q
    })");
  checkGradients(module, {{{"lens", {5, 0, 3}}}});
}

/// A softmax with a sink: what it takes from a row, and its own gradient, from recomputed and from given statistics.
TEST(Gradient, OfASink) {
  SpecModule module = SpecModule::parse(R"(
    !Q = !attn.tensor<jagged("qs") x heads(4) x 8 x f32>
    !K = !attn.tensor<jagged("ks") x heads(2) x 8 x f32>
    !M = !attn.mask<jagged("qs") x jagged("ks")>
    !S = !attn.pairs<jagged("qs") x jagged("ks") x heads(4) x f32>
    !L = !attn.tensor<jagged("qs") x heads(4) x f32>
    !H = !attn.tensor<heads(4) x f32>
    attn.spec @a(q = %q : !Q, k = %k : !K, v = %v : !K, sink = %sink : !H) attributes {emit = #attn.emit<forward, lse>} {
      %m = attn.pattern #attn.causal<bottom_right> -> !M
      %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
      %p, %lse = attn.softmax %s sink(%sink : !H) : !S -> !S, !L
      %o = attn.combine %p, %v : (!S, !K) -> !Q
      attn.yield o = %o, lse = %lse : !Q, !L
    })");
  Lengths lengths = {{{"qs", {5, 0, 3, 4}}, {"ks", {7, 2, 0, 2}}}};
  std::vector<std::string> all = {"q", "k", "v", "sink"};
  for (bool saved : {false, true})
    for (RowStatistic statistic : {RowStatistic::FromPairs, RowStatistic::FromOutput}) {
      checkGradients(module, lengths, with(saved, statistic));
      checkGradients(module, lengths, with(saved, statistic, all));
    }
}

/// One tensor in three places, and two inputs that share one gradient but not its type.
TEST(Gradient, OfSharedTensorsAndSharedGradients) {
  SpecModule module = SpecModule::parse(R"(
    !X = !attn.tensor<jagged("lens") x heads(1) x 4 x f32>
    !B = !attn.tensor<jagged("lens") x heads(1) x 4 x bf16>
    !M = !attn.mask<jagged("lens") x jagged("lens")>
    !S = !attn.pairs<jagged("lens") x jagged("lens") x heads(1) x f32>
    attn.spec @a(q = %x : !X, r = %r : !X, t = %t : !B) {
      %m = attn.pattern #attn.full -> !M
      %s = attn.dots %x, %x where %m : (!X, !X, !M) -> !S
      %p, %lse = attn.softmax %s : !S -> !S, !attn.tensor<jagged("lens") x heads(1) x f32>
      %c = attn.combine %p, %x : (!S, !X) -> !X
      %e = attn.map_elements %c, %r, %t : (!X, !X, !B) -> !X {
      ^bb0(%a: f32, %b: f32, %c0: f32, %i: i64, %h: i64, %d: i64, %b0: i64, %n: i64):
        %y = arith.addf %b, %c0 : f32
        %z = arith.addf %a, %y : f32
        attn.result %z : f32
      }
      %o = attn.map_elements %e : (!X) -> !X {
      ^bb0(%a: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
        %y = math.tanh %a : f32
        attn.result %y : f32
      }
      attn.yield o = %o : !X
    })");
  checkGradients(module, {{{"lens", {5, 0, 3}}}});
}

TEST(Gradient, MxIsRefused) {
  SpecModule module = SpecModule::example("mx");
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&module.context(), [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(failed(deriveBackward(module.spec())));
  EXPECT_NE(message.find("no gradient by 'q': expected bf16, f16 or f32 elements, found 'f8E4M3FN'"),
            std::string::npos)
      << message;
}

} // namespace
} // namespace fovea::attn::reference
