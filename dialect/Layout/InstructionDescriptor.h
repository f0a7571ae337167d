// dialect/Layout/InstructionDescriptor.h - the 32-bit instruction descriptor of tcgen05.mma, plain
// kinds.
#pragma once

#include <cstdint>

namespace fovea::layout {

/// Operand types of tcgen05.mma.kind::f16 and the accumulator types.
enum class F16Type : uint32_t { F16 = 0, BF16 = 1 };
enum class AccType : uint32_t { F16 = 0, F32 = 1 };

/// Fields of the instruction descriptor for .kind::f16 (PTX ISA, "Instruction descriptor" of
/// tcgen05).
struct InstructionDescriptor {
  uint32_t m = 128; ///< 64 or 128 (cta_group::1), 128 or 256 (cta_group::2)
  uint32_t n = 128; ///< 8..256, multiple of 8 (16 for cta_group::2)
  F16Type a = F16Type::BF16;
  F16Type b = F16Type::BF16;
  AccType d = AccType::F32;
  bool transposeA = false; ///< A is M-major
  bool transposeB = false; ///< B is N-major
  bool negateA = false;
  bool negateB = false;

  /// Why the fields are no legal kind::f16 shape for this many CTAs (1 or 2); empty when they are.
  const char *whyInvalid(int ctaGroup = 1) const;
  uint32_t encode() const;
};

} // namespace fovea::layout
