// test/unit/runtime/ArgumentsTest.cpp - each rule about tensors, and the message when it is broken.
#include "FakeDriver.h"
#include "runtime/core/Arguments.h"

#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor tensor(std::string name, unsigned long long address, DType dtype, std::vector<int64_t> shape) {
  Tensor result{name, address, dtype, shape, contiguousStrides(shape)};
  return result;
}

/// Legal arguments of smallManifest: 100 rows, 3 sequences.
std::vector<Tensor> legal() {
  return {tensor("q", 0x100000, DType::BF16, {100, 2, 64}), tensor("o", 0x200000, DType::BF16, {100, 2, 64}),
          tensor("lse", 0x300000, DType::F32, {100, 2}), tensor("offsets", 0x400000, DType::I32, {4})};
}

Expected<Arguments> match(const std::vector<Tensor> &tensors, const std::map<std::string, int64_t> &dims = {}) {
  return Arguments::bind(smallManifest(""), "forward", tensors, dims, 148);
}

/// The message after `edit` has changed the legal tensors.
template <typename Edit> std::string problem(Edit edit) {
  std::vector<Tensor> tensors = legal();
  edit(tensors);
  Expected<Arguments> result = match(tensors);
  return result ? "no error" : result.message();
}

TEST(Arguments, BindNames) {
  Expected<Arguments> arguments = match(legal());
  ASSERT_TRUE(arguments) << arguments.message();
  EXPECT_EQ(arguments->value("total"), 100);
  EXPECT_EQ(arguments->value("batch"), 3);
  EXPECT_EQ(arguments->value("q.shape.1"), 2);
  EXPECT_EQ(arguments->value("q.stride.0"), 128);
  EXPECT_EQ(arguments->value("q.itemsize"), 2);
  EXPECT_EQ(arguments->value("lse.present"), 1);
  EXPECT_EQ(arguments->value("sm_count"), 148);
  EXPECT_EQ(arguments->value("q.shape.3"), std::nullopt);
  EXPECT_EQ(arguments->value("q.colour"), std::nullopt);
  EXPECT_EQ(arguments->value("nothing"), std::nullopt);
}

TEST(Arguments, LeaveOutOptionalTensors) {
  std::vector<Tensor> tensors = legal();
  tensors.erase(tensors.begin() + 2);
  Expected<Arguments> arguments = match(tensors);
  ASSERT_TRUE(arguments) << arguments.message();
  EXPECT_EQ(arguments->value("lse.present"), 0);
  EXPECT_EQ(arguments->value("lse.stride.0"), 0);
}

TEST(Arguments, AcceptAnEmptyBatch) {
  std::vector<Tensor> tensors = {tensor("q", 0, DType::BF16, {0, 2, 64}), tensor("o", 0, DType::BF16, {0, 2, 64}),
                                 tensor("offsets", 0x400000, DType::I64, {1})};
  Expected<Arguments> arguments = match(tensors);
  ASSERT_TRUE(arguments) << arguments.message();
  EXPECT_EQ(arguments->value("batch"), 0);
}

TEST(Arguments, AcceptAnyStridesButTheInnermost) {
  std::vector<Tensor> tensors = legal();
  tensors[0].strides = {1000, 64, 1};                // padded rows
  tensors[1].strides = {64, 6400, 1};                // heads outermost
  EXPECT_TRUE(match(tensors));
  tensors[0].shape[0] = tensors[1].shape[0] = tensors[2].shape[0] = 1;
  tensors[0].strides = {7, 64, 1};                   // an extent of 1 has no stride to speak of
  EXPECT_TRUE(match(tensors));
  tensors[0].strides = {0, 0, 1};                    // one row broadcast over heads: an input may
  EXPECT_TRUE(match(tensors));
}

TEST(Arguments, RefuseNames) {
  EXPECT_EQ(problem([](auto &t) { t[0].name = "qq"; }),
            "'small' has no tensor 'qq'; it takes q, o, lse (optional), offsets");
  EXPECT_EQ(problem([](auto &t) { t[1].name = "q"; }), "tensor 'q' is passed twice");
  EXPECT_EQ(problem([](auto &t) { t.erase(t.begin()); }),
            "tensor 'q' is missing; 'small' takes q, o, lse (optional), offsets");
  EXPECT_EQ(Arguments::bind(smallManifest(""), "backward", legal(), {}, 1).message(),
            "'small' has no operation 'backward'; it has forward");
}

TEST(Arguments, RefuseTypesAndShapes) {
  EXPECT_EQ(problem([](auto &t) { t[0].dtype = DType::F16; }),
            "tensor 'q': the element type must be bf16, found f16");
  EXPECT_EQ(problem([](auto &t) { t[3].dtype = DType::F32; }),
            "tensor 'offsets': the element type must be i32 or i64, found f32");
  EXPECT_EQ(problem([](auto &t) { t[0] = tensor("q", 0x100000, DType::BF16, {100, 128}); }),
            "tensor 'q': expected 3 dimensions, found 2 [100, 128]");
  EXPECT_EQ(problem([](auto &t) { t[0] = tensor("q", 0x100000, DType::BF16, {100, 2, 32}); }),
            "tensor 'q': dimension 2 must be 64, found 32");
  EXPECT_EQ(problem([](auto &t) { t[1] = tensor("o", 0x200000, DType::BF16, {101, 2, 64}); }),
            "tensor 'o': dimension 0 must be total = 100 ('total' comes from tensor 'q', dimension 0), found 101");
  EXPECT_EQ(problem([](auto &t) { t[0].shape[0] = -1; }), "tensor 'q': dimension 0 has the negative extent -1");
  EXPECT_EQ(problem([](auto &t) { t[3].shape[0] = 0; }),
            "tensor 'offsets': dimension 0 must be batch + 1 with batch >= 0, found 0");
  EXPECT_EQ(problem([](auto &t) { t[0].strides.pop_back(); }),
            "tensor 'q': expected one stride per dimension, found 2");
  EXPECT_EQ(match(legal(), {{"batch", 5}}).message(),
            "tensor 'offsets': dimension 0 must be batch + 1 = 6 ('batch' comes from the caller), found 4");
}

TEST(Arguments, TakeAnyStrideWhereElementsAreStoredOneByOne) {
  auto headsFirst = [](auto &t) { t[2].strides = {1, 100}; };
  EXPECT_NE(problem(headsFirst).find("the innermost, must be 1 element, found 100"), std::string::npos);
  Manifest m = smallManifest("");
  m.tensors[2].strided = true;
  std::vector<Tensor> t = legal();
  headsFirst(t);
  EXPECT_TRUE(Arguments::bind(m, "forward", t, {}, 132));
}

TEST(Arguments, RefuseStrides) {
  EXPECT_EQ(problem([](auto &t) { t[0].strides = {128, 1, 2}; }),
            "tensor 'q': the stride of dimension 2, the innermost, must be 1 element, found 2; make the tensor "
            "contiguous in that dimension");
  EXPECT_EQ(problem([](auto &t) { t[0].strides[0] = 130; }),
            "tensor 'q': the stride of dimension 0 must be a multiple of 16 bytes, because the kernel moves whole rows "
            "of that granularity (TMA), found 260 bytes; pad the row");
  EXPECT_EQ(problem([](auto &t) { t[0].strides[0] = -128; }),
            "tensor 'q': the stride of dimension 0 is negative (-128); flip the tensor into fresh memory");
  EXPECT_EQ(problem([](auto &t) { t[1].strides[1] = 0; }),
            "tensor 'o': the stride of dimension 1 is 0, so that several elements of an output share an address");
  EXPECT_EQ(problem([](auto &t) { t[0].strides[0] = INT64_MAX / 16 * 16; }),
            "tensor 'q': the shape [100, 2, 64] with strides [9223372036854775792, 64, 1] spans more than 2^63 bytes");
}

TEST(Arguments, RefuseAddresses) {
  EXPECT_EQ(problem([](auto &t) { t[0].address = 0; }),
            "tensor 'q': the address is null, but the shape [100, 2, 64] is not empty");
  EXPECT_EQ(problem([](auto &t) { t[0].address += 8; }),
            "tensor 'q': the address must be a multiple of 16 bytes, found 0x100008");
  EXPECT_EQ(problem([](auto &t) {
              t[3].dtype = DType::I64;
              t[3].address += 4;
            }),
            "tensor 'offsets': the address must be a multiple of 8 bytes, found 0x400004");
  EXPECT_EQ(problem([](auto &t) {
              t[0].capacityKnown = true;
              t[0].capacity = 25598;
            }),
            "tensor 'q': the shape [100, 2, 64] with strides [128, 64, 1] spans 25600 bytes, but its buffer has 25598 "
            "from the address on");
}

TEST(Arguments, RefuseOverlap) {
  EXPECT_EQ(problem([](auto &t) { t[1].address = t[0].address + 1600; }),
            "the output tensor 'o' overlaps tensor 'q' in memory; an output needs memory of its own");
  EXPECT_EQ(problem([](auto &t) { t[2].address = t[1].address; }),
            "the output tensor 'o' overlaps tensor 'lse' in memory; an output needs memory of its own");
  // q and o as slices of one packed buffer share no byte.
  EXPECT_EQ(problem([](auto &t) {
              t[0].strides = t[1].strides = {256, 64, 1};
              t[1].address = t[0].address + 256;
            }),
            "no error");
}

TEST(Arguments, RefuseNarrowOffsetsForManyRows) {
  int64_t rows = int64_t(1) << 32;
  EXPECT_EQ(problem([&](auto &t) {
              t[0] = tensor("q", 1ull << 44, DType::BF16, {rows, 2, 64});
              t[1] = tensor("o", 2ull << 44, DType::BF16, {rows, 2, 64});
              t[2] = tensor("lse", 3ull << 44, DType::F32, {rows, 2});
            }),
            "tensor 'offsets' is i32, but tensor 'q' has 4294967296 rows; pass i64 offsets");
}

std::string offsetsProblem(std::vector<int64_t> values, DType dtype = DType::I32) {
  std::vector<Tensor> tensors = legal();
  tensors[3].dtype = dtype;
  Expected<Arguments> arguments = match(tensors);
  EXPECT_TRUE(arguments);
  Expected<void> result = arguments->checkOffsets(smallManifest(""), {"offsets", values});
  return result ? "no error" : result.message();
}

TEST(Offsets, AreValidWhenTheyNeverDecreaseInsideTheTensor) {
  EXPECT_EQ(offsetsProblem({0, 10, 10, 100}), "no error");
  EXPECT_EQ(offsetsProblem({5, 10, 10, 99}), "no error"); // rows outside belong to no sequence
}

TEST(Offsets, AreRefusedWithTheValue) {
  EXPECT_EQ(offsetsProblem({0, 20, 10, 100}),
            "tensor 'offsets': value 2 decreases from 20 to 10; sequence i is the rows [offsets[i], offsets[i + 1])");
  EXPECT_EQ(offsetsProblem({0, 10, 20, 101}),
            "tensor 'offsets': the last value is 101, but tensor 'q' has only 100 rows");
  EXPECT_EQ(offsetsProblem({-1, 10, 20, 100}),
            "tensor 'offsets': value 0 is negative (-1); offsets count rows from 0 (an i32 table may have overflowed; "
            "pass i64)");
  EXPECT_EQ(offsetsProblem({-1, 10, 20, 100}, DType::I64),
            "tensor 'offsets': value 0 is negative (-1); offsets count rows from 0");
  EXPECT_EQ(offsetsProblem({0, 10, 20, int64_t(1) << 31}),
            "tensor 'offsets': value 3 is 2147483648, which does not fit i32; pass i64 offsets");
  EXPECT_EQ(offsetsProblem({0, 10}), "tensor 'offsets': the host copy has 2 values, the tensor 4");
  Expected<Arguments> arguments = match(legal());
  EXPECT_EQ(arguments->checkOffsets(smallManifest(""), {"q", {0}}).message(),
            "host offsets were given for 'q', which is not a passed offsets tensor");
}

/// smallManifest with a table of positions of `rows` rows.
struct PositionTable {
  Manifest manifest = smallManifest("");
  std::vector<Tensor> tensors = legal();
  explicit PositionTable(int64_t rows, int64_t columns = 64, DType dtype = DType::BF16) {
    TensorSpec spec{"angles", TensorSpec::Role::Input, {DType::BF16}, {"n_angles", 64}, 16, 16, false, ""};
    spec.positions = "offsets";
    manifest.tensors.push_back(spec);
    ParamSpec pointer;
    pointer.tensor = "angles";
    manifest.kernels[0].params.push_back(pointer);
    tensors.push_back(tensor("angles", 0x500000, dtype, {rows, columns}));
  }
  std::string problem() const {
    Expected<Arguments> arguments = Arguments::bind(manifest, "forward", tensors, {}, 148);
    if (!arguments)
      return arguments.message();
    Expected<void> result = arguments->checkOffsets(manifest, {"offsets", {0, 10, 70, 100}});
    return result ? "no error" : result.message();
  }
};

TEST(Offsets, AskForATableAsLongAsTheLongestSequence) {
  EXPECT_EQ(PositionTable(60).problem(), "no error");
  EXPECT_EQ(PositionTable(59).problem(), "tensor 'angles': has 59 rows, one for each position in a sequence, but sequence "
                                         "1 of 'offsets' has 60; pass a longer table");
  EXPECT_EQ(PositionTable(60, 56).problem(), "tensor 'angles': dimension 1 must be 64, found 56");
  EXPECT_EQ(PositionTable(60, 63).problem(), "tensor 'angles': the stride of dimension 0 must be a multiple of 16 bytes, because "
                                             "the kernel moves whole rows of that granularity (TMA), found 126 bytes; pad the row");
  EXPECT_EQ(PositionTable(60, 64, DType::F32).problem(), "tensor 'angles': the element type must be bf16, found f32");
}

} // namespace
