// passes/Lower/KeyBlocks.cpp - the blocks of keys that a tile of queries meets, as i32 arithmetic.
#include "passes/Lower/KeyBlocks.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

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

  Value lastRow() const { return add(add(tile.firstQuery, tile.rows), -1); }

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

  /// A clause of a lower limit (the least of its bounds) or of an upper one (the greatest).
  Value clause(const Clause &bounds, bool upper, Value i) const {
    Value limit = at(bounds.front(), i);
    for (const Bound &bound : llvm::drop_begin(bounds))
      limit = upper ? max(limit, at(bound, i)) : min(limit, at(bound, i));
    return limit;
  }
  // Between 0 and n_keys: the clauses of either side may lie beyond.
  Value lower(ArrayRef<Clause> clauses, Value i) const {
    Value limit = constant(0);
    for (const Clause &each : clauses)
      limit = max(limit, clause(each, false, i));
    return clauses.empty() ? limit : min(limit, tile.nKeys); // n_keys: no key
  }
  Value upper(ArrayRef<Clause> clauses, Value i) const {
    Value limit = tile.nKeys;
    for (const Clause &each : clauses)
      limit = min(limit, clause(each, true, i));
    return clauses.empty() ? limit : max(limit, constant(0));
  }
  /// Where there is nothing to visit, one place; what else there is keeps its order, inside the range.
  void leaveOneOf(KeyBlockRange &blocks) const {
    blocks.first = b.createOrFold<arith::SelectOp>(loc, blocks.none, constant(0), blocks.first);
    blocks.end = b.createOrFold<arith::SelectOp>(loc, blocks.none, constant(1), blocks.end);
    for (Value *place : {&blocks.firstWhole, &blocks.endWhole})
      *place = min(max(*place, blocks.first), blocks.end);
  }
  /// The block that holds a key, and the first block at or behind it.
  Value floor(Value key, int64_t size) const { return quotient(key, size); }
  Value ceil(Value key, int64_t size) const { return quotient(add(key, size - 1), size); }
};
} // namespace

KeyBlockRange fovea::emitBlockRange(OpBuilder &b, Location loc, const KeyRange &range, const QueryTile &tile,
                                 int64_t blockSize) {
  Positions p{b, loc, tile};
  Value firstRow = tile.firstQuery, lastRow = p.lastRow();
  KeyBlockRange blocks;
  Value firstKey = p.lower(range.lower, firstRow), endKey = p.upper(range.upper, lastRow);
  Value some = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, firstKey, endKey);
  blocks.first = b.createOrFold<arith::SelectOp>(loc, some, p.floor(firstKey, blockSize), p.constant(0));
  blocks.end = b.createOrFold<arith::SelectOp>(loc, some, p.ceil(endKey, blockSize), p.constant(1));
  blocks.firstWhole = blocks.endWhole = blocks.first;
  if (range.residual.empty()) {
    if (!range.lower.empty())
      blocks.firstWhole = p.min(p.max(p.ceil(p.lower(range.lower, lastRow), blockSize), blocks.first), blocks.end);
    Value stop = p.floor(p.upper(range.upper, firstRow), blockSize);
    blocks.endWhole = p.min(p.max(stop, blocks.firstWhole), blocks.end);
  }
  if (range.gap) {
    // In the gap of every row. The last block is always visited, so that one is.
    Value start = p.ceil(p.lower(range.gap->lower, lastRow), blockSize);
    Value stop = p.floor(p.upper(range.gap->upper, firstRow), blockSize);
    blocks.gapFirst = p.min(p.max(start, blocks.first), p.add(blocks.end, -1));
    blocks.gapEnd = p.min(p.max(stop, blocks.gapFirst), p.add(blocks.end, -1));
  }
  return blocks;
}

KeyBlockRange fovea::emitPickedBlocks(OpBuilder &b, Location loc, const KeyRange::BlockList &list, StringRef table,
                                      const KeyBlockRange &blocks, const QueryTile &tile, int64_t blockSize,
                                      Value sequence, Value head) {
  Positions p{b, loc, tile};
  KeyBlockRange places;
  PickedBlocks &picks = places.picks.emplace();
  picks.table = table.str();
  picks.tiles = list.keyBlock / blockSize;
  picks.row = tile::ListRowOp::create(b, loc, b.getI64Type(), table, list.queryBlock, sequence, tile.firstQuery, head);
  picks.last = p.add(blocks.end, -1);
  places.behind = p.ceil(tile.nKeys, blockSize);
  // Each limit that is not 0 for certain, once.
  SmallVector<std::pair<Value, Value *>> limits;
  for (auto [block, place] : {std::pair(blocks.first, &places.first), {blocks.end, &places.end},
                              {blocks.firstWhole, &places.firstWhole}, {blocks.endWhole, &places.endWhole},
                              {blocks.gapFirst, &places.gapFirst}, {blocks.gapEnd, &places.gapEnd}})
    if (block && matchPattern(block, m_Zero()))
      *place = p.constant(0);
    else if (block)
      limits.push_back({block, place});
  SmallVector<Value> operands;
  for (auto &[block, place] : limits)
    if (!llvm::is_contained(operands, block))
      operands.push_back(block);
  auto below = tile::ListBelowOp::create(b, loc, SmallVector<Type>(operands.size(), b.getI32Type()), table,
                                         picks.tiles, picks.row, operands);
  for (auto &[block, place] : limits)
    *place = below.getResult(llvm::find(operands, block) - operands.begin());
  // A list in order has no more than there are; with that, the place of step t is at most t before the last block.
  places.end = p.min(places.end, p.add(places.first, p.sub(blocks.end, blocks.first)));
  places.none = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, places.first, places.end);
  p.leaveOneOf(places);
  if (places.gapFirst) { // the last place is always visited
    Value last = p.add(places.end, -1);
    for (Value *gap : {&places.gapFirst, &places.gapEnd})
      *gap = p.min(p.max(*gap, places.first), last);
  }
  return places;
}

KeyBlockRange fovea::emitPartOfBlocks(OpBuilder &b, Location loc, const KeyBlockRange &blocks, const QueryTile &tile,
                                      int64_t blockSize, Value part, Value parts) {
  Positions p{b, loc, tile};
  KeyBlockRange result = blocks;
  // Steps [from, to), equal shares rounded up: no product leaves 32 bits.
  Value count = emitBlockCount(b, loc, blocks);
  Value share = b.createOrFold<arith::DivUIOp>(loc, p.add(p.add(count, parts), -1), parts);
  Value from = p.min(b.createOrFold<arith::MulIOp>(loc, part, share), count);
  Value to = p.min(p.add(from, share), count);
  result.behind = p.ceil(tile.nKeys, blockSize);
  Value none = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, from, to);
  result.none = blocks.none ? b.createOrFold<arith::OrIOp>(loc, blocks.none, none) : none;
  // Steps count down from the end; those behind a gap have moved up by it.
  result.end = p.sub(blocks.end, from);
  result.first = p.sub(result.end, p.sub(to, from));
  if (blocks.gapFirst)
    result.first = p.sub(result.first, p.sub(blocks.gapEnd, blocks.gapFirst));
  p.leaveOneOf(result);
  for (Value *gap : {&result.gapFirst, &result.gapEnd})
    if (*gap)
      *gap = b.createOrFold<arith::SelectOp>(loc, result.none, p.constant(0), *gap);
  return result;
}

void fovea::emitKeepInside(OpBuilder &b, Location loc, KeyBlockRange &blocks, const KeyBlockRange &others) {
  auto clamp = [&](Value v, Value least, Value most) {
    return b.createOrFold<arith::MinSIOp>(loc, b.createOrFold<arith::MaxSIOp>(loc, v, least), most);
  };
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  blocks.first = clamp(blocks.first, others.first, b.createOrFold<arith::SubIOp>(loc, others.end, one));
  blocks.end = clamp(blocks.end, b.createOrFold<arith::AddIOp>(loc, blocks.first, one), others.end);
  for (Value *place : {&blocks.firstWhole, &blocks.endWhole})
    *place = clamp(*place, blocks.first, blocks.end);
}

Value fovea::emitBlockCount(OpBuilder &b, Location loc, const KeyBlockRange &blocks) {
  Value count = b.createOrFold<arith::SubIOp>(loc, blocks.end, blocks.first);
  if (!blocks.gapFirst)
    return count;
  Value gap = b.createOrFold<arith::SubIOp>(loc, blocks.gapEnd, blocks.gapFirst);
  return b.createOrFold<arith::SubIOp>(loc, count, gap);
}

void fovea::emitEdgesFirst(OpBuilder &b, Location loc, KeyBlockRange &blocks) {
  auto subtract = [&](Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); };
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value upper = b.createOrFold<arith::MaxSIOp>(loc, subtract(blocks.end, blocks.endWhole), one);
  // The last block is masked anyhow, even where it is whole.
  Value stop = b.createOrFold<arith::MaxSIOp>(loc, subtract(blocks.end, blocks.firstWhole), upper);
  Value whole = subtract(stop, upper);
  blocks.edges = EdgeSteps{upper, subtract(emitBlockCount(b, loc, blocks), whole), whole};
}

Value fovea::emitBlockOfStep(OpBuilder &b, Location loc, const KeyBlockRange &blocks, Value step) {
  if (const auto &edges = blocks.edges) {
    auto before = [&](Value limit) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, step, limit); };
    Value over = b.createOrFold<arith::AddIOp>(loc, step, edges->whole);
    Value back = b.createOrFold<arith::SubIOp>(loc, step, b.createOrFold<arith::SubIOp>(loc, edges->end, edges->upper));
    Value behind = b.createOrFold<arith::SelectOp>(loc, before(edges->end), over, back);
    step = b.createOrFold<arith::SelectOp>(loc, before(edges->upper), step, behind);
  }
  Value one = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1));
  Value last = b.createOrFold<arith::SubIOp>(loc, blocks.end, one);
  Value block = b.createOrFold<arith::SubIOp>(loc, last, step);
  if (blocks.gapFirst) {
    Value gap = b.createOrFold<arith::SubIOp>(loc, blocks.gapEnd, blocks.gapFirst);
    Value beyond = b.createOrFold<arith::SubIOp>(loc, block, gap);
    Value above = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, block, blocks.gapEnd);
    block = b.createOrFold<arith::SelectOp>(loc, above, block, beyond);
  }
  if (const auto &picks = blocks.picks) {
    // Whatever is in memory, the end of the keys is in the block of step 0, the one that is always masked.
    Value most = b.createOrFold<arith::SubIOp>(loc, picks->last, step);
    block = tile::ListTileOp::create(b, loc, b.getI32Type(), picks->table, picks->tiles, picks->row, block, most);
  }
  return blocks.none ? b.createOrFold<arith::SelectOp>(loc, blocks.none, blocks.behind, block) : block;
}

Value fovea::emitIsPartial(OpBuilder &b, Location loc, const KeyRange &range, const KeyBlockRange &blocks,
                           Value block) {
  if (!range.residual.empty())
    return arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  Value after = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, block, blocks.endWhole);
  if (range.lower.empty()) // whole from the first block on
    return after;
  Value before = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, block, blocks.firstWhole);
  return b.createOrFold<arith::OrIOp>(loc, before, after);
}

namespace {
/// What is known of a predicate on a block of pairs: i1, or null when it is never known.
struct Certainty {
  Value all, none;
};

class Certainties {
public:
  Certainties(OpBuilder &b, Location loc, const QueryTile &tile, Value firstKey, int64_t columns)
      : b(b), loc(loc), p{b, loc, tile}, firstKey(firstKey), endKey(p.add(firstKey, columns)) {}

  Certainty of(Value predicate, bool negated) {
    if (auto where = predicate.getDefiningOp<attn::MaskWhereOp>())
      return of(cast<attn::ResultOp>(where.getBody().front().back()).getValue(), negated);
    if (auto inverse = predicate.getDefiningOp<attn::MaskNotOp>())
      return of(inverse.getOperand(), !negated);
    if (auto inverse = predicate.getDefiningOp<arith::XOrIOp>(); inverse && matchPattern(inverse.getRhs(), m_One()))
      return of(inverse.getLhs(), !negated);
    llvm::Expected<KeyRange> range = analyseMask(predicate, negated);
    if (!range) {
      llvm::consumeError(range.takeError()); // a block list, of which nothing is known here
      return {};
    }
    if (range->isInterval())
      return ofInterval(*range);
    Operation *op = predicate.getDefiningOp();
    bool conjunction = isa<attn::MaskAndOp, arith::AndIOp>(op), disjunction = isa<attn::MaskOrOp, arith::OrIOp>(op);
    if (!conjunction && !disjunction) {
      // An interval's complement, or something that is unknown both ways.
      llvm::Expected<KeyRange> other = analyseMask(predicate, !negated);
      if (!other) {
        llvm::consumeError(other.takeError());
        return {};
      }
      if (!other->isInterval())
        return {};
      Certainty inverse = ofInterval(*other);
      return {inverse.none, inverse.all};
    }
    Certainty x = of(op->getOperand(0), negated), y = of(op->getOperand(1), negated);
    if (conjunction != negated)
      return {both(x.all, y.all), either(x.none, y.none)};
    return {either(x.all, y.all), both(x.none, y.none)};
  }

private:
  // Of all rows the last has the greatest limits, the first the least. n_keys is not looked at: nobody sees beyond it.
  Certainty ofInterval(const KeyRange &range) {
    Value first = p.tile.firstQuery, last = p.lastRow();
    Value all = arith::ConstantOp::create(b, loc, b.getBoolAttr(true)), none;
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
    };
    for (const Clause &clause : range.lower) {
      all = both(all, compare(arith::CmpIPredicate::sle, p.clause(clause, false, last), firstKey));
      none = either(none, compare(arith::CmpIPredicate::sge, p.clause(clause, false, first), endKey));
    }
    for (const Clause &clause : range.upper) {
      all = both(all, compare(arith::CmpIPredicate::sge, p.clause(clause, true, first), endKey));
      none = either(none, compare(arith::CmpIPredicate::sle, p.clause(clause, true, last), firstKey));
    }
    return {all, none};
  }
  Value both(Value x, Value y) { return x && y ? b.createOrFold<arith::AndIOp>(loc, x, y) : Value(); }
  Value either(Value x, Value y) { return x && y ? b.createOrFold<arith::OrIOp>(loc, x, y) : x ? x : y; }

  OpBuilder &b;
  Location loc;
  Positions p;
  Value firstKey, endKey;
};
} // namespace

Value fovea::emitHoldsThroughout(OpBuilder &b, Location loc, const KeyRange::Predicate &predicate,
                                 const QueryTile &tile, Value firstKey, int64_t columns) {
  return Certainties(b, loc, tile, firstKey, columns).of(predicate.value, predicate.negated).all;
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
