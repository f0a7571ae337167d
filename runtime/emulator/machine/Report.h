// runtime/emulator/machine/Report.h - what the machine found: one finding, in words and as JSON.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fovea::emulator {

/// `kind` is the text before the first ':' of a Fault ("out of bounds", "barrier", "deadlock", ...).
struct Finding {
  bool warning = false;
  std::string kind, message;
  std::string kernel;
  uint32_t line = 0;             ///< PTX line, 0 unknown
  std::string lineText;
  std::string source;            ///< "file:line" from .loc, "" unknown
  uint32_t cta[3] = {0, 0, 0};
  int warp = -1, lane = -1;
};

struct Report {
  std::vector<Finding> findings;
  uint64_t warpInstructions = 0;
  bool failed() const;           ///< holds a finding that is not a warning
  std::string text() const;
  std::string json() const;
};

} // namespace fovea::emulator
