// runtime/emulator/driver/LaunchFile.h - launch.json: buffers, parameters and launches of any PTX (runtime/emulator/README.md).
#pragma once
#include "runtime/emulator/machine/Program.h"
#include <nlohmann/json.hpp>

namespace fovea::emulator {

/// What the command line adds to the file.
struct LaunchOptions {
  std::string ptx;                ///< KERNEL.ptx, "" when the file names its own
  std::string outputs;            ///< folder for saved buffers, "" = beside the file
  std::string policy;             ///< overrides "async"
  bool hasSeed = false;
  uint64_t seed = 0, limit = 0;
  unsigned threads = 0;
  bool detect = false;            ///< watch for races, missing fences, poison (also FOVEA_EMULATE_DETECT)
  std::string trace;              ///< file for the timelines, "" none; takes the detectors' place
  Observer *observer = nullptr;   ///< takes the detectors' place
  const std::string *text = nullptr;  ///< PTX in place of `ptx`'s contents
  /// Gets the bytes of the buffers that the file saves; then no file is written.
  std::map<std::string, std::vector<uint8_t>> *results = nullptr;
};

/// A whole file. Throws std::runtime_error, which names the path, if it cannot be opened.
std::string readText(const std::string &path);

/// Runs the file. Unknown keys and values that make no sense throw std::runtime_error with the key's name; LoadError for
/// the PTX. Outputs and the trace are written also when the kernel failed.
Report runLaunchFile(const std::string &path, const LaunchOptions &options);

} // namespace fovea::emulator
