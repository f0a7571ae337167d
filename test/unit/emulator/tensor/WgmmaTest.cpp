// test/unit/emulator/tensor/WgmmaTest.cpp - does wgmma compute A * B + D from shared memory and from registers?
#include "MmaFixture.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/Wgmma.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

struct Types {
  WgmmaType a, b;
  WgmmaResult d;
  MmaElement ea, eb;
};

void check(Types types, unsigned n, bool registers, bool transA, bool transB, bool scaleD, bool negate = false) {
  std::mt19937 rng(n);
  WgmmaForm f;
  f.a = types.a;
  f.b = types.b;
  f.d = types.d;
  f.n = n;
  f.aInRegisters = registers;
  f.transA = transA;
  f.transB = transB;
  f.negateA = negate;
  unsigned k = checkForm(f), bits = bitsOf(types.ea);
  Matrix a(types.ea, 64, k, rng), b(types.eb, n, k, rng);
  std::vector<uint8_t> smem(1 << 17);
  uint64_t aDesc = transA ? writeMnMajor(smem, 1024, 128, a) : writeKMajor(smem, 1024, 128, a, false);
  uint64_t bDesc = transB ? writeMnMajor(smem, 65536, n < 64 ? 2 * n : 128, b) : writeKMajor(smem, 65536, 64, b, false);
  unsigned count = resultRegisters(f);
  std::vector<uint32_t> values(4 * count * 32), aValues(16 * 32);
  std::vector<WarpRegister> d, aRegs;
  for (unsigned i = 0; i != 4 * count; ++i)
    d.push_back({&values[32 * i], 4});
  for (unsigned i = 0; i != 16; ++i)
    aRegs.push_back({&aValues[32 * i], 4});
  // The ISA's register tables, as printed: A of 16-, 8- and 32-bit types.
  for (unsigned i = 0; i != 64; ++i)
    for (unsigned x = 0; x != k; ++x) {
      unsigned per = 32 / bits, thread = i / 16 * 32 + i % 8 * 4 + x % (4 * per) / per, reg = i % 16 / 8 + 2 * (x / (4 * per));
      uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
      aValues[(thread / 32 * 4 + reg) * 32 + thread % 32] |= (a.code(i, x) & mask) << bits * (x % per);
    }
  for (auto &v : values)
    v = f.d == WgmmaResult::F32 ? floatToBits(float(rng() % 64) - 32) : f.d == WgmmaResult::F16 ? 0x3C003C00 : rng();
  auto old = values;
  execute(f, {smem.data(), 1 << 17}, aDesc, aRegs.data(), bDesc, scaleD, d.data());
  for (unsigned i = 0; i != 64; ++i)
    for (unsigned j = 0; j != n; ++j) {
      double sum = 0, magnitude = 0;
      for (unsigned x = 0; x != k; ++x) {
        sum += a.value(i, x) * b.value(j, x) * (negate ? -1 : 1);
        magnitude += std::fabs(a.value(i, x) * b.value(j, x));
      }
      // Row 16w + l/4 + 8h, column 8c + 2*(l%4) + e.
      unsigned w = i / 16, l = i % 8 * 4 + j % 8 / 2, h = i / 8 % 2, c = j / 8, e = j % 2;
      auto at = [&](const std::vector<uint32_t> &v) -> double {
        if (f.d == WgmmaResult::F16)
          return decode(Format::F16, v[(w * count + 2 * c + h) * 32 + l] >> 16 * e & 0xFFFF);
        uint32_t cell = v[(w * count + 4 * c + 2 * h + e) * 32 + l];
        return f.d == WgmmaResult::F32 ? double(bitsToFloat(cell)) : double(int32_t(cell));
      };
      double expected = sum + (scaleD ? at(old) : 0);
      if (f.d == WgmmaResult::S32)
        expected = double(int32_t(uint32_t(int64_t(expected))));
      ASSERT_NEAR(at(values), expected, (f.d == WgmmaResult::F16 ? 1e-3 : f.d == WgmmaResult::F32 ? 2e-6 : 0) * (magnitude + 40)) << i << "," << j;
    }
}

const Types bf16{WgmmaType::BF16, WgmmaType::BF16, WgmmaResult::F32, MmaElement::BF16, MmaElement::BF16};
const Types f16{WgmmaType::F16, WgmmaType::F16, WgmmaResult::F32, MmaElement::F16, MmaElement::F16};
const Types half{WgmmaType::F16, WgmmaType::F16, WgmmaResult::F16, MmaElement::F16, MmaElement::F16};
const Types tf32{WgmmaType::TF32, WgmmaType::TF32, WgmmaResult::F32, MmaElement::TF32, MmaElement::TF32};
const Types fp8{WgmmaType::E4M3, WgmmaType::E5M2, WgmmaResult::F32, MmaElement::E4M3, MmaElement::E5M2};
const Types fp8half{WgmmaType::E5M2, WgmmaType::E4M3, WgmmaResult::F16, MmaElement::E5M2, MmaElement::E4M3};
const Types integer{WgmmaType::S8, WgmmaType::U8, WgmmaResult::S32, MmaElement::S8, MmaElement::U8};

TEST(Wgmma, EveryTypeFromSharedMemoryAndRegisters) {
  for (const Types &t : {bf16, f16, half, tf32, fp8, fp8half, integer})
    for (bool registers : {false, true})
      for (unsigned n : {8u, 64u, 256u})
        check(t, n, registers, false, false, true);
}

TEST(Wgmma, TransposedOperands) {
  for (const Types &t : {bf16, f16, half})
    for (unsigned n : {16u, 64u, 128u, 256u}) {
      check(t, n, false, true, false, true);
      check(t, n, false, false, true, true);
      check(t, n, false, true, true, false);
      check(t, n, true, false, true, true);
    }
}

TEST(Wgmma, ScaleDAndNegation) {
  check(bf16, 64, false, false, false, false);
  check(bf16, 64, false, false, false, true, true);
  check(fp8, 32, true, false, false, false, true);
}

TEST(Wgmma, BitsCountMatches) {
  WgmmaForm f;
  f.a = f.b = WgmmaType::B1;
  f.d = WgmmaResult::S32;
  f.n = 8;
  EXPECT_EQ(checkForm(f), 256u);
  std::vector<uint8_t> smem(32768, 0xFF);
  std::vector<uint32_t> values(4 * 4 * 32, 5);
  std::vector<WarpRegister> d;
  for (unsigned i = 0; i != 16; ++i)
    d.push_back({&values[32 * i], 4});
  uint64_t descriptor = 8ull << 32 | 64ull << 16; // no swizzle
  smem[0] = 0x0F;                                 // row 0 loses four bits, of A and of B
  execute(f, {smem.data(), 32768}, descriptor, nullptr, descriptor, true, d.data());
  EXPECT_EQ(values[0], 5u + 252);      // (0, 0)
  EXPECT_EQ(values[32], 5u + 252);     // (0, 1)
  EXPECT_EQ(values[32 + 4], 5u + 256); // (1, 1)
}

TEST(Wgmma, FormsThatTheIsaLacksFault) {
  auto refused = [](auto change) {
    WgmmaForm f;
    f.n = 64;
    change(f);
    try {
      checkForm(f);
    } catch (const Fault &) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](WgmmaForm &) {}));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.n = 12; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.n = 264; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.d = WgmmaResult::F16; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.b = WgmmaType::F16; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.aInRegisters = f.transA = true; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.a = f.b = WgmmaType::E4M3, f.transB = true; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.a = f.b = WgmmaType::S8, f.d = WgmmaResult::S32, f.n = 40; }));
  EXPECT_TRUE(refused([](WgmmaForm &f) { f.a = f.b = WgmmaType::S8, f.d = WgmmaResult::S32, f.negateA = true; }));
}

} // namespace
