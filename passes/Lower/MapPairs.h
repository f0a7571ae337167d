// passes/Lower/MapPairs.h - score expressions and what is left of a mask, as tile.map_pairs on register tiles.
#pragma once

#include "passes/Lower/KeyRange.h"
#include "mlir/IR/Builders.h"

namespace fovea {

/// The scalars of a program that place a tile of scores, all i32: positions of its first row and column in their
/// sequences, head of the queries, sequence, both lengths, and the row where the sequence begins in jagged tensors of
/// either side (any value where there are none). `packed` heads share the tile's rows (tile.kernel).
struct PairScalars {
  mlir::Value firstQuery, firstKey, head, sequence, nQueries, nKeys, queryRow, keyRow;
  int64_t packed = 1;
};

/// tile.map_pairs that computes an attn.map_pairs: one tile for each of its operands. Integers become i32 where their
/// range allows, else i64; look-ups are those of the kernel's tables. An error names what has no lowering.
llvm::Expected<mlir::Value> emitMapPairs(mlir::OpBuilder &b, attn::MapPairsOp op, mlir::ValueRange tiles,
                                         const PairScalars &scalars);

/// `scores` with -inf where a residual predicate of `range` does not hold; `scores` itself when there is none. The
/// interval and a block list are not looked at.
llvm::Expected<mlir::Value> emitResidualMask(mlir::OpBuilder &b, mlir::Location loc, const KeyRange &range,
                                             mlir::Value scores, const PairScalars &scalars);

/// Declares, at the builder's point in a tile.kernel, a tile.table for each input of the spec that a score expression,
/// a mask, an epilogue or a softmax's sink looks up.
llvm::Error declareTables(mlir::OpBuilder &b, attn::SpecOp spec);

} // namespace fovea
