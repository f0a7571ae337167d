// passes/Attn/DeriveBackward.h - derives the backward spec of a forward one
#ifndef FOVEA_PASSES_ATTN_DERIVEBACKWARD_H
#define FOVEA_PASSES_ATTN_DERIVEBACKWARD_H

#include "dialect/Attn/Attn.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea {

enum class RowStatistic { FromPairs, FromOutput }; ///< D = row_dot(P, dP), or row_dot(dO, O)

struct BackwardOptions {
  /// Inputs to differentiate by; empty: those of rows x heads x features, and the rotary tables that `emit` names.
  std::vector<std::string> wrt;
  /// Take lse and o from the forward instead of computing them again. Default: when the forward emits lse and is not
  /// block-diagonal (there a tile sees the whole row, and reading them back costs more).
  std::optional<bool> saved;
  /// Default: FromOutput with saved values, else FromPairs.
  std::optional<RowStatistic> rowStatistic;
};

/// Creates `@NAME_backward` behind `forward`. On failure says at the op why there is no gradient.
mlir::FailureOr<attn::SpecOp> deriveBackward(attn::SpecOp forward, const BackwardOptions &options = {});

} // namespace fovea

#endif // FOVEA_PASSES_ATTN_DERIVEBACKWARD_H
