// dialect/Attn/Analysis.h - small questions about a spec that later phases ask
#ifndef FOVEA_DIALECT_ATTN_ANALYSIS_H
#define FOVEA_DIALECT_ATTN_ANALYSIS_H

#include "dialect/Attn/Attn.h"

#include <optional>

namespace fovea::attn {

/// One input of a spec, as its type says it.
struct Input {
  llvm::StringRef name;
  AttnTensorType type;
  RowsAttr rows;         ///< null for a table without rows
  int64_t heads;         ///< 1 when no axis counts heads, ShapedType::kDynamic when known at launch
  int64_t features;      ///< the last axis when it is an extent, else 0
};
llvm::SmallVector<Input> inputs(SpecOp spec);

/// The `attn.dots` of the scores (the first of the spec): its mask, queries and keys are those of the attention.
DotsOp scoreDots(SpecOp spec);
/// The mask of the scores.
mlir::Value mask(SpecOp spec);

/// N when the mask is exactly `#attn.block_diagonal<N>`.
std::optional<int64_t> blockDiagonalSize(SpecOp spec);
/// The factor c when the scores that enter the softmax (or the weight) are c · (dot product); 1 when they are the dot
/// products themselves. `score : s * scale` has this form, whatever the scale.
std::optional<double> scoreScale(SpecOp spec);
/// True when the scores are scaled by 1 / sqrt(features): the default of the language.
bool hasDefaultScore(SpecOp spec);
/// True when the spec holds a softmax (or its gradient), false for pointwise weights.
bool usesSoftmax(SpecOp spec);

/// Whether dimension `axis` of a table that look-ups index counts sequences: `t[b]`.
bool countsSequences(mlir::Value table, unsigned axis);

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_ANALYSIS_H
