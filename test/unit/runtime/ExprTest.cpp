// test/unit/runtime/ExprTest.cpp - what launch expressions evaluate to, and what stops them.
#include "runtime/abi/Expr.h"

#include <gtest/gtest.h>

using namespace fovea;

namespace {

std::optional<int64_t> lookup(const std::string &name) {
  if (name == "total")
    return 100;
  if (name == "big")
    return INT64_MAX;
  return std::nullopt;
}

int64_t value(const Expr &expr) {
  Expected<int64_t> result = expr.evaluate(lookup);
  EXPECT_TRUE(result) << (result ? "" : result.message());
  return result ? *result : -999;
}

std::string problem(const Expr &expr) {
  Expected<int64_t> result = expr.evaluate(lookup);
  return result ? "no error" : result.message();
}

TEST(Expr, IsWrittenForPeople) {
  const Expr a("a"), b("b"), c("c");
  EXPECT_EQ((a + b * c - Expr(1)).text(), "a + b * c - 1");
  EXPECT_EQ(((a + b) * (c - Expr(1))).text(), "(a + b) * (c - 1)");
  EXPECT_EQ((a - (b - c)).text(), "a - (b - c)");
  EXPECT_EQ((ceilDiv(a + b, 64) * minimum(a, b)).text(), "ceildiv(a + b, 64) * min(a, b)");
}

TEST(Expr, EvaluatesEveryOperator) {
  Expr total = "total";
  EXPECT_EQ(value(total + 7), 107);
  EXPECT_EQ(value(total - 107), -7);
  EXPECT_EQ(value(total * 3), 300);
  EXPECT_EQ(value(ceilDiv(total, 64)), 2);
  EXPECT_EQ(value(floorDiv(total, 64)), 1);
  EXPECT_EQ(value(modulo(total, 64)), 36);
  EXPECT_EQ(value(minimum(total, 64)), 64);
  EXPECT_EQ(value(maximum(total, 64)), 100);
}

TEST(Expr, RoundsNegativeQuotientsTowardsTheirName) {
  EXPECT_EQ(value(ceilDiv(-7, 2)), -3);
  EXPECT_EQ(value(floorDiv(-7, 2)), -4);
  EXPECT_EQ(value(modulo(-7, 4)), 1);
  EXPECT_EQ(value(ceilDiv(INT64_MIN, 1)), INT64_MIN);
  EXPECT_EQ(value(ceilDiv(INT64_MAX, 2)), INT64_MAX / 2 + 1);
}

TEST(Expr, ReportsUnknownNamesOverflowAndDivisionByZero) {
  EXPECT_EQ(problem(Expr("batch") + 1), "the launch expression needs 'batch', which no argument gives");
  EXPECT_EQ(problem(Expr("big") + 1),
            "the launch expression big + 1 overflows 64 bits with 9223372036854775807 and 1");
  EXPECT_NE(problem(Expr("big") * 2).find("overflows"), std::string::npos);
  EXPECT_NE(problem(Expr(INT64_MIN) - 1).find("overflows"), std::string::npos);
  EXPECT_NE(problem(floorDiv(INT64_MIN, -1)).find("overflows"), std::string::npos);
  EXPECT_EQ(problem(ceilDiv("total", 0)), "the launch expression ceildiv(total, 0) divides by zero");
  EXPECT_NE(problem(modulo("total", 0)).find("divides by zero"), std::string::npos);
}

TEST(Expr, ListsItsNames) {
  std::string names;
  (ceilDiv("total", 64) * Expr("batch")).forEachName([&](const std::string &name) { names += name + " "; });
  EXPECT_EQ(names, "total batch ");
}

} // namespace
