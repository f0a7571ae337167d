// test/mutation/WarpBarrier.h - when a bar.warp.sync is needless: what the lanes do on its two sides.
#pragma once
#include "test/mutation/Flow.h"
#include "test/mutation/Sharing.h"

namespace fovea::mutation {

/// Anything by which threads, engines or proxies learn of each other.
bool isSync(const ptx::Instruction &i);
bool isBulk(const ptx::Instruction &i);
/// A barrier that each thread of the warp takes part in for itself, memory included.
bool meetsWholeWarp(const ptx::Instruction &i);

/// bar.warp.sync does two things (PTX ISA, bar.warp.sync): it orders what one lane did before it with what another lane does
/// after it, and its lanes go on together, which `.aligned` instructions ask for.
///
/// The order is needless when, up to the places where the warp meets again on either side, no lane does before what could
/// meet what another lane does after: accesses to one space of which one writes; an arrival or other message after an access or
/// a wait; an access after a wait or fence of some lanes only, unless each lane waits itself for whoever it conflicts with. Lanes that run behind predicates of the first lane only
/// are told apart. What a lane *issues* (copies, products) before does not count: it ends later, by its own barrier or group.
/// A wait after it does not: the lane learns, and its later accesses are looked at themselves. Loads of constants and `.nc`
/// loads read what nobody writes, and `sharing` says whose accesses nobody conflicts with. tcgen05.ld, st, wait and wgmma's waits are `.sync.aligned`: no lane is ahead there.
///
bool warpOrderNeedless(const ptx::Function &fn, size_t at, const Flow &flow, const Sharing &sharing);

/// The convergence is needless when nothing before it (up to a place where all lanes meet) branches on what differs between
/// lanes, or nothing after it (up to such a place) is .aligned. bar.sync is none of those: every thread executes it.
bool warpConvergenceNeedless(const ptx::Function &fn, size_t at, const Flow &flow);

} // namespace fovea::mutation
