// test/unit/emulator/tensor/WarpMmaTest.cpp - does mma.sync compute A * B + C in the ISA's fragments?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/WarpMma.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace fovea::emulator;

namespace {
using T = WarpMmaType;

/// Fragments as the ISA prints them: groupID = lane >> 2, threadID_in_group = lane % 4.
struct Registers {
  std::vector<uint32_t> values;
  std::vector<WarpRegister> views;
  explicit Registers(unsigned n) : values(32 * n) {
    for (unsigned r = 0; r != n; ++r)
      views.push_back({&values[32 * r], 4});
  }
};

unsigned width(T t) {
  return t == T::F64 ? 64 : t == T::TF32 || t == T::F32 || t == T::S32 ? 32 : t == T::F16 || t == T::BF16 ? 16 : t == T::S4 || t == T::U4 ? 4 : t == T::B1 ? 1 : 8;
}
double value(T t, uint32_t code) {
  switch (t) {
  case T::F16:
    return decode(Format::F16, code);
  case T::BF16:
    return decode(Format::BF16, code);
  case T::TF32:
    return decode(Format::TF32, code);
  case T::E4M3:
    return decode(Format::E4M3, code);
  case T::E5M2:
    return decode(Format::E5M2, code);
  case T::S8:
    return int8_t(code);
  case T::S4:
    return int(code & 7) - int(code & 8);
  default:
    return code;
  }
}
uint32_t random(T t, std::mt19937 &rng) {
  double x = int(rng() % 65) / 16.0 - 2;
  switch (t) {
  case T::F16:
    return encode(Format::F16, x);
  case T::BF16:
    return encode(Format::BF16, x);
  case T::TF32:
    return encode(Format::TF32, x);
  case T::E4M3:
    return encode(Format::E4M3, x);
  case T::E5M2:
    return encode(Format::E5M2, x);
  default:
    return rng() & ((1u << width(t)) - 1);
  }
}

void check(unsigned m, unsigned k, T ta, T tb, T td, bool satfinite = false, WarpMmaForm::BitOp op = WarpMmaForm::BitOp::Xor) {
  std::mt19937 rng(m * k);
  WarpMmaForm f{m, 8, k, td, ta, tb, td, satfinite, op};
  WarpMmaRegisters n = checkForm(f);
  Registers a(n.a), b(n.b), c(n.c), d(n.d);
  std::vector<uint32_t> av(m * k), bv(k * 8);
  unsigned w = width(ta), per = 32 / w;
  for (unsigned lane = 0; lane != 32; ++lane) {
    unsigned group = lane / 4, thread = lane % 4;
    for (unsigned r = 0; r != n.a; ++r)
      for (unsigned e = 0; e != per; ++e) {
        unsigned row = m == 8 ? group : group + 8 * (r % 2), column = thread * per + e + 4 * per * (m == 8 ? r : r / 2);
        uint32_t code = av[row * k + column] = random(ta, rng);
        a.values[32 * r + lane] |= code << w * e % 32;
      }
    for (unsigned r = 0; r != n.b; ++r)
      for (unsigned e = 0; e != per; ++e) {
        uint32_t code = bv[(thread * per + e + 4 * per * r) * 8 + group] = random(tb, rng);
        b.values[32 * r + lane] |= code << w * e % 32;
      }
  }
  for (auto &v : c.values)
    v = td == T::F32 ? floatToBits(float(rng() % 32)) : td == T::F16 ? 0x40003C00 : satfinite ? 0x7FFFFFFF : rng() % 1000;
  execute(f, d.views.data(), a.views.data(), b.views.data(), c.views.data());
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned e = 0; e != m / 4; ++e) { // c0, c1 in row groupID, c2, c3 in groupID + 8
      unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
      double sum = 0;
      for (unsigned x = 0; x != k; ++x) {
        double p = value(ta, av[row * k + x]), q = value(tb, bv[x * 8 + column]);
        sum += ta == T::B1 && op == WarpMmaForm::BitOp::Xor ? double(p != q) : p * q;
      }
      auto at = [&](const Registers &r) -> double {
        if (td == T::F16)
          return decode(Format::F16, r.values[32 * (e / 2) + lane] >> 16 * (e % 2) & 0xFFFF);
        uint32_t cell = r.values[32 * e + lane];
        return td == T::F32 ? double(bitsToFloat(cell)) : double(int32_t(cell));
      };
      double expected = sum + at(c);
      if (satfinite)
        expected = std::min(expected, 2147483647.0);
      ASSERT_NEAR(at(d), expected, td == T::F16 ? 0.05 : td == T::F32 ? 1e-4 : 0) << lane << " " << e;
    }
}

TEST(WarpMma, FloatShapes) {
  for (T t : {T::F16, T::BF16})
    for (unsigned k : {8u, 16u})
      check(16, k, t, t, T::F32);
  for (unsigned k : {8u, 16u})
    check(16, k, T::F16, T::F16, T::F16);
  for (unsigned k : {4u, 8u})
    check(16, k, T::TF32, T::TF32, T::F32);
  for (unsigned k : {16u, 32u}) {
    check(16, k, T::E4M3, T::E5M2, T::F32);
    check(16, k, T::E5M2, T::E5M2, T::F16);
  }
}

TEST(WarpMma, IntegerShapes) {
  check(8, 16, T::S8, T::U8, T::S32);
  check(16, 16, T::U8, T::U8, T::S32);
  check(16, 32, T::S8, T::S8, T::S32);
  check(8, 32, T::S4, T::U4, T::S32);
  check(16, 32, T::S4, T::S4, T::S32);
  check(16, 64, T::U4, T::S4, T::S32);
  for (auto op : {WarpMmaForm::BitOp::Xor, WarpMmaForm::BitOp::And}) {
    check(8, 128, T::B1, T::B1, T::S32, false, op);
    check(16, 128, T::B1, T::B1, T::S32, false, op);
    check(16, 256, T::B1, T::B1, T::S32, false, op);
  }
  check(16, 32, T::U8, T::U8, T::S32, true);
}

TEST(WarpMma, DoubleShapes) {
  for (auto [m, k] : {std::pair(8u, 4u), std::pair(16u, 4u), std::pair(16u, 8u), std::pair(16u, 16u)}) {
    WarpMmaForm f{m, 8, k, T::F64, T::F64, T::F64, T::F64};
    WarpMmaRegisters n = checkForm(f);
    EXPECT_EQ(n.a, m * k / 16);
    EXPECT_EQ(n.d, m / 2);
    Registers a(n.a), b(n.b), c(n.c), d(n.d);
    auto put = [](Registers &r, unsigned reg, unsigned lane, double v) {
      uint64_t bits;
      std::memcpy(&bits, &v, 8);
      r.values[64 * reg + lane] = uint32_t(bits);
      r.values[64 * reg + 32 + lane] = uint32_t(bits >> 32);
    };
    // A(i, k) = 100 i + k + 1/3, B(k, j) = 10 k - j, C = 0.5
    for (unsigned lane = 0; lane != 32; ++lane) {
      unsigned group = lane / 4, thread = lane % 4;
      for (unsigned r = 0; r != n.a / 2; ++r)
        put(a, r, lane, m == 8 ? 100.0 * group + thread + 1 / 3.0 : 100.0 * (group + 8 * (r % 2)) + thread + 4 * (r / 2) + 1 / 3.0);
      for (unsigned r = 0; r != n.b / 2; ++r)
        put(b, r, lane, 10.0 * (thread + 4 * r) - group);
      for (unsigned r = 0; r != n.c / 2; ++r)
        put(c, r, lane, 0.5);
    }
    execute(f, d.views.data(), a.views.data(), b.views.data(), c.views.data());
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned e = 0; e != m / 4; ++e) {
        unsigned row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
        double sum = 0.5;
        for (unsigned x = 0; x != k; ++x)
          sum += (100.0 * row + x + 1 / 3.0) * (10.0 * x - column);
        uint64_t bits = d.values[64 * e + lane] | uint64_t(d.values[64 * e + 32 + lane]) << 32;
        double got;
        std::memcpy(&got, &bits, 8);
        EXPECT_NEAR(got, sum, 1e-9 * std::fabs(sum) + 1e-9);
      }
  }
}

TEST(WarpMma, ShapesThatTheIsaLacksFault) {
  EXPECT_THROW(checkForm({16, 8, 32, T::F32, T::BF16, T::BF16, T::F32}), Fault);
  EXPECT_THROW(checkForm({8, 8, 16, T::F32, T::F16, T::F16, T::F32}), Fault);
  EXPECT_THROW(checkForm({16, 8, 16, T::F16, T::BF16, T::BF16, T::F16}), Fault);
  EXPECT_THROW(checkForm({16, 8, 16, T::F32, T::F16, T::BF16, T::F32}), Fault);
  EXPECT_THROW(checkForm({16, 16, 16, T::F32, T::F16, T::F16, T::F32}), Fault);
  EXPECT_THROW(checkForm({16, 8, 32, T::F32, T::S8, T::S8, T::F32}), Fault);
  EXPECT_THROW(checkForm({16, 8, 32, T::F32, T::E2M1, T::E2M1, T::F32}), Fault);
}

} // namespace
