// runtime/core/CubinCache.h - compiled kernels kept on disk, so that a process does not wait for ptxas twice.
//
// One file per (PTX, chip, driver version), named by their SHA-256, in $FOVEA_CACHE_DIR, else $XDG_CACHE_HOME/fovea,
// else ~/.cache/fovea. A file is written under a temporary name and renamed, so concurrent processes and kills
// leave either nothing or the whole file; its first line is the SHA-256 of the rest, so damage is noticed and
// the kernel compiled again. FOVEA_CACHE=0 turns the cache off. A cache that cannot be written is no error.
#ifndef FOVEA_RUNTIME_CORE_CUBINCACHE_H
#define FOVEA_RUNTIME_CORE_CUBINCACHE_H

#include "runtime/core/Device.h"

#include <functional>
#include <string>
#include <string_view>

namespace fovea {

class CubinCache {
public:
  /// The user's cache as configured by the environment; disabled when there is no home.
  static Expected<CubinCache> fromEnvironment();
  explicit CubinCache(std::string folder) : folder(std::move(folder)) {}

  bool enabled() const { return !folder.empty(); }

  /// The stored bytes for `key`, or nullopt when absent or damaged (a damaged file is removed).
  std::optional<std::string> find(const std::string &key) const;
  void store(const std::string &key, std::string_view cubin) const;

  static std::string keyOf(std::string_view ptx, const DeviceFacts &facts, int driverVersion);

private:
  std::string folder;
  std::string path(const std::string &key) const { return folder + "/" + key + ".cubin"; }
};

/// Compiles PTX with the driver's own linker. The error holds the JIT's log.
Expected<std::string> compilePtx(const Device &device, std::string_view ptx);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_CUBINCACHE_H
