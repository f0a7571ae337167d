// test/unit/codegen/AttentionSm100aTest.cpp - is the library enough for attention on Blackwell, for
// M = 64 and M = 128?
#include "codegen/common/Fence.h"
#include "codegen/common/Mbarrier.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/common/Tma.h"
#include "codegen/sm100a/Tcgen05.h"
#include "codegen/sm100a/Tmem.h"
#include "test/unit/codegen/FragmentSoftmax.h"
#include "test/unit/codegen/KernelFixture.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::codegen::sm100a;
using layout::TmemShape;

namespace {

struct Shape {
  uint32_t m, d; ///< query rows and keys of a block; head dim
};

class AttentionSm100aTest : public KernelFixture, public ::testing::WithParamInterface<Shape> {
protected:
  SmallVector<Value> floats(ValueRange bits) {
    SmallVector<Value> out;
    for (Value v : bits)
      out.push_back(floatOf(b, loc, v));
    return out;
  }
  SmallVector<Value> pairs(ValueRange values) {
    SmallVector<Value> out;
    for (size_t i = 0; i < values.size(); i += 2)
      out.push_back(packHalf2(b, loc, Half::BF16, values[i], values[i + 1]));
    return out;
  }
  /// `columns` accumulator columns from `address` as f32, waited for.
  SmallVector<Value> loadColumns(TmemShape shape, Value address, uint32_t columns) {
    uint32_t unit = layout::columnsOf(shape, 1);
    SmallVector<Value> all;
    for (uint32_t c = 0; c < columns; c += 32) // head dims are multiples of 32
      all.append(tmemLoad(b, loc, shape, 32 / unit, addI32(b, loc, address, c)));
    return floats(tmemWaitLoad(b, loc, all));
  }
};

} // namespace

// 4 warps: rows m*ctaid.x .. +m-1 of Q, K, V (bf16, head dim d) -> softmax(Q Kᵀ scale) V with S, P
// (over S) and O in tensor memory. Maps as in AttentionSm90aTest with boxes of m rows.
TEST_P(AttentionSm100aTest, BlockDiagonal) {
  const uint32_t m = GetParam().m, d = GetParam().d;
  layout::SmemTile tile(m, d, 2);
  KernelParam map = KernelParam::tensorMap();
  begin({map, map, map, map, {f32()}}, {128, 1}, "attention");
  const uint32_t columns = layout::tmemAllocation(m + d);

  Value base = dynamicSharedBase(b, loc, *module);
  Value smem[3];
  for (uint32_t i = 0; i < 3; ++i)
    smem[i] = addI32(b, loc, base, i * tile.bytes());
  Value loaded = addI32(b, loc, base, 3 * tile.bytes());
  Value sDone = addI32(b, loc, loaded, 8), oDone = addI32(b, loc, loaded, 16);
  Value slot = addI32(b, loc, loaded, 24);
  Value row0 = LLVM::MulOp::create(b, loc, blockId(b, loc), constI32(b, loc, m));
  Value warp = warpId(b, loc), zero = constI32(b, loc, 0);
  Value warp0 = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, warp, zero);

  when(warp0, [&] {
    tmemAlloc(b, loc, slot, columns);
    tmemRelinquish(b, loc);
    when(electOne(b, loc), [&] {
      for (Value bar : {loaded, sDone, oDone})
        mbarrierInit(b, loc, bar, 1);
      mbarrierInitFence(b, loc);
    });
    warpSync(b, loc);
  });
  fenceBefore(b, loc);
  ctaSync(b, loc);
  fenceAfter(b, loc);
  Value tmem = tmemBase(b, loc, slot);
  Value o = addI32(b, loc, tmem, m);

  const auto core = layout::TensorCore::Tcgen05;
  auto q = layout::describeOperand(tile, layout::Major::K);
  auto v = layout::describeOperand(tile, layout::Major::MN);
  layout::InstructionDescriptor qk, pv;
  qk.m = pv.m = m;
  qk.n = m;
  pv.n = d;
  pv.transposeB = true;
  when(warp0, [&] {
    when(electOne(b, loc), [&] {
      mbarrierArriveExpectTx(b, loc, loaded, constI32(b, loc, 3 * tile.bytes()));
      for (uint32_t i = 0; i < 3; ++i)
        for (const layout::TmaBox &box : tile.panelBoxes(0, m))
          tmaLoad(b, loc, addI32(b, loc, smem[i], box.smemOffset), arg(i),
                  {constI32(b, loc, box.origin[0]), row0}, loaded);
      mbarrierWait(b, loc, loaded, zero);
      mmaSS(b, loc, tmem, smemDescriptor(b, loc, core, q, smem[0]), q,
            smemDescriptor(b, loc, core, q, smem[1]), q, qk);
      commit(b, loc, sDone);
    });
    warpSync(b, loc);
  });

  mbarrierWait(b, loc, sDone, zero);
  fenceAfter(b, loc);
  Value mine = tmemWarpAddress(b, loc, tmem, warp), myO = addI32(b, loc, mine, m);
  // M = 128: one row a thread. M = 64 (data path F, 16 lanes a warp): the mma fragment.
  const bool rows = m == 128;
  const TmemShape shape = rows ? TmemShape::S32x32b : TmemShape::S16x256b;
  SmallVector<Value> s = loadColumns(shape, mine, m);
  std::array<Value, 2> inverse;
  if (rows) {
    Value minus = mulF(b, loc, maxTree(b, loc, s), mulF(b, loc, arg(4), constF32(b, loc, -1.0f)));
    for (Value &x : s)
      x = ex2(b, loc, fma(b, loc, x, arg(4), minus));
    inverse[0] = inverse[1] = rcp(b, loc, addTree(b, loc, s));
  } else {
    FragmentSoftmax softmax = softmaxFragment(b, loc, s, arg(4));
    s = softmax.p;
    inverse = softmax.inverseSum;
  }
  tmemStore(b, loc, rows ? TmemShape::S32x32b : TmemShape::S16x128b, mine, pairs(s));
  tmemWaitStore(b, loc);
  fenceBefore(b, loc);
  ctaSync(b, loc);

  when(warp0, [&] {
    when(electOne(b, loc), [&] {
      fenceAfter(b, loc);
      mmaTS(b, loc, o, tmem, smemDescriptor(b, loc, core, v, smem[2]), v, pv);
      commit(b, loc, oDone);
    });
    warpSync(b, loc);
  });
  mbarrierWait(b, loc, oDone, zero);
  fenceAfter(b, loc);

  // O into Q's tile, which the first product has finished reading, 32 columns at a time.
  Value row = threadId(b, loc), lane = laneId(b, loc);
  Value warpRow = LLVM::ShlOp::create(b, loc, warp, constI32(b, loc, 4));
  Value lanes = matrixLaneOffset(b, loc, tile, layout::MatrixOrder::RowsFirst, lane, warpRow);
  for (uint32_t c = 0; c < d; c += 32) {
    SmallVector<Value> part = loadColumns(shape, addI32(b, loc, myO, c), 32);
    for (size_t r = 0; r < part.size(); ++r)
      part[r] = mulF(b, loc, part[r], inverse[(r / 2) % 2]);
    SmallVector<Value> packed = pairs(part);
    if (rows)
      for (uint32_t i = 0; i < 4; ++i) {
        Value offset = tileOffset(b, loc, tile, row, constI32(b, loc, c + 8 * i));
        storeShared(b, loc, packVector(b, loc, ValueRange(packed).slice(4 * i, 4)),
                    LLVM::AddOp::create(b, loc, smem[0], offset));
      }
    else
      for (uint32_t i = 0; i < 2; ++i)
        storeMatrix(b, loc, matrixAddress(b, loc, tile, smem[0], lanes, 0, c + 16 * i),
                    ValueRange(packed).slice(4 * i, 4), /*trans=*/false);
  }
  fenceProxyAsyncShared(b, loc);
  fenceBefore(b, loc);
  ctaSync(b, loc);
  when(warp0, [&] {
    fenceAfter(b, loc);
    tmemDealloc(b, loc, tmem, columns);
    when(electOne(b, loc), [&] {
      for (const layout::TmaBox &box : tile.panelBoxes(0, m))
        tmaStore(b, loc, arg(3), {constI32(b, loc, box.origin[0]), row0},
                 addI32(b, loc, smem[0], box.smemOffset));
      bulkCommitGroup(b, loc);
      bulkWaitGroupRead(b, loc, 0);
    });
  });

  std::string ptx = finish("sm_100a");
  EXPECT_TRUE(hasInOrder(ptx, {"tcgen05.alloc", "cp.async.bulk.tensor.2d.shared::cta",
                               "tcgen05.mma", "tcgen05.commit", "tcgen05.ld.sync.aligned",
                               "tcgen05.wait::ld", "ex2.approx.ftz.f32", "cvt.rn.bf16x2.f32",
                               "tcgen05.st.sync.aligned", "tcgen05.wait::st", "tcgen05.mma",
                               "tcgen05.ld.sync.aligned", "fence.proxy.async.shared::cta",
                               "tcgen05.dealloc", "cp.async.bulk.tensor.2d.global.shared::cta"}));
  ASSERT_ASSEMBLES(log, ptx, "sm_100a");
  EXPECT_FALSE(log.spills()) << log.log;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionSm100aTest,
                         ::testing::Values(Shape{64, 32}, Shape{64, 64}, Shape{64, 96},
                                           Shape{64, 128}, Shape{64, 192}, Shape{64, 256},
                                           Shape{128, 64}, Shape{128, 96}, Shape{128, 128}),
                         [](const auto &info) {
                           return "M" + std::to_string(info.param.m) + "D" +
                                  std::to_string(info.param.d);
                         });
