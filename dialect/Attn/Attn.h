// dialect/Attn/Attn.h - the dialect `attn`: its ops, types and attributes (described in the .td files)
#ifndef FOVEA_DIALECT_ATTN_ATTN_H
#define FOVEA_DIALECT_ATTN_ATTN_H

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include "dialect/Attn/AttnDialect.h.inc"
#include "dialect/Attn/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.h.inc"

namespace fovea::attn {
class YieldOp;
} // namespace fovea::attn

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.h.inc"

#endif // FOVEA_DIALECT_ATTN_ATTN_H
