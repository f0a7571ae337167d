// runtime/emulator/ptx/Error.h - the error that loading a PTX text ends with.
#pragma once
#include <stdexcept>
#include <string>

namespace fovea::ptx {

/// A PTX text was refused. `what()` is "line N: message" followed by the line's text; `line` is 1-based.
class LoadError : public std::runtime_error {
public:
  LoadError(int line, const std::string &message, const std::string &text)
      : std::runtime_error("line " + std::to_string(line) + ": " + message +
                           (text.empty() ? "" : "\n  " + text)),
        line(line) {}
  int line;
};

} // namespace fovea::ptx
