// passes/Verify/PostConditions.h - what each phase promises the next, checked on the IR it leaves.
//
// The table is the one of the phases (codegen/Compiler.h); the two proofs, tile-prove-live and tile-prove-no-hazard,
// belong to `tile` and `sync` and stand in files of their own.
#pragma once

#include "dialect/Tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace fovea::tile {

/// schedule: the attribute parses; it maps every role to one group; groups own disjoint warps and registers that the
/// target has; depths and aliases name channels of the kernel.
mlir::LogicalResult verifySchedule(KernelOp kernel);
/// tile: no role is left; a channel in registers has depth 1 and its stations in one group (tile.channel-C3); every
/// station takes and passes equally often.
mlir::LogicalResult verifyTile(KernelOp kernel);
/// alloc: every slot has its memory, inside what the kernel asks for and the target gives; two channels share memory
/// only if one aliases the other and their slots are never alive at once, shown on the event graph.
mlir::LogicalResult verifyAlloc(KernelOp kernel);
/// sync: barriers lie in shared memory that is theirs alone; each is awaited; loads signal a barrier of their
/// channel's depth.
mlir::LogicalResult verifySync(KernelOp kernel);

/// Passes tile-verify-{schedule,tile,alloc,sync}: the functions above on every kernel of a module.
std::unique_ptr<mlir::Pass> createVerifySchedulePass();
std::unique_ptr<mlir::Pass> createVerifyTilePass();
std::unique_ptr<mlir::Pass> createVerifyAllocPass();
std::unique_ptr<mlir::Pass> createVerifySyncPass();
void registerVerifyPasses();

} // namespace fovea::tile
