// runtime/core/Device.h - a GPU, or the emulator in its place.
#ifndef FOVEA_RUNTIME_CORE_DEVICE_H
#define FOVEA_RUNTIME_CORE_DEVICE_H

#include "runtime/abi/Error.h"
#include "runtime/abi/Target.h"
#include "runtime/driver/DriverApi.h"

#include <memory>
#include <string>
#include <vector>

namespace fovea {

/// What the driver says about a device. Sizes in bytes.
struct DeviceFacts {
  std::string name;                     ///< "NVIDIA H200"
  int ordinal = 0;
  int computeMajor = 0, computeMinor = 0;
  int sms = 0;
  int maxDynamicSmem = 0;               ///< per CTA, opted into
  size_t memory = 0;
  int clockKHz = 0;
  const Target *target = nullptr;       ///< whose kernels run here; null when there is none
};

/// A cheap handle; copies share one retained primary context, released with the last copy.
/// All functions of the runtime may be called from any thread and leave the thread's current context as it was.
class Device {
public:
  /// "cuda:0" (or "cuda"), "emulator" (its first chip), "emulator:sm_90a".
  static Expected<Device> open(const std::string &spec);

  /// Device `ordinal` of a driver table that the caller has initialised; `spec` names it in messages.
  static Expected<Device> open(const DriverApi &api, int ordinal, const std::string &spec);

  const std::string &spec() const { return state->spec; }
  const DeviceFacts &facts() const { return state->facts; }
  const DriverApi &driver() const { return *state->api; }
  cu::CUcontext context() const { return state->context; }

  /// Waits for all work on the device; reports failures of kernels that ran since the last call.
  Expected<void> synchronize() const;

  /// One line for people: "cuda:0  NVIDIA H200  compute 9.0  132 SMs  140 GiB  target sm_90a".
  std::string description() const;

private:
  struct State {
    const DriverApi *api = nullptr;
    std::string spec;
    DeviceFacts facts;
    cu::CUcontext context = nullptr;
    ~State();
  };
  std::shared_ptr<State> state;
};

/// Makes a device's context current in this scope, and the former one afterwards.
class ContextScope {
public:
  explicit ContextScope(const Device &device);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const DriverApi &api;
  bool pushed = false;
};

/// Every device that can be opened, and why the rest cannot: one line each for `fovea devices`.
struct DeviceList {
  std::vector<Device> devices;
  std::vector<std::string> notes;
};
DeviceList listDevices();

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_DEVICE_H
