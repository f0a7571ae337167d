// runtime/emulator/machine/tensor/MatrixDescriptor.cpp - decode and check matrix descriptors, find elements
#include "runtime/emulator/machine/tensor/MatrixDescriptor.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include <cstdio>

namespace fovea::emulator {
namespace {

unsigned field(uint64_t bits, unsigned low, unsigned count) { return unsigned(bits >> low & ((uint64_t(1) << count) - 1)); }

std::string hex(uint64_t bits) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(bits));
  return text;
}

MatrixDescriptor decodeCommon(uint64_t bits, const char *what) {
  if (field(bits, 14, 2) || field(bits, 30, 2))
    throw Fault(std::string(what) + " " + hex(bits) +
                " has reserved bits 14-15 or 30-31 set: addresses and offsets are encoded as bytes >> 4 in 14 bits");
  MatrixDescriptor d;
  d.start = field(bits, 0, 14) << 4;
  d.leading = field(bits, 16, 14) << 4;
  d.stride = field(bits, 32, 14) << 4;
  d.baseOffset = field(bits, 49, 3);
  return d;
}

} // namespace

MatrixDescriptor decodeTcgen05Descriptor(uint64_t bits) {
  MatrixDescriptor d = decodeCommon(bits, "tcgen05 matrix descriptor");
  if (field(bits, 46, 3) != 1)
    throw Fault("tcgen05 matrix descriptor " + hex(bits) + " must have 0b001 in bits 46-48, found " +
                std::to_string(field(bits, 46, 3)));
  if (field(bits, 52, 1))
    throw Fault("tcgen05 matrix descriptor " + hex(bits) + " sets bit 52 (absolute leading offset), which sm_100a does not have");
  if (field(bits, 53, 8))
    throw Fault("tcgen05 matrix descriptor " + hex(bits) + " has reserved bits 53-60 set");
  switch (field(bits, 61, 3)) {
  case 0:
    d.swizzle = Swizzle::None;
    break;
  case 1:
    d.swizzle = Swizzle::B128Atom32;
    break;
  case 2:
    d.swizzle = Swizzle::B128;
    break;
  case 4:
    d.swizzle = Swizzle::B64;
    break;
  case 6:
    d.swizzle = Swizzle::B32;
    break;
  default:
    throw Fault("tcgen05 matrix descriptor " + hex(bits) + " has swizzle code " + std::to_string(field(bits, 61, 3)) +
                "; expected 0 (none), 1 (128B, 32B atom), 2 (128B), 4 (64B) or 6 (32B)");
  }
  return d;
}

MatrixDescriptor decodeWgmmaDescriptor(uint64_t bits) {
  MatrixDescriptor d = decodeCommon(bits, "wgmma matrix descriptor");
  if (field(bits, 46, 3) || field(bits, 52, 10))
    throw Fault("wgmma matrix descriptor " + hex(bits) + " has reserved bits 46-48 or 52-61 set");
  static const Swizzle modes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
  d.swizzle = modes[field(bits, 62, 2)];
  return d;
}

void checkOperand(const MatrixDescriptor &desc, Major major, unsigned elementBits, std::string *warning) {
  bool atom32 = desc.swizzle == Swizzle::B128Atom32;
  if (major == Major::K) {
    if (atom32 && warning)
      *warning = "128B swizzle with 32B atoms on a K-major operand: one table of the ISA allows it, another does not";
    return;
  }
  if (elementBits < 8)
    throw Fault("an MN-major operand needs elements of 8 bits or more: transposing " + std::to_string(elementBits) +
                "-bit elements is not possible; use a K-major layout");
  if (elementBits == 32 && !atom32)
    throw Fault("an MN-major tf32 operand needs the 128B swizzle with 32B atoms (code 1)");
  if (elementBits < 32 && atom32)
    throw Fault("the 128B swizzle with 32B atoms is for 32-bit MN-major operands only, found " + std::to_string(elementBits) +
                "-bit elements");
}

} // namespace fovea::emulator
