// frontend/sema/Patterns.cpp - the named patterns: `causal`, `window(4096)`, `blocks(128, 128, picks)`
#include "frontend/fmt/Format.h"
#include "frontend/sema/Expressions.h"
#include "frontend/sema/Tensors.h"

#include "llvm/ADT/StringSwitch.h"

namespace fovea::sema {

using Kind = NamedPattern::Kind;
using llvm::Twine;

std::optional<Expr> Expressions::namedPattern(const ast::Expr &e) {
  auto kind = llvm::StringSwitch<std::optional<Kind>>(e.text)
                  .Case("full", Kind::Full)
                  .Case("causal", Kind::Causal)
                  .Case("window", Kind::Window)
                  .Case("block_diagonal", Kind::BlockDiagonal)
                  .Case("prefix", Kind::Prefix)
                  .Case("blocks", Kind::Blocks)
                  .Default(std::nullopt);
  if (!kind)
    return std::nullopt;
  Expr result;
  result.kind = Expr::Kind::Pattern;
  result.type = Type::Bool;
  result.range = e.range;
  result.pattern.kind = *kind;
  return readPattern(e, result.pattern) ? std::optional(result) : std::nullopt;
}

bool Expressions::readPattern(const ast::Expr &e, NamedPattern &pattern) {
  auto refuse = [&](Range range, const Twine &message) {
    diagnostics.error(range, message);
    return false;
  };
  auto usage = [&](const char *text) {
    return refuse(e.range, Twine("expected ") + text + ", found '" + format(e) + "'");
  };
  auto size = [&](const ast::Expr &arg, int64_t least, const char *what) -> std::optional<int64_t> {
    auto value = wholeNumber(arg);
    constexpr int64_t most = int64_t(1) << 31;
    if (value && *value >= least && *value <= most)
      return value;
    diagnostics.error(arg.range, Twine("expected ") + what + " as a whole number from " + Twine(least) +
                                     (value && *value > most ? " to " + std::to_string(most) : "") + ", found '" +
                                     format(arg) + "'");
    return std::nullopt;
  };

  switch (pattern.kind) {
  case Kind::Full:
    return e.args.empty() ? true : usage("'full' alone");
  case Kind::Causal:
    if (e.args.empty() && e.is(ast::Expr::Kind::Name))
      return true;
    if (e.args.size() != 1 || !e.args[0].isName("top_left"))
      return usage("'causal' (aligned at the last query and key) or 'causal(top_left)'");
    pattern.topLeft = true;
    return true;
  case Kind::Window: {
    if (e.args.empty() || e.args.size() > 2)
      return usage("'window(left)' or 'window(left, right)'");
    pattern.left = size(e.args[0], 0, "how many keys before the query are seen");
    if (e.args.size() == 2)
      pattern.right = size(e.args[1], 0, "how many keys behind the query are seen");
    return pattern.left && (e.args.size() == 1 || pattern.right);
  }
  case Kind::BlockDiagonal:
  case Kind::Prefix: {
    bool prefix = pattern.kind == Kind::Prefix;
    if (e.args.size() != 1)
      return usage(prefix ? "'prefix(keys)'" : "'block_diagonal(block size)'");
    auto value = size(e.args[0], 1, prefix ? "how many keys all queries see" : "the block size");
    pattern.size = value.value_or(0);
    return value.has_value();
  }
  case Kind::Blocks: {
    if (e.args.size() != 3 || !e.args[2].is(ast::Expr::Kind::Name))
      return usage("'blocks(queries per block, keys per block, name of the list)'");
    auto queries = size(e.args[0], 1, "the queries per block"), keys = size(e.args[1], 1, "the keys per block");
    Table list;
    list.kind = Table::Kind::BlockList;
    list.name = e.args[2].text;
    list.integer = true;
    list.range = e.args[2].range;
    list.block = queries.value_or(0);
    auto index = table(list);
    if (!queries || !keys || !index)
      return false;
    pattern.queryBlock = *queries;
    pattern.keyBlock = *keys;
    pattern.table = *index;
    return true;
  }
  }
  return false;
}

} // namespace fovea::sema
