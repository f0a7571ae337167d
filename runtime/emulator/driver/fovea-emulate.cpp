// runtime/emulator/driver/fovea-emulate.cpp - `fovea emulate` for machines without LLVM.
#include "runtime/emulator/driver/EmulateCommand.h"

int main(int argc, char **argv) { return fovea::emulator::emulateCommand("fovea-emulate", argc - 1, argv + 1); }
