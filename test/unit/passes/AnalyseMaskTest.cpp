// test/unit/passes/AnalyseMaskTest.cpp - what the analysis of a mask finds: intervals, residuals, errors
#include "passes/Lower/KeyRange.h"
#include "test/unit/passes/MaskOfPattern.h"
#include <mlir/Parser/Parser.h>

using namespace fovea;
using namespace mlir;

static std::string text(const std::string &pattern) {
  MaskOfPattern mask(pattern);
  llvm::Expected<KeyRange> range = analyseMask(mask.value());
  return range ? describe(*range) : "error: " + llvm::toString(range.takeError());
}

TEST(AnalyseMask, NamedPatterns) {
  EXPECT_EQ(text("full"), "keys [0, n_keys)");
  EXPECT_EQ(text("causal"), "keys [0, min(n_keys, i + (n_keys - n_queries) + 1))");
  EXPECT_EQ(text("causal(top_left)"), "keys [0, min(n_keys, i + 1))");
  EXPECT_EQ(text("window(8, 3)"),
            "keys [max(0, i + (n_keys - n_queries) - 8), min(n_keys, i + (n_keys - n_queries) + 4))");
  EXPECT_EQ(text("window(8)"), "keys [max(0, i + (n_keys - n_queries) - 8), n_keys)");
  EXPECT_EQ(text("prefix(100)"), "keys [0, min(n_keys, 100))");
  EXPECT_EQ(text("block_diagonal(48)"), "keys [max(0, i / 48 * 48), min(n_keys, i / 48 * 48 + 48))");
}

TEST(AnalyseMask, Combinations) {
  EXPECT_EQ(text("causal & window(4096)"),
            "keys [max(0, i + (n_keys - n_queries) - 4096), min(n_keys, i + (n_keys - n_queries) + 1))");
  // What another clause implies is dropped.
  EXPECT_EQ(text("causal & causal & window(8, 3)"),
            "keys [max(0, i + (n_keys - n_queries) - 8), min(n_keys, i + (n_keys - n_queries) + 1))");
  EXPECT_EQ(text("prefix(10) & prefix(20)"), "keys [0, min(n_keys, 10))");
  EXPECT_EQ(text("block_diagonal(32) & block_diagonal(64)"),
            "keys [max(0, i / 32 * 32), min(n_keys, i / 32 * 32 + 32))");
  EXPECT_EQ(text("prefix(64) | causal"), "keys [0, min(n_keys, max(64, i + (n_keys - n_queries) + 1)))");
  EXPECT_EQ(text("causal(top_left) | block_diagonal(32)"), "keys [0, min(n_keys, i / 32 * 32 + 32))");
  EXPECT_EQ(text("window(9, 0) | window(0, 5)"),
            "keys [max(0, i + (n_keys - n_queries) - 9), min(n_keys, i + (n_keys - n_queries) + 6))");
  EXPECT_EQ(text("full | prefix(3)"), "keys [0, n_keys)");
  EXPECT_EQ(text("not causal"), "keys [max(0, i + (n_keys - n_queries) + 1), n_keys)");
  EXPECT_EQ(text("not prefix(5)"), "keys [max(0, 5), n_keys)");
  EXPECT_EQ(text("not full"), "keys [0, min(n_keys, 0))");
  EXPECT_EQ(text("not (prefix(64) | causal)"),
            "keys [max(0, 64, i + (n_keys - n_queries) + 1), n_keys)");
  EXPECT_EQ(text("not (not prefix(5) | not causal)"),
            "keys [0, min(n_keys, 5, i + (n_keys - n_queries) + 1))");
}

TEST(AnalyseMask, Expressions) {
  EXPECT_EQ(text("j <= i"), "keys [0, min(n_keys, i + 1))");
  EXPECT_EQ(text("i > j"), "keys [0, min(n_keys, i))");
  EXPECT_EQ(text("i - j <= 7 and j - i < 3"), "keys [max(0, i - 7), min(n_keys, i + 3))");
  EXPECT_EQ(text("j == i + 2"), "keys [max(0, i + 2), min(n_keys, i + 3))");
  EXPECT_EQ(text("j < n_keys - 5"), "keys [0, min(n_keys, n_keys - 5))");
  EXPECT_EQ(text("j >= n_keys - n_queries + i"), "keys [max(0, i + (n_keys - n_queries)), n_keys)");
  EXPECT_EQ(text("2 * j < 9"), "keys [0, min(n_keys, 5))");
  EXPECT_EQ(text("3 * j >= 10"), "keys [max(0, 4), n_keys)");
  EXPECT_EQ(text("not (j > i or j < 4)"), "keys [max(0, 4), min(n_keys, i + 1))");
  EXPECT_EQ(text("floordiv(i, 64) == floordiv(j, 64)"), "keys [max(0, i / 64 * 64), min(n_keys, i / 64 * 64 + 64))");
  EXPECT_EQ(text("floordiv(j, 64) <= floordiv(i, 64) - 2"), "keys [0, min(n_keys, i / 64 * 64 - 64))");
  EXPECT_EQ(text("floordiv(j, 64) >= 3"), "keys [max(0, 192), n_keys)");
  EXPECT_EQ(text("j >= i - i % 32"), "keys [max(0, i / 32 * 32), n_keys)");
  EXPECT_EQ(text("floordiv(i, 64) == floordiv(j, 32)"), "keys [0, n_keys) where an expression of the pair holds");
  EXPECT_EQ(text("n_keys < 5"), "keys [0, n_keys) where an expression of the pair holds");
  EXPECT_EQ(text("j <= i or j < 64"), "keys [0, min(n_keys, max(i + 1, 64)))");
}

TEST(AnalyseMask, Residuals) {
  EXPECT_EQ(text("2 * j <= i"), "keys [0, n_keys) where an expression of the pair holds");
  EXPECT_EQ(text("j <= i and 2 * j != i"), "keys [0, min(n_keys, i + 1)) where an expression of the pair holds");
  EXPECT_EQ(text("causal & j + i < 100"),
            "keys [0, min(n_keys, i + (n_keys - n_queries) + 1)) where an expression of the pair holds");
  // A sink of 4 keys and a window: no interval, but the hull ends at the diagonal, and what is between is known.
  EXPECT_EQ(text("causal & (prefix(4) | window(8))"),
            "keys [0, min(n_keys, i + (n_keys - n_queries) + 1)) without [4, i + (n_keys - n_queries) - 8) where an "
            "expression of the pair holds");
  EXPECT_EQ(text("not window(8, 3)"), "keys [0, n_keys) without [i + (n_keys - n_queries) - 8, "
                                      "i + (n_keys - n_queries) + 4) where an expression of the pair holds");
  EXPECT_EQ(text("not (j <= i and j >= i - 5) and j < 900"),
            "keys [0, min(n_keys, 900)) without [i - 5, i + 1) where an expression of the pair holds");
  EXPECT_EQ(text("block_diagonal(64) | prefix(9)"),
            "keys [0, min(n_keys, i / 64 * 64 + 64)) without [9, i / 64 * 64) where an expression of the pair holds");
  // The window may be empty, so that nothing is known of what is between.
  EXPECT_EQ(text("prefix(4) | j >= i and j <= n_queries - 3"),
            "keys [0, min(n_keys, max(4, n_queries - 2))) where an expression of the pair holds");
}

// Numbers that only IR can hold.
static std::string textOfIr(const std::string &ops) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, arith::ArithDialect>();
  std::string header = "!M = !attn.mask<jagged(\"a\") x jagged(\"b\")>\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(header + ops, &context);
  EXPECT_TRUE(module) << ops;
  llvm::Expected<KeyRange> range = analyseMask(module->getBody()->back().getResult(0));
  return range ? describe(*range) : llvm::toString(range.takeError());
}

TEST(AnalyseMask, HugeNumbers) {
  // Beyond every sequence: the greatest length stands for them.
  EXPECT_EQ(textOfIr("%m = attn.pattern #attn.prefix<9223372036854775807> -> !M"),
            "keys [0, min(n_keys, 1073740800))");
  EXPECT_EQ(textOfIr("%m = attn.pattern #attn.block_diagonal<9223372036854775807> -> !M"),
            "keys [0, min(n_keys, 1073740800))");
  EXPECT_EQ(textOfIr("%m = attn.pattern #attn.window<left = 9223372036854775807> -> !M"),
            "keys [max(0, i + (n_keys - n_queries) - 1073740800), n_keys)");
  for (const char *comparison : {"sle", "slt", "sgt", "sge", "eq"})
    EXPECT_EQ(textOfIr(std::string(R"(%m = attn.mask_where : !M {
      ^bb0(%i: i64, %j: i64, %h: i64, %b: i64, %q: i64, %k: i64):
        %x = arith.constant -9223372036854775808 : i64
        %y = arith.addi %j, %x : i64
        %c = arith.cmpi )") + comparison + R"(, %y, %i : i64
        attn.result %c : i1
      })"), "keys [0, n_keys) where an expression of the pair holds") << comparison;
}

TEST(AnalyseMask, BlockLists) {
  EXPECT_EQ(text("blocks(128, 64, picks)"), "keys [0, n_keys) in the blocks of 64 keys that 'picks' names for i / 128");
  EXPECT_EQ(text("blocks(128, 64, picks) & causal"),
            "keys [0, min(n_keys, i + (n_keys - n_queries) + 1)) in the blocks of 64 keys that 'picks' names for i / 128");
  const std::string refused = "error: expected a block list alone or joined by '&', since a list can only leave out "
                              "keys; found it under '|' or 'not'";
  EXPECT_EQ(text("blocks(128, 64, picks) | causal"), refused);
  EXPECT_EQ(text("not blocks(128, 64, picks)"), refused);
  EXPECT_EQ(text("blocks(128, 64, picks) & blocks(128, 64, others)"),
            "error: expected one block list in a pattern, found two joined by '&'; merge the lists");
}
