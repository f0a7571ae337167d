// dialect/Attn/Scalars.h - builds the usual scalar functions of score, weight and epilogue expressions
#ifndef FOVEA_DIALECT_ATTN_SCALARS_H
#define FOVEA_DIALECT_ATTN_SCALARS_H

#include "dialect/Attn/Attn.h"

namespace fovea::attn {

/// Each takes and returns f32 values inside an expression region, and is a few arith and math ops, so that one
/// spelling reaches the evaluator, the derivative rules and the code generator.
mlir::Value constant(mlir::OpBuilder &builder, mlir::Location loc, double value);
/// 1 / (1 + exp(-x)), as 0.5 · tanh(0.5 · x) + 0.5: no overflow, in the value or in the derivative.
mlir::Value sigmoid(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// x · sigmoid(x)
mlir::Value silu(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// 0.5 · x · (1 + erf(x / √2)): the exact one.
mlir::Value gelu(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// max(x, 0)
mlir::Value relu(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);
/// cap · tanh(x / cap)
mlir::Value softcap(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value cap);

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_SCALARS_H
