// runtime/emulator/machine/Report.h - what the machine found: one finding, in words and as JSON.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fovea::emulator {

/// `kind` is the text before the first ':' of a Fault ("out of bounds", "barrier", "deadlock", ...).
/// The other of two accesses that conflict, and the place both touched.
struct Earlier {
  uint32_t line = 0;
  int warp = -1;                 ///< -1: of another cluster
  uint32_t cta[3] = {0, 0, 0};
  std::string address;           ///< "global memory at 0x… (q + 128)", "shared memory at shared address 0x…", …
};

struct Finding {
  bool warning = false;
  std::string kind, message;
  std::string kernel;
  uint32_t line = 0;             ///< PTX line, 0 unknown
  std::string lineText;
  std::string source;            ///< "file:line" from .loc, "" unknown
  uint32_t cta[3] = {0, 0, 0};
  int warp = -1, lane = -1;
  Earlier earlier;               ///< line 0: none
};

struct Report {
  std::vector<Finding> findings;
  uint64_t warpInstructions = 0;
  /// With detectors: PTX lines of mbarrier waits and tcgen05 fences that others made needless in this run. No findings.
  std::vector<uint32_t> impliedWaits;
  bool failed() const;           ///< holds a finding that is not a warning
  std::string text() const;
  std::string json() const;
};

} // namespace fovea::emulator
