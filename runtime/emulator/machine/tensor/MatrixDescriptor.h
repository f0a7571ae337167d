// runtime/emulator/machine/tensor/MatrixDescriptor.h - shared-memory matrix descriptors of tcgen05 and wgmma
#pragma once
#include "runtime/emulator/machine/tensor/Swizzle.h"
#include <cstdint>
#include <string>

namespace fovea::emulator {

/// A decoded 64-bit matrix descriptor (PTX ISA, "Matrix Descriptor Format" of tcgen05 and of wgmma). Bytes.
struct MatrixDescriptor {
  uint32_t start = 0;      ///< window offset of the operand, multiple of 16, 18 bits
  uint32_t leading = 0;    ///< leading dimension byte offset
  uint32_t stride = 0;     ///< stride dimension byte offset
  uint32_t baseOffset = 0; ///< 0..7
  Swizzle swizzle = Swizzle::None;
};

/// Throw Fault on reserved bits, a wrong constant in bits 46-48 or an illegal swizzle code.
MatrixDescriptor decodeTcgen05Descriptor(uint64_t bits);
MatrixDescriptor decodeWgmmaDescriptor(uint64_t bits);

enum class Major : uint8_t { K, MN };

/// Rules that tie a descriptor to an operand: swizzle against element size and major-ness ("Shared memory
/// Layout and Swizzling"). Throws Fault; `warning` (if given) receives what the ISA's tables disagree about.
void checkOperand(const MatrixDescriptor &desc, Major major, unsigned elementBits, std::string *warning = nullptr);

/// Window address (18 bits, wrapped) of the byte that holds element (i, k): i = row of A or column of B, k inside the
/// instruction's K step. `elementBytes` 1, 2 or 4. For 4-bit packed operands ask for byte index k/2 with 1.
inline uint32_t elementAddress(const MatrixDescriptor &desc, Major major, unsigned es, uint32_t i, uint32_t k) {
  // Every size is a power of two: shifts, since this runs for each 16 bytes of every operand.
  unsigned esLog = es == 4 ? 2 : es == 2 ? 1 : 0, unitLog = 4 - esLog; // elements of a 16-byte unit
  unsigned span = spanOf(desc.swizzle), spanLog = span == 128 ? 7 : span == 64 ? 6 : span == 32 ? 5 : 4;
  uint32_t offset;
  if (major == Major::K) {
    if (desc.swizzle == Swizzle::None)
      offset = (i >> 3) * desc.stride + (i & 7) * 16 + (k >> unitLog) * desc.leading + (k << esLog & 15);
    else
      offset = (i >> 3) * desc.stride + ((i & 7) << spanLog) + (k << esLog);
  } else if (desc.swizzle == Swizzle::None) {
    offset = (i << esLog & 15) + (i >> unitLog) * desc.stride + (k & 7) * 16 + (k >> 3) * desc.leading;
  } else {
    unsigned groupLog = desc.swizzle == Swizzle::B128Atom32 ? 2 : 3, inSpanLog = spanLog - esLog;
    offset = (i << esLog & (span - 1)) + (i >> inSpanLog) * desc.leading + ((k & ((1u << groupLog) - 1)) << spanLog) +
             (k >> groupLog) * desc.stride;
  }
  return swizzle(desc.swizzle, desc.start + offset, desc.baseOffset) & 0x3FFFF;
}

} // namespace fovea::emulator
