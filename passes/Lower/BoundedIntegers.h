// passes/Lower/BoundedIntegers.h - arithmetic on integers whose interval is known, in 32 bits where that suffices.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include <limits>

namespace fovea {

/// An integer of an expression: i32 when [least, greatest] lies in 32 bits, else i64.
struct BoundedInteger {
  mlir::Value value;
  int64_t least = 0, greatest = 0;
};

/// Emits arith ops that compute what 64-bit ones would; expressions of `attn` are in 64 bits, registers of a GPU in 32.
class BoundedIntegers {
public:
  static constexpr int64_t kLeast32 = std::numeric_limits<int32_t>::min();
  static constexpr int64_t kGreatest32 = std::numeric_limits<int32_t>::max();

  BoundedIntegers(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  BoundedInteger constant(int64_t v) { return {constant(v, typeFor(v, v)), v, v}; }
  BoundedInteger sum(BoundedInteger x, BoundedInteger y);
  BoundedInteger difference(BoundedInteger x, BoundedInteger y);
  BoundedInteger product(BoundedInteger x, BoundedInteger y);
  BoundedInteger floorQuotient(BoundedInteger x, BoundedInteger y); ///< rounded to minus infinity
  BoundedInteger quotient(BoundedInteger x, BoundedInteger y);      ///< rounded to zero
  BoundedInteger remainder(BoundedInteger x, BoundedInteger y);     ///< with the sign of x
  BoundedInteger max(BoundedInteger x, BoundedInteger y);
  BoundedInteger min(BoundedInteger x, BoundedInteger y);
  BoundedInteger abs(BoundedInteger x);
  BoundedInteger select(mlir::Value condition, BoundedInteger x, BoundedInteger y);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, BoundedInteger x, BoundedInteger y);
  /// As an i32; what 32 bits do not hold becomes -1 or the greatest i32.
  mlir::Value saturated(BoundedInteger x);

  mlir::Value constant(int64_t v, mlir::Type type);

private:
  mlir::Type typeFor(int64_t least, int64_t greatest);
  mlir::Value widened(mlir::Value v, mlir::Type type);
  template <typename Op> BoundedInteger emit(BoundedInteger x, BoundedInteger y, __int128 least, __int128 greatest);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace fovea
