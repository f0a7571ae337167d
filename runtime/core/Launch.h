// runtime/core/Launch.h - a launch whose arguments have been checked and packed.
#ifndef FOVEA_RUNTIME_CORE_LAUNCH_H
#define FOVEA_RUNTIME_CORE_LAUNCH_H

#include "runtime/core/Arguments.h"
#include "runtime/core/Buffer.h"
#include "runtime/core/Stream.h"

#include <map>
#include <memory>
#include <mutex>

namespace fovea {

struct LaunchOptions {
  /// Dim symbols that no tensor shape determines.
  std::map<std::string, int64_t> dims;
  /// Host copies of offsets tensors, whose values are then checked. Without one, the offsets are copied back (which
  /// waits for the device) when a table with a row per position is shorter than all rows together.
  std::vector<HostOffsets> hostOffsets;
  /// Runs this variant of the operation (Manifest.h), not the one whose modelled time is least.
  std::string variant;
  /// Debug: copies every offsets tensor back and checks its values. Waits for the device.
  bool checkOffsetsOnDevice = false;
};

/// Device memory that kernels ask for in their manifest, kept between launches. Grows; never shrinks while alive.
class ScratchPool {
public:
  /// At least `bytes` for `name`, zeroed when first allocated (which waits for the device).
  Expected<cu::CUdeviceptr> get(const Device &device, const std::string &name, size_t bytes);

private:
  std::map<std::string, Buffer> current;
  std::vector<Buffer> retired; // a running kernel may still use them
};

/// Code loaded on a device, shared by Module and its PreparedLaunches.
struct LoadedModule {
  LoadedModule(Device device, Manifest manifest) : device(std::move(device)), manifest(std::move(manifest)) {
    for (const KernelSpec &kernel : this->manifest.kernels)
      if (!used.count(kernel.name))
        used[kernel.name] = usedTensors(this->manifest, kernel.name);
  }
  ~LoadedModule();

  Device device;
  Manifest manifest;
  cu::CUmodule handle = nullptr;
  std::vector<cu::CUfunction> functions; ///< parallel to manifest.kernels
  std::map<std::string, std::set<std::string>> used; ///< tensors of each operation: a walk over all its expressions

  std::mutex mutex;
  std::map<cu::CUstream, ScratchPool> scratch; ///< for one-shot launches, by stream
};

/// Launching costs one driver call per kernel (and one per scratch buffer that must be cleared), no check, no
/// encoding, no allocation. The tensors it was prepared with must live and keep their addresses. It may be launched
/// many times, but a launch with scratch memory not on two streams at once.
class PreparedLaunch {
public:
  /// Enqueues the kernels on `stream`. An operation without work (an empty batch) enqueues nothing and succeeds.
  Expected<void> launch(const Stream &stream);

  /// What will run, for reports: one {grid, block} per kernel that has work.
  struct Shape {
    std::string entry;
    std::array<unsigned, 3> grid, block, cluster;
  };
  std::vector<Shape> shapes() const;
  /// The variant that was chosen (Manifest.h), empty where there is one way.
  const std::string &variant() const { return chosen; }

private:
  friend class Module;
  struct alignas(64) ParamValue { // room for the largest parameter, a tensor map
    unsigned char bytes[128];
  };
  struct Kernel {
    cu::CUfunction function = nullptr;
    const KernelSpec *spec = nullptr;
    cu::CUlaunchConfig config = {};
    cu::CUlaunchAttribute cluster = {};
    std::vector<ParamValue> values;
    std::vector<void *> pointers; ///< into `values`
    std::vector<std::pair<cu::CUdeviceptr, size_t>> cleared; ///< scratch to zero before each launch
  };

  static Expected<PreparedLaunch> create(std::shared_ptr<LoadedModule> module, const std::string &operation,
                                         const std::vector<Tensor> &tensors, const LaunchOptions &options,
                                         ScratchPool *sharedScratch);
  Expected<void> addKernel(size_t index, Arguments &arguments, ScratchPool &pool);
  Expected<ParamValue> pack(const ParamSpec &param, const Arguments &arguments, ScratchPool &pool, Kernel &kernel);

  std::shared_ptr<LoadedModule> module;
  std::string chosen;
  std::vector<Kernel> kernels;
  std::unique_ptr<ScratchPool> ownScratch;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_LAUNCH_H
