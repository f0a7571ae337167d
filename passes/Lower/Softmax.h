// passes/Lower/Softmax.h - the softmax of one tile of scores, shared by forward and backward.
#pragma once

#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Problem.h"
#include "llvm/Support/MathExtras.h"

namespace fovea {

/// GPUs have exp2 and log2: exp(x) = exp2(x log2 e), ln x = log2(x) ln 2.
inline constexpr double kLog2e = llvm::numbers::log2e, kLn2 = llvm::numbers::ln2;

/// A row's sum of exp2(x - top) over the terms x of a softmax, in log2 units.
struct RowSum {
  mlir::Value top, total;
  mlir::Value shrink; ///< exp2(old top - top): what was summed beside the old top's sum (O) takes it as a factor
};
/// Adds the term of a sink, x = sink[head] log2(e). `top` becomes the greater of both, so that no power is above 1; see
/// README.md.
RowSum addSink(NetworkBuilder &n, llvm::StringRef sink, mlir::Value head, mlir::Value top, mlir::Value total,
               mlir::Location loc);

/// Register tiles of the softmax of one row block that sees all its keys.
struct TileSoftmax {
  mlir::Value probabilities; ///< f32, rows sum to 1; masked keys 0
  mlir::Value sum;           ///< row sums of exp2(c s + shift), a sink's part included
  mlir::Value shift;         ///< minus the greatest term, c max or that of a sink, in log2 units
};

/// P = softmax(c' s) with c = c' log2(e) > 0 and the problem's sink; keys at or beyond the item's rows are masked in
/// blocks of the problem's size.
TileSoftmax emitTileSoftmax(NetworkBuilder &n, mlir::Value scores, const Problem &problem, const Item &item,
                            mlir::Location loc);

/// ln(sum exp(c' s)) of each row.
mlir::Value emitLogSumExp(NetworkBuilder &n, const TileSoftmax &softmax, mlir::Location loc);

} // namespace fovea
