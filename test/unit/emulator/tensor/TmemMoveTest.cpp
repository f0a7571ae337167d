// test/unit/emulator/tensor/TmemMoveTest.cpp - which cell does each register of tcgen05.ld and st name, and which lanes are a warp's own?
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace fovea::emulator;

namespace {

struct Registers {
  std::vector<uint32_t> values;
  std::vector<WarpRegister> views;
  explicit Registers(unsigned n) : values(32 * n) {
    for (unsigned r = 0; r != n; ++r)
      views.push_back({&values[32 * r], 4});
  }
  uint32_t &at(unsigned r, unsigned t) { return values[32 * r + t]; }
};

/// A memory in which every cell names itself.
struct Named {
  Tmem tmem;
  Named() {
    tmem.allocate(512);
    for (unsigned l = 0; l != 128; ++l) {
      for (unsigned c = 0; c != 512; ++c)
        tmem.row(l)[c] = tmemAddress(l, c);
      tmem.markWritten(l, 0, 512);
    }
  }
};

TEST(TmemMove, Shape32x32bGivesARowToEachThread) {
  Named m;
  Registers regs(8);
  load(m.tmem, {TmemShape::S32x32b, 8}, tmemAddress(64, 16), 2, regs.views.data());
  for (unsigned t = 0; t != 32; ++t)
    for (unsigned r = 0; r != 8; ++r)
      EXPECT_EQ(regs.at(r, t), tmemAddress(64 + t, 16 + r));
}

TEST(TmemMove, Shape16x256bIsTheAccumulatorFragment) {
  Named m;
  Registers regs(8);
  load(m.tmem, {TmemShape::S16x256b, 2}, tmemAddress(16, 0), 0, regs.views.data());
  for (unsigned t = 0; t != 32; ++t)
    for (unsigned r = 0; r != 8; ++r) // row l/4 + 8*((r/2)%2), column 8*(r/4) + 2*(l%4) + r%2 of the mma fragment
      EXPECT_EQ(regs.at(r, t), tmemAddress(16 + t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2));
}

TEST(TmemMove, Shape16x64bPutsOddThreadsInTheUpperLanes) {
  Named m;
  Registers regs(2);
  load(m.tmem, {TmemShape::S16x64b, 2}, 0, 0, regs.views.data());
  EXPECT_EQ(regs.at(0, 0), tmemAddress(0, 0));
  EXPECT_EQ(regs.at(0, 1), tmemAddress(8, 0));
  EXPECT_EQ(regs.at(0, 2), tmemAddress(0, 1));
  EXPECT_EQ(regs.at(0, 3), tmemAddress(8, 1));
  EXPECT_EQ(regs.at(0, 4), tmemAddress(1, 0));
  EXPECT_EQ(regs.at(1, 31), tmemAddress(15, 3));
}

TEST(TmemMove, Shape16x128b) {
  Named m;
  Registers regs(4);
  load(m.tmem, {TmemShape::S16x128b, 2}, 0, 0, regs.views.data());
  EXPECT_EQ(regs.at(0, 5), tmemAddress(1, 1));
  EXPECT_EQ(regs.at(1, 5), tmemAddress(9, 1));
  EXPECT_EQ(regs.at(2, 5), tmemAddress(1, 5));
}

TEST(TmemMove, Shape16x32bx2SplitsThreadsAtTheOffset) {
  Named m;
  Registers regs(4);
  load(m.tmem, {TmemShape::S16x32bx2, 4, false, 100}, tmemAddress(32, 8), 1, regs.views.data());
  EXPECT_EQ(regs.at(3, 5), tmemAddress(37, 11));
  EXPECT_EQ(regs.at(3, 21), tmemAddress(37, 111));
}

TEST(TmemMove, EveryShapeCoversItsRectangleOnce) {
  for (TmemShape shape : {TmemShape::S32x32b, TmemShape::S16x64b, TmemShape::S16x128b, TmemShape::S16x256b, TmemShape::S16x32bx2})
    for (unsigned repeat = 1; repeat <= 128; repeat *= 2) {
      TmemAccess access{shape, repeat, false, repeat};
      if (registerCount(access) > 128)
        continue;
      std::set<std::pair<unsigned, unsigned>> cells;
      for (unsigned t = 0; t != 32; ++t)
        for (unsigned r = 0; r != registerCount(access); ++r) {
          TmemCell c = cellOf(access, t, r);
          cells.insert({c.lane, c.column});
        }
      unsigned lanes = shape == TmemShape::S32x32b ? 32 : 16, columns = 32 * registerCount(access) / lanes;
      EXPECT_EQ(cells.size(), lanes * columns);
      EXPECT_EQ(cells.rbegin()->first, lanes - 1);
      EXPECT_EQ(cells.rbegin()->second, columns - 1);
    }
}

TEST(TmemMove, StoresReadBackThroughEveryShape) {
  for (TmemShape shape : {TmemShape::S32x32b, TmemShape::S16x64b, TmemShape::S16x128b, TmemShape::S16x256b, TmemShape::S16x32bx2})
    for (bool pack : {false, true}) {
      TmemAccess access{shape, 4, pack, 64};
      Tmem tmem;
      tmem.allocate(128);
      unsigned n = registerCount(access);
      Registers out(n), in(n);
      for (unsigned i = 0; i != 32 * n; ++i)
        out.values[i] = i * 0x10003 + 7;
      store(tmem, access, tmemAddress(96, 0), 7, out.views.data());
      load(tmem, access, tmemAddress(96, 0), 3, in.views.data());
      EXPECT_EQ(in.values, out.values);
      EXPECT_FALSE(tmem.takeUninitialised());
      if (pack) // one 16-bit value a cell
        EXPECT_EQ(tmem.row(96)[0] >> 16, 0u);
    }
}

TEST(TmemMove, PackedLoadsTakeLowHalvesOfTwoColumns) {
  Tmem tmem;
  tmem.allocate(32);
  for (unsigned c = 0; c != 8; ++c)
    tmem.row(3)[c] = 0xAAAA0000 | (c + 1);
  Registers regs(4);
  load(tmem, {TmemShape::S32x32b, 4, true}, 0, 0, regs.views.data());
  EXPECT_EQ(regs.at(0, 3), 0x00020001u);
  EXPECT_EQ(regs.at(3, 3), 0x00080007u);
}

TEST(TmemMove, AWarpMayTouchItsQuarterOnly) {
  Named m;
  Registers regs(128);
  TmemAccess x1{TmemShape::S32x32b, 1}, half{TmemShape::S16x64b, 1};
  EXPECT_NO_THROW(load(m.tmem, x1, tmemAddress(32, 0), 5, regs.views.data()));
  EXPECT_THROW(load(m.tmem, x1, 0, 1, regs.views.data()), Fault);
  EXPECT_THROW(store(m.tmem, x1, tmemAddress(32, 0), 0, regs.views.data()), Fault);
  EXPECT_NO_THROW(load(m.tmem, half, tmemAddress(16, 0), 0, regs.views.data()));
  EXPECT_THROW(load(m.tmem, half, tmemAddress(8, 0), 0, regs.views.data()), Fault);
  EXPECT_THROW(load(m.tmem, half, tmemAddress(24, 0), 0, regs.views.data()), Fault);
  EXPECT_THROW(load(m.tmem, {TmemShape::S16x256b, 64}, 0, 0, regs.views.data()), Fault);
  EXPECT_THROW(load(m.tmem, {TmemShape::S32x32b, 3}, 0, 0, regs.views.data()), Fault);
  EXPECT_THROW(load(m.tmem, {TmemShape::S32x32b, 32}, tmemAddress(0, 496), 0, regs.views.data()), Fault);
}

TEST(TmemMove, UnwrittenCellsAreNoticed) {
  Tmem tmem;
  tmem.allocate(32);
  Registers regs(2);
  store(tmem, {TmemShape::S32x32b, 1}, 0, 0, regs.views.data());
  load(tmem, {TmemShape::S32x32b, 2}, 0, 0, regs.views.data());
  EXPECT_EQ(tmem.takeUninitialised(), tmemAddress(0, 1));
}

} // namespace
