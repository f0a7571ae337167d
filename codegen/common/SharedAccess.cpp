// codegen/common/SharedAccess.cpp - generic-proxy accesses and matrix loads/stores of shared
// memory.
#include "codegen/common/SharedAccess.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

using layout::MatrixAddress;
using layout::MatrixOrder;
using layout::SmemTile;

Value loadShared(OpBuilder &b, Location loc, Type type, Value address, bool isVolatile) {
  return LLVM::LoadOp::create(b, loc, type, sharedPointer(b, loc, address), byteSize(type),
                              isVolatile);
}

void storeShared(OpBuilder &b, Location loc, Value value, Value address) {
  LLVM::StoreOp::create(b, loc, value, sharedPointer(b, loc, address), byteSize(value.getType()));
}

void zeroShared16(OpBuilder &b, Location loc, Value address) {
  Type type = VectorType::get({4}, b.getI32Type());
  storeShared(b, loc, LLVM::ZeroOp::create(b, loc, type), address);
}

static NVVM::LdStMatrixShapeAttr shape8x8(OpBuilder &b) {
  return NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
}
static NVVM::MMALayout layoutOf(bool trans) {
  return trans ? NVVM::MMALayout::col : NVVM::MMALayout::row;
}

SmallVector<Value> loadMatrix(OpBuilder &b, Location loc, Value address, uint32_t count,
                              bool trans) {
  Type i32 = b.getI32Type();
  Type type = count == 1
                  ? i32
                  : LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, i32));
  Value loaded =
      NVVM::LdMatrixOp::create(b, loc, type, sharedPointer(b, loc, address), count, layoutOf(trans),
                               shape8x8(b), NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  SmallVector<Value> registers;
  for (uint32_t i = 0; i < count; ++i)
    registers.push_back(LLVM::ExtractValueOp::create(b, loc, loaded, i));
  return registers;
}

void storeMatrix(OpBuilder &b, Location loc, Value address, ValueRange registers, bool trans) {
  NVVM::StMatrixOp::create(b, loc, sharedPointer(b, loc, address), registers, layoutOf(trans),
                           shape8x8(b), NVVM::LdStMatrixEltType::B16);
}

static Value shl(OpBuilder &b, Location loc, Value v, uint32_t bits) {
  return bits ? LLVM::ShlOp::create(b, loc, v, constI32(b, loc, bits)) : v;
}
static Value shr(OpBuilder &b, Location loc, Value v, uint32_t bits) {
  return LLVM::LShrOp::create(b, loc, v, constI32(b, loc, bits));
}
static Value andMask(OpBuilder &b, Location loc, Value v, uint32_t mask) {
  return LLVM::AndOp::create(b, loc, v, constI32(b, loc, mask));
}

// The swizzle of a linear offset: layout::apply on a value.
static Value swizzled(OpBuilder &b, Location loc, const SmemTile &tile, Value offset) {
  Value line = andMask(b, loc, shr(b, loc, offset, 7), layout::chunkMask(tile.swizzle()));
  return LLVM::XOrOp::create(b, loc, offset, shl(b, loc, line, 4));
}

Value matrixLaneOffset(OpBuilder &b, Location loc, const SmemTile &tile, MatrixOrder order,
                       Value lane, Value rowShift) {
  // layout::matrixRow: 8 rows by lane bits 0..2; bits 3 and 4 choose the matrix.
  uint32_t rowBit = order == MatrixOrder::RowsFirst ? 3 : 4;
  uint32_t colBit = 7 - rowBit;
  Value row = andMask(b, loc, lane, 7);
  Value low = shl(b, loc, andMask(b, loc, shr(b, loc, lane, rowBit), 1), 3);
  row = LLVM::OrOp::create(b, loc, row, low);
  if (rowShift)
    row = LLVM::AddOp::create(b, loc, row, rowShift);
  Value chunk = andMask(b, loc, shr(b, loc, lane, colBit), 1);
  Value offset = LLVM::MulOp::create(b, loc, row, constI32(b, loc, tile.rowBytes()));
  offset = LLVM::AddOp::create(b, loc, offset, shl(b, loc, chunk, 4));
  return swizzled(b, loc, tile, offset);
}

Value matrixShiftCols(OpBuilder &b, Location loc, Value laneOffset, Value colShift) {
  return LLVM::XOrOp::create(b, loc, laneOffset, shl(b, loc, colShift, 1));
}

Value matrixAddress(OpBuilder &b, Location loc, const SmemTile &tile, Value base, Value laneOffset,
                    uint32_t row0, uint32_t col0) {
  Value offset = laneOffset;
  if (uint32_t bits = MatrixAddress::xorBytes(tile, col0))
    offset = LLVM::XOrOp::create(b, loc, offset, constI32(b, loc, bits));
  Value address = LLVM::AddOp::create(b, loc, sharedAddress(b, loc, base), offset);
  return addI32(b, loc, address, MatrixAddress::addBytes(tile, row0, col0));
}

Value tileOffset(OpBuilder &b, Location loc, const SmemTile &tile, Value row, Value col) {
  // Panels, rows and spans are powers of two except for the panel size, so only that one is a
  // product.
  uint32_t panelBits = llvm::Log2_32(tile.panelCols()), rowBits = llvm::Log2_32(tile.rowBytes());
  Value panel = shr(b, loc, col, panelBits);
  Value inner =
      shl(b, loc, andMask(b, loc, col, tile.panelCols() - 1), llvm::Log2_32(tile.elemBytes()));
  Value offset = LLVM::AddOp::create(b, loc, shl(b, loc, row, rowBits), inner);
  offset = swizzled(b, loc, tile, offset);
  if (tile.panelCount() == 1)
    return offset;
  Value base = LLVM::MulOp::create(b, loc, panel, constI32(b, loc, tile.panelBytes()));
  return LLVM::AddOp::create(b, loc, offset, base);
}

Value tileAddress(OpBuilder &b, Location loc, const SmemTile &tile, Value base, Value laneOffset, uint32_t row0,
                  uint32_t col0) {
  // A swizzle exchanges 16-byte chunks inside a panel's row: XOR for these bits, addition for all others.
  uint32_t inner = col0 % tile.panelCols() * tile.elemBytes();
  Value offset = laneOffset;
  if (uint32_t chunk = inner & ~15u)
    offset = LLVM::XOrOp::create(b, loc, offset, constI32(b, loc, chunk));
  Value address = LLVM::AddOp::create(b, loc, sharedAddress(b, loc, base), offset);
  return addI32(b, loc, address, (inner & 15) + col0 / tile.panelCols() * tile.panelBytes() + row0 * tile.rowBytes());
}

} // namespace fovea::codegen
