// test/unit/emulator/tensor/Tcgen05MmaTest.cpp - does tcgen05.mma compute A * B + D in every kind, layout and modifier?
#include "MmaFixture.h"
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

constexpr unsigned codeOfType(MmaKind kind, MmaElement e) {
  switch (e) {
  case MmaElement::BF16:
  case MmaElement::E5M2:
  case MmaElement::S8:
    return 1;
  case MmaElement::TF32:
    return 2;
  case MmaElement::E2M3:
    return 3;
  case MmaElement::E3M2:
    return 4;
  case MmaElement::E2M1:
    return kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4 ? 1 : 5;
  default:
    return 0;
  }
}

/// One instruction with random operands; run() compares every cell of D with a plain double product.
struct Case {
  MmaForm form;
  MmaElement a = MmaElement::BF16, b = MmaElement::BF16;
  MmaResult d = MmaResult::F32;
  unsigned m = 128, n = 128;
  unsigned spanA = 128, spanB = 128;
  Major majorA = Major::K, majorB = Major::K;
  uint32_t extraBits = 0;
  MmaOperands operands{};
  Format scaleFormat = Format::UE8M0;
  unsigned sfaId = 0, sfbId = 0;
  double tolerance = 2e-6;
  uint32_t dLane = 0;

  std::mt19937 rng{12345};
  Tmem tmem[2];
  std::vector<uint8_t> shared[2] = {std::vector<uint8_t>(1 << 17), std::vector<uint8_t>(1 << 17)};

  bool fp4() const { return form.kind == MmaKind::MXF4 || form.kind == MmaKind::MXF4NVF4; }
  unsigned k() const {
    return form.kind == MmaKind::F16 ? 16 : form.kind == MmaKind::TF32 ? 8 : fp4() ? 64 : 32;
  }
  unsigned ctas() const { return form.pair ? 2 : 1; }

  void build() {
    uint32_t bits = codeOfType(form.kind, a) << 7 | codeOfType(form.kind, b) << 10 | uint32_t(majorA == Major::MN) << 15 |
                    uint32_t(majorB == Major::MN) << 16 | n / 8 << 17 | m / 16 << 24 | extraBits;
    if (form.scalesPerRow)
      bits |= sfbId << 4 | sfaId << 29 | uint32_t(scaleFormat == Format::UE8M0) << 23;
    else
      bits |= uint32_t(d) << 4;
    operands.idesc = bits;
    for (Tmem &t : tmem)
      t.allocate(512);
  }

  void run() {
    build();
    unsigned rows = m / ctas(), columns = n / ctas();
    std::vector<Matrix> as, bs;
    const uint32_t aStart = 1024, bStart = 65536;
    operands.d = tmemAddress(dLane, 256);
    for (unsigned c = 0; c != ctas(); ++c) {
      as.emplace_back(a, rows, k(), rng);
      bs.emplace_back(b, columns, k(), rng);
      operands.b = tcgen05Bit | (majorB == Major::K ? writeKMajor(shared[c], bStart, spanB, bs[c], fp4())
                                                    : writeMnMajor(shared[c], bStart, spanB, bs[c]));
      if (form.aInTmem) {
        operands.a = tmemAddress(dLane, 480);
        writeTmemA(tmem[c], as[c], rows);
      } else {
        operands.a = tcgen05Bit | (majorA == Major::K ? writeKMajor(shared[c], aStart, spanA, as[c], fp4())
                                                      : writeMnMajor(shared[c], aStart, spanA, as[c]));
      }
    }
    std::vector<double> sa(size_t(m) * 4, 1), sb(size_t(n) * 4, 1);
    if (form.scalesPerRow)
      writeScales(sa, sb);
    std::vector<double> old(size_t(m) * n);
    for (unsigned i = 0; i != m; ++i)
      for (unsigned j = 0; j != n; ++j) {
        MmaPlace p = placeOfD(form, m, n, i, j);
        uint32_t &cell = tmem[p.cta].row(dLane + p.lane)[256 + p.column];
        double x = std::uniform_real_distribution<double>(-8, 8)(rng);
        cell = d == MmaResult::F32 ? floatToBits(float(x)) : d == MmaResult::F16 ? encode(Format::F16, x) : uint32_t(int32_t(x * 1000));
        old[i * n + j] = d == MmaResult::F32 ? bitsToFloat(cell) : d == MmaResult::F16 ? decode(Format::F16, cell) : int32_t(cell);
        tmem[p.cta].markWritten(dLane + p.lane, 256 + p.column, 1);
      }

    MmaCta pair[2] = {{&tmem[0], {shared[0].data(), 1 << 17}}, {&tmem[1], {shared[1].data(), 1 << 17}}};
    execute(form, operands, pair);

    double sign = (extraBits >> 13 & 1) != (extraBits >> 14 & 1) ? -1 : 1;
    for (unsigned i = 0; i != m; ++i)
      for (unsigned j = 0; j != n; ++j) {
        double sum = 0, magnitude = 0;
        for (unsigned x = 0; x != k(); ++x) {
          unsigned block = form.scalesPerRow ? x / (k() / form.scalesPerRow) : 0;
          double p = as[i / rows].value(i % rows, x) * bs[j / columns].value(j % columns, x) * sa[i * 4 + block] * sb[j * 4 + block];
          sum += sign * p;
          magnitude += std::fabs(p);
        }
        double before = operands.accumulate ? old[i * n + j] * std::pow(2.0, -int(operands.scaleInputD)) : 0;
        double expected = sum + before;
        MmaPlace p = placeOfD(form, m, n, i, j);
        uint32_t lane = dLane + p.lane;
        uint32_t cell = tmem[p.cta].row(lane)[256 + p.column];
        double got = d == MmaResult::F32 ? bitsToFloat(cell) : d == MmaResult::F16 ? decode(Format::F16, cell & 0xFFFF) : int32_t(cell);
        if (operands.disabledLanes[4 * p.cta + lane / 32] >> lane % 32 & 1)
          ASSERT_EQ(got, old[i * n + j]) << i << "," << j;
        else
          ASSERT_NEAR(got, expected, tolerance * (magnitude + std::fabs(before)) + 1e-30) << i << "," << j;
      }
    for (unsigned c = 0; c != ctas(); ++c)
      EXPECT_FALSE(tmem[c].takeUninitialised());
  }

  /// Row r of this CTA in its lanes, 32 bytes in 8 columns; duplicated where the layout wants it.
  void writeTmemA(Tmem &t, const Matrix &x, unsigned rows) {
    unsigned bits = bitsOf(a);
    for (unsigned i = 0; i != rows; ++i) {
      uint32_t row[8] = {};
      for (unsigned e = 0; e != k(); ++e) {
        unsigned bit = bits >= 8 || fp4() ? e * bits : 8 * e + (bits == 4 ? 2 : 0);
        row[bit / 32] |= x.code(i, e) << bit % 32;
      }
      std::vector<unsigned> lanes;
      if (form.pair && m == 128)
        lanes = {i, i + 64};
      else if (m == 64)
        lanes = {dLane + 32 * (i / 16) + i % 16};
      else
        lanes = {i};
      for (unsigned lane : lanes) {
        std::memcpy(t.row(lane) + 480, row, 32);
        t.markWritten(lane, 480, 8);
      }
    }
  }

  void writeScales(std::vector<double> &sa, std::vector<double> &sb) {
    operands.sfa = 0;
    operands.sfb = 16;
    unsigned rows = m / ctas(), perCta = form.pair && m == 128 ? n / 2 : n;
    auto code = [&]() { return scaleFormat == Format::UE8M0 ? 120 + rng() % 12 : encode(Format::UE4M3, 0.25 + rng() % 8); };
    auto byteOf = [&](unsigned id, unsigned s) { return form.scalesPerRow == 4 ? s : id + s; };
    auto put = [&](Tmem &t, unsigned base, unsigned index, unsigned byte, uint32_t value, unsigned quarters) {
      for (unsigned q = 0; q != 4; ++q)
        if (quarters >> q & 1) {
          uint32_t &cell = t.row(32 * q + index % 32)[base + index / 32];
          cell = (cell & ~(255u << 8 * byte)) | value << 8 * byte;
          t.markWritten(32 * q + index % 32, base + index / 32, 1);
        }
    };
    for (unsigned s = 0; s != form.scalesPerRow; ++s) {
      for (unsigned i = 0; i != m; ++i) {
        uint32_t c = code();
        sa[i * 4 + s] = decode(scaleFormat, c);
        put(tmem[i / rows], 0, i % rows, byteOf(sfaId, s), c, 15);
      }
      for (unsigned j = 0; j != n; ++j) {
        uint32_t c = code();
        sb[j * 4 + s] = decode(scaleFormat, c);
        for (unsigned cta = 0; cta != ctas(); ++cta) // layout B: the half's scales in that half's lanes only
          put(tmem[cta], 16, j % perCta, byteOf(sfbId, s), c, perCta == n ? 15 : j < perCta ? 3 : 12);
      }
    }
  }
};

TEST(Tcgen05Mma, Bf16InEverySwizzle) {
  for (unsigned span : {0u, 32u, 64u, 128u}) {
    Case c;
    c.spanA = c.spanB = span;
    c.run();
  }
}

TEST(Tcgen05Mma, F16AndItsF16Accumulator) {
  Case c;
  c.a = c.b = MmaElement::F16;
  c.run();
  Case half;
  half.a = half.b = MmaElement::F16;
  half.d = MmaResult::F16;
  half.tolerance = 1e-3;
  half.run();
}

TEST(Tcgen05Mma, MnMajorOperands) {
  for (unsigned span : {32u, 64u, 128u})
    for (auto majors : {std::pair(Major::MN, Major::K), std::pair(Major::K, Major::MN), std::pair(Major::MN, Major::MN)}) {
      Case c;
      c.majorA = majors.first;
      c.majorB = majors.second;
      c.spanA = c.spanB = span;
      c.run();
    }
  Case fp8;
  fp8.form.kind = MmaKind::F8F6F4;
  fp8.a = fp8.b = MmaElement::E5M2;
  fp8.majorA = fp8.majorB = Major::MN;
  fp8.run();
}

TEST(Tcgen05Mma, Tf32IgnoresLowBits) {
  Case c;
  c.form.kind = MmaKind::TF32;
  c.a = c.b = MmaElement::TF32;
  c.run();
}

TEST(Tcgen05Mma, EveryPairOfSmallFormats) {
  const MmaElement all[] = {MmaElement::E4M3, MmaElement::E5M2, MmaElement::E2M3, MmaElement::E3M2, MmaElement::E2M1};
  for (MmaElement a : all)
    for (MmaElement b : all) {
      Case c;
      c.form.kind = MmaKind::F8F6F4;
      c.a = a;
      c.b = b;
      c.n = 32;
      c.run();
    }
}

TEST(Tcgen05Mma, IntegersAreExactAndSaturate) {
  for (MmaElement a : {MmaElement::U8, MmaElement::S8})
    for (MmaElement b : {MmaElement::U8, MmaElement::S8}) {
      Case c;
      c.form.kind = MmaKind::I8;
      c.a = a;
      c.b = b;
      c.d = MmaResult::S32;
      c.tolerance = 0;
      c.run();
    }
  for (bool saturate : {false, true}) {
    Case c;
    c.form.kind = MmaKind::I8;
    c.a = c.b = MmaElement::U8;
    c.d = MmaResult::S32;
    c.extraBits = uint32_t(saturate) << 3;
    c.build();
    std::fill(c.shared[0].begin(), c.shared[0].end(), uint8_t(255));
    c.operands.d = 0;
    c.operands.a = c.operands.b = tcgen05Bit | 2ull << 61 | 64ull << 32;
    for (unsigned lane = 0; lane != 128; ++lane)
      std::fill_n(c.tmem[0].row(lane), 128, 0x7FFFFFFFu);
    MmaCta pair[2] = {{&c.tmem[0], {c.shared[0].data(), 1 << 17}}, {}};
    execute(c.form, c.operands, pair);
    EXPECT_EQ(c.tmem[0].row(3)[5], saturate ? 0x7FFFFFFFu : 0x7FFFFFFFu + 32 * 255 * 255);
  }
}

TEST(Tcgen05Mma, SixtyFourRowsUseHalfOfTheLanes) {
  for (uint32_t lane : {0u, 16u})
    for (bool ts : {false, true}) {
      Case c;
      c.m = 64;
      c.n = 72;
      c.dLane = lane;
      c.form.aInTmem = ts;
      c.run();
    }
}

TEST(Tcgen05Mma, AFromTensorMemory) {
  const std::pair<MmaKind, MmaElement> types[] = {{MmaKind::F16, MmaElement::BF16},    {MmaKind::TF32, MmaElement::TF32},
                                                  {MmaKind::F8F6F4, MmaElement::E4M3}, {MmaKind::F8F6F4, MmaElement::E2M1},
                                                  {MmaKind::F8F6F4, MmaElement::E3M2}, {MmaKind::I8, MmaElement::S8}};
  for (auto [kind, element] : types) {
    Case c;
    c.form.kind = kind;
    c.form.aInTmem = true;
    c.a = c.b = element;
    c.n = 64;
    if (kind == MmaKind::I8)
      c.d = MmaResult::S32;
    c.run();
  }
}

TEST(Tcgen05Mma, CtaPairs) {
  for (unsigned m : {128u, 256u})
    for (bool ts : {false, true}) {
      Case c;
      c.form.pair = true;
      c.form.aInTmem = ts;
      c.m = m;
      c.n = 96;
      c.run();
    }
  Case mn;
  mn.form.pair = true;
  mn.m = 256;
  mn.n = 256;
  mn.majorA = mn.majorB = Major::MN;
  mn.run();
}

TEST(Tcgen05Mma, WeightStationaryLayouts) {
  for (unsigned m : {32u, 64u, 128u})
    for (unsigned n : {64u, 128u, 256u}) {
      Case c;
      c.form.ws = true;
      c.m = m;
      c.n = n;
      c.run();
    }
}

TEST(Tcgen05Mma, BlockScaledKinds) {
  for (unsigned id = 0; id != 4; ++id) {
    Case c;
    c.form.kind = MmaKind::MXF8F6F4;
    c.form.scalesPerRow = 1;
    c.a = MmaElement::E4M3;
    c.b = id % 2 ? MmaElement::E2M1 : MmaElement::E5M2;
    c.sfaId = id;
    c.sfbId = 3 - id;
    c.n = 256 - 64 * id;
    c.tolerance = 4e-6;
    c.run();
  }
  for (unsigned id : {0u, 2u})
    for (MmaKind kind : {MmaKind::MXF4, MmaKind::MXF4NVF4}) {
      Case c;
      c.form.kind = kind;
      c.form.scalesPerRow = 2;
      c.a = c.b = MmaElement::E2M1;
      c.sfaId = id;
      c.sfbId = 2 - id;
      c.run();
    }
  for (Format format : {Format::UE8M0, Format::UE4M3})
    for (bool ts : {false, true}) {
      Case c;
      c.form.kind = MmaKind::MXF4NVF4;
      c.form.scalesPerRow = 4;
      c.form.aInTmem = ts;
      c.a = c.b = MmaElement::E2M1;
      c.scaleFormat = format;
      c.run();
    }
}

TEST(Tcgen05Mma, BlockScaledPairs) {
  for (unsigned m : {128u, 256u}) {
    Case c;
    c.form.kind = MmaKind::MXF8F6F4;
    c.form.scalesPerRow = 1;
    c.form.pair = true;
    c.a = c.b = MmaElement::E4M3;
    c.m = m;
    c.n = 192;
    c.tolerance = 4e-6;
    c.run();
  }
}

TEST(Tcgen05Mma, NegationAndScaledInput) {
  for (uint32_t negate : {1u << 13, 1u << 14, 3u << 13}) {
    Case c;
    c.extraBits = negate;
    c.run();
  }
  Case c;
  c.operands.scaleInputD = 3;
  c.run();
}

TEST(Tcgen05Mma, WithoutEnableInputDOldNansDoNotLeak) {
  Case c;
  c.operands.accumulate = false;
  c.run();
}

TEST(Tcgen05Mma, DisabledLanesKeepTheirValues) {
  Case c;
  c.operands.disabledLanes[0] = 0x80000001;
  c.operands.disabledLanes[3] = 0xFFFF;
  c.run();
  Case pair;
  pair.form.pair = true;
  pair.m = 256;
  pair.operands.disabledLanes[1] = 0xF0F0F0F0;
  pair.operands.disabledLanes[4] = 0x12345678;
  pair.run();
}

TEST(Tcgen05Mma, ZeroColumnMask) {
  Case c;
  c.form.ws = true;
  c.operands.accumulate = false;
  c.n = 64;
  c.build();
  std::fill(c.shared[0].begin(), c.shared[0].end(), uint8_t(0x3F)); // bf16 0x3F3F everywhere
  c.operands.a = c.operands.b = tcgen05Bit | 2ull << 61 | 64ull << 32;
  // Generate; first span zeroed, cut by 1: zero 3-1 columns, use 5, zero 3, ...
  c.operands.zeroColumns = 1 | 1ull << 32 | 1ull << 39 | 2ull << 40 | 4ull << 48;
  MmaCta pair[2] = {{&c.tmem[0], {c.shared[0].data(), 1 << 17}}, {}};
  execute(c.form, c.operands, pair);
  for (unsigned j = 0; j != 64; ++j)
    EXPECT_EQ(c.tmem[0].row(0)[j] == 0, (j + 1) % 8 < 3) << j;
  c.operands.zeroColumns &= ~(1ull << 39);
  execute(c.form, c.operands, pair);
  EXPECT_NE(c.tmem[0].row(0)[0], 0u);
}

TEST(Tcgen05Mma, SparseAIsSpreadByItsMetadata) {
  struct {
    MmaKind kind;
    MmaElement element;
    unsigned k, selector;
  } const cases[] = {{MmaKind::F16, MmaElement::BF16, 32, 0},
                     {MmaKind::F16, MmaElement::F16, 32, 1},
                     {MmaKind::F8F6F4, MmaElement::E4M3, 64, 0},
                     {MmaKind::TF32, MmaElement::TF32, 16, 1}};
  for (const auto &t : cases) {
    Case c;
    c.form.kind = t.kind;
    c.form.sparse = true;
    c.a = c.b = t.element;
    c.n = 32;
    c.extraBits = 1 << 2 | t.selector;
    c.build();
    Matrix a(t.element, 128, t.k / 2, c.rng), b(t.element, 32, t.k, c.rng);
    c.operands.a = tcgen05Bit | writeKMajor(c.shared[0], 1024, 128, a, false);
    c.operands.b = tcgen05Bit | writeKMajor(c.shared[0], 65536, 128, b, false);
    c.operands.d = 256;
    c.operands.sparseMeta = 8;
    c.operands.accumulate = false;
    // Positions of the kept elements, and their 2-bit entries: bits of row m in stored order.
    std::vector<double> full(128 * t.k);
    for (unsigned m = 0; m != 128; ++m)
      for (unsigned g = 0; g != (t.element == MmaElement::TF32 ? t.k / 2 : t.k / 4); ++g) {
        unsigned e0, e1;
        if (t.element == MmaElement::TF32) {
          e0 = c.rng() % 2 * 2, e1 = e0 + 1;
          full[m * t.k + 2 * g + e0 / 2] = a.value(m, g);
        } else {
          e0 = c.rng() % 3, e1 = e0 + 1 + c.rng() % (3 - e0);
          full[m * t.k + 4 * g + e0] = a.value(m, 2 * g);
          full[m * t.k + 4 * g + e1] = a.value(m, 2 * g + 1);
        }
        for (unsigned half = 0; half != 2; ++half) {
          unsigned k = 2 * g + half, value = half ? e1 : e0, lane, column, bit;
          if (bitsOf(t.element) == 8) {
            lane = m, column = 8 + k / 16, bit = k % 16 * 2;
          } else { // 16 rows share 16 lanes: entries 0-7 in lanes 0-7, 8-15 in lanes 8-15; rows 8-15 in the upper halves
            lane = m / 16 * 16 + (k >= 8 ? 8 : 0) + m % 8;
            column = 8 + t.selector;
            bit = (m % 16 >= 8 ? 16 : 0) + k % 8 * 2;
          }
          uint32_t &cell = c.tmem[0].row(lane)[column];
          cell = (cell & ~(3u << bit)) | value << bit;
          c.tmem[0].markWritten(lane, column, 1);
        }
      }
    MmaCta pair[2] = {{&c.tmem[0], {c.shared[0].data(), 1 << 17}}, {}};
    execute(c.form, c.operands, pair);
    EXPECT_FALSE(c.tmem[0].takeUninitialised());
    for (unsigned m = 0; m != 128; ++m)
      for (unsigned j = 0; j != 32; ++j) {
        double sum = 0;
        for (unsigned x = 0; x != t.k; ++x)
          sum += full[m * t.k + x] * b.value(j, x);
        ASSERT_NEAR(bitsToFloat(c.tmem[0].row(m)[256 + j]), sum, 2e-4) << m << "," << j;
      }
    c.tmem[0].row(0)[8 + t.selector] = 0; // entries 0, 0
    EXPECT_THROW(execute(c.form, c.operands, pair), Fault);
  }
}

TEST(Tcgen05Mma, UnwrittenOperandsAreNoticed) {
  Case c;
  c.build();
  c.operands.d = 0;
  c.operands.a = c.operands.b = tcgen05Bit | 2ull << 61 | 64ull << 32;
  MmaCta pair[2] = {{&c.tmem[0], {c.shared[0].data(), 1 << 17}}, {}};
  c.operands.accumulate = false;
  execute(c.form, c.operands, pair);
  EXPECT_FALSE(c.tmem[0].takeUninitialised());
  c.operands.d = 256;
  c.operands.accumulate = true;
  execute(c.form, c.operands, pair);
  EXPECT_EQ(c.tmem[0].takeUninitialised(), tmemAddress(0, 256));
}

TEST(Tcgen05Mma, BadOperandsFault) {
  Case c;
  c.build();
  c.operands.d = 0;
  c.operands.a = c.operands.b = tcgen05Bit | 2ull << 61 | 64ull << 32;
  MmaCta pair[2] = {{&c.tmem[0], {c.shared[0].data(), 1 << 17}}, {}};
  EXPECT_NO_THROW(execute(c.form, c.operands, pair));
  auto faults = [&](auto change) {
    MmaForm f = c.form;
    MmaOperands o = c.operands;
    change(f, o);
    EXPECT_THROW(execute(f, o, pair), Fault);
  };
  faults([](MmaForm &, MmaOperands &o) { o.d = tmemAddress(16, 0); });
  faults([](MmaForm &, MmaOperands &o) { o.d = 400; });
  faults([](MmaForm &, MmaOperands &o) { o.a = 0; });
  faults([](MmaForm &, MmaOperands &o) { o.b |= 0x3FFF; }); // beyond shared memory
  faults([](MmaForm &, MmaOperands &o) { o.scaleInputD = 16; });
  faults([](MmaForm &f, MmaOperands &) { f.ashift = true; });
  faults([](MmaForm &f, MmaOperands &o) { f.aInTmem = true, o.a = tmemAddress(32, 256); });
  faults([](MmaForm &f, MmaOperands &o) { f.aInTmem = true, o.a = 510; });
  faults([](MmaForm &f, MmaOperands &o) { f.kind = MmaKind::TF32, o.idesc = 0x08218910; }); // MN-major tf32 in 128B mode
  faults([](MmaForm &f, MmaOperands &o) { f.sparse = true, o.idesc |= 4, o.sparseMeta = 511; });
  faults([](MmaForm &f, MmaOperands &o) { f.sparse = true, o.idesc |= 4, o.sparseMeta = tmemAddress(16, 0); });
}

TEST(Tcgen05Mma, TouchedNamesOperandsAndResult) {
  Case c;
  c.build();
  c.operands.d = 0;
  c.operands.a = tcgen05Bit | 2ull << 61 | 64ull << 32;
  c.operands.b = c.operands.a | 32768 / 16;
  uint64_t readShared = 0, readTensor = 0, written = 0;
  touched(c.form, c.operands, [&](const Touched &t) {
    (t.write ? written : t.space == Touched::Shared ? readShared : readTensor) += t.count * t.lanes;
  });
  EXPECT_EQ(readShared, 2u * 128 * 32);
  EXPECT_EQ(written, 128u * 128);
  EXPECT_EQ(readTensor, 128u * 128);
}

} // namespace
