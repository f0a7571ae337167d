// frontend/sema/Sema.h - AST to meaning
#pragma once

#include "frontend/ast/Diagnostics.h"
#include "frontend/sema/Spec.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fovea::sema {

/// Checks names, shapes and types of all lines and fills in the defaults. Reports every error that it finds; the
/// result is there only without errors, those of the parser included. (With errors of the parser it does not
/// complain about lines that may be missing because they could not be read.)
///
/// Refuses what has no meaning. Whether a target can run it yet is asked of Capabilities.h.
std::optional<Spec> analyze(const ast::Spec &spec, Diagnostics &diagnostics);

/// The targets that a spec can be compiled for.
llvm::ArrayRef<llvm::StringRef> targets();

} // namespace fovea::sema
