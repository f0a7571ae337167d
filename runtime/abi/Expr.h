// runtime/abi/Expr.h - integer expressions over launch arguments (grid sizes, tensor-map dims, scratch bytes).
//
// In JSON: an integer, a name, or a nested array ["add", a, b]. Names a manifest may use:
//   "total"             a dim symbol, bound by the first tensor shape that names it
//   "q.shape.0"         extent of a dimension          "q.stride.0"   stride in elements
//   "q.itemsize"        bytes of one element           "lse.present"  1 when the optional tensor was passed, else 0
//   "sm_count"          multiprocessors of the device   "$whole"       a value that the kernel names (KernelSpec::values)
// "ceildiv", "floordiv" and "mod" round towards +inf, -inf and -inf. Overflow of 64 bits and division by zero are errors.
#ifndef FOVEA_RUNTIME_ABI_EXPR_H
#define FOVEA_RUNTIME_ABI_EXPR_H

#include "runtime/abi/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fovea {

class Expr {
public:
  enum class Kind : uint8_t { Constant, Name, Add, Sub, Mul, CeilDiv, FloorDiv, Min, Max, Mod };
  /// Answers the value of a name, or nullopt when there is none.
  using Lookup = std::function<std::optional<int64_t>(const std::string &)>;

  Expr(int64_t value = 0) : constant(value) {}
  Expr(int value) : constant(value) {}
  Expr(std::string name) : kind(Kind::Name), symbol(std::move(name)) {}
  Expr(const char *name) : kind(Kind::Name), symbol(name) {}
  Expr(Kind op, Expr left, Expr right) : kind(op), operands{std::move(left), std::move(right)} {}

  Kind getKind() const { return kind; }
  int64_t getConstant() const { return constant; }             ///< Kind::Constant
  const std::string &getName() const { return symbol; }         ///< Kind::Name
  const std::vector<Expr> &getOperands() const { return operands; } ///< two, for the operators

  /// The value, or an error naming the unknown name, the overflow or the zero divisor.
  Expected<int64_t> evaluate(const Lookup &lookup) const;

  /// Calls `visit` with every name the expression uses.
  void forEachName(const std::function<void(const std::string &)> &visit) const;

  /// For people: (q.shape.1 + 1) * ceildiv(total, 64).
  std::string text() const;

  /// "add" for Kind::Add; empty for constants and names.
  static const char *opName(Kind kind);
  /// Kind::Add for "add"; nullopt for a word that is no operator.
  static std::optional<Kind> parseOp(const std::string &name);

  bool operator==(const Expr &other) const;

private:
  Kind kind = Kind::Constant;
  int64_t constant = 0;
  std::string symbol;
  std::vector<Expr> operands;
};

inline Expr ceilDiv(Expr a, Expr b) { return {Expr::Kind::CeilDiv, std::move(a), std::move(b)}; }
inline Expr floorDiv(Expr a, Expr b) { return {Expr::Kind::FloorDiv, std::move(a), std::move(b)}; }
inline Expr minimum(Expr a, Expr b) { return {Expr::Kind::Min, std::move(a), std::move(b)}; }
inline Expr maximum(Expr a, Expr b) { return {Expr::Kind::Max, std::move(a), std::move(b)}; }
inline Expr modulo(Expr a, Expr b) { return {Expr::Kind::Mod, std::move(a), std::move(b)}; }
inline Expr operator+(Expr a, Expr b) { return {Expr::Kind::Add, std::move(a), std::move(b)}; }
inline Expr operator-(Expr a, Expr b) { return {Expr::Kind::Sub, std::move(a), std::move(b)}; }
inline Expr operator*(Expr a, Expr b) { return {Expr::Kind::Mul, std::move(a), std::move(b)}; }

} // namespace fovea

#endif // FOVEA_RUNTIME_ABI_EXPR_H
