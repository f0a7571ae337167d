// runtime/abi/Target.cpp - the table of target facts.
#include "runtime/abi/Target.h"

namespace fovea {

const std::array<Target, 2> &allTargets() {
  static const std::array<Target, 2> targets = {{
      {"sm_100a", "NVIDIA B200", 10, 0, /*wgmma=*/false, /*tcgen05=*/true, /*sms=*/148, /*smemPerCta=*/232448,
       /*smemPerSm=*/233472, /*smemReservedPerCta=*/1024, /*registersPerSm=*/65536, /*threadsPerSm=*/2048,
       /*ctasPerSm=*/32, /*tmemColumns=*/512, /*maxClusterPortable=*/8, /*clockMHz=*/1965,
       /*hbmBytesPerSecond=*/8.0e12},
      {"sm_90a", "NVIDIA H200", 9, 0, /*wgmma=*/true, /*tcgen05=*/false, /*sms=*/132, /*smemPerCta=*/232448,
       /*smemPerSm=*/233472, /*smemReservedPerCta=*/1024, /*registersPerSm=*/65536, /*threadsPerSm=*/2048,
       /*ctasPerSm=*/32, /*tmemColumns=*/0, /*maxClusterPortable=*/8, /*clockMHz=*/1980,
       /*hbmBytesPerSecond=*/4.8e12},
  }};
  return targets;
}

const Target *findTarget(std::string_view name) {
  for (const Target &target : allTargets())
    if (target.name == name)
      return &target;
  return nullptr;
}

const Target *targetForCapability(int major, int minor) {
  for (const Target &target : allTargets())
    if (target.computeMajor == major && target.computeMinor == minor)
      return &target;
  return nullptr;
}

std::string targetNames() {
  std::string names;
  for (const Target &target : allTargets())
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  return names;
}

} // namespace fovea
