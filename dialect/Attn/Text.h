// dialect/Attn/Text.h - the text of rows and axes, shared by the attributes and the types that hold them
#ifndef FOVEA_DIALECT_ATTN_TEXT_H
#define FOVEA_DIALECT_ATTN_TEXT_H

#include "dialect/Attn/Attn.h"

namespace fovea::attn {

mlir::FailureOr<RowsAttr> parseRows(mlir::AsmParser &parser);
void printRows(mlir::AsmPrinter &printer, RowsAttr rows);
mlir::FailureOr<AxisAttr> parseAxis(mlir::AsmParser &parser);
void printAxis(mlir::AsmPrinter &printer, AxisAttr axis);

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_TEXT_H
