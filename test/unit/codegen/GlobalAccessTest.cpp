// test/unit/codegen/GlobalAccessTest.cpp - are global accesses wide, predicated and non-coherent as
// asked?
#include "codegen/common/GlobalAccess.h"

#include "codegen/common/Sreg.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea::codegen;

class GlobalAccessTest : public KernelFixture {};

TEST_F(GlobalAccessTest, EveryForm) {
  begin({{global()}, {i32()}, {f32()}}, {32});
  Value in = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, threadId(b, loc), arg(1));
  Type quad = VectorType::get({4}, i32());
  Value p = globalElement(b, loc, arg(0), quad, threadId(b, loc));
  Value v = loadGlobal(b, loc, quad, p, /*nc=*/true);
  storeGlobal(b, loc, v, globalByte(b, loc, p, constI64(b, loc, 4096)));
  SmallVector<Value> loaded = loadGlobalNc16If(b, loc, in, p);
  storeGlobal16If(b, loc, in, globalByte(b, loc, p, constI64(b, loc, 8192)), loaded);
  Value one = loadGlobalNc4If(b, loc, in, p);
  storeGlobal4If(b, loc, in, p, one);
  storeGlobal4If(b, loc, in, p, arg(2));
  atomicAddF32(b, loc, arg(0), arg(2));
  Value old = atomicIncU32(b, loc, arg(0), arg(1));
  keep(old, 0);
  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(
      hasInOrder(ptx, {"ld.global.nc.v4.b32", "st.global.v4.b32", "@%p", "ld.global.nc.v4.b32",
                       "@%p", "st.global.v4.b32", "ld.global.nc.b32", "st.global.b32"}));
  EXPECT_NE(ptx.find(".add.f32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("atom.global.inc.u32"), std::string::npos) << ptx;
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
}
