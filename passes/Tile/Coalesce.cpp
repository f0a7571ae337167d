// passes/Tile/Coalesce.cpp - one fence or barrier where several hops asked for it.
#include "passes/Tile/Coalesce.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

// All stores were waited for and the group has met since, as another hop asked: without a store in between, nothing has
// changed.
static void dropRepeatedDrains(Block &block) {
  std::optional<uint64_t> drained; // stores that may still read
  SmallVector<Operation *> redundant;
  for (Operation &op : block) {
    if (isa<StoreOp>(op) || op.getNumRegions())
      drained.reset();
    auto wait = dyn_cast<StoreWaitOp>(op);
    auto sync = wait ? dyn_cast_or_null<SyncOp>(op.getNextNode()) : SyncOp();
    if (!sync)
      continue;
    if (drained && *drained <= wait.getPending())
      redundant.append({wait, sync});
    else
      drained = wait.getPending();
  }
  for (Operation *op : redundant)
    op->erase();
}

// Of two fences before what hands on the later one does, unless what the first is for was handed on between them.
static void dropEarlyFences(Block &block, FenceKind kind, const FencedBarriers &fenced) {
  auto handOn = fenced.find(kind);
  bool later = false;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto fence = dyn_cast<FenceOp>(op);
    if (fence && fence.getKind() == kind) {
      if (later)
        op.erase();
      later = true;
    } else if (auto arrive = dyn_cast<ArriveOp>(op)) {
      later &= handOn == fenced.end() || !handOn->second.contains(arrive.getBarrier());
    } else if (isa<SyncOp, CommitOp, MmaOp, LoadOp, StoreOp>(op) || op.getNumRegions()) {
      later = false;
    }
  }
}

void fovea::tile::coalesce(Block &block, const FencedBarriers &fenced) {
  dropRepeatedDrains(block);
  dropEarlyFences(block, FenceKind::AsyncProxy, fenced);
  dropEarlyFences(block, FenceKind::TensorBefore, fenced);
  SmallVector<Operation *> run; // synchronising ops since the last access
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<TakeOp, PassOp, StoreOp>(op) || isPure(&op))
      continue;
    if (!isa<SyncOp, FenceOp>(op)) {
      run.clear();
      continue;
    }
    bool repeated = !isa_and_nonnull<StoreWaitOp>(op.getNextNode()) && llvm::any_of(run, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(other, &op, OperationEquivalence::IgnoreLocations);
    });
    if (repeated) {
      op.erase();
      continue;
    }
    // A fence counts only if a barrier follows it.
    if (isa<FenceOp>(op))
      llvm::erase_if(run, [](Operation *other) { return isa<SyncOp>(other); });
    run.push_back(&op);
  }
}
