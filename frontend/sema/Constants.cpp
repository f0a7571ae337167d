// frontend/sema/Constants.cpp - folding in double precision
#include "frontend/sema/Constants.h"

#include "frontend/sema/Functions.h"

#include <cmath>

namespace fovea::sema {

using ast::Op;

std::optional<double> constantValue(const Expr &e) {
  std::vector<double> args;
  for (const Expr &arg : e.args) {
    auto value = constantValue(arg);
    if (!value)
      return std::nullopt;
    args.push_back(*value);
  }
  if (e.kind == Expr::Kind::Number)
    return e.value;
  if (e.kind == Expr::Kind::Call)
    return evaluate(e.function, args);
  if (e.kind != Expr::Kind::Operator)
    return std::nullopt;
  switch (e.op) {
  case Op::Neg: return -args[0];
  case Op::Mul: return args[0] * args[1];
  case Op::Div: return args[0] / args[1];
  case Op::Mod: return args[0] - std::floor(args[0] / args[1]) * args[1];
  case Op::Add: return args[0] + args[1];
  case Op::Sub: return args[0] - args[1];
  case Op::Lt: return args[0] < args[1];
  case Op::Le: return args[0] <= args[1];
  case Op::Gt: return args[0] > args[1];
  case Op::Ge: return args[0] >= args[1];
  case Op::Eq: return args[0] == args[1];
  case Op::Ne: return args[0] != args[1];
  case Op::And: return args[0] != 0 && args[1] != 0;
  case Op::Or: return args[0] != 0 || args[1] != 0;
  case Op::Not: return args[0] == 0;
  }
  return std::nullopt;
}

} // namespace fovea::sema
