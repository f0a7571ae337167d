// runtime/emulator/driver/Policy.cpp - how the environment says that kernels are to be run.
#include "runtime/emulator/driver/Policy.h"
#include "runtime/emulator/detect/Uninitialised.h"
#include <cstdio>
#include <cstdlib>

namespace fovea::cu {

static bool number(const char *name, uint64_t &value) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return true;
  char *end;
  value = std::strtoull(text, &end, 0);
  if (!*end && *text != '-')
    return true;
  std::fprintf(stderr, "fovea emulator: %s=%s: expected a number\n", name, text);
  return false;
}

bool applyPolicy(emulator::LaunchConfig &c) {
  const char *policy = std::getenv("FOVEA_EMULATE_ASYNC");
  std::string p = policy && *policy ? policy : "lazy";
  if (p == "lazy")
    c.policy = emulator::AsyncPolicy::Lazy;
  else if (p == "eager")
    c.policy = emulator::AsyncPolicy::Eager;
  else if (p == "random")
    c.policy = emulator::AsyncPolicy::Random;
  else {
    std::fprintf(stderr, "fovea emulator: FOVEA_EMULATE_ASYNC=%s: expected lazy, eager or random\n", p.c_str());
    return false;
  }
  c.limit = uint64_t(1) << 36;  // a quarter of an hour on one core
  uint64_t threads = c.threads;
  bool ok = number("FOVEA_EMULATE_SEED", c.seed) && number("FOVEA_EMULATE_LIMIT", c.limit) && number("FOVEA_EMULATE_THREADS", threads);
  c.threads = unsigned(threads);
  return ok;
}

emulator::Report runWithDetectors(emulator::Program &program, const emulator::Code &code, emulator::LaunchConfig config, bool detect) {
  const char *asked = std::getenv("FOVEA_EMULATE_DETECT");
  if (!detect && (!asked || !*asked || std::string(asked) == "0"))
    return program.run(code, config);
  std::unique_ptr<emulator::RaceDetector> races = emulator::makeRaceDetector();
  return emulator::runAndCheckInputs(program, code, config, program.space(), *races);
}

} // namespace fovea::cu
