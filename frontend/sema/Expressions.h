// frontend/sema/Expressions.h - names, types and tables of expressions (internal to sema)
#pragma once

#include "frontend/ast/Diagnostics.h"
#include "frontend/sema/Spec.h"

namespace fovea::sema {

/// The clause that an expression stands in decides which names it may use.
enum class Scope { Pattern, Score, Scale, Weight, Epilogue };

/// Resolves names and types. Tables are declared by their use: `doc[i]` makes a table with one entry per row of q.
/// A table is int32 where it is compared or serves as an index, and f32 elsewhere.
class Expressions {
public:
  /// Tables go to `spec.tables`; `spec.q`, `spec.k` and `spec.v` must have been read.
  Expressions(Spec &spec, Diagnostics &diagnostics) : spec(spec), diagnostics(diagnostics) {}

  /// A pattern. None when it has errors; they are reported.
  std::optional<Expr> condition(const ast::Expr &e);
  /// A score, scale, weight or epilogue.
  std::optional<Expr> number(const ast::Expr &e, Scope scope);

  /// Declares a table, or checks a further use of it against the first. None after an error.
  std::optional<unsigned> table(Table wanted);
  /// The table of `softmax(SINK)`, one f32 per query head. None after an error.
  std::optional<unsigned> sink(const ast::Expr &softmax);

private:
  std::optional<Expr> analyze(const ast::Expr &e, bool integer);
  std::optional<Expr> name(const ast::Expr &e);
  std::optional<Expr> lookup(const ast::Expr &e, bool integer);
  std::optional<Expr> call(const ast::Expr &e, bool integer);
  std::optional<Expr> binary(const ast::Expr &e, bool integer);
  std::optional<Expr> comparison(const ast::Expr &e);
  std::optional<Expr> logical(const ast::Expr &e);
  /// `e` is named like a pattern.
  std::optional<Expr> namedPattern(const ast::Expr &e);
  bool readPattern(const ast::Expr &e, NamedPattern &pattern);
  std::optional<std::vector<Expr>> operands(const ast::Expr &e, bool integer);
  bool expectNumber(const Expr &e);
  bool expectCondition(const Expr &e);
  Axis axisOf(const Expr &index) const;
  bool sameAxis(Axis a, Axis b) const;
  std::nullopt_t softmaxInside(const ast::Expr &e);
  std::nullopt_t fail(Range range, const llvm::Twine &message);

  Spec &spec;
  Diagnostics &diagnostics;
  Scope scope = Scope::Pattern;
};

} // namespace fovea::sema
