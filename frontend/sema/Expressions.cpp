// frontend/sema/Expressions.cpp - resolving names and checking types
#include "frontend/sema/Expressions.h"

#include "frontend/fmt/Format.h"
#include "frontend/sema/Constants.h"
#include "frontend/sema/Functions.h"
#include "frontend/sema/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace fovea::sema {

using AKind = ast::Expr::Kind;
using ast::Op;
using llvm::Twine;

static constexpr llvm::StringRef patternNames[] = {"full", "causal", "window", "block_diagonal", "prefix", "blocks"};

/// The variables of a scope.
static std::vector<Variable> variables(Scope scope) {
  using V = Variable;
  switch (scope) {
  case Scope::Pattern: return {V::I, V::J, V::H, V::B, V::NQueries, V::NKeys};
  case Scope::Score: return {V::S, V::Scale, V::I, V::J, V::H, V::B, V::NQueries, V::NKeys};
  case Scope::Weight: return {V::S, V::I, V::J, V::H, V::B, V::NQueries, V::NKeys};
  case Scope::Epilogue: return {V::O, V::I, V::H, V::D, V::B, V::NQueries};
  case Scope::Scale: return {};
  }
  return {};
}

static bool isReal(Variable v) { return v == Variable::S || v == Variable::Scale || v == Variable::O; }

/// Computes with reals: then a table beside it is f32, not int32.
static bool looksReal(const ast::Expr &e) {
  if (e.is(AKind::Float) || e.isName("s") || e.isName("scale") || e.isName("o"))
    return true;
  static constexpr llvm::StringRef integral[] = {"abs", "min", "max", "floordiv"};
  if (e.is(AKind::Call) && !llvm::is_contained(integral, e.text))
    return true;
  return !e.is(AKind::Index) && llvm::any_of(e.args, looksReal);
}

std::nullopt_t Expressions::fail(Range range, const Twine &message) {
  diagnostics.error(range, message);
  return std::nullopt;
}

bool Expressions::expectNumber(const Expr &e) {
  if (e.type != Type::Bool)
    return true;
  fail(e.range, "expected a number, found a condition; where(condition, x, y) turns one into a number");
  return false;
}

bool Expressions::expectCondition(const Expr &e) {
  if (e.type == Type::Bool)
    return true;
  fail(e.range, "expected a condition, found a number; compare it with something, as in 'j <= i' or 'x[j] != 0'");
  return false;
}

std::optional<Expr> Expressions::condition(const ast::Expr &e) {
  scope = Scope::Pattern;
  auto result = analyze(e, /*integer=*/true);
  return result && expectCondition(*result) ? result : std::nullopt;
}

std::optional<Expr> Expressions::number(const ast::Expr &e, Scope where) {
  scope = where;
  auto result = analyze(e, /*integer=*/false);
  return result && expectNumber(*result) ? result : std::nullopt;
}

std::optional<Expr> Expressions::analyze(const ast::Expr &e, bool integer) {
  switch (e.kind) {
  case AKind::Int:
  case AKind::Float: {
    Expr number;
    number.range = e.range;
    number.type = e.is(AKind::Int) ? Type::Int : Type::Real;
    if (llvm::StringRef(e.text).getAsDouble(number.value) || !std::isfinite(number.value) ||
        (e.is(AKind::Int) && number.value > double(int64_t(1) << 53)))
      return fail(e.range, "'" + e.text + "' is too large a number");
    return number;
  }
  case AKind::Phrase:
    return fail(e.range, "'" + format(e) + "' is no expression; is an operator or ',' missing between the two?");
  case AKind::Name: return name(e);
  case AKind::Index: return lookup(e, integer);
  case AKind::Call: return call(e, integer);
  case AKind::Operator: break;
  }
  if (ast::isComparison(e.op))
    return comparison(e);
  if (e.op == Op::And || e.op == Op::Or || e.op == Op::Not)
    return logical(e);
  return binary(e, integer);
}

std::nullopt_t Expressions::softmaxInside(const ast::Expr &e) {
  return fail(e.range, "softmax is a whole weight, 'softmax' or 'softmax(SINK)', and no part of an expression; only "
                       "pointwise weights are expressions, such as silu(s)");
}

std::optional<Expr> Expressions::name(const ast::Expr &e) {
  if (scope == Scope::Weight && e.text == "softmax")
    return softmaxInside(e);
  Expr result;
  result.range = e.range;
  for (Variable v : variables(scope)) {
    if (e.text != spelling(v))
      continue;
    result.kind = Expr::Kind::Variable;
    result.variable = v;
    result.type = isReal(v) ? Type::Real : Type::Int;
    return result;
  }
  struct Dim {
    llvm::StringRef name;
    std::optional<int64_t> size;
  };
  const Dim dims[] = {{"head_dim", spec.q.headDim}, {"heads", spec.q.heads}, {"kv_heads", spec.k.heads}};
  for (const Dim &dim : dims) {
    if (e.text != dim.name)
      continue;
    if (!dim.size)
      return fail(e.range, "'" + e.text + "' is known only at launch; give the tensors a number of heads to use it");
    result.type = Type::Int;
    result.value = double(*dim.size);
    return result;
  }
  if (scope == Scope::Pattern && llvm::is_contained(patternNames, e.text))
    return namedPattern(e);
  if (llvm::is_contained(patternNames, e.text))
    return fail(e.range, "'" + e.text + "' is a pattern, and stands in the line 'pattern'");
  std::vector<llvm::StringRef> known;
  for (Variable v : variables(scope))
    known.push_back(spelling(v));
  for (const Dim &dim : dims)
    known.push_back(dim.name);
  if (scope == Scope::Pattern)
    known.insert(known.begin(), std::begin(patternNames), std::end(patternNames));
  if (scope == Scope::Weight)
    known.insert(known.begin(), "softmax");
  if (const FunctionInfo *info = findFunction(e.text))
    return fail(e.range, "'" + e.text + "' is a function; expected its arguments: " + info->usage);
  // Elsewhere a bare name can only be a slip; in an epilogue it is a tensor like o.
  bool reserved = llvm::is_contained({"q", "k", "v", "s", "j", "scale", "n_keys", "lse"}, e.text);
  if (scope == Scope::Epilogue && !reserved) {
    Table elements;
    elements.kind = Table::Kind::Elements;
    elements.name = e.text;
    elements.range = e.range;
    auto index = table(elements);
    if (!index)
      return std::nullopt;
    result.kind = Expr::Kind::Element;
    result.table = *index;
    return result;
  }
  if (reserved)
    return fail(e.range, "'" + e.text + "' has no value here" + suggest("", known));
  if (scope == Scope::Pattern && e.text == "true")
    return fail(e.range, "expected a pattern or a condition of i and j, found 'true'; 'full' is the pattern that leaves no key out");
  if (scope == Scope::Pattern && e.text == "false")
    return fail(e.range, "expected a pattern or a condition of i and j, found 'false', which leaves no key to any row: every "
                         "output would be 0; a condition that may come out so, as 'j > i + n_keys', is fine");
  return fail(e.range, "unknown name '" + e.text + "'" + suggest(e.text, known));
}

std::optional<std::vector<Expr>> Expressions::operands(const ast::Expr &e, bool integer) {
  std::vector<Expr> args;
  bool good = true;
  for (const ast::Expr &arg : e.args) {
    auto value = analyze(arg, integer);
    good &= value.has_value();
    if (value)
      args.push_back(std::move(*value));
  }
  return good ? std::optional(std::move(args)) : std::nullopt;
}

std::optional<Expr> Expressions::call(const ast::Expr &e, bool integer) {
  if (scope == Scope::Pattern && llvm::is_contained(patternNames, e.text))
    return namedPattern(e);
  if (scope == Scope::Weight && e.text == "softmax")
    return softmaxInside(e);
  const FunctionInfo *info = findFunction(e.text);
  if (!info) {
    std::vector<llvm::StringRef> known;
    if (scope == Scope::Pattern)
      known.assign(std::begin(patternNames), std::end(patternNames));
    for (const FunctionInfo &f : functions())
      known.push_back(f.name);
    bool isPattern = llvm::is_contained(patternNames, e.text);
    return fail(e.head, isPattern ? "'" + e.text + "' is a pattern, and stands in the line 'pattern'"
                                  : "unknown function '" + e.text + "'" + suggest(e.text, known));
  }
  if (e.args.size() != info->arity)
    return fail(e.range, Twine("expected ") + info->usage + ", found " + Twine(e.args.size()) + " arguments");
  bool whole = info->function == Function::FloorDiv;
  auto args = operands(e, whole || integer);
  if (!args)
    return std::nullopt;
  Expr result;
  result.kind = Expr::Kind::Call;
  result.function = info->function;
  result.range = e.range;
  auto numbers = llvm::ArrayRef<Expr>(*args);
  if (info->function == Function::Where) {
    if (!expectCondition((*args)[0]))
      return std::nullopt;
    if (hasNamedPattern((*args)[0]))
      return fail((*args)[0].range, "a named pattern stands in the line 'pattern' and combines with &, | and not; "
                                    "inside an expression write the comparison");
    numbers = numbers.drop_front();
  }
  bool good = true, allInt = true;
  for (const Expr &arg : numbers) {
    good &= expectNumber(arg);
    allInt &= arg.type == Type::Int;
  }
  if (!good)
    return std::nullopt;
  bool keepsInt = llvm::is_contained({Function::Abs, Function::Min, Function::Max, Function::Where}, info->function);
  if (whole && !allInt)
    return fail(e.range, "expected " + info->usage + "; floor(x / y) rounds a real number");
  result.type = allInt && (keepsInt || whole) ? Type::Int : Type::Real;
  if (whole || info->function == Function::Softcap)
    if (auto value = constantValue((*args)[1]); value && *value <= 0)
      return fail((*args)[1].range, whole ? Twine("expected a positive divisor, found ") + format(e.args[1])
                                          : "expected a positive cap, since softcap(x, cap) is cap * tanh(x / cap); "
                                            "found " + format(e.args[1]));
  result.args = std::move(*args);
  return result;
}

std::optional<Expr> Expressions::comparison(const ast::Expr &e) {
  for (const ast::Expr &side : e.args)
    if (side.is(AKind::Operator) && ast::isComparison(side.op))
      return fail(e.range, "comparisons do not chain; write 'a <= b and b <= c'");
  auto args = operands(e, !llvm::any_of(e.args, looksReal));
  if (!args || !expectNumber((*args)[0]) || !expectNumber((*args)[1]))
    return std::nullopt;
  Expr result;
  result.kind = Expr::Kind::Operator;
  result.op = e.op;
  result.type = Type::Bool;
  result.range = e.range;
  result.args = std::move(*args);
  return result;
}

std::optional<Expr> Expressions::logical(const ast::Expr &e) {
  auto args = operands(e, /*integer=*/true);
  bool good = args.has_value();
  if (args)
    for (const Expr &arg : *args)
      good &= expectCondition(arg);
  if (!good)
    return std::nullopt;
  Expr result;
  result.kind = Expr::Kind::Operator;
  result.op = e.op;
  result.type = Type::Bool;
  result.range = e.range;
  result.args = std::move(*args);
  return result;
}

std::optional<Expr> Expressions::binary(const ast::Expr &e, bool integer) {
  auto args = operands(e, integer);
  bool good = args.has_value(), allInt = true;
  if (args)
    for (const Expr &arg : *args) {
      good &= expectNumber(arg);
      allInt &= arg.type == Type::Int;
    }
  if (!good)
    return std::nullopt;
  bool divides = e.op == Op::Div || e.op == Op::Mod;
  if (auto divisor = divides ? constantValue(args->back()) : std::nullopt; divisor && *divisor == 0)
    return fail(args->back().range, "expected a divisor other than 0");
  if (e.op == Op::Mod && !allInt)
    return fail(e.head, "'%' takes integers");
  // What 7 / 2 means differs between languages, and both answers have their use.
  bool literal = constantValue(args->front()) && constantValue(args->back());
  if (e.op == Op::Div && allInt && !literal)
    return fail(e.head, "'/' of two integers could round or not; write floordiv(a, b) for whole blocks, or 1.0 * a / b");
  Expr result;
  result.kind = Expr::Kind::Operator;
  result.op = e.op;
  result.type = allInt && e.op != Op::Div ? Type::Int : Type::Real;
  result.range = e.range;
  result.args = std::move(*args);
  return result;
}

} // namespace fovea::sema
