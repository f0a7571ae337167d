// test/unit/runtime/FakeDriver.h - a driver table in this process that records what the runtime asks of it.
//
// Device memory is host memory. Kernels do not run: launches are recorded. It describes one sm_100a device.
#ifndef FOVEA_TEST_UNIT_RUNTIME_FAKEDRIVER_H
#define FOVEA_TEST_UNIT_RUNTIME_FAKEDRIVER_H

#include "runtime/abi/Manifest.h"
#include "runtime/core/Module.h"
#include "runtime/driver/DriverApi.h"

#include <map>
#include <string>
#include <vector>

namespace fovea::test {

struct RecordedLaunch {
  cu::CUlaunchConfig config;
  std::vector<cu::CUlaunchAttribute> attributes;
  std::vector<void *> params; ///< valid while the launch's owner lives
};

struct RecordedMap {
  cu::CUtensorMapDataType type;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box;
  cu::CUtensorMapSwizzle swizzle;
  unsigned long long address;
};

/// What the fake driver does and has seen; reset by FakeDriver's constructor.
struct FakeState {
  int computeMajor = 10, computeMinor = 0;
  std::string failCall;                      ///< the call that answers `failWith`
  cu::CUresult failWith = cu::CUDA_ERROR_UNKNOWN;
  std::string jitLog;                        ///< written to the JIT error log when loading or linking fails
  bool reportHostMemory = false;             ///< all pointers are called host memory
  int ordinalOfMemory = 0;

  std::vector<std::string> calls;
  std::map<std::string, int> functionAttributes; ///< "attribute" -> last value
  std::vector<RecordedLaunch> launches;
  std::vector<RecordedMap> maps;
  std::vector<std::string> images;           ///< what was loaded
  std::map<cu::CUdeviceptr, size_t> allocations;
  int retained = 0;                          ///< primary contexts
  int modules = 0;                           ///< loaded and not unloaded
  cu::CUcontext current = nullptr;

  int count(const std::string &call) const;
};

FakeState &fake();

/// Resets the state and gives a table and a device on it.
class FakeDriver {
public:
  FakeDriver();
  DriverApi api;
  Device device() const;
};

/// A one-kernel manifest over q (bf16 [total, 2, 64]), o (the same), lse (optional f32 [total, 2]) and offsets.
Manifest smallManifest(const std::string &ptx);

} // namespace fovea::test

#endif // FOVEA_TEST_UNIT_RUNTIME_FAKEDRIVER_H
