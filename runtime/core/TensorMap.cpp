// runtime/core/TensorMap.cpp - TMA's rules, and the call that packs a map.
#include "runtime/core/TensorMap.h"

namespace fovea {
using namespace cu;

namespace {

constexpr std::pair<const char *, CUtensorMapSwizzle> kSwizzles[] = {
    {"none", CU_TENSOR_MAP_SWIZZLE_NONE},
    {"32B", CU_TENSOR_MAP_SWIZZLE_32B},
    {"64B", CU_TENSOR_MAP_SWIZZLE_64B},
    {"128B", CU_TENSOR_MAP_SWIZZLE_128B},
    {"128B_atom32B", CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B},
    {"128B_atom32B_flip8B", CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B},
    {"128B_atom64B", CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B},
};

CUtensorMapSwizzle swizzleOf(const std::string &name) {
  for (auto [word, value] : kSwizzles)
    if (name == word)
      return value;
  return CU_TENSOR_MAP_SWIZZLE_NONE; // parseManifest has refused other words
}

/// Width of the swizzle pattern in bytes; a box row must fit into it.
int swizzleBytes(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
  case CU_TENSOR_MAP_SWIZZLE_NONE:
    return 1 << 30;
  case CU_TENSOR_MAP_SWIZZLE_32B:
    return 32;
  case CU_TENSOR_MAP_SWIZZLE_64B:
    return 64;
  default:
    return 128;
  }
}

CUtensorMapL2promotion promotionOf(const std::string &name) {
  return name == "64B"    ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
         : name == "128B" ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
         : name == "256B" ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
                          : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

CUtensorMapDataType typeOf(DType type) {
  switch (type) {
  case DType::BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DType::F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DType::F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DType::F64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case DType::U16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case DType::I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DType::U32:
    return CU_TENSOR_MAP_DATA_TYPE_UINT32;
  case DType::I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case DType::E4M3:
  case DType::E5M2:
  case DType::UE8M0:
  case DType::U8:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

} // namespace

Expected<TensorMapShape> evaluateTensorMap(const ParamSpec &recipe, DType type, const Arguments &arguments) {
  std::string where = "tensor '" + recipe.tensor + "': tensor-map ";
  auto refuse = [&](const std::string &text) { return Error{where + text}; };
  TensorMapShape shape;
  for (size_t i = 0; i < recipe.dims.size(); ++i) {
    Expected<int64_t> extent = arguments.evaluate(recipe.dims[i]);
    if (!extent)
      return extent.error();
    if (*extent < 0 || *extent > int64_t(1) << 32)
      return refuse("dimension " + std::to_string(i) + " (" + recipe.dims[i].text() +
                    ") must be at most 2^32, found " + std::to_string(*extent));
    shape.empty |= *extent == 0;
    shape.dims.push_back(std::max<int64_t>(*extent, 1));
  }
  shape.spanBytes = shape.dims[0] * dtypeBytes(type);
  for (size_t i = 0; i < recipe.strides.size(); ++i) {
    Expected<int64_t> stride = arguments.evaluate(recipe.strides[i]);
    if (!stride)
      return stride.error();
    if (shape.dims[i + 1] == 1)
      *stride = 16;
    if (*stride < 0 || *stride % 16 != 0 || *stride >= int64_t(1) << 40)
      return refuse("stride of dimension " + std::to_string(i + 1) + " (" + recipe.strides[i].text() +
                    ") must be a multiple of 16 bytes below 2^40, because TMA addresses rows so, found " +
                    std::to_string(*stride) + "; pad the row");
    shape.strides.push_back(*stride);
    shape.spanBytes += (shape.dims[i + 1] - 1) * *stride;
  }
  for (int extent : recipe.box)
    shape.box.push_back(extent);
  int64_t rowBytes = int64_t(shape.box[0]) * dtypeBytes(type);
  if (rowBytes % 16 != 0)
    return refuse("box row must be a multiple of 16 bytes, found " + std::to_string(rowBytes));
  if (rowBytes > swizzleBytes(swizzleOf(recipe.swizzle)))
    return refuse("box row of " + std::to_string(rowBytes) + " bytes is wider than its swizzle, " + recipe.swizzle);
  return shape;
}

Expected<CUtensorMap> encodeTensorMap(const DriverApi &api, const ParamSpec &recipe, DType type,
                                      const TensorMapShape &shape, unsigned long long address) {
  if (address % 16 != 0)
    return Error{"tensor '" + recipe.tensor + "': a tensor map needs an address that is a multiple of 16 bytes"};
  uint32_t rank = uint32_t(shape.dims.size());
  const uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  CUtensorMap map;
  CUresult result = api.cuTensorMapEncodeTiled(
      &map, typeOf(type), rank, reinterpret_cast<void *>(address), shape.dims.data(), shape.strides.data(),
      shape.box.data(), elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzleOf(recipe.swizzle),
      promotionOf(recipe.l2Promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (auto ok = api.check(result, "cuTensorMapEncodeTiled", "tensor map of '" + recipe.tensor + "'"); !ok)
    return ok.error();
  return map;
}

} // namespace fovea
