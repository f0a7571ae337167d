// frontend/cli/Elements.h - doubles to and from the bytes of an element type.
#pragma once

#include "runtime/abi/DType.h"

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

/// Rounds to nearest, ties to even; values that are already of the type are unchanged. bf16, f16, f32, f64, i32, i64,
/// e4m3 (OCP FP8, saturating) and ue8m0.
std::string encodeElements(const std::vector<double> &values, DType dtype);

/// The exact values of `bytes`.
std::vector<double> decodeElements(std::string_view bytes, DType dtype);

} // namespace fovea
