// codegen/sm100a/Tmem.cpp - tensor memory: allocation and register transfers.
#include "codegen/sm100a/Tmem.h"

#include "codegen/common/RawPtx.h"
#include "codegen/common/SharedAccess.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen::sm100a {

using layout::TmemShape;

void tmemAlloc(OpBuilder &b, Location loc, Value slot, uint32_t columns) {
  assert(columns >= 32 && layout::tmemAllocation(columns) == columns && "not an allocatable size");
  NVVM::Tcgen05AllocOp::create(b, loc, sharedPointer(b, loc, slot), constI32(b, loc, columns));
}

void tmemRelinquish(OpBuilder &b, Location loc) {
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b, loc);
}

Value tmemBase(OpBuilder &b, Location loc, Value slot) {
  return loadShared(b, loc, b.getI32Type(), slot, /*isVolatile=*/true);
}

void tmemDealloc(OpBuilder &b, Location loc, Value base, uint32_t columns) {
  NVVM::Tcgen05DeallocOp::create(b, loc, tensorPointer(b, loc, base), constI32(b, loc, columns));
}

Value tmemWarpAddress(OpBuilder &b, Location loc, Value base, Value warp, uint32_t column) {
  Value quarter = LLVM::AndOp::create(b, loc, warp, constI32(b, loc, 3));
  Value lanes = LLVM::ShlOp::create(b, loc, quarter, constI32(b, loc, 21)); // 32 lanes << 16
  Value address = LLVM::AddOp::create(b, loc, tensorAddress(b, loc, base), lanes);
  return addI32(b, loc, address, column);
}

static NVVM::Tcgen05LdStShape shapeOf(TmemShape shape) {
  switch (shape) {
  case TmemShape::S32x32b:
    return NVVM::Tcgen05LdStShape::SHAPE_32X32B;
  case TmemShape::S16x64b:
    return NVVM::Tcgen05LdStShape::SHAPE_16X64B;
  case TmemShape::S16x128b:
    return NVVM::Tcgen05LdStShape::SHAPE_16X128B;
  case TmemShape::S16x256b:
    return NVVM::Tcgen05LdStShape::SHAPE_16X256B;
  }
  llvm_unreachable("all shapes covered");
}

SmallVector<Value> tmemLoad(OpBuilder &b, Location loc, TmemShape shape, uint32_t num,
                            Value address) {
  uint32_t count = layout::registersOf(shape, num);
  assert(count <= 128 && llvm::isPowerOf2_32(num) && "not a transfer size");
  Type i32 = b.getI32Type();
  Type type = count == 1 ? i32 : Type(VectorType::get({int64_t(count)}, i32));
  Value loaded = NVVM::Tcgen05LdOp::create(b, loc, type, /*pack=*/false, shapeOf(shape),
                                           tensorPointer(b, loc, address), /*offset=*/Value());
  return count == 1 ? SmallVector<Value>{loaded} : unpackVector(b, loc, loaded);
}

void tmemStore(OpBuilder &b, Location loc, TmemShape shape, Value address, ValueRange registers) {
  assert(registers.size() <= 128 && llvm::isPowerOf2_64(registers.size()) && "not a transfer size");
  Value value = registers.size() == 1 ? registers[0] : packVector(b, loc, registers);
  NVVM::Tcgen05StOp::create(b, loc, /*unpack=*/false, shapeOf(shape),
                            tensorPointer(b, loc, address), value, /*offset=*/Value());
}

SmallVector<Value> tmemWaitLoad(OpBuilder &b, Location loc, ValueRange loaded) {
  return emitTiedPtx(b, loc, rawPtxRow(RawPtx::TmemWaitLoad).ptx, loaded);
}

void tmemWaitStore(OpBuilder &b, Location loc) {
  NVVM::Tcgen05WaitOp::create(b, loc, NVVM::Tcgen05WaitKind::STORE);
}

} // namespace fovea::codegen::sm100a
