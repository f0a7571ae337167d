// test/unit/codegen/KeyMaskTest.cpp - tile.mask_keys in both register layouts, run on the emulator
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/kernel/KeyMask.h"
#include "test/unit/codegen/KernelFixture.h"
#include "test/unit/emulator/machine/Device.h"
#include <cmath>

using namespace fovea;
using namespace fovea::codegen;
using namespace mlir;
using tile::RegisterLayout;

namespace {

/// One side of a mask: terms are (base, block), clauses of them.
using Side = std::vector<std::vector<std::pair<int32_t, int64_t>>>;

struct Case {
  Side lower, upper;
  int64_t packed = 1; ///< heads that share the rows
};

class KeyMask : public KernelFixture {
protected:
  /// A kernel that masks a tile of 1 + column and stores it: rows x columns of f32, thread by thread. The terms' bases
  /// follow (out, first key, first query) as arguments.
  std::string build(RegisterLayout layout, int64_t columns, const Case &c, const char *chip) {
    module = ModuleOp::create(loc);
    SmallVector<KernelParam> params{{global()}, {i32()}, {i32()}};
    KeyLimit limits[2];
    SmallVector<int64_t> blocks[2], clauses[2];
    for (auto [n, side] : llvm::enumerate(ArrayRef{&c.lower, &c.upper}))
      for (auto &clause : *side) {
        clauses[n].push_back(clause.size());
        for (auto [base, block] : clause)
          blocks[n].push_back(block), params.push_back({i32()});
      }
    KernelLimits launch;
    launch.threads = 128;
    begin(params, launch);
    unsigned next = 3;
    for (int n : {0, 1}) {
      limits[n].blocks = blocks[n], limits[n].clauses = clauses[n];
      for (size_t k = 0; k < blocks[n].size(); ++k)
        limits[n].terms.push_back(arg(next++));
    }
    bool fragment = layout == RegisterLayout::Fragment;
    Value lane = laneId(b, loc), warp = warpId(b, loc);
    Value warpRow = LLVM::MulOp::create(b, loc, warp, constI32(b, loc, fragment ? 16 : 32));
    TileElements elements(b, loc, layout, columns, warpRow, lane, c.packed);
    SmallVector<Value> registers;
    for (size_t r = 0; r < elements.registers(); ++r)
      registers.push_back(constF32(b, loc, 1 + float(r)));
    SmallVector<Value> masked = maskKeys(b, loc, elements, registers, arg(1), arg(2), limits[0], limits[1]);
    // Register r of thread t at out[t * registers + r]: the test places them by the layout's definition.
    Value at = LLVM::MulOp::create(b, loc, threadId(b, loc), constI32(b, loc, uint32_t(masked.size())));
    for (auto [r, v] : llvm::enumerate(masked))
      storeGlobal(b, loc, v, globalElement(b, loc, arg(0), f32(), addI32(b, loc, at, uint32_t(r))));
    return finish(chip);
  }
};

/// #tile.regs by its definition in the dialect (and the accumulator fragment of the PTX ISA).
std::pair<int64_t, int64_t> place(RegisterLayout layout, int64_t thread, int64_t r) {
  int64_t warp = thread / 32, lane = thread % 32;
  if (layout == RegisterLayout::Rows)
    return {thread, r};
  return {16 * warp + lane / 4 + (r % 4 >= 2 ? 8 : 0), 8 * (r / 4) + 2 * (lane % 4) + r % 2};
}

/// The meaning of the limits, in 64 bits.
bool isKept(const Case &c, int64_t i, int64_t j) {
  auto value = [&](auto &term) { return term.first + (term.second ? i / term.second * term.second : 0); };
  for (auto &clause : c.lower) {
    int64_t least = value(clause[0]);
    for (auto &term : clause)
      least = std::min(least, value(term));
    if (j < least)
      return false;
  }
  for (auto &clause : c.upper) {
    int64_t greatest = value(clause[0]);
    for (auto &term : clause)
      greatest = std::max(greatest, value(term));
    if (j >= greatest)
      return false;
  }
  return true;
}

const int32_t kFar = (1 << 30) - 1024;
const Case kCases[] = {
    {{}, {{{100, 0}}}},                                      // the last block of a full mask
    {{}, {{{1, 1}}, {{90, 0}}}},                             // causal
    {{{{-20, 1}}}, {{{11, 1}}, {{1000, 0}}}},                // a window
    {{}, {{{70, 0}, {1, 1}}, {{120, 0}}}},                   // prefix | causal
    {{{{0, 16}}}, {{{16, 16}}}},                             // blocks of a power of two
    {{{{0, 48}}}, {{{48, 48}}, {{200, 0}}}},                 // and of none
    {{{{10, 0}, {-3, 1}}, {{5, 0}}}, {}},                    // a least of two, and the greater of that and a third
    {{{{0, 7}}}, {{{7, 7}, {3, 1}}, {{60, 0}}}},
    {{}, {{{0, 0}}}},                                        // nothing
    {{{{-kFar, 0}}}, {{{kFar, 0}}}},                         // everything
    {{{{kFar, 1}}}, {}},                                     // nothing, far beyond
    {{}, {{{-2 * kFar, 1}}}},                                // nothing, far before
    {{{{-2 * kFar, 1}}}, {{{kFar, 1}}}},                     // everything
    {{{{-20, 1}}}, {{{1, 1}}, {{90, 0}}}, 4},                // of four heads in a tile
    {{{{0, 16}}}, {{{16, 16}}}, 64},                         // of as many as a warpgroup has rows
};

} // namespace

// Each case, from several first keys and queries, against the definition.
TEST_F(KeyMask, BothLayouts) {
  namespace emu = fovea::emulator;
  for (RegisterLayout layout : {RegisterLayout::Rows, RegisterLayout::Fragment})
    for (int64_t columns : {16, 64, 128})
      for (const Case &c : kCases) {
        const char *chip = layout == RegisterLayout::Rows ? "sm_100a" : "sm_90a";
        std::string ptx = build(layout, columns, c, chip);
        ASSERT_FALSE(ptx.empty());
        emu::AddressSpace memory;
        emu::Program program(ptx, *emu::findChip(chip), memory);
        size_t registers = size_t(layout == RegisterLayout::Rows ? columns : columns / 2);
        uint64_t out = memory.allocate(128 * registers * 4, "out");
        for (auto [firstKey, firstQuery] : {std::pair<int32_t, int32_t>(0, 0), {64, 0}, {48, 35}, {16, 96},
                                            {kFar - 128, 64}, {0, kFar - 128}, {kFar - 160, kFar - 130}}) {
          emu::test::Params params;
          params << out << firstKey << firstQuery;
          for (const Side *side : {&c.lower, &c.upper})
            for (auto &clause : *side)
              for (auto [base, block] : clause)
                params << base;
          auto report = program.run(*program.kernel("kernel"),
                                    emu::test::launch(1, 128, 0, params, emu::AsyncPolicy::Lazy));
          ASSERT_EQ(report.text(), "");
          std::vector<float> got = emu::test::download<float>(memory, out, 128 * registers);
          for (int64_t t = 0; t < 128; ++t)
            for (int64_t r = 0; r < int64_t(registers); ++r) {
              auto [row, column] = place(layout, t, r);
              float want = isKept(c, firstQuery + row / c.packed, firstKey + column) ? 1 + float(r) : -INFINITY;
              ASSERT_EQ(got[t * registers + r], want)
                  << "case " << &c - kCases << ", " << columns << " columns, layout " << int(layout) << ", key "
                  << firstKey << " + " << column << ", query " << firstQuery << " + " << row;
            }
        }
      }
}

// One comparison and one selection an element, no more.
TEST_F(KeyMask, CostsTwoInstructionsAnElement) {
  auto count = [](const std::string &text, const char *what) {
    int n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at)
      ++n;
    return n;
  };
  std::string ptx = build(RegisterLayout::Fragment, 64, {{}, {{{1, 1}}, {{90, 0}}}}, "sm_90a");
  EXPECT_EQ(count(ptx, "selp.f32"), 32);
  EXPECT_LE(count(ptx, "setp."), 32 + 3);
  ASSERT_ASSEMBLES(log, ptx, "sm_90a");
  EXPECT_FALSE(log.spills());
}
