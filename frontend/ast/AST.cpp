// frontend/ast/AST.cpp - equality and the textual dump of the AST
#include "frontend/ast/AST.h"

#include "llvm/Support/raw_ostream.h"

namespace fovea::ast {

const char *spelling(Op op) {
  switch (op) {
  case Op::Neg: return "-";
  case Op::Not: return "not";
  case Op::Mul: return "*";
  case Op::Div: return "/";
  case Op::Mod: return "%";
  case Op::Add: return "+";
  case Op::Sub: return "-";
  case Op::Lt: return "<";
  case Op::Le: return "<=";
  case Op::Gt: return ">";
  case Op::Ge: return ">=";
  case Op::Eq: return "==";
  case Op::Ne: return "!=";
  case Op::And: return "and";
  case Op::Or: return "or";
  }
  return "?";
}

static bool sameNames(const std::vector<Name> &a, const std::vector<Name> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].text != b[i].text)
      return false;
  return true;
}

static bool same(const Setting &a, const Setting &b) {
  return a.key.text == b.key.text && a.kind == b.kind && a.values == b.values && sameNames(a.roles, b.roles);
}

static bool same(const Comments &a, const Comments &b) { return a.before == b.before && a.behind == b.behind; }

bool operator==(const Expr &a, const Expr &b) {
  return a.kind == b.kind && a.text == b.text && (!a.is(Expr::Kind::Operator) || a.op == b.op) && a.args == b.args;
}

bool operator==(const Clause &a, const Clause &b) {
  if (a.schedule.has_value() != b.schedule.has_value() || !same(a.comments, b.comments))
    return false;
  if (!a.schedule)
    return sameNames(a.field.names, b.field.names) && a.field.values == b.field.values &&
           a.field.origin == b.field.origin;
  const auto &x = a.schedule->settings, &y = b.schedule->settings;
  if (a.schedule->target.text != b.schedule->target.text || x.size() != y.size())
    return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (!same(x[i], y[i]))
      return false;
  return true;
}

bool operator==(const Spec &a, const Spec &b) {
  return a.attention.name.text == b.attention.name.text && a.attention.clauses == b.attention.clauses &&
         same(a.attention.comments, b.attention.comments) &&
         a.attention.lastComments == b.attention.lastComments && a.trailingComments == b.trailingComments;
}

namespace {
class Dumper {
public:
  explicit Dumper(llvm::raw_ostream &os) : os(os) {}

  void run(const Spec &spec) {
    line(spec.attention.range) << "attention " << spec.attention.name.text << "\n";
    ++depth;
    for (const Clause &clause : spec.attention.clauses)
      clause.schedule ? schedule(clause) : field(clause);
  }

private:
  llvm::raw_ostream &line(Range r) {
    return os.indent(2 * depth) << r.begin.line << ":" << r.begin.col << " ";
  }

  void names(const std::vector<Name> &list) {
    for (const Name &name : list)
      os << " " << name.text;
    os << "\n";
  }

  void field(const Clause &clause) {
    line(clause.range) << "field";
    names(clause.field.names);
    ++depth;
    for (const Expr &e : clause.field.values)
      expr(e);
    if (clause.field.origin) {
      line(clause.field.origin->range) << "origin\n";
      ++depth;
      expr(*clause.field.origin);
      --depth;
    }
    --depth;
  }

  void schedule(const Clause &clause) {
    line(clause.range) << "schedule " << clause.schedule->target.text << "\n";
    ++depth;
    for (const Setting &s : clause.schedule->settings) {
      line(s.key.range) << "setting " << s.key.text;
      names(s.roles);
      ++depth;
      for (const Expr &e : s.values)
        expr(e);
      --depth;
    }
    --depth;
  }

  void expr(const Expr &e) {
    line(e.range);
    switch (e.kind) {
    case Expr::Kind::Int: os << "int " << e.text; break;
    case Expr::Kind::Float: os << "float " << e.text; break;
    case Expr::Kind::Name: os << "name " << e.text; break;
    case Expr::Kind::Phrase: os << "phrase"; break;
    case Expr::Kind::Operator: os << "operator " << spelling(e.op); break;
    case Expr::Kind::Call: os << "call " << e.text; break;
    case Expr::Kind::Index: os << "index " << e.text; break;
    }
    os << "\n";
    ++depth;
    for (const Expr &arg : e.args)
      expr(arg);
    --depth;
  }

  llvm::raw_ostream &os;
  unsigned depth = 0;
};
} // namespace

std::string dump(const Spec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Dumper(os).run(spec);
  return text;
}

} // namespace fovea::ast
