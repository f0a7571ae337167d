// passes/Verify/ProveLive.cpp - pass tile-prove-live: refuses a mapped kernel that can deadlock.
#include "mlir/IR/BuiltinOps.h"
#include "passes/Analysis/EventGraph.h"
#include "passes/Tile/Passes.h"

using namespace mlir;
using namespace fovea::tile;

namespace {
struct ProveLive : PassWrapper<ProveLive, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProveLive)
  StringRef getArgument() const final { return "tile-prove-live"; }
  StringRef getDescription() const final { return "prove that the network of groups and channels cannot deadlock"; }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      for (unsigned blocks = 1; blocks <= blocksToUnroll(kernel); ++blocks) {
        FailureOr<EventGraph> graph = EventGraph::build(kernel, blocks);
        if (failed(graph))
          return signalPassFailure();
        if (std::optional<Circuit> deadlock = graph->findDeadlock()) {
          InFlightDiagnostic error = kernel.emitOpError("deadlocks");
          if (hasKeyBlocks(kernel))
            error << " with " << blocks << " key blocks an item";
          error << ": " << graph->describeWaits(*deadlock);
          return signalPassFailure();
        }
      }
    markAllAnalysesPreserved();
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createProveLivePass() { return std::make_unique<ProveLive>(); }
