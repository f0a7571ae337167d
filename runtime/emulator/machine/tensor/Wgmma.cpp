// runtime/emulator/machine/tensor/Wgmma.cpp - wgmma.mma_async of sm_90a
#include "runtime/emulator/machine/tensor/Wgmma.h"
#include "runtime/emulator/machine/tensor/DotKernel.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/OperandGather.h"
#include "runtime/emulator/machine/tensor/SparseExpand.h"
#include <algorithm>
#include <vector>

namespace fovea::emulator {
namespace {

bool isInteger(WgmmaType t) { return t == WgmmaType::S8 || t == WgmmaType::U8; }
bool isFp8(WgmmaType t) { return t == WgmmaType::E4M3 || t == WgmmaType::E5M2; }

MmaElement elementOf(WgmmaType t) {
  static const MmaElement elements[] = {MmaElement::F16,  MmaElement::BF16, MmaElement::TF32, MmaElement::E4M3,
                                        MmaElement::E5M2, MmaElement::S8,   MmaElement::U8,   MmaElement::U8};
  return elements[unsigned(t)];
}
unsigned bitsOf(WgmmaType t) { return t == WgmmaType::B1 ? 1 : elementBits(elementOf(t)); }

/// B1 operands are read as bytes and spread afterwards.
SharedOperand sharedOperand(WgmmaType type, uint64_t descriptor, bool transposed, unsigned count, unsigned rowBits = 256) {
  SharedOperand o;
  o.descriptor = decodeWgmmaDescriptor(descriptor);
  o.element = elementOf(type);
  o.major = transposed ? Major::MN : Major::K;
  o.count = count;
  o.k = rowBits / (type == WgmmaType::B1 ? 8 : bitsOf(type));
  return o;
}

/// rows x 32 bytes (as floats) to rows x 256 bits.
std::vector<float> spreadBits(const std::vector<float> &bytes) {
  std::vector<float> bits(bytes.size() * 8);
  for (size_t i = 0; i != bits.size(); ++i)
    bits[i] = float(unsigned(bytes[i / 8]) >> i % 8 & 1);
  return bits;
}

/// The elements of one register, low first.
void decodeRegister(WgmmaType type, uint32_t value, float out[32]) {
  if (type == WgmmaType::B1) {
    for (unsigned i = 0; i != 32; ++i)
      out[i] = float(value >> i & 1);
    return;
  }
  if (type == WgmmaType::BF16) {
    out[0] = bf16ToFloat(uint16_t(value));
    out[1] = bf16ToFloat(uint16_t(value >> 16));
    return;
  }
  uint8_t unit[16] = {};
  std::memcpy(unit, &value, 4);
  decodeUnit(elementOf(type), Packing::Plain, unit, out);
}

typedef float Float4 __attribute__((vector_size(16), aligned(4), may_alias));

/// An integer result, wrapped or saturated.
uint32_t combine(const WgmmaForm &f, uint32_t old, float product) {
  int64_t sum = int64_t(product) + int32_t(old);
  return uint32_t(f.satfinite ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
}

/// Products into the D fragment. Columns 8c .. 8c+7 of rows 16w + 8h .. +7 make the registers 4c + 2h (even columns) and
/// 4c + 2h + 1 (odd ones), lane 4 * row + column / 2; of an f16 result they share register 2c + h.
void writeResult(const WgmmaForm &f, const float *c, bool scaleD, const WarpRegister *d) {
  const unsigned n = f.n, registers = resultRegisters(f);
  const float sign = f.negateA != f.negateB ? -1.0f : 1.0f;
  for (unsigned w = 0; w != 4; ++w)
    for (unsigned h = 0; h != 2; ++h)
      for (unsigned column = 0; column != n; column += 8) {
        if (f.d == WgmmaResult::F32 && d[w * registers + column / 2 + 2 * h].stride == 4) {
          float *even = static_cast<float *>(d[w * registers + column / 2 + 2 * h].lanes);
          float *odd = static_cast<float *>(d[w * registers + column / 2 + 2 * h + 1].lanes);
          for (unsigned g = 0; g != 8; ++g) {
            const Float4 *from = reinterpret_cast<const Float4 *>(c + (16 * w + 8 * h + g) * n + column);
            Float4 &e = reinterpret_cast<Float4 *>(even)[g], &o = reinterpret_cast<Float4 *>(odd)[g];
            Float4 pe = __builtin_shufflevector(from[0], from[1], 0, 2, 4, 6) * sign, po = __builtin_shufflevector(from[0], from[1], 1, 3, 5, 7) * sign;
            e = scaleD ? e + pe : pe;
            o = scaleD ? o + po : po;
          }
          continue;
        }
        float product[2][32];
        for (unsigned g = 0; g != 8; ++g) {
          const Float4 *from = reinterpret_cast<const Float4 *>(c + (16 * w + 8 * h + g) * n + column);
          *reinterpret_cast<Float4 *>(product[0] + 4 * g) = __builtin_shufflevector(from[0], from[1], 0, 2, 4, 6) * sign;
          *reinterpret_cast<Float4 *>(product[1] + 4 * g) = __builtin_shufflevector(from[0], from[1], 1, 3, 5, 7) * sign;
        }
        if (f.d == WgmmaResult::F16) {
          const WarpRegister &reg = d[w * registers + column / 4 + h];
          for (unsigned l = 0; l != 32; ++l) {
            uint32_t old = scaleD ? reg.get(l) : 0;
            reg.set(l, floatToF16(product[0][l] + f16ToFloat(uint16_t(old))) |
                           uint32_t(floatToF16(product[1][l] + f16ToFloat(uint16_t(old >> 16)))) << 16);
          }
          continue;
        }
        for (unsigned e = 0; e != 2; ++e) {
          const WarpRegister reg = d[w * registers + column / 2 + 2 * h + e];
          uint32_t value[32] = {};
          if (scaleD && reg.stride == 4)
            std::memcpy(value, reg.lanes, sizeof value);
          else if (scaleD)
            for (unsigned l = 0; l != 32; ++l)
              value[l] = reg.get(l);
          if (f.d == WgmmaResult::S32)
            for (unsigned l = 0; l != 32; ++l)
              value[l] = combine(f, value[l], product[e][l]);
          else if (scaleD)
            for (unsigned l = 0; l != 32; ++l)
              value[l] = floatToBits(bitsToFloat(value[l]) + product[e][l]);
          else
            std::memcpy(value, product[e], sizeof value);
          if (reg.stride == 4)
            std::memcpy(reg.lanes, value, sizeof value);
          else
            for (unsigned l = 0; l != 32; ++l)
              reg.set(l, value[l]);
        }
      }
}

} // namespace

unsigned checkForm(const WgmmaForm &f) {
  bool sameHalf = f.a == f.b && (f.a == WgmmaType::F16 || f.a == WgmmaType::BF16);
  bool types = (f.a == WgmmaType::F16 && f.b == f.a && f.d != WgmmaResult::S32) ||
               ((f.a == WgmmaType::BF16 || f.a == WgmmaType::TF32) && f.b == f.a && f.d == WgmmaResult::F32) ||
               (isFp8(f.a) && isFp8(f.b) && f.d != WgmmaResult::S32) ||
               (((isInteger(f.a) && isInteger(f.b)) || (f.a == WgmmaType::B1 && f.b == f.a)) && f.d == WgmmaResult::S32);
  if (!types)
    throw Fault("wgmma.mma_async has no such combination of A, B and D types");
  bool integer = f.d == WgmmaResult::S32;
  bool n = f.n >= 8 && f.n <= 256 && (integer ? f.n % 16 == 0 || f.n == 8 || f.n == 24 : f.n % 8 == 0);
  if (!n)
    throw Fault("wgmma.mma_async: N = " + std::to_string(f.n) + " is not a size of these types");
  if ((f.transA || f.transB) && !sameHalf)
    throw Fault("wgmma.mma_async: only f16 and bf16 operands can be transposed");
  if (f.transA && f.aInRegisters)
    throw Fault("wgmma.mma_async: A in registers cannot be transposed");
  if (integer && (f.negateA || f.negateB))
    throw Fault("wgmma.mma_async: integer operands cannot be negated");
  if (f.sparse && f.a == WgmmaType::B1)
    throw Fault("wgmma.mma_async.sp has no single-bit operands");
  unsigned k = (f.sparse ? 512 : 256) / bitsOf(f.a), entries = f.a == WgmmaType::TF32 ? k : k / 2;
  if (f.sparse && f.selector >= 32 / entries)
    throw Fault("wgmma.mma_async.sp: the sparsity selector is below " + std::to_string(32 / entries) + " for these types, found " + std::to_string(f.selector));
  return k;
}

unsigned resultRegisters(const WgmmaForm &f) { return f.d == WgmmaResult::F16 ? f.n / 4 : f.n / 2; }

void execute(const WgmmaForm &f, SharedSpan smem, uint64_t aDesc, const WarpRegister *aRegs, uint64_t bDesc, bool scaleD,
             const WarpRegister *d, const WarpRegister *metadata) {
  static thread_local std::vector<float> a, b, c;
  unsigned k = checkForm(f), n = f.n, perRegister = 32 / bitsOf(f.a);
  const unsigned stored = f.sparse ? k / 2 : k;
  a.resize(64 * size_t(stored));
  b.resize(size_t(n) * k);

  if (f.aInRegisters) {
    for (unsigned w = 0; w != 4; ++w)
      for (unsigned r = 0; r != 4; ++r)
        for (unsigned l = 0; l != 32; ++l) {
          if (f.a == WgmmaType::BF16) {
            uint32_t pair = aRegs[w * 4 + r].get(l);
            float *to = &a[(16 * w + l / 4 + 8 * (r % 2)) * stored + 2 * (l % 4 + 4 * (r / 2))];
            to[0] = bf16ToFloat(uint16_t(pair));
            to[1] = bf16ToFloat(uint16_t(pair >> 16));
            continue;
          }
          float values[32];
          decodeRegister(f.a, aRegs[w * 4 + r].get(l), values);
          std::copy_n(values, perRegister, &a[(16 * w + l / 4 + 8 * (r % 2)) * stored + perRegister * (l % 4 + 4 * (r / 2))]);
        }
  } else {
    SharedOperand o = sharedOperand(f.a, aDesc, f.transA, 64);
    a.resize(64 * size_t(o.k));
    gather(smem, o, a.data(), o.k, 1);
    if (f.a == WgmmaType::B1)
      a = spreadBits(a);
  }
  if (f.sparse) {
    static thread_local std::vector<float> full;
    full.assign(64 * size_t(k), 0.0f);
    bool pairs = f.a != WgmmaType::TF32;
    for (unsigned row = 0; row != 64; ++row)
      spreadRow(&a[row * stored], &full[row * k], k, 1, pairs, "wgmma.mma_async.sp", row, [&](unsigned e) {
        return sparseEntry(metadata[row / 16], pairs ? k / 2 : k, f.selector, row % 16, e);
      });
    a.swap(full);
  }
  SharedOperand o = sharedOperand(f.b, bDesc, f.transB, n, f.sparse ? 512 : 256);
  bool plain = f.d == WgmmaResult::F32 && f.b != WgmmaType::B1 && f.negateA == f.negateB && multipliesFragments(64, n);
  for (unsigned r = 0; plain && r != 2 * n; ++r)
    plain = d[r].stride == 4;
  if (plain) {
    float *registers[4 * 128];
    for (unsigned r = 0; r != 2 * n; ++r)
      registers[r] = static_cast<float *>(d[r].lanes);
    gather(smem, o, b.data(), 1, n, true);
    return multiplyFragments(a.data(), b.data(), registers, 64, n, k, scaleD);
  }
  if (f.b == WgmmaType::B1) {
    b.resize(size_t(n) * o.k);
    gather(smem, o, b.data(), o.k, 1);
    std::vector<float> rows = spreadBits(b);
    b.resize(rows.size());
    for (unsigned j = 0; j != n; ++j)
      for (unsigned x = 0; x != k; ++x)
        b[x * n + j] = rows[j * k + x];
  } else {
    gather(smem, o, b.data(), 1, n);
  }
  c.resize(64 * size_t(n));
  multiply(a.data(), b.data(), c.data(), 64, n, k);
  writeResult(f, c.data(), scaleD, d);
}

void touched(const WgmmaForm &f, uint64_t aDesc, uint64_t bDesc, const TouchedFn &fn) {
  if (!f.aInRegisters)
    touched(sharedOperand(f.a, aDesc, f.transA, 64), 0, fn);
  touched(sharedOperand(f.b, bDesc, f.transB, f.n, f.sparse ? 512 : 256), 0, fn);
}

} // namespace fovea::emulator
