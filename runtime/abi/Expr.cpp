// runtime/abi/Expr.cpp - evaluation of launch expressions, with every overflow checked.
#include "runtime/abi/Expr.h"

#include <limits>

namespace fovea {

namespace {
constexpr std::pair<const char *, Expr::Kind> kOps[] = {
    {"add", Expr::Kind::Add},         {"sub", Expr::Kind::Sub},           {"mul", Expr::Kind::Mul},
    {"ceildiv", Expr::Kind::CeilDiv}, {"floordiv", Expr::Kind::FloorDiv}, {"min", Expr::Kind::Min},
    {"max", Expr::Kind::Max},         {"mod", Expr::Kind::Mod},
};

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
} // namespace

const char *Expr::opName(Kind kind) {
  for (auto [name, op] : kOps)
    if (op == kind)
      return name;
  return "";
}

std::optional<Expr::Kind> Expr::parseOp(const std::string &name) {
  for (auto [word, op] : kOps)
    if (name == word)
      return op;
  return std::nullopt;
}

std::string Expr::text() const {
  if (kind == Kind::Constant)
    return std::to_string(constant);
  if (kind == Kind::Name)
    return symbol;
  const char sign = kind == Kind::Add ? '+' : kind == Kind::Sub ? '-' : kind == Kind::Mul ? '*' : 0;
  if (!sign)
    return std::string(opName(kind)) + "(" + operands[0].text() + ", " + operands[1].text() + ")";
  auto operand = [&](const Expr &e, bool right) {
    const bool sum = e.kind == Kind::Add || e.kind == Kind::Sub;
    return sum && (kind == Kind::Mul || (right && kind == Kind::Sub)) ? "(" + e.text() + ")" : e.text();
  };
  return operand(operands[0], false) + " " + sign + " " + operand(operands[1], true);
}

void Expr::forEachName(const std::function<void(const std::string &)> &visit) const {
  if (kind == Kind::Name)
    visit(symbol);
  for (const Expr &operand : operands)
    operand.forEachName(visit);
}

bool Expr::operator==(const Expr &other) const {
  return kind == other.kind && constant == other.constant && symbol == other.symbol && operands == other.operands;
}

Expected<int64_t> Expr::evaluate(const Lookup &lookup) const {
  if (kind == Kind::Constant)
    return constant;
  if (kind == Kind::Name) {
    if (std::optional<int64_t> value = lookup(symbol))
      return *value;
    return Error{"the launch expression needs '" + symbol + "', which no argument gives"};
  }
  Expected<int64_t> left = operands[0].evaluate(lookup);
  if (!left)
    return left;
  Expected<int64_t> right = operands[1].evaluate(lookup);
  if (!right)
    return right;
  int64_t a = *left, b = *right, result = 0;
  auto overflow = [&] {
    return Error{"the launch expression " + text() + " overflows 64 bits with " + std::to_string(a) + " and " +
                 std::to_string(b)};
  };
  switch (kind) {
  case Kind::Add:
    return __builtin_add_overflow(a, b, &result) ? Expected<int64_t>(overflow()) : result;
  case Kind::Sub:
    return __builtin_sub_overflow(a, b, &result) ? Expected<int64_t>(overflow()) : result;
  case Kind::Mul:
    return __builtin_mul_overflow(a, b, &result) ? Expected<int64_t>(overflow()) : result;
  case Kind::Min:
    return std::min(a, b);
  case Kind::Max:
    return std::max(a, b);
  default:
    break;
  }
  if (b == 0)
    return Error{"the launch expression " + text() + " divides by zero"};
  if (a == std::numeric_limits<int64_t>::min() && b == -1)
    return overflow();
  if (kind == Kind::FloorDiv)
    return floorDivide(a, b);
  if (kind == Kind::Mod)
    return a - floorDivide(a, b) * b;
  return -floorDivide(-a, b);
}

} // namespace fovea
