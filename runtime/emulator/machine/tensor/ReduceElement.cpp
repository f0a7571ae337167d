// runtime/emulator/machine/tensor/ReduceElement.cpp - one element of a bulk reduction
#include "runtime/emulator/machine/tensor/Fault.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace fovea::emulator {
namespace {

template <typename T> T loadAs(const void *from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

[[noreturn]] void refuse(ReduceOp op) {
  static const char *names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  throw Fault(std::string("bulk reduction .") + names[unsigned(op)] + " does not exist for the tensor map's element type");
}

template <typename T> void reduceInteger(ReduceOp op, void *to, const void *from) {
  using U = std::make_unsigned_t<T>;
  T a = loadAs<T>(to), b = loadAs<T>(from), r = 0;
  switch (op) {
  case ReduceOp::Add:
    r = T(U(a) + U(b));
    break;
  case ReduceOp::Min:
    r = std::min(a, b);
    break;
  case ReduceOp::Max:
    r = std::max(a, b);
    break;
  case ReduceOp::Inc: // PTX atom.inc: wraps to 0 at the operand
    if (sizeof(T) != 4 || std::is_signed_v<T>)
      refuse(op);
    r = a >= b ? 0 : a + 1;
    break;
  case ReduceOp::Dec:
    if (sizeof(T) != 4 || std::is_signed_v<T>)
      refuse(op);
    r = a == 0 || a > b ? b : a - 1;
    break;
  case ReduceOp::And:
    r = a & b;
    break;
  case ReduceOp::Or:
    r = a | b;
    break;
  case ReduceOp::Xor:
    r = a ^ b;
    break;
  }
  std::memcpy(to, &r, sizeof r);
}

/// min/max that ignore one NaN and order -0 below +0, as PTX does.
float extremum(ReduceOp op, float a, float b) {
  if (std::isnan(a))
    return b;
  if (std::isnan(b))
    return a;
  bool less = a < b || (a == b && std::signbit(a));
  return (op == ReduceOp::Min) == less ? a : b;
}

void reduceHalf(Format format, ReduceOp op, void *to, const void *from) {
  float a = decode(format, loadAs<uint16_t>(to)), b = decode(format, loadAs<uint16_t>(from));
  double r;
  if (op == ReduceOp::Add)
    r = double(a) + double(b); // exact, so that one rounding follows
  else if (op == ReduceOp::Min || op == ReduceOp::Max)
    r = extremum(op, a, b);
  else
    refuse(op);
  uint16_t bits = uint16_t(encode(format, r));
  std::memcpy(to, &bits, 2);
}

float flush(float f) { return std::fpclassify(f) == FP_SUBNORMAL ? std::copysign(0.0f, f) : f; }

} // namespace

void reduceElement(MapType type, ReduceOp op, void *to, const void *from) {
  switch (type) {
  case MapType::U32:
    return reduceInteger<uint32_t>(op, to, from);
  case MapType::S32:
    return reduceInteger<int32_t>(op, to, from);
  case MapType::U64:
    return reduceInteger<uint64_t>(op, to, from);
  case MapType::S64: // an H200 faults on the others
    if (op != ReduceOp::Min && op != ReduceOp::Max)
      refuse(op);
    return reduceInteger<int64_t>(op, to, from);
  case MapType::F16:
    return reduceHalf(Format::F16, op, to, from);
  case MapType::BF16:
    return reduceHalf(Format::BF16, op, to, from);
  case MapType::F32:
  case MapType::F32Ftz: {
    if (op != ReduceOp::Add)
      refuse(op);
    float r = flush(flush(loadAs<float>(to)) + flush(loadAs<float>(from)));
    std::memcpy(to, &r, 4);
    return;
  }
  case MapType::F64: {
    if (op != ReduceOp::Add)
      refuse(op);
    double r = loadAs<double>(to) + loadAs<double>(from);
    std::memcpy(to, &r, 8);
    return;
  }
  default:
    refuse(op);
  }
}

} // namespace fovea::emulator
