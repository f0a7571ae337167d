// runtime/emulator/driver/Policy.cpp - how the environment says that kernels are to be run.
#include "runtime/emulator/driver/Policy.h"
#include "runtime/emulator/detect/Uninitialised.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace fovea::cu {

bool parseNumber(const char *text, uint64_t least, uint64_t most, uint64_t &value) {
  if (*text < '0' || *text > '9')  // strtoull also takes blanks and signs
    return false;
  char *end;
  errno = 0;
  const uint64_t parsed = std::strtoull(text, &end, 0);
  if (*end || errno || parsed < least || parsed > most)
    return false;
  value = parsed;
  return true;
}

static bool number(const char *name, uint64_t &value, uint64_t least = 0, uint64_t most = ~uint64_t(0)) {
  const char *text = std::getenv(name);
  if (!text || !*text || parseNumber(text, least, most, value))
    return true;
  std::fprintf(stderr, "fovea emulator: %s=%s: expected a number from %llu to %llu\n", name, text, static_cast<unsigned long long>(least),
               static_cast<unsigned long long>(most));
  return false;
}

/// FOVEA_EMULATE_DETECT: unset, empty or 0 is no.
static bool detectAsked(bool &ok) {
  const char *text = std::getenv("FOVEA_EMULATE_DETECT");
  const std::string asked = text ? text : "";
  ok = asked.empty() || asked == "0" || asked == "1";
  if (!ok)
    std::fprintf(stderr, "fovea emulator: FOVEA_EMULATE_DETECT=%s: expected 0 or 1\n", text);
  return asked == "1";
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
  bool ok = number("FOVEA_EMULATE_SEED", c.seed) && number("FOVEA_EMULATE_LIMIT", c.limit, 1) && number("FOVEA_EMULATE_THREADS", threads, 0, 1024);
  if (ok)
    detectAsked(ok);
  c.threads = unsigned(threads);
  return ok;
}

emulator::Report runWithDetectors(emulator::Program &program, const emulator::Code &code, emulator::LaunchConfig config, bool detect) {
  bool ok;
  if (!detect && !detectAsked(ok))
    return program.run(code, config);
  std::unique_ptr<emulator::RaceDetector> races = emulator::makeRaceDetector();
  return emulator::runAndCheckInputs(program, code, config, program.space(), *races);
}

} // namespace fovea::cu
