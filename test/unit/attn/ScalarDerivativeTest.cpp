// test/unit/attn/ScalarDerivativeTest.cpp - is the derivative of every scalar op, and of every table look-up, right?
#include "passes/Attn/DeriveBackward.h"
#include "test/unit/attn/Support.h"

#include <cmath>

namespace fovea::attn::reference {
namespace {

/// o = f(q) element by element, where `body` makes %y from %x (f32), and one key whose weight is 1.
std::string elementSpec(const std::string &body) {
  return R"(
    !T = !attn.tensor<jagged("lens") x heads(1) x 8 x f32>
    !C = !attn.tensor<8 x f32>
    attn.spec @a(q = %q : !T, c = %c : !C) {
      %o = attn.map_elements %q : (!T) -> !T {
      ^bb0(%x: f32, %i: i64, %h: i64, %d: i64, %b: i64, %n: i64):
        %one = arith.constant 1.0 : f32
        %half = arith.constant 0.5 : f32
        %k = attn.lookup %c[%d] : !C -> f32
        )" + body + R"(
        attn.result %y : f32
      }
      attn.yield o = %o : !T
    })";
}

class ScalarDerivative : public testing::TestWithParam<const char *> {};

TEST_P(ScalarDerivative, AgreesWithDifferences) {
  SpecModule module = SpecModule::parse(elementSpec(GetParam()));
  SpecOp forward = module.spec();
  NamedTensors in = randomLaunch(forward, {{{"lens", {5, 3}}}}, 5);
  for (auto &[name, tensor] : in.tensors)
    for (double &value : tensor.values)
      value = 0.2 + std::fabs(value); // inside every function's domain; kinks are hit with probability 0
  bool usesTable = std::string(GetParam()).find("%k") != std::string::npos;
  std::vector<std::string> wrt = {"q"};
  if (usesTable)
    wrt.push_back("c");
  mlir::FailureOr<SpecOp> backward = deriveBackward(forward, {wrt, {}, {}});
  ASSERT_TRUE(succeeded(backward));
  NamedTensors launch = in;
  launch.tensors["dout"] = HostTensor({8, 1, 8}, 1.0);
  Evaluation gradients = run(*backward, launch);
  for (const std::string &name : wrt) {
    HostTensor &x = in.tensors.at(name);
    for (size_t n = 0; n < x.values.size(); ++n) {
      auto sumAt = [&](double value) {
        double saved = std::exchange(x.values[n], value), sum = 0;
        HostTensor o = run(forward, in).tensors.at("o");
        for (double element : o.values)
          sum += element;
        x.values[n] = saved;
        return sum;
      };
      double differences = (sumAt(x.values[n] + 1e-6) - sumAt(x.values[n] - 1e-6)) / 2e-6;
      double derived = gradients.tensors.at("d" + name).values[n];
      EXPECT_NEAR(derived, differences, 1e-6 * std::max(1.0, std::fabs(differences))) << name << "[" << n << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, ScalarDerivative,
    testing::Values(
        "%y = arith.addf %x, %k : f32", "%y = arith.subf %k, %x : f32", "%y = arith.mulf %x, %k : f32",
        "%y = arith.mulf %x, %x : f32", "%y = arith.divf %x, %k : f32", "%y = arith.divf %one, %x : f32",
        "%z = arith.negf %x : f32\n%y = arith.mulf %z, %x : f32", "%y = arith.maximumf %x, %k : f32",
        "%y = arith.minimumf %x, %k : f32", "%y = arith.maxnumf %x, %one : f32", "%y = arith.minnumf %x, %one : f32",
        "%c1 = arith.cmpf ogt, %x, %k : f32\n%z = arith.mulf %x, %x : f32\n%y = arith.select %c1, %z, %k : f32",
        "%y = math.exp %x : f32", "%y = math.exp2 %x : f32", "%y = math.expm1 %x : f32", "%y = math.log %x : f32",
        "%y = math.log2 %x : f32", "%y = math.log1p %x : f32", "%y = math.tanh %x : f32", "%y = math.erf %x : f32",
        "%y = math.sqrt %x : f32", "%y = math.rsqrt %x : f32", "%y = math.sin %x : f32", "%y = math.cos %x : f32",
        "%y = math.powf %x, %k : f32", "%y = math.powf %x, %half : f32", "%y = math.fma %x, %k, %x : f32",
        "%z = arith.subf %x, %k : f32\n%y = math.absf %z : f32",
        "%f = math.floor %x : f32\n%y = arith.mulf %f, %x : f32"));

TEST(ScalarDerivativeErrors, AnOpWithoutDerivativeIsNamed) {
  SpecModule module = SpecModule::parse(elementSpec("%y = math.cbrt %x : f32"));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&module.context(), [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(failed(deriveBackward(module.spec())));
  EXPECT_EQ(message, "no gradient: math.cbrt has no derivative here");
  NamedTensors in = randomLaunch(module.spec(), {{{"lens", {1}}}});
  EXPECT_EQ(errorOf(module.spec(), in), "evaluator: no meaning for math.cbrt in an expression");
}

/// Tables in scores, with two look-ups of one table: the gradients meet in an attn.add.
TEST(TableGradient, OfABiasByRelativePositionLookedUpTwice) {
  SpecModule module = SpecModule::parse(R"(
    !T = !attn.tensor<jagged("lens") x heads(2) x 4 x f32>
    !B = !attn.tensor<? x heads(2) x f32>
    !M = !attn.mask<jagged("lens") x jagged("lens")>
    !S = !attn.pairs<jagged("lens") x jagged("lens") x heads(2) x f32>
    attn.spec @a(q = %q : !T, rel = %rel : !B) {
      %m = attn.pattern #attn.causal<bottom_right> -> !M
      %s = attn.dots %q, %q where %m : (!T, !T, !M) -> !S
      %t = attn.map_pairs %s : (!S) -> !S {
      ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
        %d = arith.subi %i, %j : i64
        %u = attn.lookup %rel[%d, %h] : !B -> f32
        %w = attn.lookup %rel[%j, %h] : !B -> f32
        %y = arith.mulf %x, %u : f32
        %z = arith.addf %y, %w : f32
        attn.result %z : f32
      }
      %p, %lse = attn.softmax %t : !S -> !S, !attn.tensor<jagged("lens") x heads(2) x f32>
      %o = attn.combine %p, %q : (!S, !T) -> !T
      attn.yield o = %o : !T
    })");
  SpecOp forward = module.spec();
  mlir::FailureOr<SpecOp> backward = deriveBackward(forward, {{"q", "rel"}, {}, {}});
  ASSERT_TRUE(succeeded(backward));
  NamedTensors in = randomLaunch(forward, {{{"lens", {5, 0, 3}}}, {}, 1, /*tables=*/6});
  NamedTensors launch = in;
  launch.tensors["dout"] = HostTensor({8, 2, 4}, 1.0);
  Evaluation gradients = run(*backward, launch);
  for (const char *name : {"q", "rel"})
    for (size_t n = 0; n < in.tensors.at(name).values.size(); ++n) {
      auto sumAt = [&](double step) {
        NamedTensors moved = in;
        moved.tensors.at(name).values[n] += step;
        double sum = 0;
        HostTensor o = run(forward, moved).tensors.at("o");
        for (double element : o.values)
          sum += element;
        return sum;
      };
      double differences = (sumAt(1e-5) - sumAt(-1e-5)) / 2e-5;
      EXPECT_NEAR(gradients.tensors.at(std::string("d") + name).values[n], differences,
                  1e-6 * std::max(1.0, std::fabs(differences)));
    }
}

} // namespace
} // namespace fovea::attn::reference
