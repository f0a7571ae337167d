// dialect/Attn/Reference/Rounding.h - rounds a double to the values of a narrower format
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_ROUNDING_H
#define FOVEA_DIALECT_ATTN_REFERENCE_ROUNDING_H

#include "dialect/Attn/Attn.h"

namespace fovea::attn::reference {

/// The value of `type` (bf16, f16, f32, f8E4M3FN, f8E8M0FNU) nearest to `value`, ties to even; overflow as the format
/// says (infinity, or NaN where there is none; f8E4M3FN saturates, as conversions on GPUs do). Other types: `value`.
double roundTo(mlir::Type type, double value);

/// Rounds 32 values that share one e8m0 scale to e4m3 multiples of it (OCP Microscaling Formats v1.0, section 6.3).
void roundToMicroscaled(llvm::MutableArrayRef<double> values);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_ROUNDING_H
