// test/unit/frontend/LimitsTest.cpp - is input refused that no spec looks like, quickly and with its reason?
#include "frontend/ast/Parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

using namespace fovea;
using ::testing::HasSubstr;

namespace {

/// The one message for a text that is refused.
std::string refusal(const std::string &text) {
  auto start = std::chrono::steady_clock::now();
  Diagnostics diagnostics;
  bool parsed = ast::parse(text, diagnostics).has_value();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_FALSE(parsed);
  EXPECT_EQ(diagnostics.errorCount(), 1u);
  EXPECT_FALSE(diagnostics.render(text, "spec").empty());
  return diagnostics.all().empty() ? "" : diagnostics.all().front().message;
}

std::string repeat(const std::string &what, size_t times) {
  std::string text;
  for (size_t n = 0; n < times; ++n)
    text += what;
  return text;
}

std::string score(const std::string &expression) { return "attention x { score : " + expression + " }"; }

TEST(Limits, EmptyFile) { EXPECT_THAT(refusal(""), HasSubstr("found an empty file")); }

TEST(Limits, TenMegabytes) {
  EXPECT_EQ(refusal(std::string(10 << 20, 'x')),
            "a spec is at most 65536 bytes long, this file has 10485760; is it a spec?");
}

TEST(Limits, NulByte) {
  EXPECT_EQ(refusal(std::string("attention\0x", 11)), "expected a text, found a NUL byte at offset 9; is it a binary file?");
}

TEST(Limits, NoUtf8) {
  EXPECT_EQ(refusal("attention \xff\xfe { }"),
            "expected a text in UTF-8, found another byte at offset 10; is it a binary file?");
}

TEST(Limits, Tokens) {
  EXPECT_THAT(refusal(score(repeat("s+", 3000) + "s")), HasSubstr("a spec has at most 4096 words and signs"));
}

TEST(Limits, NestedBrackets) {
  EXPECT_THAT(refusal(score(repeat("(", 20000))), HasSubstr("nested more than 64 deep"));
}

TEST(Limits, NestedPrefixes) {
  EXPECT_THAT(refusal(score(repeat("- ", 4000) + "s")), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(refusal(score(repeat("not ", 4000) + "s")), HasSubstr("nested more than 64 deep"));
}

TEST(Limits, WhatIsWithinThemIsRead) {
  for (const std::string &text : {score(repeat("(", 63) + "s" + repeat(")", 63)), score(repeat("s+", 2000) + "s"),
                                  score(repeat("- ", 62) + "s"), score("s") + repeat(" ", 60000)}) {
    Diagnostics diagnostics;
    EXPECT_TRUE(ast::parse(text, diagnostics).has_value());
    EXPECT_FALSE(diagnostics.hasErrors()) << diagnostics.render(text, "spec");
  }
}

TEST(Limits, WideLinesAreNotShown) {
  std::string text = score(repeat("s+", 1000));
  Diagnostics diagnostics;
  ast::parse(text, diagnostics);
  EXPECT_EQ(diagnostics.render(text, "spec"), "spec:1:2024: error: expected an expression, found '}'\n");
}

} // namespace
