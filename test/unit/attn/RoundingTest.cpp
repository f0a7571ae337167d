// test/unit/attn/RoundingTest.cpp - do conversions round as LLVM's APFloat does, and is a plain 16-bit run near the f64 one?
#include "dialect/Attn/Reference/Rounding.h"
#include "test/unit/attn/Support.h"

#include <cmath>
#include <llvm/ADT/APFloat.h>

namespace fovea::attn::reference {
namespace {

double convert(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat x(value);
  bool lost;
  x.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return x.convertToDouble();
}

TEST(Rounding, AgreesWithAPFloat) {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (int n = 0; n < 20000; ++n) {
    double value = normal(random) * std::exp2(int(random() % 300) - 150);
    EXPECT_EQ(roundTo(b.getBF16Type(), value), convert(llvm::APFloat::BFloat(), value)) << value;
    EXPECT_EQ(roundTo(b.getF32Type(), value), convert(llvm::APFloat::IEEEsingle(), value)) << value;
    double small = normal(random) * std::exp2(int(random() % 50) - 30);
    EXPECT_EQ(roundTo(b.getF16Type(), small), convert(llvm::APFloat::IEEEhalf(), small)) << small;
    if (std::fabs(small) < 448)
      EXPECT_EQ(roundTo(b.getType<mlir::Float8E4M3FNType>(), small), convert(llvm::APFloat::Float8E4M3FN(), small))
          << small;
  }
}

TEST(Rounding, TiesAndEnds) {
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  EXPECT_EQ(roundTo(b.getBF16Type(), 1 + 1.0 / 256), 1.0);        // tie to even, down
  EXPECT_EQ(roundTo(b.getBF16Type(), 1 + 3.0 / 256), 1 + 1.0 / 64); // tie to even, up
  EXPECT_EQ(roundTo(b.getF16Type(), 65520.0), INFINITY);
  EXPECT_EQ(roundTo(b.getF16Type(), 65519.0), 65504.0);
  EXPECT_EQ(roundTo(b.getType<mlir::Float8E4M3FNType>(), 1000.0), 448.0);
  EXPECT_TRUE(std::isnan(roundTo(b.getBF16Type(), NAN)));
  EXPECT_EQ(roundTo(b.getBF16Type(), -INFINITY), -INFINITY);
}

TEST(Rounding, MicroscaledBlocksShareAPowerOfTwo) {
  // The largest is 10 = 1.25 · 2^3: scale 2^(3 - 8); 10 / scale = 320 is an e4m3 value, 0.01 / scale = 0.32 rounds.
  double values[] = {10, 0.01, -3};
  roundToMicroscaled(values);
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[1], 0.3125 / 32);
  EXPECT_EQ(values[2], -3);
}

/// One query, two keys with weights 1/3 and 2/3: what enters the product is bf16(1/3), and nothing else is rounded.
TEST(Plain16, RoundsProbabilitiesToTheTypeOfTheValues) {
  SpecModule module = SpecModule::parse(R"(
    !Q = !attn.tensor<dense("s") x heads(1) x 1 x bf16>
    !K = !attn.tensor<dense("t") x heads(1) x 1 x bf16>
    !M = !attn.mask<dense("s") x dense("t")>
    !S = !attn.pairs<dense("s") x dense("t") x heads(1) x f32>
    !O = !attn.tensor<dense("s") x heads(1) x 1 x f32>
    attn.spec @a(q = %q : !Q, k = %k : !K, v = %v : !K) {
      %m = attn.pattern #attn.full -> !M
      %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
      %t = attn.map_pairs %s : (!S) -> !S {
      ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
        %y = math.log %x : f32
        attn.result %y : f32
      }
      %p, %lse = attn.softmax %t : !S -> !S, !attn.tensor<dense("s") x heads(1) x f32>
      %o = attn.combine %p, %v : (!S, !K) -> !O
      attn.yield o = %o : !O
    })");
  NamedTensors in = randomLaunch(module.spec(), {{}, {{"s", 1}, {"t", 2}}});
  in.tensors.at("q").values = {1};
  in.tensors.at("k").values = {1, 2};
  in.tensors.at("v").values = {1, 0};
  EXPECT_NEAR(run(module.spec(), in).tensors.at("o").values[0], 1.0 / 3, 1e-15);
  EXPECT_EQ(run(module.spec(), in, Precision::Plain16).tensors.at("o").values[0], 0.333984375);
}

TEST(Plain16, ErrorIsThatOfA16BitKernel) {
  for (const char *name : {"ads_block", "cross", "hstu"}) {
    SpecModule module = SpecModule::example(name);
    mlir::Builder b(&module.context());
    Lengths lengths = {{{"offsets", {70, 33}}, {"q_offsets", {20, 7}}, {"kv_offsets", {9, 41}}}};
    NamedTensors in = randomLaunch(module.spec(), lengths);
    for (auto &[tensorName, tensor] : in.tensors)
      for (double &value : tensor.values)
        value = roundTo(b.getBF16Type(), value);
    // The offsets that a spec does not name would count another batch, were they read.
    HostTensor exact = run(module.spec(), in).tensors.at("o");
    HostTensor plain = run(module.spec(), in, Precision::Plain16).tensors.at("o");
    double error = largestDifference(exact, plain);
    EXPECT_GT(error, 1e-5) << name;  // it does round
    EXPECT_LT(error, 2e-2) << name;  // a few units of bf16's 2^-9 for outputs of about 1
    for (double value : plain.values)
      EXPECT_EQ(value, roundTo(b.getBF16Type(), value));
  }
}

} // namespace
} // namespace fovea::attn::reference
