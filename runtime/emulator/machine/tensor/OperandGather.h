// runtime/emulator/machine/tensor/OperandGather.h - matrix operands as dense floats
#pragma once
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Memory.h"

namespace fovea::emulator {

/// How elements lie in a 16-byte unit (PTX ISA, "Packing formats").
enum class Packing : uint8_t {
  Plain,     ///< 8-, 16-, 32-bit elements side by side; 4-bit elements two a byte, low nibble first
  Padded,    ///< 16 elements of 4 or 6 bits packed from the start of the unit, the rest unused (shared memory)
  Container, ///< 16 elements, one byte each: e2m1 in bits 5:2, 6-bit types in bits 5:0 (tensor memory)
};

/// Elements in a unit, and their values (integers included; all exact in f32).
unsigned unitElements(MmaElement element, Packing packing);
void decodeUnit(MmaElement element, Packing packing, const uint8_t unit[16], float *out);

/// An operand in shared memory: `count` rows of A (columns of B), `k` elements deep.
struct SharedOperand {
  MatrixDescriptor descriptor;
  MmaElement element = MmaElement::BF16;
  Packing packing = Packing::Plain;
  Major major = Major::K;
  unsigned count = 0, k = 0;
};

/// Element (i, k) goes to out[i * strideI + k * strideK]; one of the strides is 1. Throws Fault where the operand leaves shared memory.
/// `evensFirst` (strideI 1, count a multiple of 8): of each eight i, the even ones come first.
void gather(SharedSpan smem, const SharedOperand &operand, float *out, unsigned strideI, unsigned strideK, bool evensFirst = false);
/// The blocks of 16 bytes that gather() reads, by page (Touched::blocks).
void touched(const SharedOperand &operand, uint8_t cta, const TouchedFn &fn);

} // namespace fovea::emulator
