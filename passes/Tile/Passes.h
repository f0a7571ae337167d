// passes/Tile/Passes.h - the passes on `tile`, in pipeline order.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Pass/Pass.h"
#include "runtime/abi/Target.h"

namespace fovea::tile {

/// roles -> groups: each group's program is its roles in schedule order, one item after the other.
std::unique_ptr<mlir::Pass> createMapRolesPass();
/// Proves the network live (passes/Analysis/EventGraph.h); refuses with the cycle of waits.
std::unique_ptr<mlir::Pass> createProveLivePass();
/// Static SMEM and TMEM maps within the target's limits; barrier slots.
std::unique_ptr<mlir::Pass> createAllocatePass();
/// Barriers, phases, expected bytes and fences, derived from the hops (Hops.h).
std::unique_ptr<mlir::Pass> createSynchronisePass();
/// Takes out the barriers and fences without which the check below still passes.
std::unique_ptr<mlir::Pass> createPruneSynchronisationPass();
/// Checks from the explicit synchronisation alone that no two conflicting accesses are unordered.
std::unique_ptr<mlir::Pass> createProveNoHazardPass();

/// The check itself, for one kernel; says what is wrong at the op that is.
mlir::LogicalResult proveNoHazard(KernelOp kernel, const Target &target, const Schedule &schedule);

void registerTilePasses();

} // namespace fovea::tile
