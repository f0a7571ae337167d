// frontend/ast/Parse.cpp - the bounds of the input, and the one place that runs ANTLR
#include "frontend/ast/Parse.h"

#include "frontend/ast/Build.h"
#include "frontend/ast/SyntaxErrors.h"

#include "frontend/grammar/generated/AttnLexer.h"

#include "llvm/Support/ConvertUTF.h"

namespace fovea::ast {

/// What can be said about the bytes before any token is made; false refuses the file.
static bool checkBytes(llvm::StringRef text, Diagnostics &diagnostics) {
  if (text.size() > Limits::bytes) {
    diagnostics.error({}, "a spec is at most " + llvm::Twine(Limits::bytes) + " bytes long, this file has " +
                              llvm::Twine(text.size()) + "; is it a spec?");
    return false;
  }
  if (size_t nul = text.find('\0'); nul != llvm::StringRef::npos) {
    diagnostics.error({}, "expected a text, found a NUL byte at offset " + llvm::Twine(nul) + "; is it a binary file?");
    return false;
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.bytes_begin());
  const auto *at = begin, *end = reinterpret_cast<const llvm::UTF8 *>(text.bytes_end());
  if (!llvm::isLegalUTF8String(&at, end)) {
    diagnostics.error({}, "expected a text in UTF-8, found another byte at offset " + llvm::Twine(at - begin) +
                              "; is it a binary file?");
    return false;
  }
  if (text.trim().empty()) {
    diagnostics.error({}, "expected 'attention NAME { ... }', found an empty file");
    return false;
  }
  return true;
}

/// Bounds the recursion of the parser, and with it that of everything behind it.
static bool checkTokens(const std::vector<antlr4::Token *> &tokens, Diagnostics &diagnostics) {
  size_t brackets = 0, prefixes = 0, count = 0;
  for (antlr4::Token *token : tokens) {
    if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL)
      continue;
    if (++count > Limits::tokens) {
      diagnostics.error(rangeOf(token), "a spec has at most " + llvm::Twine(Limits::tokens) + " words and signs, " +
                                            "this is one more; is it a spec?");
      return false;
    }
    std::string text = token->getText();
    prefixes = text == "not" || text == "-" ? prefixes + 1 : 0;
    if (text == "(" || text == "[" || text == "{")
      ++brackets;
    else if ((text == ")" || text == "]" || text == "}") && brackets)
      --brackets;
    if (brackets + prefixes > Limits::nesting) {
      diagnostics.error(rangeOf(token), "nested more than " + llvm::Twine(Limits::nesting) +
                                            " deep; write it flatter, or as several lines");
      return false;
    }
  }
  return true;
}

static std::optional<Spec> parseText(llvm::StringRef text, Diagnostics &diagnostics) {
  antlr4::ANTLRInputStream input(text.str());
  grammar::AttnLexer lexer(&input);
  lexer.removeErrorListeners(); // every character is a token, UNKNOWN at least
  antlr4::CommonTokenStream tokens(&lexer);
  tokens.fill();
  if (!checkTokens(tokens.getTokens(), diagnostics))
    return std::nullopt;

  grammar::AttnParser parser(&tokens);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<SyntaxErrors>(diagnostics));
  return build(parser.file(), tokens, diagnostics);
}

std::optional<Spec> parse(llvm::StringRef text, Diagnostics &diagnostics) {
  if (!checkBytes(text, diagnostics))
    return std::nullopt;
  try {
    return parseText(text, diagnostics);
  } catch (const std::exception &e) { // none is known to get here; nobody behind this line expects one
    diagnostics.error({}, llvm::Twine("the parser failed: ") + e.what() + "; this is a bug of Fovea");
    return std::nullopt;
  }
}

} // namespace fovea::ast
