// test/unit/codegen/MmaTest.cpp - does mmaSync print m16n8k16 for both 16-bit types?
#include "codegen/sm90a/Mma.h"

#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class MmaTest : public KernelFixture {};

TEST_F(MmaTest, BothTypes) {
  begin({{i32()}, {f32()}, {global()}}, {32});
  for (Half type : {Half::BF16, Half::F16})
    for (Value v : sm90a::mmaSync(b, loc, type, SmallVector<Value>(4, arg(0)),
                                  SmallVector<Value>(2, arg(0)), SmallVector<Value>(4, arg(1))))
      keep(v, 2);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                               "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}
