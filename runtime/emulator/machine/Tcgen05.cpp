// runtime/emulator/machine/Tcgen05.cpp - the tcgen05 instructions.
#include "runtime/emulator/machine/CopyOps.h"
namespace fovea::emulator {
void addTcgen05(OpcodeTable &) {}
} // namespace fovea::emulator
