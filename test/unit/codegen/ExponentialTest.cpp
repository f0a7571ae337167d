// test/unit/codegen/ExponentialTest.cpp - 2^x on the FMA units, against f64: its error, its ends, what it costs.
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Registers.h"
#include "codegen/common/Sreg.h"
#include "codegen/kernel/Exponential.h"
#include "test/unit/codegen/KernelFixture.h"
#include "test/unit/emulator/machine/Device.h"
#include <cmath>
#include <limits>

using namespace fovea;
using namespace fovea::codegen;
using namespace mlir;

namespace {
constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

class Exponential : public KernelFixture {
protected:
  /// Thread t: the 2 values at in[2 t] to out[2 t].
  std::string build() {
    module = ModuleOp::create(loc);
    KernelLimits limits;
    limits.threads = 128;
    begin({{global()}, {global()}}, limits);
    Value thread = LLVM::AddOp::create(b, loc, threadId(b, loc), LLVM::MulOp::create(b, loc, blockId(b, loc), constI32(b, loc, 128)));
    Value first = LLVM::MulOp::create(b, loc, thread, constI32(b, loc, 2));
    auto at = [&](unsigned argument, uint32_t i) { return globalElement(b, loc, arg(argument), f32(), addI32(b, loc, first, i)); };
    Value x0 = loadGlobal(b, loc, f32(), at(0, 0)), x1 = loadGlobal(b, loc, f32(), at(0, 1));
    for (auto [i, v] : llvm::enumerate(unpackVector(b, loc, exp2Polynomial(b, loc, x0, x1))))
      storeGlobal(b, loc, v, at(1, uint32_t(i)));
    return finish("sm_100a");
  }

  std::vector<float> run(std::vector<float> x) {
    namespace emu = fovea::emulator;
    const size_t count = x.size();
    x.resize((count + 255) / 256 * 256);
    emu::AddressSpace memory;
    emu::Program program(build(), *emu::findChip("sm_100a"), memory);
    uint64_t in = emu::test::upload(memory, x, "in"), out = memory.allocate(x.size() * 4, "out");
    emu::test::Params params;
    params << in << out;
    auto report = program.run(*program.kernel("kernel"),
                              emu::test::launch(uint32_t(x.size() / 256), 128, 0, params, emu::AsyncPolicy::Lazy));
    EXPECT_EQ(report.text(), "");
    std::vector<float> got = emu::test::download<float>(memory, out, x.size());
    got.resize(count);
    return got;
  }
};
} // namespace

// Every multiple of 2^-16 in [0, 1), and every integer part with fractions around those where the error is greatest.
TEST_F(Exponential, IsAsExactAsStated) {
  std::vector<float> x;
  for (int i = 0; i < 65536; ++i)
    x.push_back(float(i) / 65536);
  for (int n = -125; n < 127; ++n)
    for (int i = 0; i < 128; ++i)
      x.push_back(float(n) + float(i) / 128);
  std::vector<float> got = run(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(double(got[i]) / std::exp2(double(x[i])) - 1));
  EXPECT_LT(worst, 2.9e-6);
  EXPECT_GT(worst, 1e-6); // else this is not the polynomial that the header describes
}

TEST_F(Exponential, Ends) {
  const float tiny = std::numeric_limits<float>::min();
  std::vector<std::pair<float, float>> ends{{-kInf, 0}, {-1e30f, 0}, {-1000, 0}, {-127, 0}, {-126.75f, 0}, {-126, 0},
                                            {127.75f, kInf}, {128, kInf}, {200, kInf}, {3e38f, kInf}, {kInf, kInf}};
  std::vector<float> x{kNan, -kNan, -125.5f, 127, 0, -0.0f, 1e-40f, tiny};
  for (auto [from, to] : ends)
    x.push_back(from);
  std::vector<float> got = run(x);
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
  for (size_t i = 2; i < 8; ++i)
    EXPECT_NEAR(double(got[i]) / std::exp2(double(x[i])), 1, 2.9e-6) << x[i];
  for (size_t i = 0; i < ends.size(); ++i)
    EXPECT_EQ(got[8 + i], ends[i].second) << ends[i].first;
}

// What the cost model counts for a pair: 4 clamps, 3 additions, 4 fused products, 2 shifts, 1 product.
TEST_F(Exponential, CostsFourteenInstructionsAPair) {
  std::string ptx = build();
  auto count = [&](const char *what) {
    int n = 0;
    for (size_t at = 0; (at = ptx.find(what, at)) != std::string::npos; ++at)
      ++n;
    return n;
  };
  EXPECT_EQ(count("ex2.approx"), 0);
  EXPECT_EQ(count("max.ftz.NaN.f32") + count("max.NaN.ftz.f32") + count("max.NaN.f32"), 2);
  EXPECT_EQ(count("min.ftz.NaN.f32") + count("min.NaN.ftz.f32") + count("min.NaN.f32"), 2);
  EXPECT_EQ(count("fma.rn.ftz.f32x2"), 4);
  EXPECT_EQ(count("add.rn.ftz.f32x2") + count("sub.rn.ftz.f32x2"), 3);
  EXPECT_EQ(count("mul.rn.ftz.f32x2"), 1);
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

// A share of 16 spreads evenly, in pairs.
TEST_F(Exponential, SharesAreSpreadInPairs) {
  for (int64_t share : {0, 2, 4, 6, 8, 16}) {
    module = ModuleOp::create(loc);
    begin({{global()}, {f32()}}, KernelLimits());
    SmallVector<Value> x(64, arg(1));
    ASSERT_EQ(exponentials(b, loc, x, share).size(), 64u);
    int special = 0;
    func.walk([&](LLVM::CallIntrinsicOp) { ++special; });
    EXPECT_EQ(special, 64 - 4 * share) << share;
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }
}
