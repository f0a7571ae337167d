// passes/Lower/KeyBlocks.h - the blocks of keys that a tile of queries meets, as i32 arithmetic.
//
// A tile's rows are consecutive queries of one sequence, and bounds never decrease along them: the first row has the
// least bounds, the last the greatest. Everything here costs a few scalar instructions per tile.
// A block list (KeyRange::blocks) picks among these blocks (emitPickedBlocks), and a picked block needs no further mask: the
// tile's rows divide the list's query blocks, and blocks divide its key blocks.
#pragma once

#include "passes/Lower/KeyRange.h"
#include "mlir/IR/Builders.h"

namespace fovea {

/// A tile of queries, all i32: position of its first row in the sequence, number of valid rows (at least 1), and the
/// lengths of both sides (at most kMaxLength).
struct QueryTile {
  mlir::Value firstQuery, rows, nQueries, nKeys;
};

/// What a list in memory picks for a tile.
struct PickedBlocks {
  std::string table;
  int64_t tiles = 1;             ///< blocks in a listed one
  mlir::Value row;               ///< where the list begins (tile.list_row)
  mlir::Value last;              ///< the range's last block
};

/// Steps whose blocks need a mask, before all others (i32): [0, upper) at the range's end, always one at least, and
/// [upper, end) at its beginning.
struct EdgeSteps {
  mlir::Value upper, end;
  mlir::Value whole;             ///< steps behind them
};

/// Blocks of N consecutive keys: block n holds the keys [n N, (n + 1) N). All i32.
struct KeyBlockRange {
  /// [first, end): no row sees a key of another block. Never empty: a tile that sees no key gets [0, 1).
  mlir::Value first, end;
  /// [firstWhole, endWhole), inside [first, end] and never reversed: every row sees every key of these blocks, so that
  /// they need no mask. Empty (first, first) when the mask has a residual predicate.
  mlir::Value firstWhole, endWhole;
  /// [gapFirst, gapEnd), inside [first, end) and short of end, never reversed: blocks that no row sees a key of, to be
  /// left out. Null when the range has no gap. (Of a part of the blocks, only its size counts and where steps pass it.)
  mlir::Value gapFirst, gapEnd;

  /// A list in memory picks among the blocks. All of the above are then places: the picked blocks of the sequence, counted
  /// in ascending order.
  std::optional<PickedBlocks> picks;
  /// Whether there is nothing to visit (i1): the range is then [0, 1), and stands for `behind`, the block behind the last
  /// key. Null where that cannot be.
  mlir::Value none, behind;
  /// Null: steps go from the last block to the first.
  std::optional<EdgeSteps> edges;
};

KeyBlockRange emitBlockRange(mlir::OpBuilder &b, mlir::Location loc, const KeyRange &range, const QueryTile &tile,
                          int64_t blockSize);

/// The same, counted in the places of a block list. `table`: of the kernel (tile.table); `sequence`, `head`: whose list (i32).
KeyBlockRange emitPickedBlocks(mlir::OpBuilder &b, mlir::Location loc, const KeyRange::BlockList &list,
                               llvm::StringRef table, const KeyBlockRange &blocks, const QueryTile &tile,
                               int64_t blockSize, mlir::Value sequence, mlir::Value head);

/// Part `part` of `parts` (i32, at most 2^15) of the same blocks, in the order of their steps; a part may be empty.
KeyBlockRange emitPartOfBlocks(mlir::OpBuilder &b, mlir::Location loc, const KeyBlockRange &blocks, const QueryTile &tile,
                               int64_t blockSize, mlir::Value part, mlir::Value parts);

/// Moves a range without gap or list inside another of the same keys: rows of its tile that see no key visit one block.
void emitKeepInside(mlir::OpBuilder &b, mlir::Location loc, KeyBlockRange &blocks, const KeyBlockRange &others);

/// Visits the masked blocks at both ends before those that every row sees whole, so that one loop does for either kind.
/// For a range without gap or residual predicate; behind emitPickedBlocks and emitPartOfBlocks.
void emitEdgesFirst(mlir::OpBuilder &b, mlir::Location loc, KeyBlockRange &blocks);

/// How many blocks there are to visit: all but those of the gap; at least 1.
mlir::Value emitBlockCount(mlir::OpBuilder &b, mlir::Location loc, const KeyBlockRange &blocks);
/// The block of step 0 ... count - 1, from the last to the first, but for KeyBlockRange::edges.
mlir::Value emitBlockOfStep(mlir::OpBuilder &b, mlir::Location loc, const KeyBlockRange &blocks, mlir::Value step);

/// i1: whether some valid row does not see some key of `block` (of a list: place), which is in [first, end). A constant
/// where all such blocks are alike.
mlir::Value emitIsPartial(mlir::OpBuilder &b, mlir::Location loc, const KeyRange &range, const KeyBlockRange &blocks,
                          mlir::Value block);

/// i1: whether a predicate is known to hold for all valid rows of the tile and the `columns` keys from `firstKey` (i32)
/// on, from the intervals in it. Null when that is never known.
mlir::Value emitHoldsThroughout(mlir::OpBuilder &b, mlir::Location loc, const KeyRange::Predicate &predicate,
                                const QueryTile &tile, mlir::Value firstKey, int64_t columns);

/// A bound for each row r of a tile: (first_query + r) / block * block + base, or base when `block` is 0.
struct RowTerm {
  mlir::Value base; ///< i32
  int64_t block = 0;
};
/// The limits of a KeyRange for the rows of one tile: clauses and which of their terms count are as there. n_keys is
/// among `upper`; 0 is not among `lower`.
struct RowLimits {
  llvm::SmallVector<llvm::SmallVector<RowTerm, 1>> lower, upper;
};
RowLimits emitRowLimits(mlir::OpBuilder &b, mlir::Location loc, const KeyRange &range, const QueryTile &tile);

/// tile.mask_keys of scores whose column 0 is key `firstKey` (i32) of the sequence.
mlir::Value emitMaskKeys(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scores, mlir::Value firstKey,
                         mlir::Value firstQuery, const RowLimits &limits);

} // namespace fovea
