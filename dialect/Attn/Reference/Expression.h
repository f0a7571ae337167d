// dialect/Attn/Reference/Expression.h - evaluates an expression region for many pairs or elements at a time
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_EXPRESSION_H
#define FOVEA_DIALECT_ATTN_REFERENCE_EXPRESSION_H

#include "dialect/Attn/Reference/Batch.h"

#include <llvm/ADT/DenseMap.h>
#include <functional>

namespace fovea::attn::reference {

/// The values of one SSA value for the points of a run: one for all of them, or one each. Integers and booleans are
/// doubles, too (exact to 2^53).
struct Column {
  std::vector<double> values;
  bool isUniform() const { return values.size() == 1; }
  double operator[](size_t point) const { return values[isUniform() ? 0 : point]; }
  static Column uniform(double value) { return {{value}}; }
};

/// A region of scalar ops, prepared once and run for the points of a row. All points belong to one sequence.
class Expression {
public:
  using TensorLookup = std::function<const TensorValue &(mlir::Value)>;
  static llvm::Expected<Expression> prepare(mlir::Region &region, const TensorLookup &tensors);

  /// `arguments`: one column per block argument. Afterwards `operand` gives the terminator's operands.
  llvm::Error run(const Batch &batch, int64_t b, size_t points, std::vector<Column> arguments);
  const Column &operand(unsigned index) const { return columns[terminator[index]]; }

private:
  using Function = double (*)(double, double, double);
  struct Step {
    mlir::Operation *op;
    Function function = nullptr;            ///< null for constants and look-ups
    const TensorValue *table = nullptr;     ///< of a look-up
    llvm::SmallVector<unsigned, 4> operands;
    unsigned result;
  };
  llvm::Error lookUp(const Step &step, const Batch &batch, int64_t b, size_t points);

  std::vector<Step> steps;
  std::vector<Column> columns;
  llvm::SmallVector<unsigned, 4> terminator;
};

/// The scalar meaning of an arith or math op on up to three operands; null when it has none here.
double (*scalarFunction(mlir::Operation *op))(double, double, double);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_EXPRESSION_H
