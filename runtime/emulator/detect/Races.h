// runtime/emulator/detect/Races.h - data races and missing fences, by vector clocks.
#pragma once
#include "runtime/emulator/detect/Observer.h"
#include <memory>
#include <string>
#include <vector>

namespace fovea::emulator {

/// A read of shared or tensor memory that nothing had written. Often harmless (padding that is masked later), so it is a
/// note, not a finding; Uninitialised.h tells whether it reached an output.
struct UnwrittenRead {
  uint32_t line = 0;
  std::string space;
  uint64_t address = 0;
};

class RaceDetector : public Observer {
public:
  virtual std::vector<UnwrittenRead> unwrittenReads() const = 0;
  /// PTX lines of mbarrier waits that told their threads nothing: all that the phases stood for had reached them by other
  /// ways each time, the arrivals included, so that the phase is over whether or not it is waited for. And lines of
  /// tcgen05.fence::after_thread_sync behind which nothing stood that an earlier one had not put in force.
  virtual std::vector<uint32_t> impliedWaits() const = 0;
};

/// Reports two accesses to the same bytes, one of them a write, that nothing orders: not program order, a barrier, an
/// mbarrier, a cluster barrier, a commit, the wait for a group, or (between clusters) an atomic or a flag; generic writes
/// that an asynchronous access may miss for want of a fence.proxy.async; missing tcgen05 fences; bulk copies that outlive
/// their block. It follows the order that the kernel *states*, not the order in which things happened to run, so that one
/// run under one policy is enough.
///
/// Threads of a warp are told apart where one of them acts alone; what a .sync.aligned instruction does, all do. Granules:
/// 4 bytes of shared and global memory (with a byte mask), 16 lanes x 1 column of tensor memory. Global memory remembers
/// the last write and the last read of a granule.
std::unique_ptr<RaceDetector> makeRaceDetector();

} // namespace fovea::emulator
