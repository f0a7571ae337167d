// passes/Lower/KeyRange.cpp - the algebra of key ranges, and their text.
#include "passes/Lower/KeyRange.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea;

using Clauses = SmallVector<Clause>;

// --- bounds -------------------------------------------------------------------------------------------------------

int64_t Bound::value(int64_t i, int64_t nQueries, int64_t nKeys) const {
  return (block ? i / block * block : 0) + keys * nKeys + queries * nQueries + constant;
}

std::optional<Bound> fovea::normalised(Bound b) {
  if (b.block > kMaxLength) // every query is in the first block
    b.block = 0;
  if (std::abs(b.keys) > 1 || std::abs(b.queries) > 1)
    return std::nullopt;
  // What the value can reach without the constant, in lengths; i - n_queries lies in [-length, 0).
  bool relative = b.block && b.queries == -1;
  int64_t above = (b.block && !relative) + (b.keys == 1) + (b.queries == 1);
  int64_t below = (b.keys == -1) + (b.queries == -1);
  if (above > 1 || below > 1)
    return std::nullopt;
  if (std::abs(b.constant) > kMaxLength) {
    // These reach beyond the first or the last key, however far beyond.
    bool simple = (b.keys == 0 && b.queries == 0) || (b.keys == 1 && (b.queries == 0 || relative));
    if (!simple)
      return std::nullopt;
    b.constant = std::clamp(b.constant, -kMaxLength, kMaxLength);
  }
  return b;
}

bool fovea::provablyAtMost(const Bound &a, const Bound &b) {
  int64_t keys = b.keys - a.keys, queries = b.queries - a.queries, least = b.constant - a.constant;
  if (a.block == b.block || a.block == 0) {
    // Equal terms, or 0 <= the term of b.
  } else if (b.block == 0) {
    // The term of a is at most n_queries - 1.
    queries -= 1, least += 1;
  } else if (b.block % a.block == 0) {
    // The start of the larger block is at most size - size' before that of the smaller.
    least -= b.block - a.block;
  } else if (a.block % b.block) {
    least -= b.block - 1;
  }
  return keys >= 0 && queries >= 0 && least >= 0;
}

// --- clauses ------------------------------------------------------------------------------------------------------

// `upper` says which list: in `upper` a clause is the greatest of its bounds and the least clause counts; in `lower`
// both are the other way round. The rest of this file states the upper case and mirrors it.
static bool tighter(const Bound &a, const Bound &b, bool upper) {
  return upper ? provablyAtMost(a, b) : provablyAtMost(b, a);
}

// Every bound of a is at least as tight as one of b: b then says nothing that a does not.
static bool implies(const Clause &a, const Clause &b, bool upper) {
  return llvm::all_of(a, [&](const Bound &x) {
    return llvm::any_of(b, [&](const Bound &y) { return tighter(x, y, upper); });
  });
}

static Clause simplified(const Clause &clause, bool upper) {
  Clause result;
  for (auto [n, x] : llvm::enumerate(clause)) {
    bool superfluous = false;
    for (auto [m, y] : llvm::enumerate(clause))
      superfluous |= n != m && tighter(x, y, upper) && (m < n || !tighter(y, x, upper));
    if (!superfluous)
      result.push_back(x);
  }
  return result;
}

static Clauses simplified(const Clauses &clauses, bool upper) {
  const Clause limit{upper ? Bound::nKeys() : Bound::at(0)};
  Clauses result;
  for (auto [n, x] : llvm::enumerate(clauses)) {
    bool superfluous = implies(limit, x, upper);
    for (auto [m, y] : llvm::enumerate(clauses))
      superfluous |= n != m && implies(y, x, upper) && (m < n || !implies(x, y, upper));
    if (!superfluous)
      result.push_back(simplified(x, upper));
  }
  return result;
}

// The looser of two limits: each clause of one joined with each of the other. No clause means no limit.
static Clauses looser(const Clauses &a, const Clauses &b, bool upper) {
  Clauses result;
  for (const Clause &x : a)
    for (const Clause &y : b) {
      result.push_back(x);
      result.back().append(y.begin(), y.end());
    }
  return simplified(result, upper);
}

// Whether the lower limit is below the upper one by at least `distance`, for every query.
static bool provablyBelow(const Clauses &lower, const Clauses &upper, int64_t distance) {
  return llvm::all_of(lower, [&](const Clause &low) {
    return llvm::all_of(upper, [&](const Clause &high) {
      return llvm::any_of(low, [&](Bound x) {
        x.constant += distance;
        return llvm::any_of(high, [&](const Bound &y) { return provablyAtMost(x, y); });
      });
    });
  });
}

// --- ranges -------------------------------------------------------------------------------------------------------

std::pair<int64_t, int64_t> KeyRange::interval(int64_t i, int64_t nQueries, int64_t nKeys) const {
  int64_t first = 0, end = nKeys;
  auto less = [&](const Bound &a, const Bound &b) {
    return a.value(i, nQueries, nKeys) < b.value(i, nQueries, nKeys);
  };
  for (const Clause &clause : lower)
    first = std::max(first, std::min_element(clause.begin(), clause.end(), less)->value(i, nQueries, nKeys));
  for (const Clause &clause : upper)
    end = std::min(end, std::max_element(clause.begin(), clause.end(), less)->value(i, nQueries, nKeys));
  return {first, end};
}

KeyRange fovea::intersection(const KeyRange &a, const KeyRange &b) {
  KeyRange result = a;
  result.lower.append(b.lower.begin(), b.lower.end());
  result.upper.append(b.upper.begin(), b.upper.end());
  result.lower = simplified(result.lower, false);
  result.upper = simplified(result.upper, true);
  result.residual.append(b.residual.begin(), b.residual.end());
  if (b.blocks)
    result.blocks = b.blocks;
  if (!result.gap) // one is enough: the residual knows all of them
    result.gap = b.gap;
  return result;
}

KeyRange fovea::hull(const KeyRange &a, const KeyRange &b) {
  KeyRange result;
  result.lower = looser(a.lower, b.lower, false);
  result.upper = looser(a.upper, b.upper, true);
  return result;
}

// On all the integers, before the keys cut both: an interval is not empty when its ends are in order, and two of them
// leave no gap when each begins at or before the other's end.
std::optional<KeyRange> fovea::provableUnion(const KeyRange &a, const KeyRange &b) {
  if (!provablyBelow(a.lower, a.upper, 1) || !provablyBelow(b.lower, b.upper, 1) ||
      !provablyBelow(a.lower, b.upper, 0) || !provablyBelow(b.lower, a.upper, 0))
    return std::nullopt;
  return hull(a, b);
}

// The limit on the other side: a greatest of leasts is a least of greatests, by distribution.
static Clauses mirrored(const Clauses &clauses) {
  Clauses result{Clause()};
  for (const Clause &clause : clauses) {
    Clauses next;
    for (const Clause &chosen : result)
      for (const Bound &bound : clause) {
        next.push_back(chosen);
        next.back().push_back(bound);
      }
    result = next;
  }
  return result;
}

// From the lesser of the ends to the greater of the beginnings; turned round where the intervals meet, and then no gap.
std::optional<KeyRange::Gap> fovea::gapBetween(const KeyRange &a, const KeyRange &b) {
  if (!provablyBelow(a.lower, a.upper, 1) || !provablyBelow(b.lower, b.upper, 1))
    return std::nullopt;
  KeyRange common = intersection(a, b);
  if (common.lower.empty() || common.upper.empty())
    return std::nullopt;
  return KeyRange::Gap{mirrored(common.upper), mirrored(common.lower)};
}

std::optional<KeyRange> fovea::provableComplement(const KeyRange &a) {
  KeyRange result;
  if (!a.lower.empty() && !a.upper.empty())
    return std::nullopt;
  if (a.isFull())
    result.upper = {{Bound::at(0)}};
  else if (a.lower.empty())
    result.lower = simplified(mirrored(a.upper), false);
  else
    result.upper = simplified(mirrored(a.lower), true);
  return result;
}

// --- text ---------------------------------------------------------------------------------------------------------

std::string fovea::describe(const Bound &bound) {
  std::string text;
  auto term = [&](bool negative, const llvm::Twine &what) {
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += what.str();
  };
  if (bound.block)
    term(false, bound.block == 1 ? "i" : "i / " + llvm::Twine(bound.block) + " * " + llvm::Twine(bound.block));
  if (bound.keys == 1 && bound.queries == -1) {
    term(false, "(n_keys - n_queries)");
  } else {
    if (bound.keys)
      term(bound.keys < 0, "n_keys");
    if (bound.queries)
      term(bound.queries < 0, "n_queries");
  }
  if (bound.constant || text.empty())
    term(bound.constant < 0, llvm::Twine(std::abs(bound.constant)));
  return text;
}

// "max(0, ...)" or "min(n_keys, ...)": the limit of all sequences, if any, then the clauses.
static std::string limitText(const std::string &limit, const Clauses &clauses, bool upper) {
  SmallVector<std::string> texts;
  if (!limit.empty())
    texts.push_back(limit);
  for (const Clause &clause : clauses) {
    std::string alternatives = llvm::join(llvm::map_range(clause, [](const Bound &b) { return describe(b); }), ", ");
    texts.push_back(clause.size() == 1 ? alternatives : (upper ? "max(" : "min(") + alternatives + ")");
  }
  return texts.size() == 1 ? texts.front() : (upper ? "min(" : "max(") + llvm::join(texts, ", ") + ")";
}

std::string fovea::describe(const KeyRange &range) {
  std::string text = "keys [" + limitText("0", range.lower, false) + ", ";
  text += limitText("n_keys", range.upper, true) + ")";
  if (range.gap)
    text += " without [" + limitText("", range.gap->lower, false) + ", " + limitText("", range.gap->upper, true) + ")";
  if (range.blocks) {
    auto argument = dyn_cast<BlockArgument>(range.blocks->list);
    auto spec = argument ? dyn_cast<attn::SpecOp>(argument.getOwner()->getParentOp()) : attn::SpecOp();
    text += " in the blocks of " + std::to_string(range.blocks->keyBlock) + " keys that '" +
            (spec ? spec.getInputName(argument.getArgNumber()).str() : "the list") + "' names for i / " +
            std::to_string(range.blocks->queryBlock);
  }
  if (!range.residual.empty())
    text += " where an expression of the pair holds";
  return text;
}
