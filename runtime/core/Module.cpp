// runtime/core/Module.cpp - loading code, by the driver's JIT or from the cache.
#include "runtime/core/Module.h"
#include "runtime/core/CubinCache.h"
#include "runtime/core/File.h"

namespace fovea {
using namespace cu;

namespace {

Expected<CUmodule> loadImage(const Device &device, const std::string &image, const std::string &spec) {
  const DriverApi &api = device.driver();
  char log[16384] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule module = nullptr;
  CUresult result = api.cuModuleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (auto ok = api.check(result, "cuModuleLoadDataEx", "load '" + spec + "' on " + device.spec()); !ok)
    return Error{ok.message() + (*log ? std::string("\n") + log : ""), result};
  return module;
}

/// PTX goes to the emulator as text. For a chip it is compiled once and kept on disk, but not when its warps hand registers
/// over: the linker compiles without knowing the registers at entry, ignores setmaxnreg, and such a kernel then spills (2 to
/// 3 times slower on an H200). The driver keeps what it compiles for itself in its own cache.
Expected<CUmodule> loadCode(const Device &device, std::string_view ptx, const std::string &spec) {
  Expected<CubinCache> found = CubinCache::fromEnvironment();
  if (!found)
    return found.error();
  const CubinCache &cache = *found;
  const bool handsOver = ptx.find("setmaxnreg") != std::string_view::npos;
  if (device.driver().isEmulator || !cache.enabled() || handsOver)
    return loadImage(device, std::string(ptx), spec);
  std::string key = CubinCache::keyOf(ptx, device.facts(), device.driver().version);
  if (std::optional<std::string> cubin = cache.find(key))
    if (Expected<CUmodule> module = loadImage(device, *cubin, spec))
      return module; // else: the driver does not take what an earlier run stored; compile again
  Expected<std::string> cubin = compilePtx(device, ptx);
  if (!cubin)
    return cubin.error();
  Expected<CUmodule> module = loadImage(device, *cubin, spec);
  if (module)
    cache.store(key, *cubin);
  return module;
}

Expected<void> checkTarget(const Device &device, const Manifest &manifest) {
  const DeviceFacts &facts = device.facts();
  if (facts.target && facts.target->name == manifest.target)
    return {};
  std::string text = "'" + manifest.spec + "' was compiled for " + manifest.target + ", but " + device.spec() +
                     " is '" + facts.name + "' of compute capability " + std::to_string(facts.computeMajor) + "." +
                     std::to_string(facts.computeMinor);
  if (facts.target)
    return Error{text + "; compile with --target " + std::string(facts.target->name)};
  return Error{text + ", for which Fovea has no target (it has " + targetNames() + "); device \"emulator:" +
               manifest.target + "\" runs it anywhere"};
}

Expected<CUfunction> findFunction(const LoadedModule &module, const KernelSpec &kernel) {
  const DriverApi &api = module.device.driver();
  CUfunction function = nullptr;
  if (auto ok = api.check(api.cuModuleGetFunction(&function, module.handle, kernel.entry.c_str()),
                          "cuModuleGetFunction", "find the entry '" + kernel.entry + "'");
      !ok)
    return ok.error();
  int limit = module.device.facts().maxDynamicSmem;
  if (kernel.dynamicSmem > limit)
    return Error{"'" + kernel.entry + "' needs " + std::to_string(kernel.dynamicSmem) +
                 " bytes of shared memory per CTA, but " + module.device.spec() + " offers " + std::to_string(limit)};
  if (auto ok = api.check(
          api.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel.dynamicSmem),
          "cuFuncSetAttribute", std::to_string(kernel.dynamicSmem) + " bytes of shared memory for " + kernel.entry);
      !ok)
    return ok.error();
  int clusterSize = kernel.cluster[0] * kernel.cluster[1] * kernel.cluster[2];
  if (clusterSize > 8) // the largest size that every chip with clusters takes
    if (auto ok = api.check(
            api.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
            "cuFuncSetAttribute", "a cluster of " + std::to_string(clusterSize) + " for " + kernel.entry);
        !ok)
      return ok.error();
  return function;
}

} // namespace

Expected<Module> Module::load(const Device &device, const std::string &manifestPath) {
  Expected<std::string> json = readFile(manifestPath);
  if (!json)
    return json.error();
  Expected<Manifest> manifest = parseManifest(*json, manifestPath);
  if (!manifest)
    return manifest.error();
  size_t slash = manifestPath.rfind('/');
  std::string folder = slash == std::string::npos ? "" : manifestPath.substr(0, slash + 1);
  Expected<std::string> ptx = readFile(folder + manifest->ptx);
  if (!ptx)
    return Error{ptx.message() + " (named by " + manifestPath + ")"};
  return load(device, *ptx, *manifest);
}

Expected<Module> Module::load(const Device &device, std::string_view ptx, const Manifest &manifest) {
  if (auto ok = checkPtx(manifest, ptx); !ok)
    return ok.error();
  if (auto ok = checkTarget(device, manifest); !ok)
    return ok.error();
  ContextScope scope(device);
  Module module;
  module.loaded = std::make_shared<LoadedModule>(device, manifest);
  Expected<CUmodule> handle = loadCode(device, ptx, manifest.spec);
  if (!handle)
    return handle.error();
  module.loaded->handle = *handle;
  for (const KernelSpec &kernel : manifest.kernels) {
    Expected<CUfunction> function = findFunction(*module.loaded, kernel);
    if (!function)
      return function.error();
    module.loaded->functions.push_back(*function);
  }
  return module;
}

const Manifest &Module::manifest() const { return loaded->manifest; }
const Device &Module::device() const { return loaded->device; }

Expected<std::vector<KernelFacts>> Module::kernelFacts() const {
  const DriverApi &api = loaded->device.driver();
  ContextScope scope(loaded->device);
  std::vector<KernelFacts> result;
  for (size_t i = 0; i < loaded->functions.size(); ++i) {
    const KernelSpec &spec = loaded->manifest.kernels[i];
    KernelFacts facts;
    facts.entry = spec.entry;
    facts.dynamicSmem = spec.dynamicSmem;
    const std::pair<int *, CUfunction_attribute> attributes[] = {
        {&facts.registers, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&facts.localBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&facts.staticSmem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
    };
    for (auto [value, attribute] : attributes)
      if (auto ok = api.check(api.cuFuncGetAttribute(value, attribute, loaded->functions[i]), "cuFuncGetAttribute",
                              spec.entry);
          !ok)
        return ok.error();
    int threads = spec.block[0] * spec.block[1] * spec.block[2];
    if (auto ok = api.check(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                &facts.ctasPerSm, loaded->functions[i], threads, size_t(spec.dynamicSmem)),
                            "cuOccupancyMaxActiveBlocksPerMultiprocessor", spec.entry);
        !ok)
      return ok.error();
    result.push_back(facts);
  }
  return result;
}

Expected<PreparedLaunch> Module::prepare(const std::string &operation, const std::vector<Tensor> &tensors,
                                         const LaunchOptions &options) const {
  return PreparedLaunch::create(loaded, operation, tensors, options, /*sharedScratch=*/nullptr);
}

Expected<void> Module::launch(const std::string &operation, const std::vector<Tensor> &tensors, const Stream &stream,
                              const LaunchOptions &options) const {
  std::lock_guard<std::mutex> lock(loaded->mutex);
  Expected<PreparedLaunch> prepared =
      PreparedLaunch::create(loaded, operation, tensors, options, &loaded->scratch[stream.handle()]);
  if (!prepared)
    return prepared.error();
  return prepared->launch(stream);
}

} // namespace fovea
