// test/unit/codegen/Tcgen05Test.cpp - do the products walk K as the operands say, with the right
// predicates and descriptors?
#include "codegen/sm100a/Tcgen05.h"

#include "codegen/common/Mbarrier.h"
#include "codegen/common/Sync.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::codegen::sm100a;

class Tcgen05Test : public KernelFixture {
protected:
  static size_t count(const std::string &text, const std::string &part) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
      ++n;
    return n;
  }
};

TEST_F(Tcgen05Test, SharedTimesShared) {
  begin({{i32()}}, {32});
  layout::SmemTile q(128, 128, 2);
  layout::MatrixOperand a = layout::describeOperand(q, layout::Major::K);
  Value smem = dynamicSharedBase(b, loc, *module);
  when(electOne(b, loc), [&] {
    Value desc = smemDescriptor(b, loc, layout::TensorCore::Tcgen05, a, smem);
    mmaSS(b, loc, arg(0), desc, a, desc, a, layout::InstructionDescriptor());
    commit(b, loc, addI32(b, loc, smem, q.bytes()));
  });
  std::string ptx = finish("sm_100a");
  EXPECT_EQ(count(ptx, "tcgen05.mma.cta_group::1.kind::f16"), 8u) << ptx;
  EXPECT_NE(ptx.find("136316048"), std::string::npos) << ptx; // idesc 0x08200490
  EXPECT_TRUE(hasInOrder(ptx, {"tcgen05.mma.cta_group::1.kind::f16",
                               "tcgen05.commit.cta_group::1.mbarrier::arrive::one"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

TEST_F(Tcgen05Test, TensorTimesSharedWithMask) {
  begin({{i32()}, {i32()}}, {32});
  layout::SmemTile v(64, 64, 2);
  layout::MatrixOperand operand = layout::describeOperand(v, layout::Major::MN);
  layout::InstructionDescriptor idesc;
  idesc.m = 64;
  idesc.n = 64;
  idesc.transposeB = true;
  Value smem = dynamicSharedBase(b, loc, *module);
  when(electOne(b, loc), [&] {
    Value desc = smemDescriptor(b, loc, layout::TensorCore::Tcgen05, operand, smem);
    MmaOptions options;
    options.accumulate = constI1(b, loc, true);
    options.laneMask.assign(4, arg(1));
    mmaTS(b, loc, arg(0), addI32(b, loc, arg(0), 64), desc, operand, idesc, options);
  });
  std::string ptx = finish("sm_100a");
  EXPECT_EQ(count(ptx, "tcgen05.mma.cta_group::1.kind::f16"), 4u) << ptx;
  EXPECT_TRUE(hasInOrder(ptx, {"tcgen05.mma", "], [%r", "{%r"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}
