// runtime/core/DeviceArray.h - typed views of device memory, for the headers that `fovea compile` writes.
#ifndef FOVEA_RUNTIME_CORE_DEVICEARRAY_H
#define FOVEA_RUNTIME_CORE_DEVICEARRAY_H

#include "runtime/core/Tensor.h"

#include <array>
#include <cstdint>

namespace fovea {

/// 16-bit floating types as device memory holds them; convert on the host as you like.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

template <typename T> struct DTypeOf;
template <> struct DTypeOf<bf16> { static constexpr DType value = DType::BF16; };
template <> struct DTypeOf<f16> { static constexpr DType value = DType::F16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::F32; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::I32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::I64; };

/// `Rank` extents and strides (both in elements) over device memory that it does not own. A null `data` leaves an
/// optional tensor out. Without strides the array is contiguous, row-major.
template <typename T, int Rank> struct DeviceArray {
  T *data = nullptr;
  std::array<int64_t, Rank> shape{}, strides{};

  DeviceArray() = default;
  DeviceArray(T *data, std::array<int64_t, Rank> shape) : data(data), shape(shape) {
    int64_t step = 1;
    for (int i = Rank - 1; i >= 0; --i)
      strides[i] = step, step *= shape[i];
  }
  DeviceArray(T *data, std::array<int64_t, Rank> shape, std::array<int64_t, Rank> strides)
      : data(data), shape(shape), strides(strides) {}

  Tensor named(const char *name) const {
    Tensor t;
    t.name = name;
    t.address = reinterpret_cast<uintptr_t>(data);
    t.dtype = DTypeOf<T>::value;
    t.shape.assign(shape.begin(), shape.end());
    t.strides.assign(strides.begin(), strides.end());
    return t;
  }
};

/// Offsets of a jagged tensor: batch + 1 numbers of 32 or 64 bits.
class OffsetsArray {
public:
  OffsetsArray(const int32_t *data, int64_t count) : data(data), dtype(DType::I32), count(count) {}
  OffsetsArray(const int64_t *data, int64_t count) : data(data), dtype(DType::I64), count(count) {}

  Tensor named(const char *name) const {
    Tensor t;
    t.name = name;
    t.address = reinterpret_cast<uintptr_t>(data);
    t.dtype = dtype;
    t.shape = {count};
    t.strides = {1};
    return t;
  }

private:
  const void *data;
  DType dtype;
  int64_t count;
};

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_DEVICEARRAY_H
