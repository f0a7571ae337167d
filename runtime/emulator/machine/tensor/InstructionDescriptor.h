// runtime/emulator/machine/tensor/InstructionDescriptor.h - the 32-bit instruction descriptor of tcgen05.mma
#pragma once
#include "runtime/emulator/machine/tensor/MatrixDescriptor.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cstdint>

namespace fovea::emulator {

enum class MmaKind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };

/// The opcode's qualifiers, known when the instruction is decoded.
struct MmaForm {
  MmaKind kind = MmaKind::F16;
  bool pair = false;   ///< .cta_group::2
  bool ws = false;     ///< .ws
  bool sparse = false; ///< .sp
  bool ashift = false;
  bool aInTmem = false;
  unsigned scalesPerRow = 0; ///< block scaled: 1, 2 or 4 (.scale_vec::1X/2X/4X, or from .block16/.block32)
};

enum class MmaElement : uint8_t { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 };
enum class MmaResult : uint8_t { F16, F32, S32 };

/// A decoded descriptor (PTX ISA, "Instruction descriptor").
struct InstructionDescriptor {
  unsigned m = 0, n = 0;
  unsigned k = 0; ///< elements of the (logical) K step; sparse doubles it
  MmaElement a = MmaElement::F16, b = MmaElement::F16;
  MmaResult d = MmaResult::F32;
  Major aMajor = Major::K, bMajor = Major::K;
  bool negateA = false, negateB = false;
  bool saturate = false;
  unsigned sparsitySelector = 0;
  bool sparse = false;
  unsigned maxShift = 0; ///< .ws: 0, 8, 16, 32
  unsigned sfaId = 0, sfbId = 0;
  Format scaleFormat = Format::UE8M0;
};

/// K elements of A that memory holds: half of k under .sp.
inline unsigned storedK(const InstructionDescriptor &d) { return d.sparse ? d.k / 2 : d.k; }

/// Decodes and checks every field against the kind's tables; throws Fault.
InstructionDescriptor decodeInstruction(const MmaForm &form, uint32_t bits);

unsigned elementBits(MmaElement e);
/// .block16/.block32 (0 = none written) as scales per row and instruction; throws Fault for a pair the ISA lacks.
unsigned scalesPerRow(MmaKind kind, unsigned blockSize);

} // namespace fovea::emulator
