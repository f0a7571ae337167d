// runtime/core/Module.h - compiled kernels, loaded on a device.
//
//   Expected<Module> module = Module::load(device, "out/ads_block.json");
//   Expected<PreparedLaunch> launch = module->prepare("forward", {q, k, v, o, offsets});
//   launch->launch(stream);            // as often as wanted, while the tensors live
#ifndef FOVEA_RUNTIME_CORE_MODULE_H
#define FOVEA_RUNTIME_CORE_MODULE_H

#include "runtime/abi/Manifest.h"
#include "runtime/core/Launch.h"

namespace fovea {

/// What the driver says about one loaded kernel.
struct KernelFacts {
  std::string entry;
  int registers = 0;        ///< per thread
  int localBytes = 0;       ///< per thread; spills live here
  int staticSmem = 0;       ///< bytes
  int dynamicSmem = 0;      ///< bytes
  int ctasPerSm = 0;        ///< resident at once
};

/// A handle; copies share the loaded code, the last one unloads it.
class Module {
public:
  /// Loads the manifest file and the PTX beside it. Refused with one message: a file that is missing, a manifest of
  /// another version or edited, a PTX that is not the manifest's, a kernel for another chip than the device.
  static Expected<Module> load(const Device &device, const std::string &manifestPath);
  /// The same from memory.
  static Expected<Module> load(const Device &device, std::string_view ptx, const Manifest &manifest);

  const Manifest &manifest() const;
  const Device &device() const;
  Expected<std::vector<KernelFacts>> kernelFacts() const;

  /// Checks the arguments of `operation` ("forward"), encodes its tensor maps and packs its parameters, once.
  Expected<PreparedLaunch> prepare(const std::string &operation, const std::vector<Tensor> &tensors,
                                   const LaunchOptions &options = {}) const;

  /// Prepares and launches. Asynchronous: scratch memory belongs to the module, one set per stream.
  Expected<void> launch(const std::string &operation, const std::vector<Tensor> &tensors, const Stream &stream,
                        const LaunchOptions &options = {}) const;

private:
  std::shared_ptr<LoadedModule> loaded;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_MODULE_H
