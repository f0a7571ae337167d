// runtime/emulator/machine/tensor/Swizzle.cpp - atoms of the swizzle modes
#include "runtime/emulator/machine/tensor/Swizzle.h"

namespace fovea::emulator {

unsigned atomOf(Swizzle mode) {
  switch (mode) {
  case Swizzle::B128Atom32:
    return 32;
  case Swizzle::B128Atom32Flip8:
    return 8;
  case Swizzle::B128Atom64:
    return 64;
  default:
    return 16;
  }
}

} // namespace fovea::emulator
