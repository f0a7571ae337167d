// frontend/ast/Parse.h - text to AST
#pragma once

#include "frontend/ast/AST.h"
#include "frontend/ast/Diagnostics.h"

#include <optional>

namespace fovea::ast {

/// Bounds that keep every later recursion shallow and every answer quick. A real spec has about 15 lines.
struct Limits {
  static constexpr size_t bytes = 64 * 1024;
  static constexpr size_t tokens = 4096;
  static constexpr size_t nesting = 64; ///< open brackets, `not`s and minus signs at one place
};

/// Parses one spec. Never throws and never aborts, whatever the bytes are. A clause that cannot be read is reported
/// once and left out; the others are in the result, so that later checks can report their own errors. No value when
/// there is no attention to speak of. `diagnostics` has errors whenever something was left out.
std::optional<Spec> parse(llvm::StringRef text, Diagnostics &diagnostics);

} // namespace fovea::ast
