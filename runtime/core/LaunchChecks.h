// runtime/core/LaunchChecks.h - what a launch asks the driver about its arguments before it packs them.
#ifndef FOVEA_RUNTIME_CORE_LAUNCHCHECKS_H
#define FOVEA_RUNTIME_CORE_LAUNCHCHECKS_H

#include "runtime/core/Launch.h"

namespace fovea {

/// Refuses null, host memory, another device's memory, and views that leave their allocation.
Expected<void> checkMemory(const Device &device, const Tensor &tensor);

/// Checks the values of offsets: of those given as host copies, and of those that must be copied back (LaunchOptions), which waits
/// for the device.
Expected<void> checkAllOffsets(const Device &device, const Manifest &manifest, const Arguments &arguments,
                               const LaunchOptions &options);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_LAUNCHCHECKS_H
