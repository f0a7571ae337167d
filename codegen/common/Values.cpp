// codegen/common/Values.cpp - constants and address conversions.
#include "codegen/common/Values.h"

using namespace mlir;

namespace fovea::codegen {

Type pointerType(OpBuilder &b, AddressSpace space) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}

static Value constInt(OpBuilder &b, Location loc, unsigned width, uint64_t v) {
  Type type = b.getIntegerType(width);
  return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, APInt(width, v)));
}

Value constI1(OpBuilder &b, Location loc, bool v) { return constInt(b, loc, 1, v); }
Value constI16(OpBuilder &b, Location loc, uint16_t v) { return constInt(b, loc, 16, v); }
Value constI32(OpBuilder &b, Location loc, uint32_t v) { return constInt(b, loc, 32, v); }
Value constI64(OpBuilder &b, Location loc, uint64_t v) { return constInt(b, loc, 64, v); }
Value constF32(OpBuilder &b, Location loc, float v) {
  return LLVM::ConstantOp::create(b, loc, b.getF32Type(), b.getF32FloatAttr(v));
}

Value addI32(OpBuilder &b, Location loc, Value v, uint32_t c) {
  return c ? LLVM::AddOp::create(b, loc, v, constI32(b, loc, c)) : v;
}
Value addI64(OpBuilder &b, Location loc, Value v, uint64_t c) {
  return c ? LLVM::AddOp::create(b, loc, v, constI64(b, loc, c)) : v;
}

static Value toPointer(OpBuilder &b, Location loc, Value address, AddressSpace space) {
  if (isa<LLVM::LLVMPointerType>(address.getType()))
    return address;
  return LLVM::IntToPtrOp::create(b, loc, pointerType(b, space), address);
}

static Value toAddress(OpBuilder &b, Location loc, Value pointer) {
  if (!isa<LLVM::LLVMPointerType>(pointer.getType()))
    return pointer;
  return LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), pointer);
}

Value sharedPointer(OpBuilder &b, Location loc, Value address) {
  return toPointer(b, loc, address, Shared);
}
Value sharedAddress(OpBuilder &b, Location loc, Value address) {
  return toAddress(b, loc, address);
}
Value tensorPointer(OpBuilder &b, Location loc, Value address) {
  return toPointer(b, loc, address, Tensor);
}
Value tensorAddress(OpBuilder &b, Location loc, Value address) {
  return toAddress(b, loc, address);
}

unsigned byteSize(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * byteSize(vector.getElementType());
  return type.getIntOrFloatBitWidth() / 8;
}

Value packVector(OpBuilder &b, Location loc, ValueRange elements) {
  Type type = VectorType::get({static_cast<int64_t>(elements.size())}, elements[0].getType());
  Value vector = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(b, loc, vector, element, constI32(b, loc, i));
  return vector;
}

SmallVector<Value> unpackVector(OpBuilder &b, Location loc, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0, n = cast<VectorType>(vector.getType()).getNumElements(); i < n; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(b, loc, vector, constI32(b, loc, i)));
  return elements;
}

} // namespace fovea::codegen
