// test/unit/codegen/AttentionSm90aTest.cpp - is the library enough for attention on Hopper, without
// spills or serialised wgmma?
#include "codegen/common/Fence.h"
#include "codegen/common/Mbarrier.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/common/Tma.h"
#include "codegen/sm90a/Wgmma.h"
#include "test/unit/codegen/FragmentSoftmax.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::codegen::sm90a;

class AttentionSm90aTest : public KernelFixture, public ::testing::WithParamInterface<uint32_t> {};

// One warpgroup: rows 64*ctaid.x .. +63 of Q, K, V (bf16, head dim D) -> softmax(Q Kᵀ scale) V.
// Maps q, k, v, o: 2-D, box {panelCols, 64}, dims {D, rows}; scale is softmax scale * log2(e).
TEST_P(AttentionSm90aTest, BlockDiagonal) {
  const uint32_t d = GetParam();
  layout::SmemTile tile(64, d, 2);
  KernelParam map = KernelParam::tensorMap();
  begin({map, map, map, map, {f32()}}, {128, 2}, "attention");

  Value base = dynamicSharedBase(b, loc, *module);
  Value smem[3];
  for (uint32_t i = 0; i < 3; ++i)
    smem[i] = addI32(b, loc, base, i * tile.bytes());
  Value bar = addI32(b, loc, base, 3 * tile.bytes());
  Value row0 = LLVM::ShlOp::create(b, loc, blockId(b, loc), constI32(b, loc, 6));
  Value warp = warpId(b, loc);
  Value warp0 = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, warp, constI32(b, loc, 0));

  when(warp0, [&] {
    when(electOne(b, loc), [&] {
      mbarrierInit(b, loc, bar, 1);
      mbarrierInitFence(b, loc);
      mbarrierArriveExpectTx(b, loc, bar, constI32(b, loc, 3 * tile.bytes()));
      for (uint32_t i = 0; i < 3; ++i)
        for (const layout::TmaBox &box : tile.panelBoxes(0, 64))
          tmaLoad(b, loc, addI32(b, loc, smem[i], box.smemOffset), arg(i),
                  {constI32(b, loc, box.origin[0]), row0}, bar);
    });
  });
  ctaSync(b, loc);
  mbarrierWait(b, loc, bar, constI32(b, loc, 0));

  const auto core = layout::TensorCore::Wgmma;
  auto q = layout::describeOperand(tile, layout::Major::K), k = q;
  auto v = layout::describeOperand(tile, layout::Major::MN);
  SmallVector<Value> s = wgmmaWait(b, loc, 0,
                                   wgmmaSS(b, loc, smemDescriptor(b, loc, core, q, smem[0]), q,
                                           smemDescriptor(b, loc, core, k, smem[1]), k, {}));
  FragmentSoftmax softmax = softmaxFragment(b, loc, s, arg(4));
  SmallVector<Value> o = wgmmaWait(b, loc, 0,
                                   wgmmaRS(b, loc, packOperandA(b, loc, Half::BF16, softmax.p),
                                           smemDescriptor(b, loc, core, v, smem[2]), v, {}));
  o = packOperandA(b, loc, Half::BF16, scaleFragment(b, loc, o, softmax.inverseSum));

  // O into Q's tile (every warp has finished reading it: both products are complete in the
  // warpgroup), then one TMA store.
  ctaSync(b, loc);
  Value warpRow = LLVM::ShlOp::create(b, loc, warp, constI32(b, loc, 4));
  Value lanes =
      matrixLaneOffset(b, loc, tile, layout::MatrixOrder::RowsFirst, laneId(b, loc), warpRow);
  for (uint32_t step = 0; step < d / 16; ++step)
    storeMatrix(b, loc, matrixAddress(b, loc, tile, smem[0], lanes, 0, 16 * step),
                ValueRange(o).slice(4 * step, 4), /*trans=*/false);
  fenceProxyAsyncShared(b, loc);
  ctaSync(b, loc);
  when(warp0, [&] {
    when(electOne(b, loc), [&] {
      for (const layout::TmaBox &box : tile.panelBoxes(0, 64))
        tmaStore(b, loc, arg(3), {constI32(b, loc, box.origin[0]), row0},
                 addI32(b, loc, smem[0], box.smemOffset));
      bulkCommitGroup(b, loc);
      bulkWaitGroupRead(b, loc, 0);
    });
  });

  std::string ptx = finish("sm_90a");
  EXPECT_TRUE(hasInOrder(ptx, {"cp.async.bulk.tensor.2d.shared::cta", "mbarrier.try_wait.parity",
                               "wgmma.mma_async", "ex2.approx.ftz.f32", "cvt.rn.bf16x2.f32",
                               "wgmma.mma_async", "stmatrix", "fence.proxy.async.shared::cta",
                               "cp.async.bulk.tensor.2d.global.shared::cta"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_FALSE(log.spills()) << log.log;
  EXPECT_FALSE(log.has("serializ")) << log.log;
  EXPECT_FALSE(log.has("C75")) << log.log; // every wgmma performance note
  EXPECT_LE(log.registers(), d <= 128 ? 128 : 200) << log.log;
}

INSTANTIATE_TEST_SUITE_P(HeadDims, AttentionSm90aTest,
                         ::testing::Values(32u, 64u, 96u, 128u, 192u, 256u),
                         [](const auto &info) { return "D" + std::to_string(info.param); });
