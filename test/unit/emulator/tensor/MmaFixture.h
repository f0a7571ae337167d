// test/unit/emulator/tensor/MmaFixture.h - operands in shared memory, written without the library's address functions
#pragma once
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Memory.h"
#include <random>
#include <vector>

namespace fovea::emulator::test {

inline unsigned bitsOf(MmaElement e) { return elementBits(e); }

/// A code of the element type that decodes to a modest finite value.
inline uint32_t randomCode(MmaElement e, std::mt19937 &rng) {
  double x = std::uniform_real_distribution<double>(-2, 2)(rng);
  switch (e) {
  case MmaElement::F16:
    return encode(Format::F16, x);
  case MmaElement::BF16:
    return encode(Format::BF16, x);
  case MmaElement::TF32:
    return encode(Format::TF32, x) | (rng() & 0x1FFF); // the low bits must be ignored
  case MmaElement::E4M3:
    return encode(Format::E4M3, x);
  case MmaElement::E5M2:
    return encode(Format::E5M2, x);
  case MmaElement::E2M3:
    return rng() & 63;
  case MmaElement::E3M2:
    return rng() & 63;
  case MmaElement::E2M1:
    return rng() & 15;
  default:
    return rng() & 255;
  }
}

inline double valueOf(MmaElement e, uint32_t code) {
  switch (e) {
  case MmaElement::F16:
    return decode(Format::F16, code);
  case MmaElement::BF16:
    return decode(Format::BF16, code);
  case MmaElement::TF32:
    return bitsToFloat(code & 0xFFFFE000);
  case MmaElement::E4M3:
    return decode(Format::E4M3, code);
  case MmaElement::E5M2:
    return decode(Format::E5M2, code);
  case MmaElement::E2M3:
    return decode(Format::E2M3, code);
  case MmaElement::E3M2:
    return decode(Format::E3M2, code);
  case MmaElement::E2M1:
    return decode(Format::E2M1, code);
  case MmaElement::U8:
    return code;
  default:
    return int8_t(code);
  }
}

/// A matrix of codes: rows of A (columns of B) by K.
struct Matrix {
  MmaElement element;
  unsigned count, k;
  std::vector<uint32_t> codes;
  Matrix(MmaElement e, unsigned count, unsigned k, std::mt19937 &rng) : element(e), count(count), k(k), codes(size_t(count) * k) {
    for (auto &c : codes)
      c = randomCode(e, rng);
  }
  uint32_t code(unsigned i, unsigned x) const { return codes[size_t(i) * k + x]; }
  double value(unsigned i, unsigned x) const { return valueOf(element, code(i, x)); }
};

/// XOR of address bits 4..6 with bits 7..9, as many as the span has (span 32, 64, 128; 0: none).
inline uint32_t xorBits(uint32_t address, unsigned span) {
  unsigned mask = span ? span / 16 - 1 : 0;
  return address ^ ((address / 128 & mask) * 16);
}

/// Writes one K step of a K-major operand: span 0 puts 16-byte columns `count * 16` bytes apart, otherwise rows of `span`
/// bytes. Sub-byte elements: padded to 16 per 16 bytes, or packed two a byte. Returns the descriptor without type bits.
inline uint64_t writeKMajor(std::vector<uint8_t> &smem, uint32_t start, unsigned span, const Matrix &m, bool packed4) {
  unsigned bits = bitsOf(m.element);
  for (unsigned i = 0; i != m.count; ++i)
    for (unsigned x = 0; x != m.k; ++x) {
      // Bit position inside the row of 32 bytes.
      unsigned bit = bits >= 8 || packed4 ? x * bits : x / 16 * 128 + x % 16 * bits;
      for (unsigned b = 0; b != bits; ++b) {
        unsigned byte = (bit + b) / 8;
        uint32_t linear = span ? i * span + byte : byte / 16 * m.count * 16 + i * 16 + byte % 16;
        uint8_t &target = smem[xorBits(start + linear, span)];
        unsigned at = (bit + b) % 8;
        target = uint8_t((target & ~(1u << at)) | (m.code(i, x) >> b & 1) << at);
      }
    }
  uint64_t sbo = span ? 8 * span : 128, lbo = span ? 16 : m.count * 16;
  uint64_t code = span == 128 ? 2 : span == 64 ? 4 : span == 32 ? 6 : 0;
  return code << 61 | sbo / 16 << 32 | lbo / 16 << 16 | start / 16;
}

/// The same for an MN-major operand: rows of `span` bytes along the count, one row per k; groups `k * span` apart.
inline uint64_t writeMnMajor(std::vector<uint8_t> &smem, uint32_t start, unsigned span, const Matrix &m) {
  unsigned es = bitsOf(m.element) / 8, perSpan = span / es;
  for (unsigned i = 0; i != m.count; ++i)
    for (unsigned x = 0; x != m.k; ++x) {
      uint32_t linear = i / perSpan * m.k * span + x * span + i % perSpan * es;
      for (unsigned b = 0; b != es; ++b)
        smem[xorBits(start + linear + b, span)] = uint8_t(m.code(i, x) >> 8 * b);
    }
  uint64_t sbo = 8 * span, lbo = uint64_t(m.k) * span;
  uint64_t code = span == 128 ? 2 : span == 64 ? 4 : 6;
  return code << 61 | sbo / 16 << 32 | lbo / 16 << 16 | start / 16;
}
constexpr uint64_t tcgen05Bit = uint64_t(1) << 46;

} // namespace fovea::emulator::test
