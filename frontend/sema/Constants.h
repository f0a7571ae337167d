// frontend/sema/Constants.h - questions about typed expressions that several stages ask
#pragma once

#include "frontend/sema/Spec.h"

namespace fovea::sema {

/// The value of an expression that names no variable and no table.
std::optional<double> constantValue(const Expr &e);

/// True when `test` holds for `e` or for something in it.
template <typename Test> bool anyOf(const Expr &e, const Test &test) {
  if (test(e))
    return true;
  for (const Expr &arg : e.args)
    if (anyOf(arg, test))
      return true;
  return false;
}

/// Made of comparisons alone, or with a `causal` in it?
inline bool hasNamedPattern(const Expr &e) {
  return anyOf(e, [](const Expr &x) { return x.kind == Expr::Kind::Pattern; });
}

} // namespace fovea::sema
