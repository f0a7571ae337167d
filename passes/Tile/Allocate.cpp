// passes/Tile/Allocate.cpp - pass tile-allocate: SMEM and TMEM maps of the channels.
#include "dialect/Layout/SmemTile.h"
#include "dialect/Layout/TmemLayout.h"
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Tile/Passes.h"
#include "runtime/abi/Target.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
FailureOr<int64_t> smemSlotBytes(ChannelOp channel) {
  SlotType type = channel.getSlotType();
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (type.getCols() == 1) // a value a row, as it is
    return type.getRows() * elementBytes;
  if (const char *why = layout::SmemTile::whyInvalid(type.getRows(), type.getCols(), elementBytes); *why)
    return channel.emitOpError("cannot lie in shared memory: ") << why;
  return int64_t(layout::SmemTile(type.getRows(), type.getCols(), elementBytes).slotBytes());
}

// 32-bit columns: one per f32 element of a row, one per two 16-bit elements.
int64_t tmemSlotColumns(SlotType type) {
  return type.getCols() * type.getElementType().getIntOrFloatBitWidth() / 32;
}

LogicalResult allocate(KernelOp kernel) {
  const Target *target = findTarget(kernel.getTarget());
  if (!target)
    return kernel.emitOpError("unknown target '") << kernel.getTarget() << "'";
  llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
  if (!schedule)
    return kernel.emitOpError(llvm::toString(schedule.takeError()));

  Builder b(kernel.getContext());
  int64_t smem = 0, columns = 0;
  SmallVector<ChannelOp> aliased, views;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>()) {
    if (channel.getView()) {
      views.push_back(channel);
      continue;
    }
    if (channel.getAlias()) {
      aliased.push_back(channel);
      continue;
    }
    SlotType type = channel.getSlotType();
    int64_t size = 0;
    int64_t *next = nullptr;
    if (type.getSpace() == Space::Smem) {
      FailureOr<int64_t> bytes = smemSlotBytes(channel);
      if (failed(bytes))
        return failure();
      size = *bytes, next = &smem;
    } else if (type.getSpace() == Space::Tmem) {
      size = tmemSlotColumns(type), next = &columns;
    } else {
      continue;
    }
    channel.setOffset(*next);
    channel.setSlotSize(size);
    *next += size * int64_t(channel.getDepth());
  }
  // Channels that alias the same one lie side by side in it, in order.
  llvm::StringMap<int64_t> used;
  for (ChannelOp channel : aliased) {
    auto other = kernel.lookupSymbol<ChannelOp>(*channel.getAlias());
    if (!other || !other.getOffset())
      return channel.emitOpError("aliases '") << *channel.getAlias() << "', which has no memory of its own";
    SlotType type = channel.getSlotType();
    if (other.getSlotType().getSpace() != type.getSpace() || other.getDepth() != channel.getDepth())
      return channel.emitOpError("aliases '") << *channel.getAlias() << "', whose space or depth differs";
    int64_t size = tmemSlotColumns(type);
    if (type.getSpace() == Space::Smem) {
      FailureOr<int64_t> bytes = smemSlotBytes(channel);
      if (failed(bytes))
        return failure();
      size = *bytes;
    }
    int64_t &offset = used[*channel.getAlias()];
    if (offset + size > int64_t(*other.getSlotSize()))
      return channel.emitOpError("needs ") << size << " but aliases '" << *channel.getAlias() << "', whose slot has "
                                           << int64_t(*other.getSlotSize()) - offset << " left";
    channel.setOffset(*other.getOffset() + offset);
    channel.setSlotSize(*other.getSlotSize());
    offset += size;
  }
  for (ChannelOp channel : views) {
    ChannelOp owner = ownerOf(channel);
    channel.setOffsetAttr(owner.getOffsetAttr());
    channel.setSlotSizeAttr(owner.getSlotSizeAttr());
  }

  int64_t allocated = columns ? layout::tmemAllocation(columns) : 0;
  if (columns && (allocated == 0 || columns > target->tmemColumns))
    return kernel.emitOpError("needs ") << columns << " columns of tensor memory, " << target->name << " has "
                                        << target->tmemColumns;
  if (allocated * schedule->ctasPerSm > target->tmemColumns)
    return kernel.emitOpError("schedule asks for ")
           << schedule->ctasPerSm << " CTAs per SM of " << allocated << " columns of tensor memory each, "
           << target->name << " has " << target->tmemColumns << ": ask for fewer CTAs, or for P in shared memory";
  kernel->setAttr("smem_bytes", b.getI64IntegerAttr(smem));
  kernel->setAttr("tmem_columns", b.getI64IntegerAttr(allocated));
  return success();
}

struct Allocate : PassWrapper<Allocate, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Allocate)
  StringRef getArgument() const final { return "tile-allocate"; }
  StringRef getDescription() const final { return "static maps of shared and tensor memory"; }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(allocate(kernel)))
        return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createAllocatePass() { return std::make_unique<Allocate>(); }
