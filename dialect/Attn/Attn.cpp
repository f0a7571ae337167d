// dialect/Attn/Attn.cpp - registration of the dialect `attn`
#include "dialect/Attn/Attn.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include "dialect/Attn/AttnDialect.cpp.inc"
#include "dialect/Attn/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.cpp.inc"

void fovea::attn::AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Attn/AttnOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Attn/AttnAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Attn/AttnTypes.cpp.inc"
      >();
}
