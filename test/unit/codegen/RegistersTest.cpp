// test/unit/codegen/RegistersTest.cpp - does each arithmetic function become the one instruction it
// documents?
#include "codegen/common/Registers.h"

#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class RegistersTest : public KernelFixture {
protected:
  void kernel() { begin({{f32()}, {f32()}, {f32()}, {global()}}, {32}); }
};

TEST_F(RegistersTest, ApproximateFunctions) {
  kernel();
  keep(ex2(b, loc, arg(0)), 3);
  keep(lg2(b, loc, arg(1)), 3);
  keep(rcp(b, loc, arg(2)), 3);
  keep(tanhApprox(b, loc, arg(2)), 3);
  std::string ptx = finish("sm_90a");
  for (const char *text :
       {"ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "rcp.approx.ftz.f32", "tanh.approx.f32"})
    EXPECT_NE(ptx.find(text), std::string::npos) << text << "\n" << ptx;
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}

TEST_F(RegistersTest, FusedAndThreeInput) {
  kernel();
  keep(fma(b, loc, arg(0), arg(1), arg(2)), 3);
  keep(max3(b, loc, arg(0), arg(1), arg(2)), 3);
  keep(minF(b, loc, arg(0), arg(1)), 3);
  keep(addTree(b, loc, {arg(0), arg(1), arg(2)}), 3);
  std::string ptx = finish("sm_100a");
  for (const char *text : {"fma.rn.ftz.f32", "min.ftz.f32", "add.rn.ftz.f32"})
    EXPECT_NE(ptx.find(text), std::string::npos) << text << "\n" << ptx;
  // Three inputs: one instruction, three commas.
  size_t at = ptx.find("max.ftz.f32");
  ASSERT_NE(at, std::string::npos) << ptx;
  std::string line = ptx.substr(at, ptx.find('\n', at) - at);
  EXPECT_EQ(std::count(line.begin(), line.end(), ','), 3) << line;
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

TEST_F(RegistersTest, PackedPairsOnBlackwell) {
  kernel();
  Value x = packVector(b, loc, {arg(0), arg(1)}), y = packVector(b, loc, {arg(1), arg(2)});
  for (Value v : unpackVector(b, loc, fma(b, loc, x, y, mulF(b, loc, addF(b, loc, x, y), x))))
    keep(v, 3);
  std::string ptx = finish("sm_100a");
  for (const char *text : {"fma.rn.ftz.f32x2", "mul.rn.ftz.f32x2", "add.rn.ftz.f32x2"})
    EXPECT_NE(ptx.find(text), std::string::npos) << text << "\n" << ptx;
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

TEST_F(RegistersTest, PairConversionIsOneInstruction) {
  kernel();
  keep(packHalf2(b, loc, Half::BF16, arg(0), arg(1)), 3);
  keep(packHalf2(b, loc, Half::F16, arg(0), arg(1)), 3);
  std::string ptx = finish("sm_90a");
  // PTX names the high half first.
  EXPECT_NE(ptx.find("cvt.rn.bf16x2.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("cvt.rn.f16x2.f32"), std::string::npos) << ptx;
  size_t at = ptx.find("cvt.rn.bf16x2.f32");
  std::string line = ptx.substr(at, ptx.find('\n', at) - at);
  size_t high = ptx.find("ld.param.b32", 0);
  EXPECT_NE(high, std::string::npos);
  // %r1 holds argument 0 (low), %r2 argument 1 (high): "cvt ... %rD, %r2, %r1".
  EXPECT_NE(line.find(", %r2, %r1;"), std::string::npos) << line << "\n" << ptx;
}

TEST_F(RegistersTest, ExchangesAndVotes) {
  kernel();
  keep(quadMax(b, loc, arg(0)), 3);
  keep(quadAdd(b, loc, arg(1)), 3);
  Value big = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::ogt, arg(0), arg(1));
  keep(select(b, loc, voteAny(b, loc, big), arg(0), arg(1)), 3);
  keep(select(b, loc, voteAll(b, loc, big), arg(0), arg(1)), 3);
  auto [lo, hi] = unpackHalf2(b, loc, Half::BF16, bitsOf(b, loc, arg(2)));
  keep(lo, 3);
  keep(hi, 3);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"shfl.sync.bfly.b32", ", 1, 31, -1", "shfl.sync.bfly.b32",
                               ", 2, 31, -1", "vote.sync.any.pred", "vote.sync.all.pred"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}
