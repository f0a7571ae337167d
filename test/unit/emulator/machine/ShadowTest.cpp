// test/unit/emulator/machine/ShadowTest.cpp - what memory remembers is the same however its granules are kept.
#include "runtime/emulator/detect/Shadow.h"
#include <gtest/gtest.h>
#include <random>

using namespace fovea::emulator;

namespace {

constexpr uint32_t kGranules = 3 * 64 * 4 + 40;  // the last page is cut

struct Plain { uint32_t write = 0, read = 0; };

class Both {
public:
  Shadow<4> shadow{kGranules};
  std::vector<Plain> plain = std::vector<Plain>(kGranules);

  void check(const Granule &g, uint32_t at) {
    EXPECT_EQ(g.writes[0].step, plain[at].write) << at;
    EXPECT_EQ(g.reads[0].step, plain[at].read) << at;
  }
  void range(uint32_t first, uint32_t n, bool write, uint32_t step) {
    visit(write, step, [&](const Mark *m, auto f) { shadow.visit(first, n, m, f); });
    for (uint32_t k = first; k < std::min(first + n, kGranules); ++k)
      change(k, write, step);
  }
  void blocks(uint32_t page, uint64_t mask, bool write, uint32_t step) {
    visit(write, step, [&](const Mark *m, auto f) { shadow.visitBlocks(page, mask, m, f); });
    for (uint32_t k = 0; k < 64; ++k)
      for (uint32_t e = 0; e < 4 && mask >> k & 1; ++e)
        change((page * 64 + k) * 4 + e, write, step);
  }

private:
  void change(uint32_t at, bool write, uint32_t step) { plain[at] = write ? Plain{step, 0} : Plain{plain[at].write, step}; }
  template <class F> void visit(bool write, uint32_t step, F how) {
    Mark m;
    m.step = step;
    m.bytes = 15;
    how(write ? &m : nullptr, [&](Granule &g, uint32_t at) {
      check(g, at);
      if (write) {
        g = Granule();
        g.writes[0] = m;
      } else {
        g.reads[0] = m;
      }
    });
  }
};

TEST(Shadow, remembersAsSingleGranulesWould) {
  std::mt19937 rng(7);
  for (int round = 0; round < 40; ++round) {
    Both both;
    for (uint32_t step = 1; step < 120; ++step) {
      bool write = rng() % 3 == 0;
      switch (rng() % 4) {
      case 0: both.range(rng() % kGranules, 1 + rng() % (round % 2 ? 8 : 300), write, step); break;
      case 1: both.range(rng() % 3 * 256, 256, write, step); break;
      case 2: both.blocks(rng() % 3, 0x0303030303030303ull << (rng() % 4 * 2), write, step); break;
      default: both.blocks(rng() % 3, (uint64_t(rng()) << 32 | rng()) & (uint64_t(rng()) << 32 | rng()), write, step);
      }
    }
    for (uint32_t k = 0; k < kGranules; ++k)
      both.check(both.shadow.at(k), k);
  }
}

TEST(Shadow, keepsEnginesTogetherAndThreadsApart) {
  Both both;
  both.range(0, 256, true, 1);
  for (uint32_t quarter = 0; quarter < 4; ++quarter)
    both.blocks(0, 0x0303030303030303ull << quarter * 2, false, 2 + quarter);
  EXPECT_TRUE(both.shadow.together(0));
  for (uint32_t k = 0; k < 256; k += 4)
    both.range(k, 4, false, 6 + k);
  EXPECT_FALSE(both.shadow.together(0));
  both.range(0, 256, true, 500);  // nothing older is left
  EXPECT_TRUE(both.shadow.together(0));
}

} // namespace
