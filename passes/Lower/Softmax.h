// passes/Lower/Softmax.h - the softmax of one tile of scores, shared by forward and backward.
#pragma once

#include "passes/Lower/NetworkBuilder.h"

namespace fovea {

/// Register tiles of the softmax of one row block that sees all its keys.
struct TileSoftmax {
  mlir::Value probabilities; ///< f32, rows sum to 1; masked keys 0
  mlir::Value sum;           ///< row sums of exp2(c s - c max)
  mlir::Value shift;         ///< -c max, in log2 units
};

/// P = softmax(c' s) with c = c' log2(e) > 0; keys at or beyond `rows` are masked in blocks of `block`.
TileSoftmax emitTileSoftmax(NetworkBuilder &n, mlir::Value scores, mlir::Value rows, int64_t block, double c,
                            mlir::Location loc);

/// ln(sum exp(c' s)) of each row.
mlir::Value emitLogSumExp(NetworkBuilder &n, const TileSoftmax &softmax, mlir::Location loc);

} // namespace fovea
