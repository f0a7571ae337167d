// test/unit/runtime/TensorMapTest.cpp - TMA's rules on recipes, before the driver is asked.
#include "FakeDriver.h"
#include "runtime/core/TensorMap.h"

#include <gtest/gtest.h>

using namespace fovea;
using namespace fovea::test;

namespace {

Tensor q(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  return {"q", 0x100000, DType::BF16, shape, strides};
}

/// Arguments of a manifest that puts no rule on strides, so that only the tensor map's own remain.
Expected<TensorMapShape> evaluate(const Tensor &tensor, ParamSpec recipe) {
  Manifest manifest = smallManifest("");
  manifest.tensors = {{"q", TensorSpec::Role::Input, {DType::BF16}, {"total", "heads", "depth"}, 2, 1, false, ""}};
  Expected<Arguments> arguments = Arguments::bind(manifest, "forward", {tensor}, {}, 1);
  // o and offsets are gone from the manifest, so nothing is missing.
  EXPECT_TRUE(arguments) << (arguments ? "" : arguments.message());
  return evaluateTensorMap(recipe, DType::BF16, *arguments);
}

ParamSpec recipe() { return smallManifest("").kernels[0].params[0]; }

std::string problem(Expected<TensorMapShape> result) { return result ? "no error" : result.message(); }

} // namespace

TEST(TensorMap, EvaluatesDimsAndStrides) {
  Expected<TensorMapShape> shape = evaluate(q({100, 2, 64}, {256, 64, 1}), recipe());
  ASSERT_TRUE(shape) << shape.message();
  EXPECT_EQ(shape->dims, (std::vector<uint64_t>{64, 100, 2}));
  EXPECT_EQ(shape->strides, (std::vector<uint64_t>{512, 128}));
  EXPECT_EQ(shape->spanBytes, 64 * 2 + 99 * 512 + 128u);
  EXPECT_FALSE(shape->empty);
}

TEST(TensorMap, GivesUnusedStridesALegalValue) {
  Expected<TensorMapShape> shape = evaluate(q({1, 2, 64}, {3, 64, 1}), recipe());
  ASSERT_TRUE(shape) << shape.message();
  EXPECT_EQ(shape->strides[0], 16u);
}

TEST(TensorMap, MarksEmptyTensors) {
  Expected<TensorMapShape> shape = evaluate(q({0, 2, 64}, {128, 64, 1}), recipe());
  ASSERT_TRUE(shape) << shape.message();
  EXPECT_TRUE(shape->empty);
  EXPECT_EQ(shape->dims[1], 1u);
}

TEST(TensorMap, RefusesWhatTmaCannotAddress) {
  EXPECT_EQ(problem(evaluate(q({100, 2, 64}, {130, 64, 1}), recipe())),
            "tensor 'q': tensor-map stride of dimension 1 (q.stride.0 * q.itemsize) must be a multiple of 16 bytes "
            "below 2^40, because TMA addresses rows so, found 260; pad the row");
  EXPECT_NE(problem(evaluate(q({100, 2, 64}, {int64_t(1) << 40, 64, 1}), recipe())).find("below 2^40"),
            std::string::npos);
  EXPECT_EQ(problem(evaluate(q({(int64_t(1) << 32) + 1, 2, 64}, {128, 64, 1}), recipe())),
            "tensor 'q': tensor-map dimension 1 (total) must be at most 2^32, found 4294967297");
  ParamSpec narrow = recipe();
  narrow.box[0] = 4;
  EXPECT_EQ(problem(evaluate(q({100, 2, 64}, {128, 64, 1}), narrow)),
            "tensor 'q': tensor-map box row must be a multiple of 16 bytes, found 8");
  ParamSpec wide = recipe();
  wide.box[0] = 128;
  EXPECT_EQ(problem(evaluate(q({100, 2, 64}, {128, 64, 1}), wide)),
            "tensor 'q': tensor-map box row of 256 bytes is wider than its swizzle, 128B");
}

TEST(TensorMap, PassesTheRecipeToTheDriver) {
  FakeDriver driver;
  Expected<TensorMapShape> shape = evaluate(q({100, 2, 64}, {128, 64, 1}), recipe());
  ASSERT_TRUE(shape);
  Expected<cu::CUtensorMap> map = encodeTensorMap(driver.api, recipe(), DType::BF16, *shape, 0x100000);
  ASSERT_TRUE(map) << map.message();
  const RecordedMap &seen = fake().maps.at(0);
  EXPECT_EQ(seen.type, cu::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(seen.swizzle, cu::CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(seen.box, (std::vector<uint32_t>{64, 16, 1}));
  EXPECT_EQ(seen.address, 0x100000u);
  EXPECT_EQ(encodeTensorMap(driver.api, recipe(), DType::BF16, *shape, 0x100008).message(),
            "tensor 'q': a tensor map needs an address that is a multiple of 16 bytes");
  fake().failCall = "cuTensorMapEncodeTiled";
  fake().failWith = cu::CUDA_ERROR_INVALID_VALUE;
  EXPECT_NE(encodeTensorMap(driver.api, recipe(), DType::BF16, *shape, 0x100000)
                .message()
                .find("while: tensor map of 'q'"),
            std::string::npos);
}
