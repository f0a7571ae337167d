// runtime/emulator/driver/EmulateCommand.h - the command line of `fovea emulate` and `fovea-emulate`.
#pragma once

namespace fovea::emulator {

/// `arguments` are those behind the command; `name` stands before messages. Returns the exit status: 0 the kernel ended well,
/// 1 the emulator found an error in it, 2 the PTX, the launch file or the command line is wrong.
int emulateCommand(const char *name, int count, const char *const *arguments);

} // namespace fovea::emulator
