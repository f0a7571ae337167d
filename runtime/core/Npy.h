// runtime/core/Npy.h - NumPy's .npy files, versions 1 and 2 (numpy.lib.format), little-endian, C order.
#ifndef FOVEA_RUNTIME_CORE_NPY_H
#define FOVEA_RUNTIME_CORE_NPY_H

#include "runtime/abi/DType.h"
#include "runtime/abi/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// A dense array in host memory. NumPy has no bf16 and no fp8: they travel as <u2 and |u1, and the reader says
/// which one it wants.
struct NpyArray {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// Reads an array whose elements are to be taken as `wanted`. Refused: Fortran order, another element type or byte
/// order, a file that is too short or too long, another version.
Expected<NpyArray> parseNpy(std::string_view file, DType wanted, const std::string &origin);
Expected<NpyArray> readNpy(const std::string &path, DType wanted);

/// The file's bytes; version 1, or 2 when the header is long.
std::string formatNpy(const NpyArray &array);
Expected<void> writeNpy(const std::string &path, const NpyArray &array);

/// "<f4" for f32; bf16 is "<u2", the fp8 types are "|u1".
const char *npyDescr(DType type);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_NPY_H
