// runtime/emulator/driver/Record.h - writes a launch down, so that fovea-emulate can repeat it.
#pragma once
#include "runtime/emulator/machine/Program.h"

namespace fovea::cu {

/// When FOVEA_EMULATE_RECORD names a folder: writes FOLDER/NNN-KERNEL/ with kernel.ptx, launch.json and every buffer of
/// the device as it is before the launch, at the addresses that the parameters name. A line on stderr when it cannot.
void recordLaunch(const emulator::Program &program, const emulator::Code &code, const emulator::LaunchConfig &config,
                  const emulator::AddressSpace &memory);

} // namespace fovea::cu
