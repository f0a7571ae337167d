// codegen/common/Sync.h - barriers of threads, election, register hand-over, dependent launch.
// PTX ISA, "bar/barrier", "elect.sync", "setmaxnreg", "griddepcontrol", "barrier.cluster".
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// bar.sync id, threads. All lanes of each participating warp. Ids 0..15 are constants by design:
/// an id in a register makes ptxas reserve all 16 barriers. `threads`: multiple of 32.
void barSync(OpBuilder &b, Location loc, uint32_t id, uint32_t threads);
/// The same with an id in a register, for kernels of one CTA per SM.
void barSync(OpBuilder &b, Location loc, Value id, uint32_t threads);
/// bar.arrive id, threads: counts, does not wait.
void barArrive(OpBuilder &b, Location loc, uint32_t id, uint32_t threads);
/// bar.sync 0 for all threads of the CTA.
void ctaSync(OpBuilder &b, Location loc);
/// bar.warp.sync -1: reconverges a warp; needed before an `.aligned` instruction after divergence.
void warpSync(OpBuilder &b, Location loc);
/// elect.sync: i1, true in exactly one lane. The whole warp executes it.
Value electOne(OpBuilder &b, Location loc);
/// setmaxnreg.inc / .dec: all four warps of a warpgroup; 24..256, multiple of 8.
void increaseRegisters(OpBuilder &b, Location loc, uint32_t count);
void decreaseRegisters(OpBuilder &b, Location loc, uint32_t count);
/// barrier.cluster.arrive.release + wait.acquire, all threads of the cluster.
void clusterSync(OpBuilder &b, Location loc);
/// griddepcontrol.wait / .launch_dependents.
void gridDependencyWait(OpBuilder &b, Location loc);
void gridDependencyLaunch(OpBuilder &b, Location loc);

} // namespace fovea::codegen
