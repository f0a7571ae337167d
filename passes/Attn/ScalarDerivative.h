// passes/Attn/ScalarDerivative.h - reverse-mode derivative of the scalar expressions in regions
#ifndef FOVEA_PASSES_ATTN_SCALARDERIVATIVE_H
#define FOVEA_PASSES_ATTN_SCALARDERIVATIVE_H

#include "dialect/Attn/Attn.h"

#include <llvm/ADT/DenseMap.h>

namespace fovea {

/// How much a final value changes with each f32 value before it (Griewank and Walther, "Evaluating Derivatives",
/// section 3.2), built as arith and math ops behind the expression.
class Adjoints {
public:
  explicit Adjoints(mlir::OpBuilder &builder) : builder(builder) {}

  void seed(mlir::Value value, mlir::Value adjoint) { add(value, adjoint); }
  /// Goes through `ops`, last first. Says at the op when it has no derivative.
  mlir::LogicalResult propagate(llvm::ArrayRef<mlir::Operation *> ops);
  /// Null when the final value does not depend on `value`.
  mlir::Value of(mlir::Value value) const { return adjoints.lookup(value); }

private:
  void add(mlir::Value value, mlir::Value adjoint);
  mlir::LogicalResult propagate(mlir::Operation *op, mlir::Value a);

  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
};

} // namespace fovea

#endif // FOVEA_PASSES_ATTN_SCALARDERIVATIVE_H
