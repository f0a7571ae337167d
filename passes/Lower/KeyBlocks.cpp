// passes/Lower/KeyBlocks.cpp - the blocks of keys that a tile of queries meets, as i32 arithmetic.
#include "passes/Lower/KeyBlocks.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

namespace {
/// i32 arithmetic on positions; what is constant folds away.
struct Positions {
  OpBuilder &b;
  Location loc;
  const QueryTile &tile;

  Value constant(int64_t v) const { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(v))); }
  Value add(Value x, Value y) const { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) const { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value max(Value x, Value y) const { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
  Value min(Value x, Value y) const { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
  Value add(Value x, int64_t v) const { return v ? add(x, constant(v)) : x; }
  /// x / size of an x that is not negative.
  Value quotient(Value x, int64_t size) const {
    return size == 1 ? x : b.createOrFold<arith::DivUIOp>(loc, x, constant(size));
  }

  /// A bound without its term of i. Partial sums may wrap around; the bound itself does not (see `normalised`).
  Value base(const Bound &bound) const {
    Value v = constant(0);
    for (auto [factor, length] : {std::pair(bound.keys, tile.nKeys), std::pair(bound.queries, tile.nQueries)})
      if (factor)
        v = factor > 0 ? add(v, length) : sub(v, length);
    return add(v, bound.constant);
  }
  Value at(const Bound &bound, Value i) const {
    if (!bound.block)
      return base(bound);
    Value term = bound.block == 1 ? i
                                  : b.createOrFold<arith::MulIOp>(loc, quotient(i, bound.block), constant(bound.block));
    return add(term, base(bound));
  }

  // Between 0 and n_keys: the clauses of either side may lie beyond.
  Value lower(const KeyRange &range, Value i) const {
    Value limit = constant(0);
    for (const Clause &clause : range.lower) {
      Value least = at(clause.front(), i);
      for (const Bound &bound : llvm::drop_begin(clause))
        least = min(least, at(bound, i));
      limit = max(limit, least);
    }
    return range.lower.empty() ? limit : min(limit, tile.nKeys); // n_keys: no key
  }
  Value upper(const KeyRange &range, Value i) const {
    Value limit = tile.nKeys;
    for (const Clause &clause : range.upper) {
      Value greatest = at(clause.front(), i);
      for (const Bound &bound : llvm::drop_begin(clause))
        greatest = max(greatest, at(bound, i));
      limit = min(limit, greatest);
    }
    return range.upper.empty() ? limit : max(limit, constant(0));
  }
};
} // namespace

KeyBlockRange fovea::emitBlockRange(OpBuilder &b, Location loc, const KeyRange &range, const QueryTile &tile,
                                 int64_t blockSize) {
  Positions p{b, loc, tile};
  Value firstRow = tile.firstQuery, lastRow = p.add(p.add(tile.firstQuery, tile.rows), -1);
  KeyBlockRange blocks;
  Value firstKey = p.lower(range, firstRow), endKey = p.upper(range, lastRow);
  Value some = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, firstKey, endKey);
  Value first = p.quotient(firstKey, blockSize), end = p.quotient(p.add(endKey, blockSize - 1), blockSize);
  blocks.first = b.createOrFold<arith::SelectOp>(loc, some, first, p.constant(0));
  blocks.end = b.createOrFold<arith::SelectOp>(loc, some, end, p.constant(1));
  if (!range.residual.empty()) {
    blocks.firstWhole = blocks.endWhole = blocks.first;
    return blocks;
  }
  Value start = range.lower.empty() ? blocks.first
                                    : p.quotient(p.add(p.lower(range, lastRow), blockSize - 1), blockSize);
  Value stop = p.quotient(p.upper(range, firstRow), blockSize);
  blocks.firstWhole = range.lower.empty() ? start : p.min(p.max(start, blocks.first), blocks.end);
  blocks.endWhole = p.min(p.max(stop, blocks.firstWhole), blocks.end);
  return blocks;
}

Value fovea::emitIsPartial(OpBuilder &b, Location loc, const KeyRange &range, const KeyBlockRange &blocks, Value block) {
  if (!range.residual.empty())
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value after = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, block, blocks.endWhole);
  if (range.lower.empty()) // whole from the first block on
    return after;
  Value before = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, block, blocks.firstWhole);
  return b.createOrFold<arith::OrIOp>(loc, before, after);
}

RowLimits fovea::emitRowLimits(OpBuilder &b, Location loc, const KeyRange &range, const QueryTile &tile) {
  Positions p{b, loc, tile};
  RowLimits limits;
  auto emit = [&](ArrayRef<Clause> clauses, auto &side) {
    for (const Clause &clause : clauses) {
      auto &terms = side.emplace_back();
      for (const Bound &bound : clause)
        terms.push_back({p.base(bound), bound.block});
    }
  };
  emit(range.lower, limits.lower);
  emit(range.upper, limits.upper);
  limits.upper.push_back({RowTerm{tile.nKeys, 0}});
  return limits;
}

Value fovea::emitMaskKeys(OpBuilder &b, Location loc, Value scores, Value firstKey, Value firstQuery,
                          const RowLimits &limits) {
  SmallVector<Value> terms[2];
  SmallVector<int64_t> blocks[2], clauses[2];
  for (auto [n, side] : llvm::enumerate(ArrayRef{&limits.lower, &limits.upper}))
    for (const auto &clause : *side) {
      clauses[n].push_back(clause.size());
      for (const RowTerm &term : clause)
        terms[n].push_back(term.base), blocks[n].push_back(term.block);
    }
  return tile::MaskKeysOp::create(b, loc, scores.getType(), scores, firstKey, firstQuery, terms[0], terms[1], blocks[0],
                                  clauses[0], blocks[1], clauses[1]);
}
