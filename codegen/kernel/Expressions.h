// codegen/kernel/Expressions.h - scalar expressions of tile.map_pairs and tile.map_elements, for every element that a thread holds.
#pragma once

#include "codegen/kernel/TileElements.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fovea::codegen {

/// An index of a table: the sum of terms (i32) and a constant, which does not wrap around. Outside of the table where
/// `guard` (i1) is there and does not hold.
struct TableIndex {
  SmallVector<Value> terms;
  int64_t constant = 0;
  Value guard = {};
};

/// What an expression needs from the program around it.
struct ExpressionScope {
  Value firstQuery, firstKey;                                          ///< i32
  llvm::function_ref<Value(Value)> scalar;                             ///< a scalar of the program
  llvm::function_ref<Value(tile::LookupOp, ArrayRef<TableIndex>)> lookUp; ///< an element of a table
  Value firstHead = {};                                                ///< i32, where rows have heads of their own
};

/// The registers of the result, from those of each tile. Fails, with a diagnostic at the op, where an operation has no
/// instruction here.
mlir::FailureOr<SmallVector<Value>> mapPairs(OpBuilder &b, Location loc, tile::MapPairsOp op,
                                             const TileElements &elements, ArrayRef<SmallVector<Value>> tiles,
                                             const ExpressionScope &scope);

/// The registers of each output of tile.map_elements, from those of each input, for the elements that `elements` tells:
/// its `firstColumn` is where these columns begin. Of the scope, `firstQuery` and `firstKey` are not looked at.
mlir::FailureOr<SmallVector<SmallVector<Value>>> mapElements(OpBuilder &b, Location loc, tile::MapElementsOp op,
                                                             const TileElements &elements,
                                                             ArrayRef<SmallVector<Value>> inputs,
                                                             const ExpressionScope &scope);

/// A table in memory (tile.table): its address, the size of each dimension (i32), and the strides of all but the
/// innermost in elements (i64).
struct TableAddress {
  Value pointer;
  SmallVector<Value> sizes, strides;
};
/// The element (i32 or f32) at one index per dimension; 0, and no access, where one is outside its dimension. Elements whose
/// indices differ in the last constant only share their address, if they are looked up in the same block.
Value lookUp(OpBuilder &b, Location loc, Type type, const TableAddress &table, ArrayRef<TableIndex> indices);

} // namespace fovea::codegen
