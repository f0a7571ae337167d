// runtime/emulator/machine/tensor/NumberFormats.h - the small floating-point formats and their conversions
#pragma once
#include <cstdint>
#include <cstring>

namespace fovea::emulator {

/// PTX floating-point formats (PTX ISA, "Alternate Floating-Point Data Formats"; OCP MX v1.0). Widths in bits:
/// F16 BF16 16, TF32 F32 32 (TF32 in the upper 19), E4M3 E5M2 UE8M0 UE4M3 8, E2M3 E3M2 6, E2M1 4.
enum class Format : uint8_t { F16, BF16, TF32, F32, E4M3, E5M2, E2M3, E3M2, E2M1, UE8M0, UE4M3 };

/// .rn .rz .rm .rp .rna. Stochastic rounding (.rs) is not modelled; the decoder refuses it.
enum class Rounding : uint8_t { NearestEven, TowardZero, Down, Up, NearestAway };

/// Modifiers of `cvt` that change the value. Formats without infinity (E4M3 and the 6/4-bit ones) always saturate.
struct Conversion {
  Rounding rounding = Rounding::NearestEven;
  bool satfinite = false; ///< |x| > max (infinity too) becomes max of that sign
  bool relu = false;      ///< negative results (and -0) become +0; NaN stays the canonical NaN
};

/// Bits of `x` (an f32 or f64 value, exact) in `format`, low-aligned. NaN gives the canonical NaN (F16/BF16 0x7FFF,
/// F32/TF32 0x7FFFFFFF, E4M3/E5M2/UE4M3 0x7F, UE8M0 0xFF); formats without NaN give +max, as `cvt` with .satfinite.
/// UE8M0 uses |x| and rounds to a power of two; UE4M3 uses |x|.
uint32_t encode(Format format, double x, Conversion how = {});

/// Value of the low bits of `bits`; exact, since every format is a subset of f32. A NaN becomes a quiet NaN.
float decode(Format format, uint32_t bits);

/// Number of storage bits of one element (TF32: 32).
unsigned widthOf(Format format);

/// Largest finite value.
double maxOf(Format format);

inline float bitsToFloat(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
inline uint32_t floatToBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

/// The two conversions of hot loops, inlined: cvt.f32.bf16, cvt.rn.bf16.f32.
inline float bf16ToFloat(uint16_t bits) { return bitsToFloat(uint32_t(bits) << 16); }
inline uint16_t floatToBf16(float f) {
  uint32_t bits = floatToBits(f);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return 0x7FFF;
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
float f16ToFloat(uint16_t bits);
uint16_t floatToF16(float f);

/// Packed conversions of `cvt` (x2 / x4 forms): element 0 of the result is the *last* source operand, as PTX packs
/// (`cvt.rn.bf16x2.f32 d, a, b` puts b in the low half). 6-bit elements take one byte each, bits 5:0; E2M1 pairs take
/// one byte, low nibble first.
uint32_t encodePair(Format format, double high, double low, Conversion how = {});
/// The two values of a packed pair, [0] from the low element.
void decodePair(Format format, uint32_t bits, float out[2]);

} // namespace fovea::emulator
