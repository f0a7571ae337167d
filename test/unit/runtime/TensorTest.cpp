// test/unit/runtime/TensorTest.cpp - spans and overlap of strided views.
#include "runtime/core/Tensor.h"

#include <gtest/gtest.h>

using namespace fovea;

namespace {
Tensor at(unsigned long long address, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  Tensor tensor{"t", address, DType::BF16, shape, strides};
  if (strides.empty())
    tensor.strides = contiguousStrides(shape);
  return tensor;
}
} // namespace

TEST(Tensor, MeasuresItsSpan) {
  EXPECT_EQ(contiguousStrides({3, 4, 5}), (std::vector<int64_t>{20, 5, 1}));
  EXPECT_EQ(at(0, {3, 4, 5}).spanBytes(), 120);
  EXPECT_EQ(at(0, {3, 4}, {100, 1}).spanBytes(), (200 + 3 + 1) * 2);
  EXPECT_EQ(at(0, {0, 4}).spanBytes(), 0);
  EXPECT_EQ(at(0, {1, 4}, {INT64_MAX, 1}).spanBytes(), 8); // nobody steps along an extent of 1
  EXPECT_EQ(at(0, {3, 4}, {INT64_MAX / 2, 1}).spanBytes(), std::nullopt);
  EXPECT_EQ(at(0, {INT64_MAX, INT64_MAX}, {0, 0}).elements(), std::nullopt);
}

TEST(Tensor, OverlapsByRange) {
  EXPECT_FALSE(mayOverlap(at(0, {10}), at(20, {10})));
  EXPECT_TRUE(mayOverlap(at(0, {10}), at(18, {10})));
  EXPECT_TRUE(mayOverlap(at(18, {10}), at(0, {10})));
  EXPECT_FALSE(mayOverlap(at(0, {0}), at(0, {10})));
}

TEST(Tensor, SlicesOfAPackedBufferDoNotOverlap) {
  // [total, 4, 8] packed rows: slice i is [total, 8] with stride 32.
  auto slice = [](int i) { return at(0x1000 + i * 16, {100, 8}, {32, 1}); };
  EXPECT_FALSE(mayOverlap(slice(0), slice(3)));
  EXPECT_FALSE(mayOverlap(slice(3), slice(0)));
  EXPECT_TRUE(mayOverlap(slice(1), slice(1)));
  EXPECT_TRUE(mayOverlap(slice(1), at(0x1000 + 24, {100, 8}, {32, 1})));
  EXPECT_TRUE(mayOverlap(at(0x1000, {100, 32}), slice(2)));
  // The last slice, one element too long, reaches into the next row.
  EXPECT_TRUE(mayOverlap(slice(0), at(0x1000 + 48, {100, 9}, {32, 1})));
}
