// dialect/Tile/KeyLimits.h - the text of the limits of tile.mask_keys.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace fovea::tile {

/// `[%a, %b + i | %c + block(64)]`: clauses divided by commas, the terms of a clause by bars. `blocks` holds the number
/// behind each term (0 for a plain one, 1 for `i`), `clauses` the number of terms of each clause.
mlir::ParseResult parseKeyLimits(mlir::OpAsmParser &parser,
                                 llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &terms,
                                 mlir::DenseI64ArrayAttr &blocks, mlir::DenseI64ArrayAttr &clauses);
void printKeyLimits(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange terms,
                    mlir::DenseI64ArrayAttr blocks, mlir::DenseI64ArrayAttr clauses);

} // namespace fovea::tile
