// passes/Lower/BoundedIntegers.cpp - arithmetic on integers whose interval is known, in 32 bits where that suffices.
#include "passes/Lower/BoundedIntegers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using arith::CmpIPredicate;

using Integer = BoundedInteger;

// The greatest magnitude, which 64 bits hold.
static int64_t reach(Integer x) {
  auto magnitude = [](int64_t v) {
    return v == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : std::abs(v);
  };
  return std::max(magnitude(x.least), magnitude(x.greatest));
}

Type BoundedIntegers::typeFor(int64_t least, int64_t greatest) {
  return least >= kLeast32 && greatest <= kGreatest32 ? b.getI32Type() : b.getI64Type();
}

Value BoundedIntegers::widened(Value v, Type type) {
  return v.getType() == type ? v : Value(arith::ExtSIOp::create(b, loc, type, v));
}

Value BoundedIntegers::constant(int64_t v, Type type) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
}

// The result lies in [least, greatest]; the operation runs in a width that holds it and both operands.
template <typename Op> Integer BoundedIntegers::emit(Integer x, Integer y, __int128 least, __int128 greatest) {
  const __int128 low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  if (least < low || greatest > high) // wraps around, like the 64-bit op that it stands for
    least = low, greatest = high;
  Integer result{{}, int64_t(least), int64_t(greatest)};
  Type type = typeFor(std::min({x.least, y.least, result.least}), std::max({x.greatest, y.greatest, result.greatest}));
  result.value = Op::create(b, loc, widened(x.value, type), widened(y.value, type));
  if (Type narrow = typeFor(result.least, result.greatest); narrow != type)
    result.value = arith::TruncIOp::create(b, loc, narrow, result.value);
  return result;
}

Integer BoundedIntegers::sum(Integer x, Integer y) {
  return emit<arith::AddIOp>(x, y, __int128(x.least) + y.least, __int128(x.greatest) + y.greatest);
}

Integer BoundedIntegers::difference(Integer x, Integer y) {
  return emit<arith::SubIOp>(x, y, __int128(x.least) - y.greatest, __int128(x.greatest) - y.least);
}

Integer BoundedIntegers::product(Integer x, Integer y) {
  auto [least, greatest] = std::minmax({__int128(x.least) * y.least, __int128(x.least) * y.greatest,
                                        __int128(x.greatest) * y.least, __int128(x.greatest) * y.greatest});
  return emit<arith::MulIOp>(x, y, least, greatest);
}

Integer BoundedIntegers::quotient(Integer x, Integer y) {
  bool positive = x.least >= 0 && y.least >= 0;
  return emit<arith::DivSIOp>(x, y, positive ? 0 : -__int128(reach(x)), reach(x));
}

Integer BoundedIntegers::remainder(Integer x, Integer y) {
  return emit<arith::RemSIOp>(x, y, x.least >= 0 ? 0 : -__int128(reach(x)), reach(x));
}

Integer BoundedIntegers::floorQuotient(Integer x, Integer y) {
  if (x.least >= 0 && y.least > 0)
    return emit<arith::DivUIOp>(x, y, 0, x.greatest / y.least);
  if (y.least == y.greatest && y.least > 0 && llvm::isPowerOf2_64(uint64_t(y.least))) {
    Integer shift = constant(llvm::Log2_64(uint64_t(y.least)));
    return emit<arith::ShRSIOp>(x, shift, x.least >> shift.least, x.greatest >> shift.least);
  }
  Integer whole = quotient(x, y), rest = difference(x, product(whole, y)), zero = constant(0);
  // One less where the rest is not 0 and has another sign than the divisor.
  Value some = compare(CmpIPredicate::ne, rest, zero);
  Value differ = arith::XOrIOp::create(b, loc, compare(CmpIPredicate::slt, rest, zero),
                                       compare(CmpIPredicate::slt, y, zero));
  Value less = arith::AndIOp::create(b, loc, some, differ);
  return difference(whole, {arith::ExtUIOp::create(b, loc, b.getI32Type(), less), 0, 1});
}

Integer BoundedIntegers::max(Integer x, Integer y) {
  return emit<arith::MaxSIOp>(x, y, std::max(x.least, y.least), std::max(x.greatest, y.greatest));
}

Integer BoundedIntegers::min(Integer x, Integer y) {
  return emit<arith::MinSIOp>(x, y, std::min(x.least, y.least), std::min(x.greatest, y.greatest));
}

Integer BoundedIntegers::abs(Integer x) {
  return emit<arith::MaxSIOp>(x, difference(constant(0), x), 0, reach(x));
}

Integer BoundedIntegers::select(Value condition, Integer x, Integer y) {
  Integer result{{}, std::min(x.least, y.least), std::max(x.greatest, y.greatest)};
  Type type = typeFor(result.least, result.greatest);
  result.value = arith::SelectOp::create(b, loc, condition, widened(x.value, type), widened(y.value, type));
  return result;
}

Value BoundedIntegers::compare(CmpIPredicate predicate, Integer x, Integer y) {
  Type type = typeFor(std::min(x.least, y.least), std::max(x.greatest, y.greatest));
  return arith::CmpIOp::create(b, loc, predicate, widened(x.value, type), widened(y.value, type));
}

Value BoundedIntegers::saturated(Integer x) {
  if (x.value.getType().isInteger(32))
    return x.value;
  Value cut = arith::MaxSIOp::create(b, loc, x.value, constant(-1, b.getI64Type()));
  cut = arith::MinSIOp::create(b, loc, cut, constant(kGreatest32, b.getI64Type()));
  return arith::TruncIOp::create(b, loc, b.getI32Type(), cut);
}
