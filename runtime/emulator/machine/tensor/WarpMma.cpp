// runtime/emulator/machine/tensor/WarpMma.cpp - mma.sync of one warp
#include "runtime/emulator/machine/tensor/WarpMma.h"
#include "runtime/emulator/machine/tensor/DotKernel.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/Fragment.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/SparseExpand.h"
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

/// K of mma.sp (M is 16).
bool sparseShapeExists(unsigned m, unsigned k, T a) {
  if (m != 16)
    return false;
  switch (a) {
  case T::F16: case T::BF16: return k == 16 || k == 32;
  case T::TF32: return k == 8 || k == 16;
  case T::S8: case T::U8: return k == 32 || k == 64;
  case T::S4: case T::U4: return k == 64 || k == 128;
  case T::E4M3: case T::E5M2: return k == 64;
  default: return false;
  }
}

/// m8n8k4 of f16: four products at once, each of a group of four threads and the group 16 lanes above it (PTX ISA, "Matrix
/// Fragments for mma.m8n8k4 with .f16").
bool quadPair(const WarpMmaForm &f) { return f.m == 8 && f.k == 4 && f.a == T::F16; }

void executeQuadPairs(const WarpMmaForm &f, const WarpRegister *d, const WarpRegister *a, const WarpRegister *b, const WarpRegister *c) {
  auto half = [](const WarpRegister *r, unsigned lane, unsigned i) { return f16ToFloat(uint16_t(r[i / 2].get(lane) >> 16 * (i % 2))); };
  /// Element i of a thread's f32 accumulators.
  auto wide = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = (lane & 1) + (i & 2) + (lane < 16 ? 0 : 4);
    column = (i & 4) + (lane & 2) + (i & 1);
  };
  for (unsigned pair = 0; pair != 4; ++pair) {
    float left[8][4], right[4][8], out[8][8];
    unsigned lanes[8];
    for (unsigned t = 0; t != 8; ++t)
      lanes[t] = 4 * pair + t % 4 + (t < 4 ? 0 : 16);
    for (unsigned t = 0; t != 8; ++t)
      for (unsigned i = 0; i != 4; ++i) {
        (f.rowA ? left[t][i] : left[i + (t < 4 ? 0 : 4)][t % 4]) = half(a, lanes[t], i);
        (f.rowB ? right[t % 4][i + (t < 4 ? 0 : 4)] : right[i][t]) = half(b, lanes[t], i);
      }
    for (unsigned t = 0; t != 8; ++t)
      for (unsigned i = 0; i != 8; ++i) {
        unsigned row = t, column = i;
        if (f.c == T::F32)
          wide(lanes[t], i, row, column);
        out[row][column] = f.c == T::F32 ? bitsToFloat(c[i].get(lanes[t])) : half(c, lanes[t], i);
      }
    for (unsigned m = 0; m != 8; ++m)
      for (unsigned n = 0; n != 8; ++n) {
        float sum = 0;
        for (unsigned k = 0; k != 4; ++k)
          sum += left[m][k] * right[k][n];
        out[m][n] += sum;
      }
    for (unsigned t = 0; t != 8; ++t)
      for (unsigned i = 0; i != 8; ++i) {
        unsigned row = t, column = i;
        if (f.d == T::F32) {
          wide(lanes[t], i, row, column);
          d[i].set(lanes[t], floatToBits(out[row][column]));
        } else if (i % 2 == 0) {
          d[i / 2].set(lanes[t], floatToF16(out[t][i]) | uint32_t(floatToF16(out[t][i + 1])) << 16);
        }
      }
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
    throw Fault(std::string(f.sparse ? "mma.sp" : "mma.sync") + ".m" + std::to_string(f.m) + "n" + std::to_string(f.n) + "k" + std::to_string(f.k) + ": " + why);
  };
  if (quadPair(f) && f.n == 8 && !f.sparse) {
    bool results = (f.d == T::F32 || f.d == T::F16) && (f.c == T::F32 || f.c == T::F16);
    if (f.b != T::F16 || !results)
      refuse("this shape exists for f16 and f64 operands");
    return {f.d == T::F32 ? 8u : 4u, 2, 2, f.c == T::F32 ? 8u : 4u};
  }
  if (!f.rowA || f.rowB)
    refuse("this shape exists as .row.col only");
  if ((f.m != 8 && f.m != 16) || f.n != 8 || !(f.sparse ? sparseShapeExists(f.m, f.k, f.a) : shapeExists(f.m, f.k, f.a)))
    refuse("this shape does not exist for the operand type");
  unsigned entries = f.a == T::S4 || f.a == T::U4 ? f.k / 4 : f.a == T::TF32 ? f.k : f.k / 2;
  if (f.sparse && f.selector >= 32 / entries)
    refuse("the sparsity selector is below " + std::to_string(32 / entries) + " here, found " + std::to_string(f.selector));
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
  return {c, f.m * f.k * bitsOf(f.a) / (f.sparse ? 2048 : 1024), f.n * f.k * bitsOf(f.b) / 1024, c};
}

void execute(const WarpMmaForm &f, const WarpRegister *d, const WarpRegister *a, const WarpRegister *b, const WarpRegister *c,
             WarpRegister metadata) {
  checkForm(f);
  if (quadPair(f))
    return executeQuadPairs(f, d, a, b, c);
  if (f.a == T::F64)
    return executeF64(f, d, a, b, c);
  float left[16 * 256], right[256 * 8], product[16 * 8];
  unsigned perRegister = 32 / bitsOf(f.a);
  const unsigned stored = f.sparse ? f.k / 2 : f.k;
  for (unsigned i = 0; i != f.m; ++i) {
    float row[256];
    for (unsigned k = 0; k != stored; ++k) {
      FragmentPlace p = placeOfA(f.m, perRegister, i, k);
      row[k] = elementAt(f.a, a[p.reg].get(p.lane), p.sub);
    }
    if (!f.sparse) {
      std::copy_n(row, f.k, left + i * f.k);
      continue;
    }
    bool nibbles = f.a == T::S4 || f.a == T::U4, pairs = f.a != T::TF32;
    unsigned perRow = nibbles ? f.k / 4 : pairs ? f.k / 2 : f.k;
    std::fill_n(left + i * f.k, f.k, 0.0f);
    spreadRow(row, left + i * f.k, f.k, nibbles ? 2 : 1, pairs, "mma.sp", i, [&](unsigned e) { return sparseEntry(metadata, perRow, f.selector, i, e); });
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
