// runtime/core/TensorMap.h - a manifest's tensor-map recipe becomes the 128 bytes that TMA reads.
#ifndef FOVEA_RUNTIME_CORE_TENSORMAP_H
#define FOVEA_RUNTIME_CORE_TENSORMAP_H

#include "runtime/core/Arguments.h"
#include "runtime/driver/DriverApi.h"

namespace fovea {

/// The arguments of cuTensorMapEncodeTiled, evaluated. Innermost dimension first; strides in bytes from dimension 1.
struct TensorMapShape {
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
  /// Bytes from the address to the end of the last element; what an empty tensor's stand-in must hold.
  uint64_t spanBytes = 0;
  /// Some extent is 0: the map must point at memory that stands in for the tensor, and no box is ever loaded.
  bool empty = false;
};

/// Evaluates a recipe and checks TMA's rules (PTX ISA, "Tensor-map"; CUDA Driver API, cuTensorMapEncodeTiled), so
/// that an error names the tensor and the rule instead of CUDA_ERROR_INVALID_VALUE. Extents of 0 become 1, and the
/// stride of a dimension of extent 1, which nobody uses, becomes a legal one.
Expected<TensorMapShape> evaluateTensorMap(const ParamSpec &recipe, DType type, const Arguments &arguments);

/// Encodes a map for memory at `address` (16-byte aligned).
Expected<cu::CUtensorMap> encodeTensorMap(const DriverApi &api, const ParamSpec &recipe, DType type,
                                          const TensorMapShape &shape, unsigned long long address);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_TENSORMAP_H
