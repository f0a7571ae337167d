// test/unit/frontend/ImportTest.cpp - does every combination of what sema accepts import into a module that verifies?
#include "frontend/Frontend.h"

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>

using namespace fovea;

namespace {

TEST(Import, EveryCombinationVerifies) {
  const char *rows[] = {"batch, seq", "batch, other", "jagged a", "jagged c", "broadcast 5"};
  const char *heads[] = {"6 heads, 64", "heads, 64"};
  const char *types[] = {"bf16", "f16", "e4m3", "mxfp8"};
  const char *origins[] = {"", "= rotary(r, halves)", "= rotary(r, interleaved, on_load)",
                           "= rotary(r, halves, on_load, by_position)", "= rotary(r, halves, f32)"};
  const char *rest[] = {
      "",
      "pattern : blocks(64, 32, picks) & causal | x[i, h] == y[j]",
      "score : s * scale + bias[h, i - j] + p[i] * q2[j] + t[b]  weight : silu(s) / n_keys",
      "epilogue : o * gate[i, h] + shift[d] + residual  emit : forward(lse)",
      "pattern : prefix(3) & not window(2, 4)  emit : forward, backward(deterministic)",
  };
  mlir::MLIRContext context;
  size_t accepted = 0;
  for (const char *q : rows)
    for (const char *kv : rows)
      for (const char *h : heads)
        for (const char *type : types)
          for (const char *origin : origins)
            for (const char *lines : rest) {
              std::string tail = std::string(h) + "] " + origin + "\n", open = std::string(" : ") + type + " [";
              std::string text = "attention x {\nq" + open + q + ", " + tail + "k, v" + open + kv + ", " + tail +
                                 lines + "\n}";
              ReadResult result = readSpec(text, "spec", context);
              accepted += bool(result.module);
              ASSERT_EQ(result.messages.find("bug of Fovea"), std::string::npos) << text;
            }
  // All but shared queries with shared keys, and one table for rows that differ.
  EXPECT_GT(accepted, 2000u);
}

TEST(Import, ShapesThatDiffer) {
  mlir::MLIRContext context;
  for (const char *text : {
           "attention x { q, k : bf16 [jagged a, 8 heads, 64] v : bf16 [jagged a, 8 heads, 32] epilogue : o + r }",
           "attention x { q : f16 [batch, sq, 8 heads, 192] k : f16 [jagged a, 2 heads, 192] "
           "v : f16 [jagged a, 2 heads, 128] emit : forward(lse) }",
           "attention x { q : mxfp8 [broadcast 3, heads, 64] k : mxfp8 [jagged a, heads, 64] "
           "v : mxfp8 [jagged a, heads, 96] epilogue : o * g }",
           "attention x { q, k, v : bf16 [jagged a, 1 heads, 1] }",
       }) {
    ReadResult result = readSpec(text, "spec", context);
    EXPECT_TRUE(result.module) << text << result.messages;
  }
}

} // namespace
