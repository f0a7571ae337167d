// codegen/common/Descriptor.cpp - shared-memory matrix descriptors as values.
#include "codegen/common/Descriptor.h"

using namespace mlir;

namespace fovea::codegen {

Value smemDescriptor(OpBuilder &b, Location loc, layout::TensorCore core,
                     const layout::MatrixOperand &operand, Value tileBase) {
  Value address =
      LLVM::AndOp::create(b, loc, sharedAddress(b, loc, tileBase), constI32(b, loc, 0x3FFFF));
  Value encoded = LLVM::LShrOp::create(b, loc, address, constI32(b, loc, 4));
  Value wide = LLVM::ZExtOp::create(b, loc, b.getI64Type(), encoded);
  return LLVM::OrOp::create(b, loc, wide, constI64(b, loc, operand.descriptor.encode(core)));
}

} // namespace fovea::codegen
