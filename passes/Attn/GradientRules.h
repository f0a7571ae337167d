// passes/Attn/GradientRules.h - the gradient of each op of `attn`: from that of its result to those of its operands
#ifndef FOVEA_PASSES_ATTN_GRADIENTRULES_H
#define FOVEA_PASSES_ATTN_GRADIENTRULES_H

#include "passes/Attn/DeriveBackward.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

namespace fovea {

/// Gradients collected so far, while the ops of a forward are visited last first. Tensors' and pairs' gradients are f32
/// until the end.
class Gradients {
public:
  Gradients(mlir::OpBuilder &builder, RowStatistic statistic) : builder(builder), statistic(statistic) {}

  /// Only gradients of active values, those that depend on an input to differentiate by, are built.
  void activate(mlir::Value value) { active.insert(value); }
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// The forward's own output, to be used in place of the recomputed `value`.
  void replaceBySaved(mlir::Value value, mlir::Value saved) { savedValues[value] = saved; }

  void add(mlir::Value value, mlir::Value gradient);
  /// Null when there is none.
  mlir::Value of(mlir::Value value) const { return gradients.lookup(value); }
  /// Adds the gradients of the op's operands; says at the op when it has no rule.
  mlir::LogicalResult propagate(mlir::Operation *op);

private:
  mlir::LogicalResult dots(attn::DotsOp op, mlir::Value gradient);
  mlir::LogicalResult combine(attn::CombineOp op, mlir::Value gradient);
  /// Of a softmax; `sink` and `lse` are null where the normaliser is given.
  mlir::LogicalResult softmaxScores(mlir::Operation *op, mlir::Value scores, mlir::Value p, mlir::Value sink,
                                    mlir::Value lse, mlir::Value gradient);
  mlir::LogicalResult rotary(attn::RotaryOp op, mlir::Value gradient);
  /// map_pairs and map_elements.
  template <typename Map> mlir::LogicalResult map(Map op, mlir::Value gradient);
  /// The same sum, once for all sequences, when `rows` are shared.
  mlir::Value shared(mlir::Location loc, attn::RowsAttr rows, mlir::Value gradient);

  mlir::OpBuilder &builder;
  RowStatistic statistic;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::DenseMap<mlir::Value, mlir::Value> savedValues;
};

} // namespace fovea

#endif // FOVEA_PASSES_ATTN_GRADIENTRULES_H
