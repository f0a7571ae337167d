// runtime/emulator/machine/tensor/Fault.h - what a functional unit throws when a rule of the ISA is broken
#pragma once
#include <stdexcept>
#include <string>

namespace fovea::emulator {

/// The operands of one instruction break a rule that a chip would fault on (or silently do something else). The text
/// says what was expected, why, and what was found; the machine adds the PTX line, the warp and the role.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace fovea::emulator
