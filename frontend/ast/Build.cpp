// frontend/ast/Build.cpp - ANTLR's tree to ours, and comments to the lines they stand at
#include "frontend/ast/Build.h"

#include "frontend/ast/SyntaxErrors.h"

#include "llvm/ADT/StringSwitch.h"

using antlr4::Token;
using fovea::grammar::AttnParser;

namespace fovea::ast {
namespace {

Range rangeOf(antlr4::ParserRuleContext *ctx) { return ast::rangeOf(ctx->getStart(), ctx->getStop()); }
Name name(antlr4::tree::TerminalNode *node) { return {node->getText(), ast::rangeOf(node->getSymbol())}; }

Op binaryOp(llvm::StringRef text) {
  return llvm::StringSwitch<Op>(text)
      .Case("*", Op::Mul)
      .Case("/", Op::Div)
      .Case("%", Op::Mod)
      .Case("+", Op::Add)
      .Case("-", Op::Sub)
      .Case("<", Op::Lt)
      .Case("<=", Op::Le)
      .Case(">", Op::Gt)
      .Case(">=", Op::Ge)
      .Case("==", Op::Eq)
      .Case("!=", Op::Ne)
      .Cases({"and", "&"}, Op::And)
      .Default(Op::Or);
}

Expr word(Token *token) {
  Expr e;
  e.kind = token->getType() == AttnParser::INT     ? Expr::Kind::Int
           : token->getType() == AttnParser::FLOAT ? Expr::Kind::Float
                                                   : Expr::Kind::Name;
  e.text = token->getText();
  e.range = ast::rangeOf(token);
  return e;
}

Expr expr(AttnParser::ExprContext *ctx);

Expr arg(AttnParser::ArgContext *ctx) {
  if (auto *plain = dynamic_cast<AttnParser::PlainContext *>(ctx))
    return expr(plain->expr());
  Expr e;
  e.kind = Expr::Kind::Phrase;
  e.args = {word(ctx->getStart()), word(ctx->getStop())};
  e.range = rangeOf(ctx);
  return e;
}

Expr bracketed(Expr::Kind kind, antlr4::ParserRuleContext *ctx, const std::vector<AttnParser::ArgContext *> &args) {
  Expr e;
  e.kind = kind;
  e.text = ctx->getStart()->getText();
  e.head = ast::rangeOf(ctx->getStart());
  e.range = rangeOf(ctx);
  for (auto *a : args)
    e.args.push_back(arg(a));
  return e;
}

Expr operation(Op op, Token *sign, antlr4::ParserRuleContext *ctx, std::vector<Expr> args) {
  Expr e;
  e.kind = Expr::Kind::Operator;
  e.op = op;
  e.head = ast::rangeOf(sign);
  e.range = rangeOf(ctx);
  e.args = std::move(args);
  return e;
}

Expr expr(AttnParser::ExprContext *ctx) {
  if (auto *call = dynamic_cast<AttnParser::CallContext *>(ctx))
    return bracketed(Expr::Kind::Call, ctx, call->arg());
  if (auto *index = dynamic_cast<AttnParser::IndexContext *>(ctx))
    return bracketed(Expr::Kind::Index, ctx, index->arg());
  if (auto *parens = dynamic_cast<AttnParser::ParensContext *>(ctx)) {
    Expr e = expr(parens->expr());
    e.range = rangeOf(ctx);
    return e;
  }
  if (auto *neg = dynamic_cast<AttnParser::NegateContext *>(ctx))
    return operation(Op::Neg, ctx->getStart(), ctx, {expr(neg->expr())});
  if (auto *no = dynamic_cast<AttnParser::NotContext *>(ctx))
    return operation(Op::Not, ctx->getStart(), ctx, {expr(no->expr())});
  if (auto *binary = dynamic_cast<AttnParser::BinaryContext *>(ctx))
    return operation(binaryOp(binary->op->getText()), binary->op, ctx,
                     {expr(binary->expr(0)), expr(binary->expr(1))});
  return word(ctx->getStart());
}

Setting setting(AttnParser::EntryContext *ctx) {
  Setting s;
  s.key = name(ctx->IDENT());
  AttnParser::SettingContext *value = ctx->setting();
  s.valueRange = rangeOf(value);
  if (!value->pair().empty()) {
    s.kind = Setting::Kind::Map;
    for (auto *pair : value->pair()) {
      s.roles.push_back(name(pair->IDENT()));
      s.values.push_back(expr(pair->expr()));
    }
    return s;
  }
  if (value->getStart()->getText() == "[")
    s.kind = Setting::Kind::List;
  for (auto *e : value->expr())
    s.values.push_back(expr(e));
  return s;
}

Clause clause(AttnParser::ClauseContext *ctx) {
  Clause c;
  c.range = rangeOf(ctx);
  if (auto *schedule = dynamic_cast<AttnParser::ScheduleContext *>(ctx)) {
    c.schedule.emplace();
    c.schedule->target = name(schedule->IDENT());
    for (auto *entry : schedule->entry())
      if (!entry->exception)
        c.schedule->settings.push_back(setting(entry));
    return c;
  }
  auto *field = dynamic_cast<AttnParser::FieldContext *>(ctx);
  for (auto *n : field->names()->IDENT())
    c.field.names.push_back(name(n));
  for (auto *e : field->values()->expr())
    c.field.values.push_back(expr(e));
  if (field->origin())
    c.field.origin = expr(field->origin()->expr());
  return c;
}

/// Gives every comment to a line: behind it when it stands there, before the next line otherwise. A comment in the
/// middle of a line moves before that line.
void attachComments(Spec &spec, antlr4::CommonTokenStream &tokens) {
  Attention &attention = spec.attention;
  auto behind = [](Loc at, Loc place) { return at.line > place.line || (at.line == place.line && at.col >= place.col); };
  for (Token *token : tokens.getTokens()) {
    if (token->getType() != AttnParser::COMMENT)
      continue;
    Loc at = ast::rangeOf(token).begin;
    std::string text = llvm::StringRef(token->getText()).rtrim().str();
    Clause *previous = nullptr, *next = nullptr;
    for (Clause &c : attention.clauses) {
      if (behind(at, c.range.end))
        previous = &c;
      else if (!next)
        next = &c;
    }
    if (!behind(at, attention.range.begin))
      attention.comments.before.push_back(text);
    else if (behind(at, attention.range.end))
      spec.trailingComments.push_back(text);
    else if (previous && previous->range.end.line == at.line && previous->comments.behind.empty())
      previous->comments.behind = text;
    else if (!previous && at.line == attention.name.range.begin.line && attention.comments.behind.empty())
      attention.comments.behind = text;
    else if (next)
      next->comments.before.push_back(text);
    else
      attention.lastComments.push_back(text);
  }
}

} // namespace

std::optional<Spec> build(AttnParser::FileContext *file, antlr4::CommonTokenStream &tokens, Diagnostics &diagnostics) {
  auto attentions = file->attention();
  if (attentions.size() > 1 && !attentions[1]->exception)
    diagnostics.error(ast::rangeOf(attentions[1]->getStart()),
                      "a file holds one attention, this is the second; put it into a file of its own");
  if (attentions.empty() || !attentions[0]->IDENT()) {
    if (!diagnostics.hasErrors())
      diagnostics.error({}, "expected 'attention NAME { ... }', found only comments");
    return std::nullopt;
  }
  Spec spec;
  spec.attention.name = name(attentions[0]->IDENT());
  spec.attention.range = rangeOf(attentions[0]);
  for (auto *c : attentions[0]->clause())
    if (!c->exception)
      spec.attention.clauses.push_back(clause(c));
  attachComments(spec, tokens);
  return spec;
}

} // namespace fovea::ast
