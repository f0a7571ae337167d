// runtime/emulator/driver/Record.cpp - writes a launch down, so that fovea-emulate can repeat it.
#include "runtime/emulator/driver/Record.h"
#include "runtime/emulator/driver/NpyFile.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace fovea::cu {

void recordLaunch(const emulator::Program &program, const emulator::Code &code, const emulator::LaunchConfig &config,
                  const emulator::AddressSpace &memory) {
  const char *folder = std::getenv("FOVEA_EMULATE_RECORD");
  if (!folder || !*folder)
    return;
  static std::atomic<int> launches{0};
  try {
    char number[16];
    std::snprintf(number, sizeof number, "%03d-", launches++);
    std::filesystem::path to = std::filesystem::path(folder) / (number + code.name.substr(0, 80));
    std::filesystem::create_directories(to);
    std::ofstream(to / "kernel.ptx", std::ios::binary) << program.text();
    nlohmann::json spec = {{"kernel", code.name}, {"chip", program.chip().name}, {"dynamic_smem", config.dynamicShared},
                           {"grid", config.grid}, {"block", config.block}, {"cluster", config.cluster},
                           {"buffers", nlohmann::json::object()}, {"params", nlohmann::json::array()}};
    for (const emulator::Allocation *a : memory.all()) {
      if (program.owns(a->base) || !a->size)
        continue;
      std::string name = a->name, file = std::to_string(spec["buffers"].size()) + ".npy";
      while (spec["buffers"].contains(name))
        name += "'";
      emulator::writeNpyBytes((to / file).string(), "uint8", {a->size}, std::vector<uint8_t>(a->host, a->host + a->size));
      spec["buffers"][name] = {{"npy", file}, {"address", a->base}, {"save", "out-" + file}};
    }
    for (const emulator::Code::Param &p : code.params) {
      std::string hex;
      for (uint32_t k = 0; k < p.bytes; ++k) {
        char byte[3];
        std::snprintf(byte, sizeof byte, "%02x", config.params[p.offset + k]);
        hex += byte;
      }
      spec["params"].push_back({{"hex", hex}});
    }
    std::ofstream out(to / "launch.json");
    out << spec.dump(1) << "\n";
    if (!out.flush())
      throw std::runtime_error("cannot write " + (to / "launch.json").string());
  } catch (const std::exception &e) {
    std::fprintf(stderr, "fovea emulator: FOVEA_EMULATE_RECORD=%s: %s\n", folder, e.what());
  }
}

} // namespace fovea::cu
