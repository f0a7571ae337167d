// codegen/kernel/Twins.h - two warp groups whose programs are one, so that one copy of the code serves both.
#pragma once

#include "dialect/Tile/Tile.h"
#include "llvm/ADT/MapVector.h"

#include <cstdint>
#include <optional>

namespace fovea::codegen {

/// How the program of a group's twin differs from its own: by where its channels and barriers lie, and by the value of constants.
struct Twin {
  /// Of a tile.channel, bytes or TMEM columns; of a tile.barrier, bytes; of an arith.constant, its value: the twin's minus the own.
  /// Operations that both share, or whose value is the same, are not in it.
  llvm::MapVector<mlir::Operation *, int64_t> distances;
  int64_t distance(mlir::Operation *op) const { return distances.lookup(op); }
};

/// The twin of `own`, if `other` is one: a group of as many warps, all in warpgroups of its own, and as many registers, that lies right
/// behind it and has its program op by op. Roles' names do not count.
std::optional<Twin> twinOf(tile::GroupOp own, tile::GroupOp other);

} // namespace fovea::codegen
