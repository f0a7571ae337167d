// runtime/emulator/detect/Races.h - data races and missing proxy fences in shared and tensor memory, by vector clocks.
#pragma once
#include "runtime/emulator/detect/Observer.h"
#include <memory>

namespace fovea::emulator {

/// Reports two accesses to the same bytes, one of them a write, that nothing orders: not program order, a barrier, an
/// mbarrier, a cluster barrier, a commit, or the wait for a group; and generic writes that an asynchronous read may miss
/// for want of a fence.proxy.async. It follows the order that the kernel *states*, not the order in which things happened
/// to run, so that one run under one policy is enough.
///
/// A warp is one thread of control here: races between lanes of one warp are not seen. Global memory is not watched.
/// Granules: 4 bytes of shared memory (with a byte mask), 16 lanes x 1 column of tensor memory.
std::unique_ptr<Observer> makeRaceDetector();

} // namespace fovea::emulator
