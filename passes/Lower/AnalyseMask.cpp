// passes/Lower/AnalyseMask.cpp - from the ops of a mask to a key range.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Lower/KeyRange.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

// --- affine comparisons -------------------------------------------------------------------------------------------

namespace {
/// i·I + j·J + queryBlocks·(I / querySize) + keyBlocks·(J / keySize) + keys·n_keys + queries·n_queries + constant.
struct Affine {
  int64_t i = 0, j = 0, queryBlocks = 0, keyBlocks = 0, keys = 0, queries = 0, constant = 0;
  int64_t querySize = 0, keySize = 0; ///< 0 when the term is absent
};
} // namespace

// x + factor · y, nullopt on overflow or when both hold quotients by different sizes.
static std::optional<Affine> sum(const Affine &x, const Affine &y, int64_t factor) {
  if ((x.querySize && y.querySize && x.querySize != y.querySize) || (x.keySize && y.keySize && x.keySize != y.keySize))
    return std::nullopt;
  bool overflow = false;
  auto combine = [&](int64_t a, int64_t b) {
    int64_t product = 0, result = 0;
    overflow |= llvm::MulOverflow(b, factor, product) || llvm::AddOverflow(a, product, result);
    return result;
  };
  Affine r{combine(x.i, y.i), combine(x.j, y.j), combine(x.queryBlocks, y.queryBlocks),
           combine(x.keyBlocks, y.keyBlocks), combine(x.keys, y.keys), combine(x.queries, y.queries),
           combine(x.constant, y.constant), std::max(x.querySize, y.querySize), std::max(x.keySize, y.keySize)};
  if (r.queryBlocks == 0)
    r.querySize = 0;
  if (r.keyBlocks == 0)
    r.keySize = 0;
  return overflow ? std::nullopt : std::optional(r);
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || !constant.isSignedIntN(64))
    return std::nullopt;
  return constant.getSExtValue();
}

// floor(I / size) or floor(J / size): positions are not negative, so that division truncates to the same.
static std::optional<Affine> quotient(const std::optional<Affine> &x, int64_t size) {
  Affine r;
  if (!x || size <= 0 || x->i + x->j != 1 || x->i * x->j || x->queryBlocks || x->keyBlocks || x->keys || x->queries ||
      x->constant)
    return std::nullopt;
  if (size == 1)
    return x;
  if (x->i)
    r.queryBlocks = 1, r.querySize = size;
  else
    r.keyBlocks = 1, r.keySize = size;
  return r;
}

static std::optional<Affine> affineOf(Value value) {
  Affine r;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    switch (argument.getArgNumber()) { // (i, j, h, b, n_queries, n_keys)
    case 0: r.i = 1; return r;
    case 1: r.j = 1; return r;
    case 4: r.queries = 1; return r;
    case 5: r.keys = 1; return r;
    default: return std::nullopt;
    }
  }
  if (std::optional<int64_t> constant = constantOf(value)) {
    r.constant = *constant;
    return r;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op))
    return std::nullopt;
  std::optional<Affine> x = affineOf(op->getOperand(0)), y = affineOf(op->getOperand(1));
  std::optional<int64_t> xc = constantOf(op->getOperand(0)), yc = constantOf(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return sum(*x, *y, 1);
  if (isa<arith::SubIOp>(op))
    return sum(*x, *y, -1);
  if (isa<arith::MulIOp>(op))
    return yc ? sum(Affine(), *x, *yc) : xc ? sum(Affine(), *y, *xc) : std::nullopt;
  std::optional<Affine> divided = yc ? quotient(x, *yc) : std::nullopt;
  if (isa<arith::RemSIOp>(op) && divided) // x - x / N * N
    return sum(*x, *divided, -*yc);
  return isa<arith::RemSIOp>(op) ? std::nullopt : divided;
}

// The range of the keys with f <= 0.
static std::optional<KeyRange> atMostZero(const Affine &f) {
  KeyRange range;
  bool upper = f.j > 0 || (f.j == 0 && f.keyBlocks > 0);
  int64_t sign = upper ? -1 : 1; // j <= -(f without j), or j >= f without j
  std::optional<Affine> rest = sum(Affine(), f, sign);
  if (!rest || (f.j && f.keyBlocks))
    return std::nullopt;
  auto limit = [&](Bound bound) -> std::optional<KeyRange> {
    bound.constant += upper; // exclusive
    std::optional<Bound> fits = normalised(bound);
    if (!fits)
      return std::nullopt;
    (upper ? range.upper : range.lower).push_back({*fits});
    return range;
  };
  bool onlyConstant = !rest->i && !rest->queryBlocks && !rest->keys && !rest->queries;
  // Constants beyond any length are cut when they are normalised; here they must not overflow.
  if (f.constant > int64_t(1) << 40 || f.constant < -(int64_t(1) << 40))
    return std::nullopt;
  if (int64_t factor = std::abs(f.j)) {
    if (factor != 1) {
      if (!onlyConstant)
        return std::nullopt;
      return limit(Bound::at(upper ? llvm::divideFloorSigned(rest->constant, factor)
                                   : llvm::divideCeilSigned(rest->constant, factor)));
    }
    bool position = rest->i == 1 && !rest->queryBlocks;
    bool start = rest->i == 0 && rest->queryBlocks && rest->queryBlocks == rest->querySize;
    if (!position && !start && (rest->i || rest->queryBlocks))
      return std::nullopt;
    return limit({position ? 1 : start ? rest->querySize : 0, rest->keys, rest->queries, rest->constant});
  }
  if (std::abs(f.keyBlocks) == 1) {
    // J / N <= q: J < (q + 1) N. J / N >= q: J >= q N.
    int64_t size = f.keySize;
    bool same = rest->queryBlocks == 1 && rest->querySize == size;
    if (rest->i || rest->keys || rest->queries || (rest->queryBlocks && !same) || size > kMaxLength)
      return std::nullopt;
    int64_t last = std::clamp(rest->constant, -kMaxLength, kMaxLength);
    return limit(Bound{same ? size : 0, 0, 0, upper ? (last + 1) * size - 1 : last * size});
  }
  if (!f.keyBlocks && onlyConstant) { // no key is compared at all
    if (f.constant > 0)
      range.upper.push_back({Bound::at(0)});
    return range;
  }
  return std::nullopt;
}

static std::optional<KeyRange> comparison(arith::CmpIOp op, bool negated) {
  arith::CmpIPredicate predicate = negated ? arith::invertPredicate(op.getPredicate()) : op.getPredicate();
  std::optional<Affine> x = affineOf(op.getLhs()), y = affineOf(op.getRhs());
  if (!x || !y)
    return std::nullopt;
  // a - b + shift <= 0.
  auto holds = [](const Affine &a, const Affine &b, int64_t shift) -> std::optional<KeyRange> {
    std::optional<Affine> difference = sum(a, b, -1);
    if (!difference || llvm::AddOverflow(difference->constant, shift, difference->constant))
      return std::nullopt;
    return atMostZero(*difference);
  };
  switch (predicate) {
  case arith::CmpIPredicate::sle: return holds(*x, *y, 0);
  case arith::CmpIPredicate::slt: return holds(*x, *y, 1);
  case arith::CmpIPredicate::sge: return holds(*y, *x, 0);
  case arith::CmpIPredicate::sgt: return holds(*y, *x, 1);
  case arith::CmpIPredicate::eq: {
    std::optional<KeyRange> below = holds(*x, *y, 0), above = holds(*y, *x, 0);
    return below && above ? std::optional(intersection(*below, *above)) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

// --- named patterns -----------------------------------------------------------------------------------------------

static KeyRange patternRange(Attribute pattern) {
  KeyRange range;
  auto limit = [](SmallVector<Clause> &side, Bound bound) { side.push_back({*normalised(bound)}); };
  llvm::TypeSwitch<Attribute>(pattern)
      .Case([&](CausalAttr causal) {
        limit(range.upper, causal.getAlignment() == Alignment::BottomRight ? Bound::diagonalShifted(1)
                                                                          : Bound::diagonal(1));
      })
      .Case([&](WindowAttr window) {
        // Sides wider than any sequence would overflow before they are cut.
        if (window.getLeft())
          limit(range.lower, Bound::diagonalShifted(-std::min(*window.getLeft(), kMaxLength)));
        if (window.getRight())
          limit(range.upper, Bound::diagonalShifted(std::min(*window.getRight(), kMaxLength) + 1));
      })
      .Case([&](BlockDiagonalAttr blocks) {
        limit(range.lower, Bound::blockStart(blocks.getSize(), 0));
        limit(range.upper, Bound::blockStart(blocks.getSize(), blocks.getSize()));
      })
      .Case([&](PrefixAttr prefix) { limit(range.upper, Bound::at(prefix.getCount())); });
  return intersection(KeyRange(), range); // simplified
}

// --- the mask as a boolean expression -----------------------------------------------------------------------------

static llvm::Expected<KeyRange> analyse(Value value, bool negated);

static llvm::Expected<KeyRange> analyseBoth(Operation *op, bool negated, bool conjunction) {
  llvm::Expected<KeyRange> a = analyse(op->getOperand(0), negated);
  if (!a)
    return a.takeError();
  llvm::Expected<KeyRange> b = analyse(op->getOperand(1), negated);
  if (!b)
    return b.takeError();
  if (conjunction) {
    if (a->blocks && b->blocks)
      return llvm::createStringError("expected one block list in a pattern, found two joined by '&'; merge the lists");
    return intersection(*a, *b);
  }
  if (a->blocks || b->blocks)
    return llvm::createStringError("expected a block list alone or joined by '&', since a list can only leave out "
                                   "keys; found it under '|' or 'not'");
  if (a->isInterval() && b->isInterval())
    if (std::optional<KeyRange> both = provableUnion(*a, *b))
      return *both;
  KeyRange around = hull(*a, *b);
  around.residual.push_back({op->getResult(0), negated});
  if (a->isInterval() && b->isInterval())
    around.gap = gapBetween(*a, *b);
  return around;
}

// `negated`: the pairs for which the value does not hold. De Morgan's rules carry it to the leaves.
static llvm::Expected<KeyRange> analyse(Value value, bool negated) {
  using Result = llvm::Expected<KeyRange>;
  KeyRange unknown;
  unknown.residual.push_back({value, negated});
  auto orUnknown = [&](const std::optional<KeyRange> &range) -> Result { return range ? *range : unknown; };
  Operation *op = value.getDefiningOp();
  if (!op)
    return unknown;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](PatternOp pattern) -> Result {
        KeyRange range = patternRange(pattern.getPattern());
        if (!negated)
          return range;
        if (std::optional<KeyRange> rest = provableComplement(range))
          return *rest;
        unknown.gap = {range.lower, range.upper};
        return unknown;
      })
      .Case([&](BlocksOp list) -> Result {
        if (negated)
          return llvm::createStringError("expected a block list alone or joined by '&', since a list can only leave "
                                         "out keys; found it under '|' or 'not'");
        KeyRange range;
        range.blocks = {list.getList(), int64_t(list.getQueryBlock()), int64_t(list.getKeyBlock())};
        return range;
      })
      .Case<MaskAndOp, arith::AndIOp>([&](Operation *both) { return analyseBoth(both, negated, !negated); })
      .Case<MaskOrOp, arith::OrIOp>([&](Operation *either) { return analyseBoth(either, negated, negated); })
      .Case([&](MaskNotOp inverse) { return analyse(inverse.getOperand(), !negated); })
      .Case([&](arith::XOrIOp exclusive) -> Result { // `not x` is written x ^ true
        for (unsigned n : {0u, 1u})
          if (matchPattern(exclusive->getOperand(n), m_One()))
            return analyse(exclusive->getOperand(1 - n), !negated);
        return unknown;
      })
      .Case([&](MaskWhereOp where) {
        return analyse(cast<ResultOp>(where.getBody().front().back()).getValue(), negated);
      })
      .Case([&](arith::CmpIOp cmp) { return orUnknown(comparison(cmp, negated)); })
      .Case([&](arith::ConstantOp constant) -> Result {
        KeyRange range;
        if (matchPattern(value, m_Zero()) != negated)
          range.upper.push_back({Bound::at(0)});
        return range;
      })
      .Default([&](Operation *) -> Result { return unknown; });
}

llvm::Expected<KeyRange> fovea::analyseMask(Value mask, bool negated) { return analyse(mask, negated); }
