// test/unit/frontend/cli/ComparisonTest.cpp - what makes `fovea check` say FAIL.
#include "frontend/cli/Comparison.h"
#include "frontend/cli/Elements.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace fovea;

namespace {

const double kNan = std::nan("");

/// A bf16 output of four elements, the last owned by no sequence; the plain computation is off by 2^-9.
ComparedOutput right() {
  ComparedOutput output;
  output.name = "o";
  output.exact = {1.0, -2.0, 0.5, kNan};
  output.plain = {1.0, -2.0, 0.5 + 0x1p-9, kNan};
  output.actual = encodeElements({1.0, -2.0, 0.5}, DType::BF16) + "\xff\xff";
  output.owned = {true, true, true, false};
  return output;
}

Comparison with(int index, double value) {
  ComparedOutput output = right();
  output.actual.replace(index * 2, 2, encodeElements({value}, DType::BF16));
  return compare(output, {2, 2});
}

} // namespace

TEST(Comparison, PassesWhatIsRight) {
  Comparison c = compare(right(), {2, 2});
  EXPECT_TRUE(c.passes()) << c.firstProblem;
  EXPECT_EQ(c.elements, 3);
  EXPECT_EQ(c.maxError, 0);
  EXPECT_EQ(c.plainMaxError, 0x1p-9);
  EXPECT_EQ(c.floor, 0x1p-7); // half a unit in the last place of 2.0
  EXPECT_TRUE(std::isinf(c.snrDb));
  EXPECT_EQ(c.firstProblem, "");
}

TEST(Comparison, AllowsTwiceThePlainErrorAndTheFloor) {
  // 2 * 2^-9 + 2^-7 = 0.01171875; steps of bf16 just below 1.0 are 2^-8.
  EXPECT_TRUE(with(0, 1 - 3 * 0x1p-8).passes());
  Comparison c = with(0, 1 - 4 * 0x1p-8);
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.firstProblem, "o[0, 0] is 0.984375; expected 1");
}

TEST(Comparison, FailsOnUnwrittenElements) {
  ComparedOutput output = right();
  output.actual.replace(2, 2, "\xff\xff");
  Comparison c = compare(output, {2, 2});
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.unwritten, 1);
  EXPECT_EQ(c.firstProblem, "o[0, 1] was not written; expected -2");
}

TEST(Comparison, FailsOnNanAndInfinity) {
  EXPECT_EQ(with(2, kNan).nans, 1);
  EXPECT_FALSE(with(2, kNan).passes());
  Comparison c = with(1, INFINITY);
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.firstProblem, "o[0, 1] is inf; expected -2");
}

TEST(Comparison, TakesInfinitiesThatAreMeant) {
  ComparedOutput lse{"lse", DType::F32, {-INFINITY, 1}, {-INFINITY, 1}, encodeElements({-INFINITY, 1}, DType::F32)};
  EXPECT_TRUE(compare(lse, {2}).passes());
  lse.actual = encodeElements({-1e30, 1}, DType::F32);
  EXPECT_FALSE(compare(lse, {2}).passes());
}

TEST(Comparison, TakesNanOnlyWhereItIsMeant) {
  ComparedOutput output = right();
  output.exact[0] = kNan; // of a sequence: its meaning is no number
  EXPECT_FALSE(compare(output, {2, 2}).passes());
  EXPECT_EQ(compare(output, {2, 2}).strayWrites, 0);
  EXPECT_EQ(compare(output, {2, 2}).firstProblem, "o[0, 0] is 1; expected nan");
  output.actual.replace(0, 2, encodeElements({kNan}, DType::BF16));
  EXPECT_TRUE(compare(output, {2, 2}).passes());
  output.actual.replace(0, 2, "\xff\xff");
  EXPECT_EQ(compare(output, {2, 2}).unwritten, 1);
}

TEST(Comparison, FailsOnWritesOutsideEverySequence) {
  Comparison c = with(3, 0);
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.strayWrites, 1);
  EXPECT_EQ(c.firstProblem, "o[1, 1] belongs to no sequence, but was written (0)");
}

TEST(Comparison, FailsOnAnotherNumberOfElements) {
  ComparedOutput output = right();
  output.actual.resize(6);
  Comparison c = compare(output, {2, 2});
  EXPECT_FALSE(c.passes());
  EXPECT_EQ(c.firstProblem, "o has 3 elements, the meaning has 4");
}

TEST(Comparison, MeasuresSignalToNoise) {
  ComparedOutput output{"o", DType::F32, {3, 4}, {3, 4}, encodeElements({3, 4.5}, DType::F32)};
  EXPECT_NEAR(compare(output, {2}).snrDb, 20, 1e-9); // 25 / 0.25
}

TEST(Comparison, RoundingFloorIsHalfAUnitInTheLastPlace) {
  EXPECT_EQ(roundingFloor(DType::BF16, 1.99), 0x1p-8);
  EXPECT_EQ(roundingFloor(DType::BF16, 2), 0x1p-7);
  EXPECT_EQ(roundingFloor(DType::F16, 1), 0x1p-11);
  EXPECT_EQ(roundingFloor(DType::F32, 0.1), 0x1p-20);
  EXPECT_EQ(roundingFloor(DType::F32, 8), 0x1p-17);
  EXPECT_EQ(roundingFloor(DType::BF16, 0), 0);
}

TEST(Comparison, PrintsATableWithProblems) {
  std::string table = comparisonTable({compare(right(), {2, 2}), with(3, 0)});
  EXPECT_NE(table.find("  ok\n"), std::string::npos);
  EXPECT_NE(table.find("  wrong\n"), std::string::npos);
  EXPECT_NE(table.find("  o[1, 1] belongs to no sequence"), std::string::npos);
  EXPECT_NE(table.find("  o: 0 not written, 0 not finite, 1 written outside every sequence\n"), std::string::npos);
}
