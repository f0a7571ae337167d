// frontend/ast/SyntaxErrors.h - how the parser reports and survives a syntax error (internal to frontend/ast)
#pragma once

#include "frontend/ast/Diagnostics.h"

#include "frontend/grammar/generated/AttnParser.h"

namespace fovea::ast {

ast::Range rangeOf(antlr4::Token *first, antlr4::Token *last);
inline ast::Range rangeOf(antlr4::Token *token) { return rangeOf(token, token); }

/// One message per error. ANTLR's own strategy guesses missing and superfluous tokens and goes on inside the broken
/// line, which makes one slip into many messages. This one gives the line up: the error climbs to the `name : value`
/// line (or the setting of a schedule) that it stands in, and reading goes on at the next one.
class SyntaxErrors : public antlr4::DefaultErrorStrategy {
public:
  explicit SyntaxErrors(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &e) override;
  void recover(antlr4::Parser *parser, std::exception_ptr e) override;
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *parser) override;

private:
  bool reportUnfinishedLine(antlr4::Parser *parser);
  void report(antlr4::Parser *parser, ast::Range range, const llvm::Twine &message);

  Diagnostics &diagnostics;
};

} // namespace fovea::ast
