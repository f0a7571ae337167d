// runtime/emulator/machine/CopyOps.h - what the asynchronous copies share: places, barriers, groups.
#pragma once
#include "runtime/emulator/machine/MemoryAccess.h"
#include "runtime/emulator/machine/Scheduler.h"

namespace fovea::emulator {

/// A byte in some CTA's shared memory.
struct SharedPlace {
  Cta *cta = nullptr;
  uint32_t offset = 0;
};

/// Resolves a shared operand of an instruction (shared or generic address). Throws a located Fault.
SharedPlace sharedPlace(Warp &w, Where where, uint64_t address, uint32_t bytes, int lane, const char *what);

/// complete_tx of an asynchronous operation: counts, wakes, tells the observer. Throws Fault without a barrier there.
void signalBytes(Cluster &c, const AsyncOp &op, SharedPlace barrier, uint32_t bytes);
/// One asynchronous arrival.
void signalArrive(Cluster &c, const AsyncOp &op, SharedPlace barrier, uint32_t count = 1);

/// Fills in issuer, lane and line, tells the observer, and hands the operation to the engine.
void issueAsync(Warp &w, const Inst &i, int lane, std::unique_ptr<AsyncOp> op, uint64_t chain = 0);

/// The CTAs of a multicast: (destination, barrier) pairs. For cta_group::2 the signal goes to the CTA of each
/// destination's pair that has the parity of the barrier's own CTA (PTX ISA, cp.async.bulk.tensor).
std::vector<std::pair<Cta *, Cta *>> multicastTargets(Warp &w, uint16_t mask, const Cta &barrierOwner, bool pair, int lane);

/// Wakes threads that wait for groups of this warp.
void wakeGroups(Warp &w, Wait::Kind kind);

} // namespace fovea::emulator
