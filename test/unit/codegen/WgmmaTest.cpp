// test/unit/codegen/WgmmaTest.cpp - is a product one block, with tied accumulators and no zero
// fill?
#include "codegen/sm90a/Wgmma.h"

#include "codegen/common/Sreg.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::codegen::sm90a;

class WgmmaTest : public KernelFixture {
protected:
  static constexpr auto core = layout::TensorCore::Wgmma;
  void keepAll(ValueRange values) {
    Value sum = addTree(b, loc, values);
    keep(sum, 0);
  }
};

TEST_F(WgmmaTest, SharedTimesShared) {
  begin({{global()}}, {128, 1});
  layout::SmemTile q(64, 128, 2), k(64, 128, 2);
  auto a = layout::describeOperand(q, layout::Major::K),
       bk = layout::describeOperand(k, layout::Major::K);
  Value smem = dynamicSharedBase(b, loc, *module);
  Value aDesc = smemDescriptor(b, loc, core, a, smem);
  Value bDesc = smemDescriptor(b, loc, core, bk, addI32(b, loc, smem, q.bytes()));
  SmallVector<Value> s = wgmmaSS(b, loc, aDesc, a, bDesc, bk, {});
  keepAll(wgmmaWait(b, loc, 0, s));
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(
      hasInOrder(ptx, {"wgmma.fence.sync.aligned;", "setp.ne.b32 p, 0, 0;",
                       "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {",
                       "da, db, p, 1, 1, 0, 0;", "setp.eq.b32 p, 0, 0;", "wgmma.mma_async",
                       "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"}));
  EXPECT_EQ(ptx.find("0f00000000"), std::string::npos) << "accumulators were zero-filled\n" << ptx;
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_FALSE(log.has("serializ")) << log.log;
  EXPECT_FALSE(log.spills()) << log.log;
}

TEST_F(WgmmaTest, RegistersTimesSharedAccumulates) {
  begin({{global()}, {i32()}}, {128, 1});
  layout::SmemTile v(64, 96, 2);
  auto operand = layout::describeOperand(v, layout::Major::MN);
  Value smem = dynamicSharedBase(b, loc, *module);
  Value desc = smemDescriptor(b, loc, core, operand, smem);
  SmallVector<Value> p(16, arg(1));
  WgmmaOptions options;
  options.type = Half::F16;
  SmallVector<Value> o = wgmmaWait(b, loc, 0, wgmmaRS(b, loc, p, desc, operand, {}, options));
  options.accumulate =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, arg(1), constI32(b, loc, 7));
  keepAll(wgmmaWait(b, loc, 0, wgmmaRS(b, loc, p, desc, operand, o, options)));
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {", "}, {%r",
                               "}, db, p, 1, 1, 1;", "wgmma.wait_group", "mov.pred p, %p",
                               "wgmma.mma_async", "wgmma.wait_group"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_FALSE(log.has("serializ")) << log.log;
}

// Two products in one group: one fence, one commit.
TEST_F(WgmmaTest, ProductsShareAGroup) {
  begin({{global()}}, {128, 1});
  layout::SmemTile t(64, 64, 2);
  auto operand = layout::describeOperand(t, layout::Major::K);
  Value smem = dynamicSharedBase(b, loc, *module);
  Value desc = smemDescriptor(b, loc, core, operand, smem);
  WgmmaOptions first, second;
  first.commit = false;
  second.fence = false;
  SmallVector<Value> all = wgmmaSS(b, loc, desc, operand, desc, operand, {}, first);
  all.append(wgmmaSS(b, loc, desc, operand, desc, operand, {}, second));
  keepAll(wgmmaWait(b, loc, 0, all));
  std::string ptx = finish("sm_90a");
  EXPECT_EQ(ptx.find("wgmma.fence"), ptx.rfind("wgmma.fence"));
  EXPECT_EQ(ptx.find("wgmma.commit_group"), ptx.rfind("wgmma.commit_group"));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_FALSE(log.has("serializ")) << log.log;
}
