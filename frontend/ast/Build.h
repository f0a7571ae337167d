// frontend/ast/Build.h - ANTLR's tree to ours (internal to frontend/ast)
#pragma once

#include "frontend/ast/AST.h"
#include "frontend/ast/Diagnostics.h"

#include "frontend/grammar/generated/AttnParser.h"

#include <optional>

namespace fovea::ast {

/// Leaves out the clauses and settings that hold a syntax error; it has been reported.
std::optional<Spec> build(grammar::AttnParser::FileContext *file, antlr4::CommonTokenStream &tokens,
                          Diagnostics &diagnostics);

} // namespace fovea::ast
