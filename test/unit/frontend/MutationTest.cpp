// test/unit/frontend/MutationTest.cpp - whatever is done to a spec: an answer, soon, and a module that verifies
#include "frontend/Frontend.h"
#include "frontend/ast/Parse.h"
#include "frontend/fmt/Format.h"

#include "Examples.h"

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>

#include <chrono>
#include <random>

using namespace fovea;

namespace {

const char *const words[] = {
    "attention", "schedule", "sm_100a", "q",     "k",        "v",      "pattern", "score",  "scale",   "weight",
    "epilogue",  "emit",     "causal",  "full",  "window",   "prefix", "blocks",  "picks",  "softcap", "silu",
    "n_keys",    "forward",  "lse",     "backward", "packed dz", "not", "and",    "or",     "&",       "|",
    "(",         ")",        "[",       "]",     "{",        "}",      ",",       ":",      "=",       "==",
    "<=",        "+",        "-",       "*",     "/",        "%",      "i",       "j",      "h",       "b",
    "s",         "o",        "doc[i]",  "t[h, i - j]", "0",  "1",      "64",      "-3",     "1e9",     "99999999999999999999",
    "heads",     "4 heads",  "jagged a", "broadcast 3", "batch", "seq", "mxfp8",  "f16",    "rotary(r, halves)", "where(i < j, 1, s)",
    "roles : fused", "// c\n", "\n",    "\xc3\xa9", "$",     "floordiv(i, 2)", "softmax", "head_dim", "block_diagonal(48)", "",
};

/// One random change: a word put in, taken out, moved or replaced, or a byte overwritten.
std::string mutate(std::string text, std::mt19937 &random) {
  auto at = [&](size_t size) { return size ? random() % size : 0; };
  size_t begin = at(text.size());
  while (begin > 0 && isalnum(text[begin]) && isalnum(text[begin - 1]))
    --begin;
  size_t end = begin + 1;
  while (end < text.size() && isalnum(text[begin]) && isalnum(text[end]))
    ++end;
  std::string word = words[at(std::size(words))];
  switch (random() % 5) {
  case 0: return text.insert(begin, " " + word + " ");
  case 1: return text.erase(begin, end - begin);
  case 2: return text.replace(begin, end - begin, word);
  case 3: return text.insert(at(text.size()), text.substr(begin, random() % 40));
  default: text[begin] = char(random() % 256); return text;
  }
}

TEST(Mutation, AlwaysAnAnswerAndNeverABrokenModule) {
  mlir::MLIRContext context;
  std::mt19937 random(20240613);
  size_t accepted = 0, refused = 0;
  auto texts = examples();
  for (int round = 0; round < 4000 && !HasFailure(); ++round) {
    auto seed = texts.begin();
    std::advance(seed, random() % texts.size());
    std::string text = seed->second;
    for (unsigned n = 1 + random() % 4; n > 0; --n)
      text = mutate(text, random);

    auto start = std::chrono::steady_clock::now();
    ReadResult result = readSpec(text, "spec", context);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << text;
    result.module ? ++accepted : ++refused;
    // Refused with a reason, or accepted without a word; sema promises that what it accepts can be imported.
    EXPECT_EQ(result.messages.empty(), bool(result.module)) << text << result.messages;
    EXPECT_EQ(result.messages.find("bug of Fovea"), std::string::npos) << text;

    Diagnostics diagnostics;
    auto spec = ast::parse(text, diagnostics);
    if (spec && !diagnostics.hasErrors()) {
      Diagnostics none;
      auto again = ast::parse(format(*spec), none);
      EXPECT_TRUE(again && *again == *spec) << text << format(*spec);
    }
  }
  // The mutations are worth something: both answers are common.
  EXPECT_GT(accepted, 200u);
  EXPECT_GT(refused, 200u);
}

TEST(Mutation, RandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 3000, ' ');
    for (char &c : text)
      c = round % 2 ? char(random() % 256) : " \n()[]{}:,=+-*/abq1.\"$"[random() % 22];
    Diagnostics diagnostics;
    auto start = std::chrono::steady_clock::now();
    ast::parse(text, diagnostics);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    EXPECT_TRUE(diagnostics.hasErrors());
    diagnostics.render(text, "spec");
  }
}

} // namespace
