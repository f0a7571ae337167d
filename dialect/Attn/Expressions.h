// dialect/Attn/Expressions.h - the regions that hold scalar expressions: their arguments and their checks
#ifndef FOVEA_DIALECT_ATTN_EXPRESSIONS_H
#define FOVEA_DIALECT_ATTN_EXPRESSIONS_H

#include "dialect/Attn/Attn.h"

namespace fovea::attn {

/// What an expression is evaluated for. It decides the i64 arguments that follow the f32 values of its operands:
/// a pair has (i, j, h, b, n_queries, n_keys), an element has (i, h, d, b, n).
enum class Domain { Pair, Element };

llvm::ArrayRef<llvm::StringRef> indexNames(Domain domain);

/// Appends to `region` the block of an expression over `values` operands, without a terminator.
mlir::Block *addExpressionBlock(mlir::Region &region, Domain domain, unsigned values, mlir::Location loc);

/// Names for printing: x0, x1, ... (x when single), then the index names.
void nameExpressionArguments(mlir::Region &region, Domain domain, unsigned values, mlir::OpAsmSetValueNameFn setName);

/// Arguments, terminator and allowed ops; `argumentsId`, `terminatorId` and `opsId` are cited in the messages. `yielded`
/// is the type that `attn.result` must have; null for regions that end in `attn.contribute`.
mlir::LogicalResult verifyExpression(mlir::Operation *op, mlir::Region &region, Domain domain, unsigned values,
                                     mlir::Type yielded, llvm::StringRef argumentsId, llvm::StringRef terminatorId,
                                     llvm::StringRef opsId);

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_EXPRESSIONS_H
