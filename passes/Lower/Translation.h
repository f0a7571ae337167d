// passes/Lower/Translation.h - scalar expressions and masks of attn, value by value, in a region of the tile program.
#pragma once

#include "passes/Lower/BoundedIntegers.h"
#include "passes/Lower/MapPairs.h"
#include "llvm/ADT/DenseMap.h"

namespace fovea {

/// Integers become i32 where their range allows, else i64; look-ups are those of the kernel's tables. An error names what
/// has no lowering.
class Translation {
public:
  Translation(mlir::OpBuilder &b, mlir::Location loc, const PairScalars &scalars)
      : b(b), loc(loc), integers(b, loc), scalars(scalars) {}

  /// The mask's or pairs' rows, which decide where a table's row of a position is.
  attn::RowsAttr queries, keys;

  /// (i, j, h, b, n_queries, n_keys) for the arguments of an expression.
  void bindIndices(llvm::ArrayRef<mlir::BlockArgument> arguments, mlir::Value i, mlir::Value j);
  void bind(mlir::Value from, mlir::Value to) { known[from] = {to}; }
  /// The indices of an expression of elements: `row` in the tensor, where the tables of positions have theirs, too.
  void bindElement(mlir::BlockArgument i, mlir::Value position, mlir::BlockArgument h, mlir::Value head,
                   mlir::BlockArgument d, mlir::Value column, mlir::Value row);

  /// A value of an expression region, or of type !attn.mask (then an i1).
  llvm::Expected<mlir::Value> translate(mlir::Value value);
  llvm::Expected<mlir::Value> negated(mlir::Value value);

private:
  using Scalar = BoundedInteger; ///< of the tile's region; the interval counts for integers only

  llvm::Expected<Scalar> get(mlir::Value value);
  llvm::Expected<Scalar> make(mlir::Operation *op);
  llvm::Expected<Scalar> makeInteger(mlir::Operation *op, llvm::ArrayRef<Scalar> x);
  llvm::Expected<Scalar> look(attn::LookupOp op, llvm::ArrayRef<Scalar> x);
  llvm::Expected<Scalar> mask(mlir::Operation *op);
  // A named pattern, pair by pair: every limit of its key range.
  llvm::Expected<Scalar> interval(attn::PatternOp pattern);
  llvm::Error refuse(mlir::Operation *op, const llvm::Twine &why);

  mlir::OpBuilder &b;
  mlir::Location loc;
  BoundedIntegers integers;
  const PairScalars &scalars;
  mlir::Value position[2];              ///< i and j
  mlir::Value elementIndex, elementRow; ///< of expressions of elements: i, and the row in the tensor that it stands for
  llvm::DenseMap<mlir::Value, Scalar> known;
};

} // namespace fovea
