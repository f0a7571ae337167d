// runtime/emulator/machine/tensor/Fragment.h - register fragments that mma.sync and wgmma share
#pragma once

namespace fovea::emulator {

/// Where element (i, k) of A lives: rows in groups of 8 over lanes 4*(i%8).., 32/bits elements a register along K (PTX
/// ISA, "Matrix Fragments"). `m` 8 or 16; P = 32 / element bits (f64: 1, registers count 64-bit values).
struct FragmentPlace {
  unsigned lane, reg, sub;
};
inline FragmentPlace placeOfA(unsigned m, unsigned perRegister, unsigned i, unsigned k) {
  unsigned p = perRegister;
  return {i % 8 * 4 + k % (4 * p) / p, i / 8 + m / 8 * (k / (4 * p)), k % p};
}
inline FragmentPlace placeOfB(unsigned perRegister, unsigned k, unsigned n) {
  unsigned p = perRegister;
  return {n % 8 * 4 + k % (4 * p) / p, k / (4 * p), k % p};
}
/// Element (i, j) of C or D: 32-bit (or f64) elements one a register, f16 two a register.
inline FragmentPlace placeOfC(unsigned m, bool half, unsigned i, unsigned j) {
  unsigned groups = m / 8, lane = i % 8 * 4 + j % 8 / 2;
  if (half)
    return {lane, i / 8 + groups * (j / 8), j % 2};
  return {lane, 2 * (i / 8) + j % 2 + 2 * groups * (j / 8), 0};
}

} // namespace fovea::emulator
