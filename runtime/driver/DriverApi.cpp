// runtime/driver/DriverApi.cpp - finds and opens a driver library.
#include "runtime/driver/DriverApi.h"
#include "runtime/abi/Target.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace fovea {
using namespace cu;

namespace {

constexpr int kOldestDriver = 12000; // tensor maps (cuTensorMapEncodeTiled)
constexpr const char *kEmulatorFile = "libfovea_emulator.so";

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<std::string> emulatorCandidates() {
  std::vector<std::string> paths;
  char exe[4096];
  if (ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1); length > 0) {
    std::string folder = folderOf(std::string(exe, length));
    paths.push_back(folder + "/" + kEmulatorFile);
    paths.push_back(folder + "/../lib/" + kEmulatorFile);
  }
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&DriverApi::open), &self) && self.dli_fname)
    paths.push_back(folderOf(self.dli_fname) + "/" + kEmulatorFile);
  return paths;
}

Expected<DriverApi> openEmulator() {
  if (const char *named = std::getenv("FOVEA_EMULATOR_LIB"); named && *named)
    return DriverApi::open(named);
  std::string tried;
  for (const std::string &path : emulatorCandidates()) {
    if (access(path.c_str(), R_OK) == 0)
      return DriverApi::open(path);
    tried += (tried.empty() ? "" : ", ") + path;
  }
  if (Expected<DriverApi> api = DriverApi::open(kEmulatorFile))
    return api;
  return Error{std::string("cannot find the emulator, ") + kEmulatorFile + " (tried " + tried +
               ", and the loader's path); build the target fovea_emulator, or set FOVEA_EMULATOR_LIB to its file"};
}

Expected<DriverApi> openCuda() {
  const char *named = std::getenv("FOVEA_CUDA_LIB");
  std::string path = named && *named ? named : "libcuda.so.1";
  Expected<DriverApi> api = DriverApi::open(path);
  if (!api && !named)
    return Error{api.message() + "; no NVIDIA driver seems to be installed; device \"emulator\" runs every target "
                                 "without one"};
  return api;
}

/// Reads the version and calls cuInit.
Expected<void> initialize(DriverApi &api) {
  if (Expected<void> ok = api.check(api.cuDriverGetVersion(&api.version), "cuDriverGetVersion"); !ok)
    return ok;
  if (api.version < kOldestDriver)
    return Error{"the driver in " + api.library + " supports CUDA " + driverVersionText(api.version) +
                 ", but tensor maps need CUDA " + driverVersionText(kOldestDriver) +
                 " or later; update the NVIDIA driver to 525 or later, or use device \"emulator\""};
  return api.check(api.cuInit(0), "cuInit", "initialise " + api.library);
}

} // namespace

Expected<DriverApi> DriverApi::open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return Error{"cannot open the driver library " + path + ": " + (why ? why : "unknown reason")};
  }
  DriverApi api;
  api.library = path;
  std::string missing;
  int newest = 0;
  auto find = [&](auto &pointer, const char *symbol, int since) {
    pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(dlsym(library, symbol));
    if (pointer)
      return;
    missing += (missing.empty() ? "" : ", ") + std::string(symbol);
    newest = std::max(newest, since);
  };
#define FOVEA_DRIVER_FIND(SYMBOL, SINCE) find(api.SYMBOL, #SYMBOL, SINCE);
  FOVEA_DRIVER_FUNCTIONS(FOVEA_DRIVER_FIND)
#undef FOVEA_DRIVER_FIND
  if (missing.empty())
    return api;
  std::string found = "an unknown version";
  if (int version = 0; api.cuDriverGetVersion && api.cuDriverGetVersion(&version) == CUDA_SUCCESS)
    found = "CUDA " + driverVersionText(version);
  return Error{"the driver library " + path + " (" + found + ") lacks " + missing + ", which came with CUDA " +
               driverVersionText(newest) + "; update the driver, or use device \"emulator\""};
}

Expected<const DriverApi *> DriverApi::cuda() {
  static std::mutex mutex;
  static DriverApi *loaded = nullptr; // leaked on purpose: outlives every Device
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded)
    return loaded;
  Expected<DriverApi> api = openCuda();
  if (!api)
    return api.error();
  if (Expected<void> ok = initialize(*api); !ok)
    return ok.error();
  loaded = new DriverApi(std::move(*api));
  return loaded;
}

Expected<const DriverApi *> DriverApi::emulator() {
  static std::mutex mutex;
  static DriverApi *loaded = nullptr; // leaked on purpose: outlives every Device
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded)
    return loaded;
  std::string chips;
  for (const Target &target : allTargets())
    chips += (chips.empty() ? "" : ",") + std::string(target.name);
  setenv("FOVEA_EMULATE", chips.c_str(), /*overwrite=*/0);
  Expected<DriverApi> api = openEmulator();
  if (!api)
    return api.error();
  api->isEmulator = true;
  if (Expected<void> ok = initialize(*api); !ok)
    return ok.error();
  loaded = new DriverApi(std::move(*api));
  return loaded;
}

} // namespace fovea
