// test/unit/attn/InputErrorsTest.cpp - is a launch that does not fit its spec refused by name?
#include "test/unit/attn/Support.h"

namespace fovea::attn::reference {
namespace {

class InputErrors : public testing::Test {
protected:
  SpecModule module = SpecModule::example("cross");
  NamedTensors in = randomLaunch(module.spec(), {{{"q_offsets", {3, 2}}, {"kv_offsets", {4, 1}}}});
  void expectError(const std::string &text) {
    std::string found = errorOf(module.spec(), in);
    EXPECT_NE(found.find(text), std::string::npos) << "expected: " << text << "\nfound: " << found;
  }
};

TEST_F(InputErrors, MissingTensor) {
  in.tensors.erase("k");
  expectError("input 'k': expected in the launch, found none");
}
TEST_F(InputErrors, MissingOffsets) {
  in.offsets.erase("kv_offsets");
  expectError("offsets 'kv_offsets': expected in the launch, found none");
}
TEST_F(InputErrors, NoOffsets) {
  in.offsets["q_offsets"].clear();
  expectError("offsets 'q_offsets': expected batch + 1 entries, found none");
}
TEST_F(InputErrors, NegativeOffset) {
  in.offsets["q_offsets"][0] = -1;
  expectError("offsets 'q_offsets': expected entries of at least 0, found -1");
}
TEST_F(InputErrors, DecreasingOffsets) {
  in.offsets["q_offsets"] = {0, 4, 3};
  expectError("offsets 'q_offsets': expected entries that do not decrease, found 3 after 4 at entry 2");
}
TEST_F(InputErrors, OffsetsPastTheTensor) {
  in.offsets["q_offsets"][2] = 9;
  expectError("input 'q': expected at least 9 rows, where offsets 'q_offsets' end, found 5");
}
TEST_F(InputErrors, DifferentBatches) {
  in.offsets["q_offsets"] = {0, 5};
  expectError("expected one batch size, found 1 sequences in offsets 'q_offsets' and 2 in offsets 'kv_offsets'");
}
TEST_F(InputErrors, WrongRank) {
  in.tensors["q"] = HostTensor({5, 512});
  expectError("input 'q': expected 3 dimensions, [rows of q_offsets, 8 heads, 64], found 2, [5, 512]");
}
TEST_F(InputErrors, WrongNumberOfStrides) {
  in.tensors["q"].strides.pop_back();
  expectError("input 'q': expected 3 strides, found 2");
}
TEST_F(InputErrors, WrongHeads) {
  in.tensors["q"] = HostTensor({5, 4, 64});
  expectError("input 'q': expected 8 in dimension 1 of [rows of q_offsets, 8 heads, 64], found 4 in [5, 4, 64]");
}
TEST_F(InputErrors, NegativeStride) {
  in.tensors["q"].strides[0] = -512;
  expectError("input 'q': expected sizes and strides of at least 0, found 5 and -512 in dimension 0");
}
TEST_F(InputErrors, TooFewElements) {
  in.tensors["v"].values.pop_back();
  expectError("input 'v': expected at least 2560 elements for its shape and strides, found 2559");
}
TEST_F(InputErrors, RowsThatDisagree) {
  in.tensors["v"] = HostTensor({6, 8, 64});
  expectError("input 'v': expected 5 rows as in other tensors of kv_offsets, found 6");
}

TEST(BlockListErrors, UnsortedRepeatedOutOfRangeOrTooFewBlocks) {
  SpecModule module = SpecModule::example("selected");
  NamedTensors in = randomLaunch(module.spec(), {{{"offsets", {200}}}, {}, 1, /*tables=*/3});
  HostTensor &picks = in.tensors.at("picks");
  picks.at({1, 2, 0}) = 0;
  picks.at({1, 2, 1}) = 0;
  EXPECT_NE(errorOf(module.spec(), in).find("expected key blocks below 2 in ascending order, then -1; found 0 twice in "
                                            "sequence 0, query block 1, head 2"), std::string::npos);
  picks.at({1, 2, 0}) = 1;
  EXPECT_NE(errorOf(module.spec(), in).find("found 0 behind a greater one in sequence 0, query block 1, head 2"),
            std::string::npos);
  picks.at({1, 2, 1}) = 2;
  EXPECT_NE(errorOf(module.spec(), in).find("found 2 out of range in sequence 0, query block 1, head 2"),
            std::string::npos);
  in.tensors["picks"] = HostTensor({1, 8, 3}, -1);
  EXPECT_NE(errorOf(module.spec(), in).find("input 'picks': expected 2 blocks of 128 rows in all, found 1"),
            std::string::npos);
}

TEST(LookUpErrors, IndexOutsideTheTable) {
  SpecModule module = SpecModule::parse(R"(
    !T = !attn.tensor<jagged("o") x heads(1) x 4 x f32>
    !M = !attn.mask<jagged("o") x jagged("o")>
    !S = !attn.pairs<jagged("o") x jagged("o") x heads(1) x f32>
    attn.spec @a(q = %q : !T, bias = %bias : !attn.tensor<3 x f32>) {
      %m = attn.pattern #attn.full -> !M
      %s = attn.dots %q, %q where %m : (!T, !T, !M) -> !S
      %t = attn.map_pairs %s : (!S) -> !S {
      ^bb0(%x: f32, %i: i64, %j: i64, %h: i64, %b: i64, %nq: i64, %nk: i64):
        %y = attn.lookup %bias[%i] : !attn.tensor<3 x f32> -> f32
        attn.result %y : f32
      }
      %o = attn.combine %t, %q : (!S, !T) -> !T
      attn.yield o = %o : !T
    })");
  NamedTensors in = randomLaunch(module.spec(), {{{"o", {3, 4}}}});
  EXPECT_NE(errorOf(module.spec(), in).find("table 'bias': expected an index from 0 and below 3 in dimension 0, found 3 in sequence 1; give the table an entry for "
                             "each index, or bound the index by max and min"),
            std::string::npos)
      << errorOf(module.spec(), in);
}

/// q with heads known at launch, k with 2.
const char *kLaunchHeads = R"(
  !Q = !attn.tensor<dense("s") x heads(?) x 4 x f32>
  !K = !attn.tensor<dense("s") x heads(2) x 4 x f32>
  !M = !attn.mask<dense("s") x dense("s")>
  !S = !attn.pairs<dense("s") x dense("s") x heads(?) x f32>
  attn.spec @a(q = %q : !Q, k = %k : !K) {
    %m = attn.pattern #attn.full -> !M
    %s = attn.dots %q, %k where %m : (!Q, !K, !M) -> !S
    %o = attn.combine %s, %k : (!S, !K) -> !Q
    attn.yield o = %o : !Q
  })";

TEST(LaunchHeadErrors, HeadsThatDoNotGroup) {
  SpecModule module = SpecModule::parse(kLaunchHeads);
  NamedTensors in = randomLaunch(module.spec(), {{}, {{"s", 3}}, 1, 64, /*launchHeads=*/3});
  EXPECT_EQ(errorOf(module.spec(), in), "attn.dots: expected 3 heads to be a multiple of the 2 that they share");
  in.tensors["q"] = HostTensor({1, 3, 4, 4}, 1.0);
  EXPECT_EQ(errorOf(module.spec(), in), "");
}

TEST(LaunchHeadErrors, NoHeads) {
  SpecModule module = SpecModule::parse(kLaunchHeads);
  NamedTensors in = randomLaunch(module.spec(), {{}, {{"s", 3}}, 1, 64, /*launchHeads=*/0});
  EXPECT_EQ(errorOf(module.spec(), in), "input 'q': expected at least one head, found 0");
}

TEST(RotaryErrors, ATableShorterThanASequence) {
  SpecModule module = SpecModule::parse(R"(
    !T = !attn.tensor<jagged("o") x heads(1) x 4 x f32>
    attn.spec @a(q = %q : !T, table = %table : !attn.tensor<? x 4 x f32>) {
      %o = attn.rotary %q, %table halves : (!T, !attn.tensor<? x 4 x f32>) -> !T
      attn.yield o = %o : !T
    })");
  NamedTensors in = randomLaunch(module.spec(), {{{"o", {2, 5}}}, {}, 1, /*tables=*/4});
  EXPECT_EQ(errorOf(module.spec(), in),
            "rotary table: expected a row for each position, found 4 rows for the 5 of sequence 1");
}

} // namespace
} // namespace fovea::attn::reference
