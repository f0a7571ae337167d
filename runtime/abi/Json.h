// runtime/abi/Json.h - JSON text to a document, with an eye on keys that an object holds twice.
#ifndef FOVEA_RUNTIME_ABI_JSON_H
#define FOVEA_RUNTIME_ABI_JSON_H

#include <nlohmann/json.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Parses `text`. The library keeps the last of two members of one key and says nothing; here `repeated` becomes the first
/// such key. A text that is no JSON gives a discarded value, or nlohmann::json::parse_error where `exceptions` allows it.
inline nlohmann::json parseJson(std::string_view text, std::optional<std::string> &repeated, bool exceptions = false) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> open; // the keys so far of each object around the place
  auto watch = [&](int, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second && !repeated)
      repeated = parsed.get<std::string>();
    return true;
  };
  return Json::parse(text, watch, exceptions);
}

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_JSON_H
