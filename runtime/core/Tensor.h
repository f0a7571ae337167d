// runtime/core/Tensor.h - a named view of device memory, as passed to a launch.
#ifndef FOVEA_RUNTIME_CORE_TENSOR_H
#define FOVEA_RUNTIME_CORE_TENSOR_H

#include "runtime/abi/DType.h"
#include "runtime/abi/Error.h"

#include <cstddef>
#include <string>
#include <vector>

namespace fovea {

/// Does not own its memory. Strides are in elements; a dimension of extent 1 may have any stride.
struct Tensor {
  std::string name;                  ///< as in the spec: "q"
  unsigned long long address = 0;    ///< device address of element (0, 0, ...)
  DType dtype = DType::BF16;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  size_t capacity = 0;               ///< bytes that may be touched from `address` on, when known
  bool capacityKnown = false;

  int rank() const { return int(shape.size()); }
  /// Number of elements; nullopt when it, or the span in bytes, exceeds 63 bits or an extent is negative.
  std::optional<int64_t> elements() const;
  /// Bytes from `address` to the end of the last element (0 when empty), for non-negative strides.
  std::optional<int64_t> spanBytes() const;
};

/// Row-major strides in elements.
std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape);

/// False only when no byte of `a` can be a byte of `b`: their ranges are disjoint, or they are interleaved rows of
/// the same outermost stride (slices of one packed buffer) that do not meet.
bool mayOverlap(const Tensor &a, const Tensor &b);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_TENSOR_H
