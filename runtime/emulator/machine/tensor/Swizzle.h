// runtime/emulator/machine/tensor/Swizzle.h - the shared-memory swizzle functions
#pragma once
#include <cstdint>

namespace fovea::emulator {

/// Swizzle modes of TMA and of matrix descriptors (PTX ISA, "Swizzling Modes"). All are XORs on absolute window addresses.
enum class Swizzle : uint8_t {
  None,
  B32,
  B64,
  B128,
  B128Atom32,      ///< 128 B span, 32 B atoms
  B128Atom32Flip8, ///< the same, 8-byte halves swapped on odd 128-byte lines (TMA only)
  B128Atom64,      ///< 128 B span, 64 B atoms (TMA only)
};

/// Bytes of one swizzle row (the pattern's width): 16 for None, else 32, 64 or 128.
inline unsigned spanOf(Swizzle mode) {
  switch (mode) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  default:
    return 128;
  }
}
/// Bytes that stay contiguous under the mode: unbounded runs for None are reported as 16.
unsigned atomOf(Swizzle mode);

/// Physical address of linear address `address`. `baseOffset` is bits 49-51 of a matrix descriptor (0 for TMA).
inline uint32_t swizzle(Swizzle mode, uint32_t address, uint32_t baseOffset = 0) {
  switch (mode) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
    return address ^ ((((address >> 7) - baseOffset) & 1) << 4);
  case Swizzle::B64:
    return address ^ ((((address >> 7) - baseOffset) & 3) << 4);
  case Swizzle::B128:
    return address ^ ((((address >> 7) - baseOffset) & 7) << 4);
  case Swizzle::B128Atom32:
    return address ^ (((address >> 7) & 3) << 5);
  case Swizzle::B128Atom32Flip8:
    return address ^ (((address >> 7) & 3) << 5) ^ (((address >> 7) & 1) << 3);
  case Swizzle::B128Atom64:
    return address ^ (((address >> 7) & 1) << 6);
  }
  return address;
}

} // namespace fovea::emulator
