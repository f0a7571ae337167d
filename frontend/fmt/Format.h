// frontend/fmt/Format.h - the canonical form of a spec
#pragma once

#include "frontend/ast/AST.h"

namespace fovea {

/// Prints the one way to write a spec: two spaces, colons in one column, only the parentheses that the meaning needs,
/// `&`, `|` between named patterns and `and`, `or` between other conditions. Order, numbers and comments stay as they
/// are written (a comment inside a line moves before it). parse(format(x)) == x, and format is idempotent.
std::string format(const ast::Spec &spec);

/// One expression as canonical text, for messages.
std::string format(const ast::Expr &expr);

} // namespace fovea
