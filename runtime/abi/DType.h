// runtime/abi/DType.h - element types that cross the wall between compiler and runtime.
#ifndef FOVEA_RUNTIME_ABI_DTYPE_H
#define FOVEA_RUNTIME_ABI_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fovea {

// FOVEA_DTYPES(X): X(ENUMERATOR, NAME, BYTES). e4m3 and e5m2 are the OCP FP8 types, ue8m0 the MX scale.
#define FOVEA_DTYPES(X)                                                                                      \
  X(BF16, "bf16", 2)                                                                                         \
  X(F16, "f16", 2)                                                                                           \
  X(F32, "f32", 4)                                                                                           \
  X(F64, "f64", 8)                                                                                           \
  X(E4M3, "e4m3", 1)                                                                                         \
  X(E5M2, "e5m2", 1)                                                                                         \
  X(UE8M0, "ue8m0", 1)                                                                                       \
  X(U8, "u8", 1)                                                                                             \
  X(U16, "u16", 2)                                                                                           \
  X(I32, "i32", 4)                                                                                           \
  X(U32, "u32", 4)                                                                                           \
  X(I64, "i64", 8)

enum class DType : uint8_t {
#define FOVEA_DTYPE(ENUMERATOR, NAME, BYTES) ENUMERATOR,
  FOVEA_DTYPES(FOVEA_DTYPE)
#undef FOVEA_DTYPE
};

constexpr std::string_view dtypeName(DType type) {
  switch (type) {
#define FOVEA_DTYPE(ENUMERATOR, NAME, BYTES)                                                                 \
  case DType::ENUMERATOR:                                                                                    \
    return NAME;
    FOVEA_DTYPES(FOVEA_DTYPE)
#undef FOVEA_DTYPE
  }
  return "";
}

constexpr int dtypeBytes(DType type) {
  switch (type) {
#define FOVEA_DTYPE(ENUMERATOR, NAME, BYTES)                                                                 \
  case DType::ENUMERATOR:                                                                                    \
    return BYTES;
    FOVEA_DTYPES(FOVEA_DTYPE)
#undef FOVEA_DTYPE
  }
  return 0;
}

constexpr std::optional<DType> parseDType(std::string_view name) {
#define FOVEA_DTYPE(ENUMERATOR, NAME, BYTES)                                                                 \
  if (name == NAME)                                                                                          \
    return DType::ENUMERATOR;
  FOVEA_DTYPES(FOVEA_DTYPE)
#undef FOVEA_DTYPE
  return std::nullopt;
}

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_DTYPE_H
