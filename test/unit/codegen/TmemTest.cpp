// test/unit/codegen/TmemTest.cpp - tensor memory: does every function print its instruction, and do
// loads wait?
#include "codegen/sm100a/Tmem.h"

#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/sm100a/Tcgen05.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::codegen::sm100a;
using layout::TmemShape;

class TmemTest : public KernelFixture {
protected:
  /// A kernel of one warp with 128 columns allocated at `base`.
  void open() {
    begin({{global()}}, {32});
    slot = dynamicSharedBase(b, loc, *module);
    tmemAlloc(b, loc, slot, 128);
    tmemRelinquish(b, loc);
    fenceBefore(b, loc);
    ctaSync(b, loc);
    fenceAfter(b, loc);
    base = tmemBase(b, loc, slot);
  }
  std::string close() {
    ctaSync(b, loc);
    tmemDealloc(b, loc, base, 128);
    return finish("sm_100a");
  }
  Value slot, base;
};

TEST_F(TmemTest, Allocation) {
  open();
  std::string ptx = close();
  EXPECT_TRUE(hasInOrder(ptx, {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
                               "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
                               "tcgen05.fence::before_thread_sync", "bar.sync",
                               "tcgen05.fence::after_thread_sync", "ld.volatile.shared",
                               "tcgen05.dealloc.cta_group::1.sync.aligned.b32"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

TEST_F(TmemTest, ShapesAndWaits) {
  open();
  Value address = tmemWarpAddress(b, loc, base, warpId(b, loc), 32);
  const std::pair<TmemShape, uint32_t> forms[] = {{TmemShape::S32x32b, 32},
                                                  {TmemShape::S16x64b, 4},
                                                  {TmemShape::S16x128b, 2},
                                                  {TmemShape::S16x256b, 4},
                                                  {TmemShape::S32x32b, 1}};
  for (auto [shape, num] : forms) {
    SmallVector<Value> loaded = tmemWaitLoad(b, loc, tmemLoad(b, loc, shape, num, address));
    EXPECT_EQ(loaded.size(), layout::registersOf(shape, num));
    tmemStore(b, loc, shape, address, loaded);
    tmemWaitStore(b, loc);
  }
  std::string ptx = close();
  EXPECT_TRUE(hasInOrder(
      ptx, {"tcgen05.ld.sync.aligned.32x32b.x32.b32", "tcgen05.wait::ld.sync.aligned",
            "tcgen05.st.sync.aligned.32x32b.x32.b32", "tcgen05.wait::st.sync.aligned",
            "tcgen05.ld.sync.aligned.16x64b.x4.b32", "tcgen05.st.sync.aligned.16x64b.x4.b32",
            "tcgen05.ld.sync.aligned.16x128b.x2.b32", "tcgen05.st.sync.aligned.16x128b.x2.b32",
            "tcgen05.ld.sync.aligned.16x256b.x4.b32", "tcgen05.st.sync.aligned.16x256b.x4.b32",
            "tcgen05.ld.sync.aligned.32x32b.x1.b32", "tcgen05.st.sync.aligned.32x32b.x1.b32"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
}

// Loaded registers are valid only after wait::ld: no instruction may read them between the two.
TEST_F(TmemTest, NothingUsesLoadedRegistersBeforeTheWait) {
  open();
  Value address = tmemWarpAddress(b, loc, base, warpId(b, loc));
  SmallVector<Value> x = tmemWaitLoad(b, loc, tmemLoad(b, loc, TmemShape::S32x32b, 4, address));
  keep(LLVM::AddOp::create(b, loc, LLVM::AddOp::create(b, loc, x[0], x[1]),
                           LLVM::AddOp::create(b, loc, x[2], x[3])),
       0);
  std::string ptx = close();
  size_t load = ptx.find("tcgen05.ld.sync"), wait = ptx.find("tcgen05.wait::ld", load);
  ASSERT_NE(wait, std::string::npos) << ptx;
  EXPECT_EQ(ptx.substr(load, wait - load).find("add.s32"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("add.s32", wait), std::string::npos) << ptx;
}
