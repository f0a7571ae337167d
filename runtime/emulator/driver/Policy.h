// runtime/emulator/driver/Policy.h - how the environment says that kernels are to be run.
#pragma once
#include "runtime/emulator/machine/Program.h"

namespace fovea::cu {

/// Whether all of `text` is an integer from `least` to `most`, decimal or after 0x; then `value` is it. No blanks, no sign.
bool parseNumber(const char *text, uint64_t least, uint64_t most, uint64_t &value);

/// FOVEA_EMULATE_ASYNC (lazy, eager, random), FOVEA_EMULATE_SEED, FOVEA_EMULATE_LIMIT (warp instructions),
/// FOVEA_EMULATE_THREADS. False, with a line on stderr, when one of them makes no sense.
bool applyPolicy(emulator::LaunchConfig &config);

/// Runs a kernel under the detectors, if `detect` or FOVEA_EMULATE_DETECT asks for them.
emulator::Report runWithDetectors(emulator::Program &program, const emulator::Code &code, emulator::LaunchConfig config, bool detect = false);

} // namespace fovea::cu
