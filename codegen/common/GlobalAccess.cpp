// codegen/common/GlobalAccess.cpp - loads, stores and atomics of global memory.
#include "codegen/common/GlobalAccess.h"

#include "codegen/common/RawPtx.h"

using namespace mlir;

namespace fovea::codegen {

Value globalElement(OpBuilder &b, Location loc, Value base, Type type, Value index) {
  return LLVM::GEPOp::create(b, loc, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{index});
}
Value globalByte(OpBuilder &b, Location loc, Value base, Value bytes) {
  return globalElement(b, loc, base, b.getI8Type(), bytes);
}

Value loadGlobal(OpBuilder &b, Location loc, Type type, Value pointer, bool nc) {
  return LLVM::LoadOp::create(b, loc, type, pointer, byteSize(type), /*isVolatile=*/false,
                              /*isNonTemporal=*/false, /*isInvariant=*/nc);
}

Value loadOffset(OpBuilder &b, Location loc, Value offsets, Value shift, Value i) {
  auto wide = [&](Value v) -> Value { return LLVM::ZExtOp::create(b, loc, b.getI64Type(), v); };
  shift = wide(shift);
  Value bytes = LLVM::ShlOp::create(b, loc, wide(i), shift);
  return loadGlobal(b, loc, b.getI32Type(), globalByte(b, loc, offsets, bytes), /*nc=*/true);
}

void storeGlobal(OpBuilder &b, Location loc, Value value, Value pointer) {
  LLVM::StoreOp::create(b, loc, value, pointer, byteSize(value.getType()));
}

void storeGlobal16If(OpBuilder &b, Location loc, Value predicate, Value pointer,
                     ValueRange fourI32) {
  assert(fourI32.size() == 4 && "16 bytes are four i32");
  SmallVector<Value> operands{predicate, pointer};
  llvm::append_range(operands, fourI32);
  emitRawPtx(b, loc, RawPtx::StoreGlobal16If, operands);
}

void storeGlobal4If(OpBuilder &b, Location loc, Value predicate, Value pointer, Value value) {
  if (!value.getType().isInteger(32))
    value = LLVM::BitcastOp::create(b, loc, b.getI32Type(), value);
  emitRawPtx(b, loc, RawPtx::StoreGlobal4If, {predicate, pointer, value});
}

SmallVector<Value> loadGlobalNc16If(OpBuilder &b, Location loc, Value predicate, Value pointer) {
  return emitRawPtx(b, loc, RawPtx::LoadGlobalNc16If, {predicate, pointer},
                    SmallVector<Type>(4, b.getI32Type()));
}

Value loadGlobalNc4If(OpBuilder &b, Location loc, Value predicate, Value pointer) {
  return emitRawPtx(b, loc, RawPtx::LoadGlobalNc4If, {predicate, pointer}, {b.getI32Type()})
      .front();
}

void atomicAddF32(OpBuilder &b, Location loc, Value pointer, Value value) {
  LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::fadd, pointer, value,
                            LLVM::AtomicOrdering::monotonic, /*syncscope=*/"device");
}

Value atomicIncU32(OpBuilder &b, Location loc, Value pointer, Value limit) {
  return LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::uinc_wrap, pointer, limit,
                                   LLVM::AtomicOrdering::monotonic, /*syncscope=*/"device");
}

} // namespace fovea::codegen
