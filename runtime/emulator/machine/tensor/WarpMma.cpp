// runtime/emulator/machine/tensor/WarpMma.cpp - mma.sync of one warp
#include "runtime/emulator/machine/tensor/WarpMma.h"
#include "runtime/emulator/machine/tensor/DotKernel.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/Fragment.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <algorithm>
#include <cmath>

namespace fovea::emulator {
namespace {

using T = WarpMmaType;

unsigned bitsOf(T t) {
  switch (t) {
  case T::F64:
    return 64;
  case T::TF32:
  case T::F32:
  case T::S32:
    return 32;
  case T::F16:
  case T::BF16:
    return 16;
  case T::S4:
  case T::U4:
    return 4;
  case T::B1:
    return 1;
  default:
    return 8;
  }
}

bool in(T t, std::initializer_list<T> set) { return std::find(set.begin(), set.end(), t) != set.end(); }

/// The K sizes of an operand type for M = 16 and M = 8 (PTX ISA, mma; sm_90 and later; N is 8).
bool shapeExists(unsigned m, unsigned k, T a) {
  switch (a) {
  case T::F16:
  case T::BF16:
    return m == 16 && (k == 8 || k == 16);
  case T::TF32:
    return m == 16 && (k == 4 || k == 8);
  case T::F64:
    return m == 8 ? k == 4 : k == 4 || k == 8 || k == 16;
  case T::E4M3:
  case T::E5M2:
    return m == 16 && (k == 16 || k == 32);
  case T::S8:
  case T::U8:
    return m == 8 ? k == 16 : k == 16 || k == 32;
  case T::S4:
  case T::U4:
    return m == 8 ? k == 32 : k == 32 || k == 64;
  case T::B1:
    return m == 8 ? k == 128 : k == 128 || k == 256;
  default:
    return false;
  }
}

float elementAt(T type, uint32_t value, unsigned sub) {
  switch (type) {
  case T::F16:
    return f16ToFloat(uint16_t(value >> 16 * sub));
  case T::BF16:
    return bf16ToFloat(uint16_t(value >> 16 * sub));
  case T::TF32:
    return decode(Format::TF32, value);
  case T::E4M3:
    return decode(Format::E4M3, value >> 8 * sub & 255);
  case T::E5M2:
    return decode(Format::E5M2, value >> 8 * sub & 255);
  case T::S8:
    return float(int8_t(value >> 8 * sub));
  case T::U8:
    return float(uint8_t(value >> 8 * sub));
  case T::S4:
    return float(int32_t(value << (28 - 4 * sub)) >> 28);
  case T::U4:
    return float(value >> 4 * sub & 15);
  default:
    return float(value >> sub & 1);
  }
}

double doubleAt(const WarpRegister *regs, unsigned reg, unsigned lane) {
  uint64_t bits = regs[2 * reg].get(lane) | uint64_t(regs[2 * reg + 1].get(lane)) << 32;
  double v;
  std::memcpy(&v, &bits, 8);
  return v;
}

void executeF64(const WarpMmaForm &f, const WarpRegister *d, const WarpRegister *a, const WarpRegister *b, const WarpRegister *c) {
  double out[16][8];
  for (unsigned i = 0; i != f.m; ++i)
    for (unsigned j = 0; j != 8; ++j) {
      FragmentPlace pc = placeOfC(f.m, false, i, j);
      double sum = doubleAt(c, pc.reg, pc.lane);
      for (unsigned k = 0; k != f.k; ++k) {
        FragmentPlace pa = placeOfA(f.m, 1, i, k), pb = placeOfB(1, k, j);
        sum = std::fma(doubleAt(a, pa.reg, pa.lane), doubleAt(b, pb.reg, pb.lane), sum);
      }
      out[i][j] = sum;
    }
  for (unsigned i = 0; i != f.m; ++i)
    for (unsigned j = 0; j != 8; ++j) {
      FragmentPlace p = placeOfC(f.m, false, i, j);
      uint64_t bits;
      std::memcpy(&bits, &out[i][j], 8);
      d[2 * p.reg].set(p.lane, uint32_t(bits));
      d[2 * p.reg + 1].set(p.lane, uint32_t(bits >> 32));
    }
}

} // namespace

WarpMmaRegisters checkForm(const WarpMmaForm &f) {
  auto refuse = [&](const std::string &why) {
    throw Fault("mma.sync.m" + std::to_string(f.m) + "n" + std::to_string(f.n) + "k" + std::to_string(f.k) + ": " + why);
  };
  if ((f.m != 8 && f.m != 16) || f.n != 8 || !shapeExists(f.m, f.k, f.a))
    refuse("this shape does not exist for the operand type");
  bool integer = in(f.a, {T::S8, T::U8}), nibble = in(f.a, {T::S4, T::U4}), fp8 = in(f.a, {T::E4M3, T::E5M2});
  bool pair = f.a == f.b || (integer && in(f.b, {T::S8, T::U8})) || (nibble && in(f.b, {T::S4, T::U4})) ||
              (fp8 && in(f.b, {T::E4M3, T::E5M2}));
  if (!pair)
    refuse("A and B types do not go together");
  bool result = f.a == T::F64                          ? f.d == T::F64 && f.c == T::F64
                : integer || nibble || f.a == T::B1    ? f.d == T::S32 && f.c == T::S32
                : f.a == T::F16 || fp8                 ? (f.d == T::F32 || f.d == T::F16) && f.c == f.d
                                                       : f.d == T::F32 && f.c == T::F32;
  if (!result)
    refuse("C and D types do not go with the operands");
  unsigned c = f.m * f.n * bitsOf(f.d) / 1024;
  return {c, f.m * f.k * bitsOf(f.a) / 1024, f.n * f.k * bitsOf(f.b) / 1024, c};
}

void execute(const WarpMmaForm &f, const WarpRegister *d, const WarpRegister *a, const WarpRegister *b, const WarpRegister *c) {
  checkForm(f);
  if (f.a == T::F64)
    return executeF64(f, d, a, b, c);
  float left[16 * 256], right[256 * 8], product[16 * 8];
  unsigned perRegister = 32 / bitsOf(f.a);
  for (unsigned i = 0; i != f.m; ++i)
    for (unsigned k = 0; k != f.k; ++k) {
      FragmentPlace p = placeOfA(f.m, perRegister, i, k);
      left[i * f.k + k] = elementAt(f.a, a[p.reg].get(p.lane), p.sub);
    }
  for (unsigned k = 0; k != f.k; ++k)
    for (unsigned j = 0; j != 8; ++j) {
      FragmentPlace p = placeOfB(perRegister, k, j);
      right[k * 8 + j] = elementAt(f.b, b[p.reg].get(p.lane), p.sub);
    }
  multiply(left, right, product, f.m, 8, f.k);
  if (f.a == T::B1 && f.bitOp == WarpMmaForm::BitOp::Xor) {
    // popc(a ^ b) = popc(a) + popc(b) - 2 popc(a & b)
    for (unsigned i = 0; i != f.m; ++i)
      for (unsigned j = 0; j != 8; ++j) {
        float ones = 0;
        for (unsigned k = 0; k != f.k; ++k)
          ones += left[i * f.k + k] + right[k * 8 + j];
        product[i * 8 + j] = ones - 2 * product[i * 8 + j];
      }
  }

  bool half = f.d == T::F16;
  uint32_t old[4][32];
  for (unsigned r = 0, n = f.m * 8 * bitsOf(f.d) / 1024; r != n; ++r)
    for (unsigned l = 0; l != 32; ++l)
      old[r][l] = c[r].get(l);
  for (unsigned i = 0; i != f.m; ++i)
    for (unsigned j = 0; j != 8; ++j) {
      FragmentPlace p = placeOfC(f.m, half, i, j);
      uint32_t &cell = old[p.reg][p.lane];
      float value = product[i * 8 + j];
      if (half) {
        uint32_t sum = floatToF16(value + f16ToFloat(uint16_t(cell >> 16 * p.sub)));
        cell = (cell & ~(0xFFFFu << 16 * p.sub)) | sum << 16 * p.sub;
      } else if (f.d == T::F32) {
        cell = floatToBits(bitsToFloat(cell) + value);
      } else {
        int64_t sum = int64_t(value) + int32_t(cell);
        if (f.satfinite)
          sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
        cell = uint32_t(sum);
      }
    }
  for (unsigned r = 0, n = f.m * 8 * bitsOf(f.d) / 1024; r != n; ++r)
    for (unsigned l = 0; l != 32; ++l)
      d[r].set(l, old[r][l]);
}

} // namespace fovea::emulator
