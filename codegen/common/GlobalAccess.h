// codegen/common/GlobalAccess.h - loads, stores and atomics of global memory. Pointers are
// !llvm.ptr<1>. Any thread. PTX ISA, "ld.global.nc", "st", "atom", "red".
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

/// base + index elements of `type`; index is i32 (sign-extended) or i64.
Value globalElement(OpBuilder &b, Location loc, Value base, Type type, Value index);
/// base + bytes (i64).
Value globalByte(OpBuilder &b, Location loc, Value base, Value bytes);

/// ld.global / ld.global.nc of a scalar or vector of up to 16 bytes, naturally aligned. `nc` only
/// for data no thread of the grid writes.
Value loadGlobal(OpBuilder &b, Location loc, Type type, Value pointer, bool nc = false);
/// st.global of a scalar or vector of up to 16 bytes.
void storeGlobal(OpBuilder &b, Location loc, Value value, Value pointer);

/// Entry i (i32) of an array of offsets (!llvm.ptr<1>) of i32 or i64, `shift` (i32) being 2 or 3. The low word serves both:
/// offsets stay below 2^31.
Value loadOffset(OpBuilder &b, Location loc, Value offsets, Value shift, Value i);

/// Predicated 16-byte and 4-byte accesses without a branch. A false predicate stores nothing /
/// loads zero; the pointer is not touched.
void storeGlobal16If(OpBuilder &b, Location loc, Value predicate, Value pointer,
                     ValueRange fourI32);
void storeGlobal4If(OpBuilder &b, Location loc, Value predicate, Value pointer, Value value);
SmallVector<Value> loadGlobalNc16If(OpBuilder &b, Location loc, Value predicate, Value pointer);
Value loadGlobalNc4If(OpBuilder &b, Location loc, Value predicate, Value pointer);

/// red/atom.global.add.f32, relaxed, device scope.
void atomicAddF32(OpBuilder &b, Location loc, Value pointer, Value value);
/// atom.global.inc.u32: returns the old value; wraps to 0 after `limit` (a self-resetting work
/// counter).
Value atomicIncU32(OpBuilder &b, Location loc, Value pointer, Value limit);

} // namespace fovea::codegen
