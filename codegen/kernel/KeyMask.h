// codegen/kernel/KeyMask.h - the limits of tile.mask_keys, applied to a thread's registers.
#pragma once

#include "codegen/kernel/TileElements.h"

namespace fovea::codegen {

/// One side of tile.mask_keys: the value of each term, the number behind it, the number of terms of each clause.
struct KeyLimit {
  SmallVector<Value> terms; ///< i32
  ArrayRef<int64_t> blocks, clauses;
};

/// -inf where an element's key is outside [lower, upper) of its row. All threads of a warp together.
SmallVector<Value> maskKeys(OpBuilder &b, Location loc, const TileElements &elements, ValueRange registers,
                            Value firstKey, Value firstQuery, const KeyLimit &lower, const KeyLimit &upper);

} // namespace fovea::codegen
