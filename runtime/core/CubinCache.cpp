// runtime/core/CubinCache.cpp - the cache's files, and PTX to cubin by the driver's linker.
#include "runtime/core/CubinCache.h"
#include "runtime/abi/Sha256.h"
#include "runtime/core/File.h"

#include <cstdlib>
#include <filesystem>

namespace fovea {
using namespace cu;

Expected<CubinCache> CubinCache::fromEnvironment() {
  auto variable = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  const std::string use = variable("FOVEA_CACHE");
  if (!use.empty() && use != "0" && use != "1")
    return Error{"FOVEA_CACHE=" + use + ": expected 0 or 1"};
  if (use == "0")
    return CubinCache("");
  if (std::string folder = variable("FOVEA_CACHE_DIR"); !folder.empty())
    return CubinCache(folder);
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return CubinCache(base + "/fovea");
  std::string home = variable("HOME");
  return CubinCache(home.empty() ? "" : home + "/.cache/fovea");
}

std::string CubinCache::keyOf(std::string_view ptx, const DeviceFacts &facts, int driverVersion) {
  return sha256(std::to_string(facts.computeMajor) + "." + std::to_string(facts.computeMinor) + " driver " +
                std::to_string(driverVersion) + "\n" + std::string(ptx));
}

std::optional<std::string> CubinCache::find(const std::string &key) const {
  if (!enabled())
    return std::nullopt;
  Expected<std::string> file = readFile(path(key));
  if (!file)
    return std::nullopt;
  constexpr size_t header = 65; // 64 digits and a newline
  if (file->size() > header && (*file)[64] == '\n') {
    std::string body = file->substr(header);
    if (sha256(body) == file->substr(0, 64))
      return body;
  }
  std::error_code ignored;
  std::filesystem::remove(path(key), ignored);
  return std::nullopt;
}

void CubinCache::store(const std::string &key, std::string_view cubin) const {
  if (!enabled())
    return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  (void)writeFileAtomically(path(key), sha256(cubin) + "\n" + std::string(cubin));
}

Expected<std::string> compilePtx(const Device &device, std::string_view ptx) {
  const DriverApi &api = device.driver();
  ContextScope scope(device);
  char log[8192] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUlinkState state = nullptr;
  if (auto ok = api.check(api.cuLinkCreate_v2(2, options, values, &state), "cuLinkCreate"); !ok)
    return ok.error();
  std::string text(ptx); // the linker wants the terminating 0 counted
  void *cubin = nullptr;
  size_t size = 0;
  CUresult result = api.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "kernel.ptx", 0,
                                         nullptr, nullptr);
  const char *call = "cuLinkAddData";
  if (result == CUDA_SUCCESS) {
    result = api.cuLinkComplete(state, &cubin, &size);
    call = "cuLinkComplete";
  }
  Expected<void> ok = api.check(result, call, "compile the PTX for " + device.spec());
  std::string bytes = ok ? std::string(static_cast<const char *>(cubin), size) : "";
  (void)api.cuLinkDestroy(state); // owns `cubin`
  if (!ok)
    return Error{ok.message() + (*log ? std::string("\n") + log : ""), ok.error().driverCode};
  return bytes;
}

} // namespace fovea
