// dialect/Layout/InstructionDescriptor.cpp - encoding and legality of tcgen05.mma kind::f16 shapes.
#include "dialect/Layout/InstructionDescriptor.h"

namespace fovea::layout {

const char *InstructionDescriptor::whyInvalid(int ctaGroup) const {
  uint32_t step = ctaGroup == 2 ? 16 : 8;
  if (m != 64u * ctaGroup && m != 128u * ctaGroup)
    return ctaGroup == 2 ? "expected M of 128 or 256 for a CTA pair"
                         : "expected M of 64 or 128 for one CTA";
  if (n < step || n > 256 || n % step != 0)
    return ctaGroup == 2 ? "expected N of 16 to 256 in steps of 16 for a CTA pair"
                         : "expected N of 8 to 256 in steps of 8 for one CTA";
  if (d == AccType::F16 && (a == F16Type::BF16 || b == F16Type::BF16))
    return "expected an f32 accumulator for bf16 operands";
  return "";
}

uint32_t InstructionDescriptor::encode() const {
  return static_cast<uint32_t>(d) << 4 | static_cast<uint32_t>(a) << 7 |
         static_cast<uint32_t>(b) << 10 | uint32_t(negateA) << 13 | uint32_t(negateB) << 14 |
         uint32_t(transposeA) << 15 | uint32_t(transposeB) << 16 | (n / 8) << 17 | (m / 16) << 24;
}

} // namespace fovea::layout
