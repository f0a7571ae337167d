// passes/Tile/Prune.cpp - pass tile-prune-synchronisation: takes out the barriers and fences that nothing needs.
//
// tile-synchronise looks at one hop of one channel at a time, so where several meet it may ask for more than the kernel
// as a whole needs: a group's barrier beside another that stands behind the same fences, a fence where the same warp
// reads what it wrote. Each is taken out in turn; when tile-prove-no-hazard still holds, it stays out.
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Tile/Passes.h"
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "runtime/abi/Target.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
/// Barriers of the group, waits for stores (one may stand behind those of several channels), and fences between units. The
/// waits of tensor memory stay: each belongs to its access. In a group of one warp the proof, whose steps are a warp's,
/// does not see that lanes meet.
bool mayGo(Operation &op) {
  if (isa<SyncOp>(op))
    return op.getParentOfType<GroupOp>().getWarps() > 1;
  if (isa<StoreWaitOp>(op))
    return true;
  auto fence = dyn_cast<FenceOp>(op);
  return fence && (fence.getKind() == FenceKind::AsyncProxy || fence.getKind() == FenceKind::TensorBefore || fence.getKind() == FenceKind::TensorAfter);
}

struct Prune : PassWrapper<Prune, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Prune)
  StringRef getArgument() const final { return "tile-prune-synchronisation"; }
  StringRef getDescription() const final { return "remove barriers and fences without which no hazard appears"; }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      const Target *target = findTarget(kernel.getTarget());
      llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
      if (!target || !schedule) {
        if (!schedule)
          llvm::consumeError(schedule.takeError());
        continue; // the proof itself says what is wrong
      }
      // Loops over key blocks make the proof long, and what could go stands outside of the loop.
      if (hasKeyBlocks(kernel))
        continue;
      ScopedDiagnosticHandler quiet(&getContext(), [](Diagnostic &) { return success(); });
      if (failed(proveNoHazard(kernel, *target, *schedule)))
        continue;
      for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
        SmallVector<Operation *> candidates;
        for (Operation &op : group.getBody().front())
          if (mayGo(op))
            candidates.push_back(&op);
        for (Operation *op : candidates) {
          Operation *next = op->getNextNode();
          op->remove();
          if (succeeded(proveNoHazard(kernel, *target, *schedule))) {
            op->destroy();
            continue;
          }
          next->getBlock()->getOperations().insert(Block::iterator(next), op);
        }
      }
    }
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createPruneSynchronisationPass() { return std::make_unique<Prune>(); }
