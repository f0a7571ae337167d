// runtime/emulator/machine/Scheduler.h - who runs next, what waiting means, when nothing can go on.
#pragma once
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {

/// A Fault with its place.
struct LocatedFault : Fault {
  LocatedFault(const std::string &message, const Warp *warp, uint32_t line, int lane) : Fault(message), warp(warp), line(line), lane(lane) {}
  const Warp *warp;
  uint32_t line;
  int lane;
};

std::unique_ptr<Cluster> makeCluster(Launch &launch, uint64_t index);
void addFinding(Launch &launch, const Warp *w, uint32_t line, int lane, bool warning, const std::string &message, const Earlier *earlier = nullptr);
bool forceJoins(Warp &w);

/// As many fruitless looks at global memory in a row mean that a cluster waits for another.
constexpr uint32_t kPolls = 256;

/// Runs the cluster for about `budget` warp instructions, or until it waits for another cluster. Returns true when it has
/// ended. Throws LocatedFault.
bool runCluster(Cluster &cluster, uint64_t budget);
/// The end of a cluster: pending work is finished, what was left behind is reported.
void finishCluster(Cluster &cluster);
/// Who waits for what, as text for the deadlock report.
std::string describeWaits(Cluster &cluster);

} // namespace fovea::emulator
