// test/unit/emulator/driver/TensorMapApiTest.cpp - what the library says of a tensor map that it refuses
#include "runtime/driver/cuda_abi.h"
#include <gtest/gtest.h>

using namespace fovea::cu;

namespace {

alignas(64) CUtensorMap map;
const uint64_t dims[] = {16, 9, 5}, strides[] = {32, 288};
const uint32_t box[] = {16, 8, 1}, steps[] = {1, 1, 1};
const int corner[] = {0};

std::string tiled(CUtensorMap *to, const uint32_t *extents, const uint32_t *elementStrides = steps, CUresult expected = CUDA_ERROR_INVALID_VALUE) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, nullptr, dims, strides, extents, elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            expected);
  return testing::internal::GetCapturedStderr();
}

std::string im2col(CUtensorMap *to, const int *lower, const int *upper, const uint32_t *elementStrides = steps, CUresult expected = CUDA_ERROR_INVALID_VALUE) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuTensorMapEncodeIm2col(to, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, nullptr, dims, strides, lower, upper, 16, 8, elementStrides,
                                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            expected);
  return testing::internal::GetCapturedStderr();
}

TEST(TensorMapApi, SaysWhichArgumentMustNotBeNull) {
  const std::string ofTiled = "fovea emulator: cuTensorMapEncodeTiled: ", ofIm2col = "fovea emulator: cuTensorMapEncodeIm2col: ";
  EXPECT_EQ(tiled(&map, box, steps, CUDA_SUCCESS), "");
  EXPECT_EQ(im2col(&map, corner, corner, steps, CUDA_SUCCESS), "");
  EXPECT_EQ(tiled(&map, nullptr), ofTiled + "globalDim, globalStrides, boxDim and elementStrides must not be null\n");
  EXPECT_EQ(im2col(&map, corner, corner, nullptr), ofIm2col + "globalDim, globalStrides and elementStrides must not be null\n");
  for (bool lower : {false, true})
    EXPECT_EQ(im2col(&map, lower ? corner : nullptr, lower ? nullptr : corner), ofIm2col + "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null\n");
}

TEST(TensorMapApi, SaysWhereTheMapMustLie) {
  auto *odd = reinterpret_cast<CUtensorMap *>(reinterpret_cast<char *>(&map) + 8);
  for (CUtensorMap *to : {static_cast<CUtensorMap *>(nullptr), odd}) {
    const std::string rule = "tensorMap must be a multiple of 64 bytes and not null, found " + std::to_string(reinterpret_cast<uintptr_t>(to)) + "\n";
    EXPECT_EQ(tiled(to, box), "fovea emulator: cuTensorMapEncodeTiled: " + rule);
    EXPECT_EQ(im2col(to, corner, corner), "fovea emulator: cuTensorMapEncodeIm2col: " + rule);
  }
}

} // namespace
