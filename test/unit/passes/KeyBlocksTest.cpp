// test/unit/passes/KeyBlocksTest.cpp - the emitted arithmetic on key blocks, interpreted, against the mask's definition
#include "dialect/Tile/Tile.h"
#include "passes/Lower/KeyBlocks.h"
#include "test/unit/passes/MaskOfPattern.h"
#include <random>
#include <set>

using namespace fovea;
using namespace mlir;

namespace {

/// What the emitter made for one range and block size, run with 32-bit integers as a GPU would.
class Program {
public:
  /// `listed`: whether range.blocks picks among the blocks, from `entries`.
  Program(MLIRContext &context, const KeyRange &range, int64_t blockSize, bool listed = false)
      : module(ModuleOp::create(UnknownLoc::get(&context))), b(&context) {
    Location loc = module->getLoc();
    Type i32 = b.getI32Type();
    block = b.createBlock(&module->getBodyRegion(), {}, {i32, i32, i32, i32, i32}, {loc, loc, loc, loc, loc});
    QueryTile tile{block->getArgument(0), block->getArgument(1), block->getArgument(2), block->getArgument(3)};
    blocks = emitBlockRange(b, loc, range, tile, blockSize);
    if (listed)
      blocks = emitPickedBlocks(b, loc, *range.blocks, "picks", blocks, tile, blockSize, block->getArgument(0), block->getArgument(0));
    count = emitBlockCount(b, loc, blocks);
    visited = emitBlockOfStep(b, loc, blocks, block->getArgument(4));
    partial = emitIsPartial(b, loc, range, blocks, block->getArgument(4));
    limits = emitRowLimits(b, loc, range, tile);
    if (range.residual.empty() && !range.gap) {
      KeyBlockRange reordered = blocks;
      emitEdgesFirst(b, loc, reordered);
      masked = reordered.edges->end;
      edgesFirst = emitBlockOfStep(b, loc, reordered, block->getArgument(4));
    }
  }

  void run(std::array<int64_t, 5> arguments) {
    values.clear();
    for (auto [argument, value] : llvm::zip(block->getArguments(), arguments))
      values[argument] = int32_t(value);
    for (Operation &op : *block) {
      auto x = [&](unsigned n) { return values.at(op.getOperand(n)); };
      auto u = [&](unsigned n) { return uint32_t(x(n)); };
      if (auto below = dyn_cast<tile::ListBelowOp>(op)) {
        for (auto [limit, place] : llvm::zip(below.getLimits(), below.getPlaces()))
          values[place] = int32_t(llvm::count_if(tiles(below.getTiles()), [&, most = values.at(limit)](int32_t t) { return t < most; }));
        continue;
      }
      values[op.getResult(0)] = llvm::TypeSwitch<Operation *, int32_t>(&op)
          .Case([&](arith::ConstantOp c) {
            APInt value = cast<IntegerAttr>(c.getValue()).getValue();
            return value.getBitWidth() == 1 ? int32_t(value.getBoolValue()) : int32_t(value.getSExtValue());
          })
          .Case([&](tile::ListRowOp) { return 0; })
          .Case([&](tile::ListTileOp list) {
            std::vector<int32_t> all = tiles(list.getTiles());
            return x(1) >= 0 && x(1) < int32_t(all.size()) ? std::min(all[x(1)], x(2)) : x(2);
          })
          .Case([&](arith::AddIOp) { return int32_t(u(0) + u(1)); })
          .Case([&](arith::SubIOp) { return int32_t(u(0) - u(1)); })
          .Case([&](arith::MulIOp) { return int32_t(u(0) * u(1)); })
          .Case([&](arith::DivUIOp) { return int32_t(u(0) / u(1)); })
          .Case([&](arith::MaxSIOp) { return std::max(x(0), x(1)); })
          .Case([&](arith::MinSIOp) { return std::min(x(0), x(1)); })
          .Case([&](arith::OrIOp) { return x(0) | x(1); })
          .Case([&](arith::SelectOp) { return x(0) ? x(1) : x(2); })
          .Case([&](arith::CmpIOp c) {
            switch (c.getPredicate()) {
            case arith::CmpIPredicate::slt: return int32_t(x(0) < x(1));
            case arith::CmpIPredicate::sle: return int32_t(x(0) <= x(1));
            case arith::CmpIPredicate::sgt: return int32_t(x(0) > x(1));
            case arith::CmpIPredicate::sge: return int32_t(x(0) >= x(1));
            default: ADD_FAILURE() << "unexpected comparison"; return 0;
            }
          })
          .Default([](Operation *other) {
            ADD_FAILURE() << "unexpected op " << other->getName().getStringRef().str();
            return 0;
          });
    }
  }
  int64_t operator[](Value value) const { return values.at(value); }

  /// [first, end) of row r, as tile.mask_keys reads the limits.
  std::pair<int64_t, int64_t> row(int64_t firstQuery, int64_t r) const {
    auto value = [&](const RowTerm &term) {
      return int64_t(int32_t((*this)[term.base] + (term.block ? (firstQuery + r) / term.block * term.block : 0)));
    };
    int64_t first = 0, end = std::numeric_limits<int64_t>::max();
    for (const auto &clause : limits.lower) {
      int64_t least = value(clause.front());
      for (const RowTerm &term : clause)
        least = std::min(least, value(term));
      first = std::max(first, least);
    }
    for (const auto &clause : limits.upper) {
      int64_t greatest = value(clause.front());
      for (const RowTerm &term : clause)
        greatest = std::max(greatest, value(term));
      end = std::min(end, greatest);
    }
    return {first, end};
  }

  KeyBlockRange blocks;
  Value partial, count, visited;
  Value edgesFirst, masked; ///< visited when edges come first, and how many steps are for them; null where none can be told
  std::vector<int32_t> entries; ///< of the list

private:
  std::vector<int32_t> tiles(int64_t inBlock) const {
    std::vector<int32_t> all;
    for (int32_t entry : entries)
      for (int64_t n = 0; n < inBlock; ++n)
        all.push_back(int32_t(entry * inBlock + n));
    return all;
  }

  OwningOpRef<ModuleOp> module;
  OpBuilder b;
  Block *block;
  RowLimits limits;
  llvm::DenseMap<Value, int32_t> values;
};

struct Case {
  std::string pattern;
  bool interval = true; ///< the analysis is expected to state the whole mask
  /// A tile whose rows see no key gets [0, 1). False where only looking at every row could tell.
  bool tellsEmptyTiles = true;
  bool skips = true; ///< a gap is wide enough for whole blocks
};

class KeyBlocksOfPattern : public testing::TestWithParam<Case> {};

} // namespace

// Every tile of many pairs of lengths.
TEST_P(KeyBlocksOfPattern, AgreeWithTheMask) {
  MaskOfPattern mask(GetParam().pattern);
  KeyRange range = llvm::cantFail(analyseMask(mask.value()));
  ASSERT_EQ(range.isInterval(), GetParam().interval) << describe(range);
  MaskOfPattern::Lengths lengths;
  for (int64_t queries : {1, 2, 17, 64, 65, 130, 200})
    for (int64_t keys : {0, 1, 5, 16, 63, 64, 127, 130, 257})
      lengths.push_back({queries, keys});
  mask.bind(lengths);

  int64_t gaps = 0;
  for (int64_t blockSize : {16, 64, 80, 128}) {
    Program program(mask.context, range, blockSize);
    for (size_t b = 0; b < lengths.size(); ++b) {
      auto [queries, keys] = lengths[b];
      std::vector<std::vector<int32_t>> visible;
      for (int64_t i = 0; i < queries; ++i)
        visible.push_back(mask.keys(b, i));
      for (int64_t tileRows : {64, 128})
        for (int64_t first = 0; first < queries; first += tileRows) {
          int64_t rows = std::min(tileRows, queries - first);
          SCOPED_TRACE(testing::Message() << queries << " queries, " << keys << " keys, rows " << first << " + " << rows
                                          << ", blocks of " << blockSize << ": " << describe(range));
          program.run({first, rows, queries, keys, 0});
          int64_t begin = program[program.blocks.first], end = program[program.blocks.end];
          int64_t whole = program[program.blocks.firstWhole], wholeEnd = program[program.blocks.endWhole];
          ASSERT_GE(begin, 0);
          ASSERT_LT(begin, end);
          ASSERT_TRUE(begin <= whole && whole <= wholeEnd && wholeEnd <= end);
          bool any = false;
          for (int64_t r = 0; r < rows; ++r) {
            auto [low, high] = program.row(first, r);
            ASSERT_LE(high, keys);
            const std::vector<int32_t> &seen = visible[first + r];
            any |= !seen.empty();
            if (!seen.empty()) {
              ASSERT_LE(begin * blockSize, seen.front());
              ASSERT_GT(end * blockSize, seen.back());
              ASSERT_LE(low, seen.front());
              ASSERT_GT(high, seen.back());
            }
            if (range.isInterval()) {
              ASSERT_EQ(std::max<int64_t>(0, high - low), int64_t(seen.size())) << "row " << r;
            }
          }
          if (range.isInterval() && !visible[first].empty()) {
            ASSERT_EQ(begin, visible[first].front() / blockSize);
          }
          if (range.isInterval() && !visible[first + rows - 1].empty()) {
            ASSERT_EQ(end, visible[first + rows - 1].back() / blockSize + 1);
          }
          if (!any && range.isInterval() && GetParam().tellsEmptyTiles) {
            ASSERT_EQ(begin, 0);
            ASSERT_EQ(end, 1);
          }
          // Each block but those of the gap, which nobody sees, from the last on.
          int64_t steps = program[program.count], block = end;
          ASSERT_GE(steps, 1);
          for (int64_t step = 0; step < steps; ++step) {
            program.run({first, rows, queries, keys, step});
            int64_t next = program[program.visited];
            ASSERT_TRUE(next < block && next >= begin) << "step " << step;
            for (int64_t r = 0; r < rows; ++r) {
              const std::vector<int32_t> &seen = visible[first + r];
              ASSERT_TRUE(std::lower_bound(seen.begin(), seen.end(), (next + 1) * blockSize) ==
                          std::lower_bound(seen.begin(), seen.end(), block * blockSize))
                  << "a block between " << next << " and " << block << " is seen";
            }
            block = next;
          }
          if (!range.gap) {
            ASSERT_EQ(steps, end - begin);
          }
          // The other order: the same blocks, first those that need a mask (step 0 anyhow), the last one at once.
          std::set<int64_t> others;
          for (int64_t step = 0; program.edgesFirst && step < steps; ++step) {
            program.run({first, rows, queries, keys, step});
            int64_t at = program[program.edgesFirst];
            ASSERT_TRUE(at >= begin && at < end && others.insert(at).second) << "step " << step << ", block " << at;
            if (!step) {
              ASSERT_EQ(at, end - 1);
            } else {
              ASSERT_EQ(step < program[program.masked], at < whole || at >= wholeEnd) << "step " << step << ", block " << at;
            }
          }
          gaps += end - begin - steps;
          for (block = begin; block < end; ++block) {
            bool partial = false;
            for (int64_t r = 0; r < rows; ++r) {
              const std::vector<int32_t> &seen = visible[first + r];
              partial |= std::lower_bound(seen.begin(), seen.end(), (block + 1) * blockSize) -
                             std::lower_bound(seen.begin(), seen.end(), block * blockSize) < blockSize;
            }
            program.run({first, rows, queries, keys, block});
            ASSERT_EQ(program[program.partial], range.isInterval() ? partial : 1) << "block " << block;
            ASSERT_EQ(block < whole || block >= wholeEnd, range.isInterval() ? partial : true) << "block " << block;
          }
        }
    }
  }
  if (range.gap && GetParam().skips) {
    ASSERT_GT(gaps, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, KeyBlocksOfPattern,
    testing::Values(Case{"full"}, Case{"causal"}, Case{"causal(top_left)"}, Case{"window(8, 3)"}, Case{"window(0, 0)"},
                    Case{"window(100)"}, Case{"window(2000000000, 2000000000)"}, Case{"causal & window(70)"},
                    Case{"causal(top_left) & window(70)", true, false}, Case{"prefix(1)"}, Case{"prefix(100)"},
                    Case{"prefix(2000000000)"}, Case{"prefix(70) | causal"}, Case{"not causal"},
                    Case{"not prefix(33)"}, Case{"not full"}, Case{"not (prefix(64) | causal)"},
                    Case{"block_diagonal(1)"}, Case{"block_diagonal(16)"}, Case{"block_diagonal(48)"},
                    Case{"block_diagonal(100)"}, Case{"block_diagonal(128)"}, Case{"block_diagonal(2000000000)"},
                    Case{"block_diagonal(48) & causal", true, false}, Case{"block_diagonal(48) | causal(top_left)"},
                    Case{"window(9, 0) | window(0, 50)"}, Case{"j <= i and j >= 3"},
                    Case{"i - j <= 20 and j - i < 30"}, Case{"j == i + 2"}, Case{"j < n_keys - 5"},
                    Case{"j >= n_queries - 20 and j <= n_queries + 3"}, Case{"3 * j >= 100 and 2 * j < 150"},
                    Case{"j <= i or j < 64"}, Case{"floordiv(j, 48) <= floordiv(i, 48)"},
                    Case{"j >= i - i % 32 and j <= i"}, Case{"j > i + 3 and j <= i", true, false}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

INSTANTIATE_TEST_SUITE_P(
    Residuals, KeyBlocksOfPattern,
    testing::Values(Case{"block_diagonal(48) | prefix(9)", false}, Case{"prefix(4) | window(8, 3)", false},
                    Case{"not (j <= i and j >= i - 65) and j < 180", false}, Case{"2 * j <= i", false}, Case{"j <= i and 2 * j != i", false},
                    Case{"causal & (prefix(4) | window(8))", false}, Case{"not window(8, 3)", false, true, false},
                    Case{"causal & i + j < 100", false}, Case{"j <= i and doc[i] == kv_doc[j]", false}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

// A list beside other patterns: each picked block that somebody sees is visited once, from the last on, and what needs a
// mask is known; a tile that sees nothing visits keys that nobody has.
TEST(KeyBlocks, PickWhatAListNames) {
  std::mt19937_64 random(1);
  for (const char *pattern : {"full", "causal", "window(100, 40)", "causal & window(70)", "prefix(100)", "window(20, 0) | prefix(130)"})
    for (auto [keyBlock, blockSize] : {std::pair<int64_t, int64_t>{64, 64}, {128, 64}, {192, 96}, {320, 80}}) {
      MaskOfPattern mask(pattern);
      mask.context.loadDialect<tile::TileDialect>();
      KeyRange range = llvm::cantFail(analyseMask(mask.value()));
      range.blocks = KeyRange::BlockList{Value(), 128, keyBlock};
      Program program(mask.context, range, blockSize, /*listed=*/true);
      MaskOfPattern::Lengths lengths = {{1, 0}, {1, 1}, {130, 64}, {64, 130}, {200, 700}, {700, 701}};
      mask.bind(lengths);
      for (size_t b = 0; b < lengths.size(); ++b)
        for (int64_t first = 0; first < lengths[b].first; first += 128)
          for (int draw = 0; draw < 6; ++draw) {
            auto [queries, keys] = lengths[b];
            int64_t rows = std::min<int64_t>(128, queries - first), listed = (keys + keyBlock - 1) / keyBlock;
            program.entries.clear();
            for (int32_t n = 0; n < listed; ++n)
              if (draw == 1 || (draw > 1 && random() % 2))
                program.entries.push_back(n);
            SCOPED_TRACE(testing::Message() << pattern << ", " << queries << " queries, " << keys << " keys, row " << first << ", draw " << draw);
            std::vector<int64_t> seenIn((keys + blockSize - 1) / blockSize); // pairs in each block that is picked
            for (int64_t r = 0; r < rows; ++r)
              for (int32_t j : mask.keys(b, first + r))
                if (llvm::is_contained(program.entries, int32_t(j / keyBlock)))
                  ++seenIn[j / blockSize];
            program.run({first, rows, queries, keys, 0});
            int64_t begin = program[program.blocks.first], end = program[program.blocks.end], steps = program[program.count], before = INT32_MAX;
            int64_t whole = program[program.blocks.firstWhole], wholeEnd = program[program.blocks.endWhole];
            ASSERT_TRUE(steps >= 1 && begin <= whole && whole <= wholeEnd && wholeEnd <= end);
            for (int64_t step = 0; step < steps; ++step) {
              program.run({first, rows, queries, keys, step});
              int64_t at = program[program.visited];
              ASSERT_LT(at, before);
              before = at;
              if (at < int64_t(seenIn.size())) {
                if (range.residual.empty()) {
                  int64_t place = end - 1 - step;
                  if (place >= whole && place < wholeEnd) {
                    ASSERT_EQ(seenIn[at], rows * blockSize);
                  }
                }
                seenIn[at] = 0;
              } else {
                ASSERT_EQ(steps, 1); // the block behind the last key
              }
            }
            ASSERT_EQ(llvm::count(seenIn, 0), int64_t(seenIn.size())) << "a block is left out";
            // Edges first: the same blocks, and the last is still the first.
            std::multiset<int64_t> descending, reordered;
            for (int64_t step = 0; program.edgesFirst && step < steps; ++step) {
              program.run({first, rows, queries, keys, step});
              int64_t at = program[program.edgesFirst];
              descending.insert(program[program.visited]), reordered.insert(at);
              if (!step) {
                ASSERT_EQ(at, program[program.visited]);
                ASSERT_EQ(steps - program[program.masked], std::max<int64_t>(0, std::min(wholeEnd, end - 1) - whole));
              }
            }
            ASSERT_EQ(descending, reordered);
          }
    }
}

// At the greatest lengths and constants no sum may leave 32 bits.
TEST(KeyBlocks, DoNotOverflow) {
  std::mt19937_64 random(1);
  for (const char *pattern :
       {"causal", "causal(top_left)", "window(2000000000, 2000000000)", "window(1000000000, 1000000000)",
        "prefix(1073740000)", "prefix(2000000000)", "block_diagonal(1000000007)", "block_diagonal(2000000000)",
        "j - i < 1073741000 and i - j < 1073741000", "j <= i - n_queries + 1000000000", "j >= i - n_keys"}) {
    MaskOfPattern mask(pattern);
    KeyRange range = llvm::cantFail(analyseMask(mask.value()));
    ASSERT_TRUE(range.isInterval()) << describe(range);
    Program program(mask.context, range, 128);
    for (int64_t queries : {int64_t(1), int64_t(1) << 20, kMaxLength})
      for (int64_t keys : {int64_t(0), int64_t(1), int64_t(1) << 29, kMaxLength})
        for (int n = 0; n < 50; ++n) {
          int64_t tiles = (queries + 127) / 128;
          int64_t first = (n == 0 ? 0 : n == 1 ? tiles - 1 : int64_t(random() % tiles)) * 128;
          int64_t rows = std::min<int64_t>(128, queries - first);
          program.run({first, rows, queries, keys, 0});
          auto clipped = [&](std::pair<int64_t, int64_t> interval) {
            auto [low, high] = interval;
            return low < high ? std::pair(low, high) : std::pair<int64_t, int64_t>(0, 0);
          };
          SCOPED_TRACE(testing::Message() << pattern << ": " << queries << ", " << keys << ", row " << first);
          for (int64_t r : {int64_t(0), rows - 1})
            ASSERT_EQ(clipped(program.row(first, r)), clipped(range.interval(first + r, queries, keys)));
          auto low = range.interval(first, queries, keys), high = range.interval(first + rows - 1, queries, keys);
          int64_t begin = low.first / 128, end = (std::max<int64_t>(high.second, 0) + 127) / 128;
          bool some = low.first < high.second;
          ASSERT_EQ(program[program.blocks.first], some ? begin : 0);
          ASSERT_EQ(program[program.blocks.end], some ? end : 1);
        }
  }
}

TEST(KeyBlocks, FullBlocksAreKnownBeforeTheLast) {
  MaskOfPattern mask("full");
  KeyRange range = llvm::cantFail(analyseMask(mask.value()));
  Program program(mask.context, range, 64);
  program.run({0, 64, 64, 200, 0});
  EXPECT_EQ(program[program.blocks.firstWhole], 0);
  EXPECT_EQ(program[program.blocks.endWhole], 3);
}

TEST(KeyBlocks, ResidualsMakeEveryBlockPartial) {
  MaskOfPattern mask("2 * j <= i");
  KeyRange range = llvm::cantFail(analyseMask(mask.value()));
  Program program(mask.context, range, 64);
  auto constant = program.partial.getDefiningOp<arith::ConstantOp>();
  ASSERT_TRUE(constant);
  EXPECT_TRUE(cast<BoolAttr>(constant.getValue()).getValue());
}
