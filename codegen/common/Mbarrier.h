// codegen/common/Mbarrier.h - mbarrier objects in shared memory. PTX ISA, "mbarrier".
//
// A barrier is a 64-bit word, 8-byte aligned. Any single thread may execute each of these unless
// said otherwise. A wait with parity P returns when the phase of parity P is over; on a fresh
// barrier P = 1 returns at once.
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// mbarrier.init: `count` arrivals (1 .. 2^20 - 1) complete a phase. One thread, before anybody
/// uses the barrier.
void mbarrierInit(OpBuilder &b, Location loc, Value bar, uint32_t count);

/// fence.mbarrier_init.release.cluster: by the initialising thread after its last init, before the
/// CTA or cluster barrier.
void mbarrierInitFence(OpBuilder &b, Location loc);

/// mbarrier.arrive, one arrival, release at CTA scope. With `predicate` (i1) only threads where it
/// is true arrive.
void mbarrierArrive(OpBuilder &b, Location loc, Value bar, Value predicate = {});

/// mbarrier.arrive.expect_tx: expects `bytes` (i32, at most 2^20 - 1 per phase) more, then arrives
/// once.
void mbarrierArriveExpectTx(OpBuilder &b, Location loc, Value bar, Value bytes,
                            Value predicate = {});

/// Arrives once on the barrier at the same offset in CTA `rank` (i32) of the cluster: mapa, then
/// mbarrier.arrive.shared::cluster. Written without .release.cluster, which costs a GPU-wide
/// membar.
void mbarrierArriveCluster(OpBuilder &b, Location loc, Value bar, Value rank);

/// Spins on mbarrier.try_wait.parity until the phase of parity `parity` (i32, 0 or 1) is over.
/// Acquire at CTA scope; a memory clobber keeps every later load below it. Any number of threads.
void mbarrierWait(OpBuilder &b, Location loc, Value bar, Value parity);

/// One try; returns i1. May suspend for a while, may fail spuriously.
Value mbarrierTryWait(OpBuilder &b, Location loc, Value bar, Value parity);

} // namespace fovea::codegen
