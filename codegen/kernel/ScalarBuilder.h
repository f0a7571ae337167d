// codegen/kernel/ScalarBuilder.h - integer arithmetic and branches, for the classes that write a kernel.
#pragma once

#include "codegen/common/Values.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fovea::codegen {

/// Ops at the point of `b`, all at `loc`. Operands of one op have one type, i32 or i64; conditions are i1.
class ScalarBuilder {
public:
  ScalarBuilder(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  OpBuilder &b;
  Location loc;

  Value i32(int64_t v) { return constI32(b, loc, uint32_t(v)); }
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);    ///< unsigned
  Value bitAnd(Value x, Value y);
  Value cmp(mlir::LLVM::ICmpPredicate predicate, Value x, Value y);
  Value wide(Value v);            ///< an unsigned i32 as i64
  Value wideSigned(Value v);      ///< a signed one

  /// Runs `body` where the condition holds, or for from, from + step, ... below `to` (signed).
  void ifThen(Value condition, llvm::function_ref<void()> body);
  void forLoop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body);
};

} // namespace fovea::codegen
