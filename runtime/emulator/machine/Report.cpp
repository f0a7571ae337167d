// runtime/emulator/machine/Report.cpp - findings in words and as JSON.
#include "runtime/emulator/machine/Report.h"
#include <nlohmann/json.hpp>

namespace fovea::emulator {

bool Report::failed() const {
  for (const Finding &f : findings)
    if (!f.warning)
      return true;
  return false;
}

std::string Report::text() const {
  std::string s;
  for (const Finding &f : findings) {
    s += (f.warning ? "warning: " : "error: ") + f.message + "\n  kernel " + f.kernel;
    if (f.line)
      s += ", line " + std::to_string(f.line);
    if (!f.source.empty())
      s += " (" + f.source + ")";
    if (f.warp >= 0)
      s += ", block (" + std::to_string(f.cta[0]) + ", " + std::to_string(f.cta[1]) + ", " + std::to_string(f.cta[2]) +
           "), warp " + std::to_string(f.warp) + (f.lane >= 0 ? ", lane " + std::to_string(f.lane) : "");
    if (!f.lineText.empty())
      s += "\n  " + f.lineText;
    s += "\n";
  }
  return s;
}

std::string Report::json() const {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding &f : findings) {
    nlohmann::json j = {{"severity", f.warning ? "warning" : "error"}, {"kind", f.kind}, {"message", f.message},
                        {"kernel", f.kernel}, {"line", f.line}, {"text", f.lineText}};
    if (!f.source.empty())
      j["source"] = f.source;
    if (f.warp >= 0) {
      j["block"] = {f.cta[0], f.cta[1], f.cta[2]};
      j["warp"] = f.warp;
    }
    if (f.lane >= 0)
      j["lane"] = f.lane;
    if (f.earlier.line) {
      j["address"] = f.earlier.address;
      j["earlier"] = {{"line", f.earlier.line}};
      if (f.earlier.warp >= 0) {
        j["earlier"]["warp"] = f.earlier.warp;
        j["earlier"]["block"] = {f.earlier.cta[0], f.earlier.cta[1], f.earlier.cta[2]};
      }
    }
    all.push_back(std::move(j));
  }
  return nlohmann::json{{"findings", all}, {"warp_instructions", warpInstructions}, {"implied_waits", impliedWaits}}.dump(2, ' ', false,
                                                                                        nlohmann::json::error_handler_t::replace);
}

} // namespace fovea::emulator
