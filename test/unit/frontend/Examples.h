// test/unit/frontend/Examples.h - the text of every file in examples/
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

inline std::map<std::string, std::string> examples() {
  std::map<std::string, std::string> texts;
  for (const auto &entry : std::filesystem::directory_iterator(FOVEA_EXAMPLES)) {
    if (entry.path().extension() != ".attn")
      continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    texts[entry.path().filename()] = text.str();
  }
  return texts;
}
