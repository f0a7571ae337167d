// dialect/Attn/Reference/Elements.h - ops on rows x heads x features
#ifndef FOVEA_DIALECT_ATTN_REFERENCE_ELEMENTS_H
#define FOVEA_DIALECT_ATTN_REFERENCE_ELEMENTS_H

#include "dialect/Attn/Reference/Expression.h"

namespace fovea::attn::reference {

/// Runs the expression for the features of each row and head, then `row(b, flat row, h, features)`. Shared rows
/// (`broadcast`) are visited once, as those of sequence 0.
llvm::Error runOnElements(const Batch &batch, Expression &expression, llvm::ArrayRef<const TensorValue *> inputs,
                          llvm::function_ref<llvm::Error(int64_t, int64_t, int64_t, size_t)> row);

/// Adds the expression's operand 0 to the entries that its other operands index.
llvm::Error scatterColumns(const Batch &batch, int64_t b, size_t points, const Expression &expression,
                           TensorValue &result);

void rowDotOfElements(const Batch &batch, const TensorValue &lhs, const TensorValue &rhs, TensorValue &result);
/// Fails when a table by position is shorter than a sequence.
llvm::Expected<TensorValue> rotary(const Batch &batch, RotaryOp op, const TensorValue &x, const TensorValue &table);
llvm::Expected<TensorValue> rotaryTableGrad(const Batch &batch, RotaryTableGradOp op, const TensorValue &x,
                                            const TensorValue &gradient, const TensorValue &like);
TensorValue dequant(const Batch &batch, DequantOp op, const TensorValue &data, const TensorValue &scales);
TensorValue sumSequences(const Batch &batch, SumSequencesOp op, const TensorValue &input);
TensorValue pack(const Batch &batch, PackOp op, llvm::ArrayRef<const TensorValue *> inputs);

} // namespace fovea::attn::reference

#endif // FOVEA_DIALECT_ATTN_REFERENCE_ELEMENTS_H
