// runtime/core/Tensor.cpp - extents and overlap of strided views.
#include "runtime/core/Tensor.h"

namespace fovea {

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * (shape[i] > 0 ? shape[i] : 1);
  return strides;
}

std::optional<int64_t> Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  return spanBytes() ? std::optional<int64_t>(count) : std::nullopt;
}

std::optional<int64_t> Tensor::spanBytes() const {
  int64_t last = 0; // element offset of the last element
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0)
      return 0;
    int64_t reach;
    if (shape[i] < 0 || __builtin_mul_overflow(shape[i] - 1, shape[i] > 1 ? strides[i] : 0, &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  int64_t bytes;
  if (__builtin_mul_overflow(last, int64_t(dtypeBytes(dtype)), &bytes) ||
      __builtin_add_overflow(bytes, int64_t(dtypeBytes(dtype)), &bytes))
    return std::nullopt;
  return bytes;
}

bool mayOverlap(const Tensor &a, const Tensor &b) {
  int64_t spanA = a.spanBytes().value_or(INT64_MAX), spanB = b.spanBytes().value_or(INT64_MAX);
  if (spanA == 0 || spanB == 0)
    return false;
  if (a.address <= b.address ? b.address - a.address >= uint64_t(spanA) : a.address - b.address >= uint64_t(spanB))
    return false;
  if (a.rank() < 2 || b.rank() < 2)
    return true;
  int64_t stride = a.strides[0] * dtypeBytes(a.dtype);
  if (stride <= 0 || stride != b.strides[0] * dtypeBytes(b.dtype))
    return true;
  auto rowBytes = [](Tensor t) {
    t.shape[0] = 1;
    return t.spanBytes().value_or(INT64_MAX);
  };
  // Modulo the common stride, row b starts `phase` bytes after row a.
  int64_t distance = int64_t(b.address - a.address) % stride;
  int64_t phase = distance < 0 ? distance + stride : distance;
  return rowBytes(a) > phase || rowBytes(b) > stride - phase;
}

} // namespace fovea
