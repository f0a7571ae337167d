// codegen/common/Values.h - constants and address conversions shared by every instruction family.
//
// Conventions of the instruction library (codegen/common, sm100a, sm90a):
//  - Functions are free, take (OpBuilder &, Location, operands...) and insert at the builder's
//  point.
//  - Values have LLVM-dialect types: i1, i32, i64, f32, vectors of them, !llvm.ptr.
//  - A shared-memory address is the 32-bit shared::cta address as i32, or a !llvm.ptr<3>; a
//  tensor-memory address
//    is i32 (lane << 16 | column) or !llvm.ptr<6>. Every function accepts both; i32 is preferred,
//    because offsets then fold and no 64-bit register is spent.
//  - What must be known at compile time (barrier ids, counts, shapes) is a C++ integer, not a
//  Value.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

#include <cstdint>

namespace fovea::codegen {

using mlir::ArrayRef;
using mlir::Location;
using mlir::OpBuilder;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// NVPTX address spaces.
enum AddressSpace : unsigned { Generic = 0, Global = 1, Shared = 3, Tensor = 6, SharedCluster = 7 };

Type pointerType(OpBuilder &b, AddressSpace space);

Value constI1(OpBuilder &b, Location loc, bool v);
Value constI16(OpBuilder &b, Location loc, uint16_t v);
Value constI32(OpBuilder &b, Location loc, uint32_t v);
Value constI64(OpBuilder &b, Location loc, uint64_t v);
Value constF32(OpBuilder &b, Location loc, float v);

/// i32 arithmetic with a constant; returns `v` itself when the constant changes nothing.
Value addI32(OpBuilder &b, Location loc, Value v, uint32_t c);
Value addI64(OpBuilder &b, Location loc, Value v, uint64_t c);

/// i32 or pointer -> !llvm.ptr<3> / !llvm.ptr<6>, and back to i32.
Value sharedPointer(OpBuilder &b, Location loc, Value address);
Value sharedAddress(OpBuilder &b, Location loc, Value address);
Value tensorPointer(OpBuilder &b, Location loc, Value address);
Value tensorAddress(OpBuilder &b, Location loc, Value address);

/// Bytes of an integer, a float or a vector of them.
unsigned byteSize(Type type);

/// Packs values of one type into a vector, and takes a vector apart.
Value packVector(OpBuilder &b, Location loc, ValueRange elements);
SmallVector<Value> unpackVector(OpBuilder &b, Location loc, Value vector);

} // namespace fovea::codegen
