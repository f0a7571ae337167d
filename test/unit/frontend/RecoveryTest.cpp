// test/unit/frontend/RecoveryTest.cpp - does one syntax error cost one line, and no other?
#include "frontend/ast/Parse.h"

#include <gtest/gtest.h>

using namespace fovea;

namespace {

struct Outcome {
  size_t errors = 0;
  std::vector<std::string> names; ///< first name of every line that was read
};

Outcome parse(const std::string &lines) {
  std::string text = "attention x {\n" + lines + "\n}\n";
  Diagnostics diagnostics;
  auto spec = ast::parse(text, diagnostics);
  Outcome outcome;
  outcome.errors = diagnostics.errorCount();
  if (spec)
    for (const ast::Clause &c : spec->attention.clauses)
      outcome.names.push_back(c.schedule ? c.schedule->target.text : c.field.names.front().text);
  return outcome;
}

using Names = std::vector<std::string>;

TEST(Recovery, EveryBrokenLineIsOneErrorAndTheOthersAreRead) {
  // Ways to break a line that stands between two good ones.
  const char *broken[] = {
      "b",         "b :",      "b : )",         "b : (1",        "b : 1 +",        "b : a[",      "b : a[1",
      "b 1",       ": 1",      "b : f(1, )",    "b : 1 1",       "b : [1]",        "b : = 2",     "b : 1 = ",
      "b, : 1",    "b : f(g(h(1)", "b : ?",     "b : not",       "b : a b c",      "b : ((((((",  "b : ,",
      "schedule {", "schedule t { c d }", "schedule t { c : }", "schedule t { c : { d 1 } }", "schedule t }",
  };
  for (const char *line : broken) {
    Outcome outcome = parse(std::string("a : 1\n") + line + "\nz : 2");
    EXPECT_EQ(outcome.errors, 1u) << line;
    ASSERT_FALSE(outcome.names.empty()) << line;
    EXPECT_EQ(outcome.names.front(), "a") << line;
    bool swallows = std::string(line).find("schedule {") == 0; // the brace of the attention closes it
    if (!swallows)
      EXPECT_EQ(outcome.names.back(), "z") << line;
  }
}

TEST(Recovery, IndependentErrorsAreAllReported) {
  Outcome outcome = parse("a : )\nb : 1\nc 3\nd : (2\ne : 4 $\nf : 5 +\ng : 6");
  EXPECT_EQ(outcome.errors, 5u);
  EXPECT_EQ(outcome.names, (Names{"b", "e", "g"}));
}

TEST(Recovery, ABrokenSettingCostsNoOtherSetting) {
  std::string text = "attention x { schedule t { a : 1, b 2, c : { d : 1, e 2 }, f : 3 } g : 4 }";
  Diagnostics diagnostics;
  auto spec = ast::parse(text, diagnostics);
  EXPECT_EQ(diagnostics.errorCount(), 2u);
  ASSERT_TRUE(spec && spec->attention.clauses.size() == 2 && spec->attention.clauses[0].schedule);
  const auto &settings = spec->attention.clauses[0].schedule->settings;
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[0].key.text, "a");
  EXPECT_EQ(settings[1].key.text, "f");
}

TEST(Recovery, NewlinesMeanNothing) {
  Outcome outcome = parse("a : 1 b : 2 c\n:\n3 d : f(1,\n2) e : 1\n+ 2");
  EXPECT_EQ(outcome.errors, 0u);
  EXPECT_EQ(outcome.names, (Names{"a", "b", "c", "d", "e"}));
}

} // namespace
