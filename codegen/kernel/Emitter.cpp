// codegen/kernel/Emitter.cpp - the kernel's frame: barriers and tensor memory, set up before all groups run.
#include "codegen/kernel/Emitter.h"
#include "codegen/common/Fence.h"
#include "codegen/common/Mbarrier.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

Emitter::Emitter(KernelOp kernel, const Target &target, Schedule schedule, TargetLowering &lowering, OpBuilder &b)
    : ScalarBuilder(b, kernel.getLoc()), kernel(kernel), target(target), schedule(std::move(schedule)), lowering(lowering),
      params(kernel, this->schedule) {}

// --- small helpers ------------------------------------------------------------------------------------------------

void Emitter::asLeader(llvm::function_ref<void()> body) {
  ifThen(group.isLeader, body);
  // The leader's warp meets again: aligned instructions follow.
  warpSync(b, loc);
}

layout::SmemTile Emitter::smemTile(SlotType type) const {
  return layout::SmemTile(uint32_t(type.getRows()), uint32_t(type.getCols()),
                          type.getElementType().getIntOrFloatBitWidth() / 8);
}

bool Emitter::holdsRows() const {
  return tile::registerLayout(target, schedule.tileRows, GroupOp(group.op).getWarps()) == RegisterLayout::Rows;
}

Value Emitter::warpRow() {
  if (holdsRows())
    return mul(group.warp, i32(32));
  if (!target.tcgen05 || schedule.tileRows == 64)
    return mul(group.warp, i32(16));
  Value quarter = bitAnd(group.warp, i32(3));
  return add(mul(quarter, i32(32)), mul(LLVM::LShrOp::create(b, loc, group.warp, i32(2)), i32(16)));
}

Value Emitter::barrierAddress(StringRef name, std::optional<uint64_t> visit) {
  auto barrier = kernel.lookupSymbol<BarrierOp>(name);
  Value address = addI32(b, loc, moved(barrier), uint32_t(*barrier.getOffset()));
  if (barrier.getDepth() == 1)
    return address;
  return add(address, mul(ring(barrier.getDepth(), visit).slot, i32(8)));
}

// --- frame --------------------------------------------------------------------------------------------------------

LogicalResult Emitter::emit() {
  KernelLimits limits;
  limits.threads = uint32_t(32 * schedule.warps());
  limits.minCtas = uint32_t(schedule.ctasPerSm);
  function = createKernel(b, loc, kernel.getSymName(), params.types(b), limits);
  smemBase = dynamicSharedBase(b, loc, function->getParentOp());
  lane = laneId(b, loc);

  LogicalResult result = success();
  if (schedule.persistent) {
    emitFrame();
    result = emitGroups({});
  } else {
    // One item per CTA: a CTA without work leaves before it sets anything up.
    WorkItem item = findItem(blockId(b, loc));
    ifThen(item.valid, [&] {
      emitFrame();
      result = emitGroups(item);
    });
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return result;
}

void Emitter::emitFrame() {
  int64_t columns = kernel->getAttrOfType<IntegerAttr>("tmem_columns").getInt();
  if (columns)
    ifThen(cmp(ICmpPredicate::eq, warpId(b, loc), i32(0)),
           [&] { lowering.allocateTensorMemory(*this, tensorMemorySlot(), columns); });
  // A fused kernel of one item meets behind the loads that begin its program (emitProgram).
  met = false;
  if (schedule.persistent || schedule.groups.size() > 1)
    (void)meet({});
}

// Thread 0 initialises the barriers and issues `loads`; then all threads see the barriers and the address of tensor
// memory. What one thread has initialised and fenced it may hand to TMA at once: nobody else need know of it yet.
LogicalResult Emitter::meet(ArrayRef<Operation *> loads) {
  met = true;
  LogicalResult result = success();
  ifThen(cmp(ICmpPredicate::eq, threadId(b, loc), i32(0)), [&] {
    for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
      for (int64_t i = 0; i < int64_t(barrier.getDepth()); ++i)
        mbarrierInit(b, loc, addI32(b, loc, smemBase, uint32_t(*barrier.getOffset() + 8 * i)),
                     uint32_t(barrier.getCount()));
    if (kernel->hasAttr("item_ring"))
      initItemRing();
    // Copies and commits signal through the asynchronous proxy; no other CTA of a cluster does (that would take
    // fence.mbarrier_init too).
    fenceProxyAsyncShared(b, loc);
    for (Operation *load : loads)
      if (failed(emitLeaderOp(*load)))
        result = failure();
  });
  ctaSync(b, loc);
  if (kernel->getAttrOfType<IntegerAttr>("tmem_columns").getInt())
    tmemBase = lowering.tensorMemoryBase(*this, tensorMemorySlot());
  return result;
}

Value Emitter::tensorMemorySlot() {
  return addI32(b, loc, smemBase, uint32_t(kernel->getAttrOfType<IntegerAttr>("tmem_slot").getInt()));
}
