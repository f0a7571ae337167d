// frontend/fmt/Format.cpp - the canonical form of a spec
#include "frontend/fmt/Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace fovea {
namespace {

using ast::Expr;
using ast::Op;

constexpr size_t lineWidth = 100;

/// How tightly an operator binds; the order of the alternatives of `expr` in Attn.g4.
int binding(Op op) {
  switch (op) {
  case Op::Neg: return 7;
  case Op::Mul:
  case Op::Div:
  case Op::Mod: return 6;
  case Op::Add:
  case Op::Sub: return 5;
  case Op::Not: return 3;
  case Op::And: return 2;
  case Op::Or: return 1;
  default: return 4; // comparisons
  }
}

/// Made of named patterns only: `causal & window(64)`, `not prefix(4)`.
bool isNamedPattern(const Expr &e) {
  if (e.is(Expr::Kind::Operator))
    return (e.op == Op::And || e.op == Op::Or || e.op == Op::Not) && llvm::all_of(e.args, isNamedPattern);
  return e.is(Expr::Kind::Name) || e.is(Expr::Kind::Call);
}

std::string sign(const Expr &e) {
  if ((e.op == Op::And || e.op == Op::Or) && isNamedPattern(e))
    return e.op == Op::And ? "&" : "|";
  return spelling(e.op);
}

std::string print(const Expr &e);

std::string list(const std::vector<Expr> &args) {
  std::string text;
  for (size_t i = 0; i < args.size(); ++i)
    text += (i ? ", " : "") + print(args[i]);
  return text;
}

/// In parentheses when it binds no tighter than `least`.
std::string operand(const Expr &e, int least) {
  bool loose = e.is(Expr::Kind::Operator) && binding(e.op) < least;
  return loose ? "(" + print(e) + ")" : print(e);
}

/// A tensor type stands apart from its dims, a table look-up does not.
bool isTensorType(const Expr &e) {
  return llvm::any_of(e.args, [](const Expr &arg) { return arg.is(Expr::Kind::Phrase); });
}

std::string print(const Expr &e) {
  switch (e.kind) {
  case Expr::Kind::Int:
  case Expr::Kind::Float:
  case Expr::Kind::Name: return e.text;
  case Expr::Kind::Phrase: return print(e.args[0]) + " " + print(e.args[1]);
  case Expr::Kind::Call: return e.text + "(" + list(e.args) + ")";
  case Expr::Kind::Index: return e.text + (isTensorType(e) ? " [" : "[") + list(e.args) + "]";
  case Expr::Kind::Operator: break;
  }
  int own = binding(e.op);
  if (e.op == Op::Neg)
    return "-" + operand(e.args[0], own + 1);
  if (e.op == Op::Not)
    return "not " + operand(e.args[0], own);
  // To the left the same operator needs no parentheses, to the right it does. A comparison of a comparison gets
  // them on both sides: it reads as a chain, and is none.
  int left = ast::isComparison(e.op) ? own + 1 : own;
  return operand(e.args[0], left) + " " + sign(e) + " " + operand(e.args[1], own + 1);
}

std::string print(const ast::Setting &s) {
  if (s.kind == ast::Setting::Kind::Single)
    return print(s.values.front());
  if (s.kind == ast::Setting::Kind::List)
    return "[" + list(s.values) + "]";
  std::string text = "{ ";
  for (size_t i = 0; i < s.values.size(); ++i)
    text += (i ? ", " : "") + s.roles[i].text + " : " + print(s.values[i]);
  return text + " }";
}

std::string names(const ast::Field &field) {
  std::string text;
  for (size_t i = 0; i < field.names.size(); ++i)
    text += (i ? ", " : "") + field.names[i].text;
  return text;
}

void printSchedule(const ast::Schedule &schedule, llvm::raw_ostream &os) {
  std::string head = "  schedule " + schedule.target.text + " {", line;
  for (size_t i = 0; i < schedule.settings.size(); ++i)
    line += (i ? ", " : " ") + schedule.settings[i].key.text + " : " + print(schedule.settings[i]);
  if (head.size() + line.size() + 2 <= lineWidth) {
    os << head << line << (line.empty() ? "}" : " }");
    return;
  }
  size_t width = 0;
  for (const auto &s : schedule.settings)
    width = std::max(width, s.key.text.size());
  os << head << "\n";
  for (size_t i = 0; i < schedule.settings.size(); ++i) {
    const auto &s = schedule.settings[i];
    os << "    " << s.key.text << std::string(width - s.key.text.size(), ' ') << " : " << print(s)
       << (i + 1 < schedule.settings.size() ? ",\n" : "\n");
  }
  os << "  }";
}

void printClause(const ast::Clause &clause, size_t width, llvm::raw_ostream &os) {
  for (const std::string &comment : clause.comments.before)
    os << "  " << comment << "\n";
  if (clause.schedule) {
    printSchedule(*clause.schedule, os);
  } else {
    std::string left = names(clause.field);
    os << "  " << left << std::string(width - left.size(), ' ') << " : " << list(clause.field.values);
    if (clause.field.origin)
      os << " = " << print(*clause.field.origin);
  }
  if (!clause.comments.behind.empty())
    os << " " << clause.comments.behind;
  os << "\n";
}

} // namespace

std::string format(const ast::Expr &expr) { return print(expr); }

std::string format(const ast::Spec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const ast::Attention &attention = spec.attention;
  for (const std::string &comment : attention.comments.before)
    os << comment << "\n";
  os << "attention " << attention.name.text << " {";
  if (!attention.comments.behind.empty())
    os << " " << attention.comments.behind;
  os << "\n";
  size_t width = 0;
  for (const ast::Clause &clause : attention.clauses)
    if (!clause.schedule)
      width = std::max(width, names(clause.field).size());
  for (const ast::Clause &clause : attention.clauses)
    printClause(clause, width, os);
  for (const std::string &comment : attention.lastComments)
    os << "  " << comment << "\n";
  os << "}\n";
  for (const std::string &comment : spec.trailingComments)
    os << comment << "\n";
  return text;
}

} // namespace fovea
