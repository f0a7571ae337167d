// test/unit/emulator/tensor/HostileOperandsTest.cpp - can any operand bits make a unit leave its memories or hang?
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/MatrixMove.h"
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include "runtime/emulator/machine/tensor/Wgmma.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace fovea::emulator;

namespace {

// The memories are exactly as large as the units are told: AddressSanitizer sees the first byte outside.
struct Hostile : testing::Test {
  std::mt19937_64 rng{1};
  std::vector<uint8_t> shared = std::vector<uint8_t>(40000);
  SharedSpan smem{shared.data(), uint32_t(shared.size())};
  Tmem tmem[2];
  unsigned faults = 0, executed = 0;

  Hostile() {
    tmem[0].allocate(256);
    tmem[1].allocate(256);
  }
  template <typename Fn> void attempt(Fn &&fn) {
    try {
      fn();
      ++executed;
    } catch (const Fault &fault) {
      EXPECT_NE(std::string(fault.what()), "");
      ++faults;
    }
  }
};

struct Nowhere : GlobalPort {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(1 << 16);
  void read(uint64_t a, void *to, size_t n) override {
    if (a > bytes.size() || n > bytes.size() - a)
      throw Fault("outside");
    std::memcpy(to, bytes.data() + a, n);
  }
  void write(uint64_t a, const void *from, size_t n) override {
    if (a > bytes.size() || n > bytes.size() - a)
      throw Fault("outside");
    std::memcpy(bytes.data() + a, from, n);
  }
};

TEST_F(Hostile, TensorMapsOfRandomBytes) {
  Nowhere global;
  for (int i = 0; i != 20000; ++i) {
    uint8_t bytes[128];
    for (auto &b : bytes)
      b = uint8_t(rng());
    // Mostly plausible: few dimensions, small boxes, an address near memory.
    if (i % 2) {
      bytes[8] = uint8_t(bytes[8] & 0x3F), bytes[9] &= 0xE4;
      std::memset(bytes, 0, 6);
      for (int d = 55; d != 60; ++d)
        bytes[d] &= 15;
    }
    BoxPosition at;
    for (auto &c : at.coords)
      c = int32_t(rng()) >> (i % 4 ? 24 : 0);
    attempt([&] {
      TensorMap map = decodeTensorMap(bytes);
      uint32_t where = uint32_t(rng() % 50000) & ~127u;
      if (i % 3 == 0)
        storeBox(map, at, global, smem, where);
      else if (i % 3 == 1)
        reduceBox(map, at, ReduceOp(rng() % 8), global, smem, where);
      else
        loadBox(map, at, global, smem, where);
    });
  }
  EXPECT_GT(faults, 0u);
  EXPECT_GT(executed, 0u);
}

TEST_F(Hostile, ProductsOfRandomDescriptors) {
  for (int i = 0; i != 4000; ++i) {
    MmaForm f;
    f.kind = MmaKind(rng() % 7);
    f.pair = rng() % 2;
    f.ws = !f.pair && rng() % 4 == 0;
    f.sparse = rng() % 4 == 0;
    f.aInTmem = rng() % 2;
    f.scalesPerRow = f.kind == MmaKind::MXF8F6F4 ? 1 : f.kind == MmaKind::MXF4 ? 2 : f.kind == MmaKind::MXF4NVF4 ? 2 + 2 * (rng() % 2) : 0;
    MmaOperands o;
    auto descriptor = [&]() -> uint64_t { // legal fields more often than not
      uint64_t d = rng() & 0x00003FFF3FFF0FFF;
      return rng() % 8 ? d | 1ull << 46 | (rng() % 4 * 2) << 61 : rng();
    };
    o.a = f.aInTmem ? rng() & 0x1FF : descriptor();
    o.b = descriptor();
    o.d = uint32_t(rng() & 0xFF);
    o.sfa = uint32_t(rng() & 0x1FF), o.sfb = uint32_t(rng() & 0x1FF), o.sparseMeta = uint32_t(rng() & 0x1FF);
    uint32_t types = f.kind == MmaKind::TF32 ? 2 | 2 << 3 : f.scalesPerRow > 1 ? 1 | 1 << 3 : uint32_t(rng() % 2 * 9);
    o.idesc = types << 7 | uint32_t(1 + rng() % 32) << 17 | uint32_t(rng() % 2 ? 8 : 4) << 24 << (f.pair ? rng() % 2 : 0) | uint32_t(f.sparse) << 2 |
              (f.scalesPerRow ? 1u << 23 : (f.kind == MmaKind::I8 ? 2u : 1u) << 4) | uint32_t(rng() % 4) << 15;
    if (rng() % 8 == 0)
      o.idesc = uint32_t(rng());
    o.accumulate = rng() % 2;
    o.zeroColumns = rng() % 2 ? rng() & ~(63ull << 56) : 0;
    MmaCta ctas[2] = {{&tmem[0], smem}, {&tmem[1], smem}};
    attempt([&] { execute(f, o, ctas); });
    attempt([&] {
      touched(f, o, [&](const Touched &t) {
        if (t.space == Touched::Tensor)
          EXPECT_LT(tmemLane(t.address), 128u);
      });
    });
  }
  EXPECT_GT(faults, 100u);
  EXPECT_GT(executed, 100u);
}

TEST_F(Hostile, MovesAtRandomAddresses) {
  std::vector<uint32_t> values(128 * 32);
  std::vector<WarpRegister> regs;
  for (unsigned r = 0; r != 128; ++r)
    regs.push_back({&values[32 * r], 4});
  for (int i = 0; i != 20000; ++i) {
    TmemAccess access{TmemShape(rng() % 5), 1u << rng() % 8, rng() % 2 == 0, uint32_t(rng() % 4 ? rng() % 256 : rng())};
    uint32_t address = rng() % 4 ? uint32_t(rng() % 8 * 16) << 16 | uint32_t(rng() % 260) : uint32_t(rng());
    attempt([&] { load(tmem[0], access, address, unsigned(rng() % 8), regs.data()); });
    attempt([&] { store(tmem[0], access, address, unsigned(rng() % 8), regs.data()); });
    TmemCopy cp{CpShape(rng() % 5), CpMulticast(rng() % 4), CpFormat(rng() % 3)};
    attempt([&] { copy(tmem[0], smem, cp, uint32_t(rng() % 300), (rng() & 0xC00038FF3FFF0FFF) | 1ull << 46); });
    attempt([&] { shiftDown(tmem[0], address); });
    uint32_t rows[32];
    for (auto &row : rows)
      row = rng() % 64 ? uint32_t(rng() % 2500 * 16) : uint32_t(rng());
    MatrixForm form{MatrixShape(rng() % 4), unsigned(rng() % 5), rng() % 2 == 0, MatrixFormat(rng() % 4)};
    attempt([&] { ldmatrix(form, smem, rows, regs.data()); });
    attempt([&] { stmatrix(form, smem, rows, regs.data()); });
  }
  EXPECT_GT(faults, 1000u);
  EXPECT_GT(executed, 1000u);
}

TEST_F(Hostile, WgmmaOfRandomDescriptors) {
  std::vector<uint32_t> values(4 * 128 * 32);
  std::vector<WarpRegister> regs;
  for (unsigned r = 0; r != 4 * 128; ++r)
    regs.push_back({&values[32 * r], 4});
  for (int i = 0; i != 2000; ++i) {
    WgmmaForm f;
    f.a = f.b = WgmmaType(rng() % 8);
    f.d = f.a >= WgmmaType::S8 ? WgmmaResult::S32 : rng() % 4 ? WgmmaResult::F32 : WgmmaResult(rng() % 3);
    f.n = unsigned(rng() % 34) * 8;
    f.aInRegisters = rng() % 2;
    f.transA = rng() % 8 == 0, f.transB = rng() % 4 == 0;
    attempt([&] { execute(f, smem, rng() & 0xC00E00FF00FF07FF, regs.data(), rng() & (i % 4 ? 0xC00E00FF00FF07FF : ~0ull), rng() % 2, regs.data()); });
  }
  EXPECT_GT(faults, 100u);
  EXPECT_GT(executed, 100u);
}

} // namespace
