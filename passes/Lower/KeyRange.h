// passes/Lower/KeyRange.h - which keys a query can see, in closed form: the analysis of a mask.
#pragma once

#include "dialect/Attn/Attn.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace fovea {

/// Sequences are at most this long on both sides, so that a bound and a distance between two of them fit in 32 bits.
inline constexpr int64_t kMaxLength = (int64_t(1) << 30) - 1024;

/// A position among the keys as a function of the query's position i in its own sequence, never decreasing in i:
///   i / block * block + keys * n_keys + queries * n_queries + constant
struct Bound {
  int64_t block = 0;    ///< 0: does not depend on i; 1: i itself; N: the start of i's block of N
  int64_t keys = 0;     ///< -1, 0 or 1
  int64_t queries = 0;  ///< -1, 0 or 1
  int64_t constant = 0; ///< |constant| <= kMaxLength

  static Bound at(int64_t constant) { return {0, 0, 0, constant}; }
  static Bound nKeys(int64_t constant = 0) { return {0, 1, 0, constant}; }
  static Bound diagonal(int64_t constant) { return {1, 0, 0, constant}; }                ///< top left
  static Bound diagonalShifted(int64_t constant) { return {1, 1, -1, constant}; }        ///< bottom right
  static Bound blockStart(int64_t size, int64_t constant) { return {size, 0, 0, constant}; }

  int64_t value(int64_t i, int64_t nQueries, int64_t nKeys) const;
  bool operator==(const Bound &o) const {
    return block == o.block && keys == o.keys && queries == o.queries && constant == o.constant;
  }
};

/// Several bounds of which one counts: the least of them in `lower`, the greatest in `upper`. Most have one.
using Clause = llvm::SmallVector<Bound, 1>;

/// The keys of a query are those of [lower, upper) that also satisfy the rest.
struct KeyRange {
  /// The greatest of these clauses and 0; a clause is the least of its bounds.
  llvm::SmallVector<Clause> lower;
  /// The least of these clauses and n_keys, exclusive; a clause is the greatest of its bounds.
  llvm::SmallVector<Clause> upper;

  /// A part of the mask that is no interval: a value of type !attn.mask, or an i1 of an attn.mask_where region. With
  /// `negated` the pairs are present where it does not hold.
  struct Predicate {
    mlir::Value value;
    bool negated = false;
  };
  llvm::SmallVector<Predicate> residual; ///< all of them must hold; empty when the interval says it all

  /// A hole in the range: no key of [lower, upper) is seen, which the residual says, too. What lies between two
  /// intervals joined by `|`, or what a `not` leaves out. A clause counts as above, but there is no 0 and no n_keys.
  struct Gap {
    llvm::SmallVector<Clause> lower, upper; ///< neither is empty
  };
  std::optional<Gap> gap;

  /// attn.blocks: only keys of the blocks that a list in memory names for the query's block.
  struct BlockList {
    mlir::Value list;
    int64_t queryBlock = 0, keyBlock = 0;
  };
  std::optional<BlockList> blocks;

  /// Every key of the sequence.
  bool isFull() const { return isInterval() && lower.empty() && upper.empty(); }
  /// [lower, upper) is the mask itself, not only a superset.
  bool isInterval() const { return residual.empty() && !blocks; }

  /// [first, end) of one query; end <= first when there is no key.
  std::pair<int64_t, int64_t> interval(int64_t i, int64_t nQueries, int64_t nKeys) const;
};

/// Analyses a value of type !attn.mask. Named patterns, `&`, unions that are provably intervals, complements of
/// half-lines, and comparisons in attn.mask_where that are affine in i, j, n_queries, n_keys (also i / N and j / N)
/// become bounds; whatever else there is becomes a residual predicate, whose interval hull still narrows the range.
/// An error when a block list stands under `|` or `not`, or when there are two of them.
/// Takes an i1 of an attn.mask_where region, too; `negated`: the pairs for which it does not hold.
llvm::Expected<KeyRange> analyseMask(mlir::Value mask, bool negated = false);

/// For people: "keys [max(0, i + (n_keys - n_queries) - 4096), min(n_keys, i + (n_keys - n_queries) + 1))".
std::string describe(const KeyRange &range);
std::string describe(const Bound &bound);

// --- the algebra of ranges, for the analysis -----------------------------------------------------------------------

/// Whether a <= b for every query of every pair of lengths. False when it cannot be shown.
bool provablyAtMost(const Bound &a, const Bound &b);
/// A bound in range, whose value is the same for all sequences up to kMaxLength; nullopt when 32 bits do not hold it.
std::optional<Bound> normalised(Bound bound);

/// The pairs of both. Predicates and the block list of both are kept (`a` must not have one when `b` has).
KeyRange intersection(const KeyRange &a, const KeyRange &b);
/// The least interval around two intervals that this form can state; predicates and block lists are not looked at.
KeyRange hull(const KeyRange &a, const KeyRange &b);
/// The union of two intervals when it is provably one; nullopt otherwise.
std::optional<KeyRange> provableUnion(const KeyRange &a, const KeyRange &b);
/// The keys between two intervals; nullopt when one of them may be empty, or no two ends can leave a gap.
std::optional<KeyRange::Gap> gapBetween(const KeyRange &a, const KeyRange &b);
/// The complement of an interval that has one end at most; nullopt for others.
std::optional<KeyRange> provableComplement(const KeyRange &a);

} // namespace fovea
