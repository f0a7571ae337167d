// frontend/ast/SyntaxErrors.cpp - what a syntax error says, and where reading goes on
#include "frontend/ast/SyntaxErrors.h"

#include "llvm/ADT/STLExtras.h"

using antlr4::Parser;
using antlr4::Token;
using fovea::grammar::AttnParser;

namespace fovea::ast {

Range rangeOf(Token *first, Token *last) {
  auto lineOf = [](Token *t) { return unsigned(t->getLine()); };
  auto colOf = [](Token *t) { return unsigned(t->getCharPositionInLine()) + 1; };
  Range range{{lineOf(first), colOf(first)}, {lineOf(last), colOf(last)}};
  if (last->getType() != Token::EOF)
    range.end.col += unsigned(last->getText().size());
  return range;
}

namespace {

bool isEnd(Token *t) { return t->getType() == Token::EOF; }
bool isIdent(Token *t) { return t->getType() == AttnParser::IDENT; }
bool is(Token *t, const char *text) { return !isEnd(t) && t->getText() == text; }

/// The parser's tokens without comments, so that neighbours are neighbours.
class Tokens {
public:
  explicit Tokens(Parser *parser) : stream(static_cast<antlr4::BufferedTokenStream *>(parser->getInputStream())) {}

  /// The k-th token from the current one; k < 0 looks back, and there may be none.
  Token *at(ssize_t k) { return parserStream()->LT(k >= 0 ? k + 1 : k); }
  Token *current() { return at(0); }
  void skip() {
    if (!isEnd(current()))
      stream->consume();
  }
  void seek(Token *t) { stream->seek(t->getTokenIndex()); }

  /// First on its line, or first behind a brace.
  bool startsLine(ssize_t k) {
    Token *previous = before(at(k));
    return !previous || previous->getLine() < at(k)->getLine() || is(previous, "{") || is(previous, "}");
  }

  /// `q, k, v :` from the k-th token on; a name too few counts.
  bool startsField(ssize_t k) {
    for (;; k += 2) {
      if (!isIdent(at(k)))
        return false;
      if (is(at(k + 1), ":"))
        return true;
      if (!is(at(k + 1), ","))
        return false;
      if (is(at(k + 2), ":"))
        return true;
    }
  }

  bool startsClause() {
    return is(current(), "schedule") || startsField(0) || (isIdent(current()) && startsLine(0));
  }

  /// At a ':' that nobody expected: the token that begins its `name, name :`, if that begins a line.
  Token *fieldBefore() {
    if (!is(current(), ":"))
      return nullptr;
    for (ssize_t k = -1; at(k) && isIdent(at(k)); k -= 2) {
      Token *previous = before(at(k));
      if (!previous || previous->getLine() < at(k)->getLine())
        return at(k);
      if (!is(previous, ","))
        return nullptr;
    }
    return nullptr;
  }

  /// The token before `t`, without comments; none at the start of the file.
  Token *before(Token *t) {
    for (size_t i = t->getTokenIndex(); i-- > 0;)
      if (stream->get(i)->getChannel() == Token::DEFAULT_CHANNEL)
        return stream->get(i);
    return nullptr;
  }

  /// Where the `name :` of the line before `next` begins, or the brace that it stands behind.
  Token *lineStart(Token *next) {
    Token *start = next;
    for (size_t i = next->getTokenIndex(); i-- > 0;) {
      Token *t = stream->get(i);
      if (t->getChannel() != Token::DEFAULT_CHANNEL)
        continue;
      if (is(t, ":") || is(t, "{") || is(t, "}"))
        return start;
      start = t;
    }
    return start;
  }

  /// The bracket that is still open at `until`, looking from `from`; the innermost.
  Token *openBracket(Token *from, Token *until) {
    std::vector<Token *> open;
    for (size_t i = from->getTokenIndex(); i < until->getTokenIndex(); ++i) {
      Token *t = stream->get(i);
      if (t->getChannel() != Token::DEFAULT_CHANNEL)
        continue;
      if (is(t, "(") || is(t, "[") || is(t, "{"))
        open.push_back(t);
      else if ((is(t, ")") || is(t, "]") || is(t, "}")) && !open.empty())
        open.pop_back();
    }
    return open.empty() ? nullptr : open.back();
  }

  /// How many braces are open at the current token, counted from `from`.
  size_t depthSince(Token *from) {
    size_t depth = 0;
    for (size_t i = from->getTokenIndex(); i < current()->getTokenIndex(); ++i) {
      if (is(stream->get(i), "{"))
        ++depth;
      else if (is(stream->get(i), "}") && depth)
        --depth;
    }
    return depth;
  }

private:
  antlr4::BufferedTokenStream *parserStream() { return stream; }
  antlr4::BufferedTokenStream *stream;
};

std::string found(Token *t) {
  if (isEnd(t))
    return "found the end of the file";
  return "found '" + t->getText() + "'";
}

/// `an operator, ',' or ')'`: the tokens of the grammar grouped as a reader thinks of them. Behind an `operand`
/// ANTLR has decided already that neither an operator nor another argument follows; the reader may still want one.
std::string describe(Parser *parser, const antlr4::misc::IntervalSet &expected, bool operand) {
  static const llvm::StringRef operators[] = {"*", "/", "%", "+", "-", "<", "<=", ">", ">=", "==", "!=",
                                              "and", "&", "or", "|", "not"};
  bool op = operand;
  auto *ctx = parser->getContext();
  std::vector<std::string> words;
  if (operand && (dynamic_cast<AttnParser::CallContext *>(ctx) || dynamic_cast<AttnParser::IndexContext *>(ctx)))
    words.push_back("','");
  for (ssize_t type : expected.toList()) {
    std::string name = type == ssize_t(Token::EOF) ? "the end of the file" : parser->getVocabulary().getDisplayName(type);
    if (name == "IDENT")
      name = "a name";
    else if (name == "INT" || name == "FLOAT")
      name = "a number";
    if (llvm::is_contained(operators, llvm::StringRef(name).trim('\''))) {
      op = true;
      continue;
    }
    if (!llvm::is_contained(words, name))
      words.push_back(name);
  }
  if (op)
    words.insert(words.begin(), "an operator");
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

bool inside(Parser *parser, size_t rule) { return parser->getContext()->getRuleIndex() == rule; }

/// True behind the brace that opens the body of an attention or of a schedule.
bool inBody(Parser *parser) {
  auto *ctx = parser->getContext();
  bool body = dynamic_cast<AttnParser::AttentionContext *>(ctx) || dynamic_cast<AttnParser::ScheduleContext *>(ctx);
  return body && ctx->children.size() >= 3;
}

} // namespace

void SyntaxErrors::report(Parser *parser, Range range, const llvm::Twine &message) {
  if (inErrorRecoveryMode(parser))
    return;
  beginErrorCondition(parser);
  diagnostics.error(range, message);
}

/// A line that was never finished runs into the next one, and shows only at that one's ':'.
bool SyntaxErrors::reportUnfinishedLine(Parser *parser) {
  Tokens tokens(parser);
  Token *next = tokens.fieldBefore();
  Token *last = next ? tokens.before(next) : nullptr;
  if (!last)
    return false;
  std::string nextLine = "the next line begins with '" + next->getText() + "'";
  Token *bracket = tokens.openBracket(tokens.lineStart(next), next);
  if (bracket)
    report(parser, rangeOf(bracket), "'" + bracket->getText() + "' is never closed: " + nextLine);
  else
    report(parser, rangeOf(last), "expected an expression behind '" + last->getText() + "', but " + nextLine);
  return true;
}

void SyntaxErrors::reportError(Parser *parser, const antlr4::RecognitionException &e) {
  if (inErrorRecoveryMode(parser))
    return;
  Tokens tokens(parser);
  Token *token = e.getOffendingToken();
  tokens.seek(token);

  if (reportUnfinishedLine(parser))
    return;
  if (token->getType() == AttnParser::UNKNOWN)
    return report(parser, rangeOf(token), "unexpected character '" + token->getText() + "'");
  antlr4::misc::IntervalSet expected = e.getExpectedTokens();
  auto expects = [&](size_t type) { return expected.contains(type); };
  if (expects(AttnParser::IDENT) && expects(AttnParser::FLOAT))
    return report(parser, rangeOf(token), "expected an expression, " + found(token));
  if (inside(parser, AttnParser::RuleAttention) && parser->getContext()->children.size() >= 3) {
    Token *brace = tokens.openBracket(parser->getContext()->getStart(), token);
    report(parser, rangeOf(token), "expected a 'name : value' line or '}', " + found(token));
    if (brace)
      diagnostics.note(rangeOf(brace), "to close this '{'");
    return;
  }
  bool operand = inside(parser, AttnParser::RuleExpr);
  report(parser, rangeOf(token), "expected " + describe(parser, expected, operand) + ", " + found(token));
  Token *bracket = tokens.openBracket(parser->getContext()->getStart(), token);
  if (bracket && bracket->getLine() < token->getLine())
    diagnostics.note(rangeOf(bracket), "to close this '" + bracket->getText() + "'");
}

Token *SyntaxErrors::recoverInline(Parser *parser) { throw antlr4::InputMismatchException(parser); }

void SyntaxErrors::recover(Parser *parser, std::exception_ptr e) {
  Tokens tokens(parser);
  auto *ctx = parser->getContext();
  if (inside(parser, AttnParser::RuleEntry)) {
    size_t depth = tokens.depthSince(ctx->getStart());
    for (; !isEnd(tokens.current()); tokens.skip()) {
      if (is(tokens.current(), "{"))
        ++depth;
      else if (is(tokens.current(), "}") && depth-- == 0)
        return;
      else if (depth == 0 && isIdent(tokens.current()) && is(tokens.at(1), ":"))
        return;
    }
    return;
  }
  if (dynamic_cast<AttnParser::ScheduleContext *>(ctx)) {
    for (size_t depth = 0; !isEnd(tokens.current()); tokens.skip()) {
      if (is(tokens.current(), "{"))
        ++depth;
      else if (is(tokens.current(), "}") && (depth == 0 || --depth == 0))
        return tokens.skip();
    }
    return;
  }
  if (inside(parser, AttnParser::RuleClause)) {
    Token *next = tokens.fieldBefore();
    if (next && next->getTokenIndex() > ctx->getStart()->getTokenIndex())
      return tokens.seek(next);
    while (!isEnd(tokens.current()) && !is(tokens.current(), "}") && !is(tokens.current(), "attention") &&
           !is(tokens.current(), "schedule") && !tokens.startsField(0))
      tokens.skip();
    return;
  }
  if (inside(parser, AttnParser::RuleAttention) || inside(parser, AttnParser::RuleFile)) {
    while (!isEnd(tokens.current()) && !is(tokens.current(), "attention"))
      tokens.skip();
    return;
  }
  std::rethrow_exception(e); // to the line that it stands in
}

void SyntaxErrors::sync(Parser *parser) {
  // Only where a list of attentions, lines or settings goes on; anything else is an error at its own token.
  Tokens tokens(parser);
  Token *token = tokens.current();
  if (inside(parser, AttnParser::RuleFile)) {
    if (isEnd(token) || is(token, "attention"))
      return;
    report(parser, rangeOf(token), "expected 'attention NAME { ... }', " + found(token));
    while (!isEnd(tokens.current()) && !is(tokens.current(), "attention"))
      tokens.skip();
    return;
  }
  if (!inBody(parser) || isEnd(token) || is(token, "}"))
    return;
  if (inside(parser, AttnParser::RuleAttention)) {
    if (tokens.startsClause() || is(token, "attention"))
      return;
    bool first = parser->getContext()->children.size() == 3;
    if (reportUnfinishedLine(parser)) {
      // The line before has swallowed the name: it is broken, though it could be read.
      auto *line = dynamic_cast<antlr4::ParserRuleContext *>(parser->getContext()->children.back());
      line->exception = std::make_exception_ptr(antlr4::InputMismatchException(parser));
      return tokens.seek(tokens.fieldBefore());
    }
    report(parser, rangeOf(token), (first ? "expected a 'name : value' line, "
                                          : "expected an operator, ',' or the next 'name : value' line, ") +
                                       found(token));
    while (!isEnd(tokens.current()) && !is(tokens.current(), "}") && !is(tokens.current(), "attention") &&
           !is(tokens.current(), "schedule") && !tokens.startsField(0))
      tokens.skip();
    return;
  }
  if (!isIdent(token)) {
    report(parser, rangeOf(token), "expected the next 'key : value' of the schedule or '}', " + found(token));
    while (!isEnd(tokens.current()) && !is(tokens.current(), "}") && !isIdent(tokens.current()))
      tokens.skip();
  }
}

} // namespace fovea::ast
