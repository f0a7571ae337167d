// passes/Lower/FlashSoftmax.cpp - flash forward's role between the products: scores come in, weights go out, block by block.
#include "passes/Lower/FlashNetwork.h"
#include "passes/Lower/MapPairs.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

void FlashNetwork::addSoftmax() {
  n.role(own("softmax"), [&](Item item) {
    Value q = holdsOperands() ? n.take("QAgain", 1, Unit::Threads) : Value();
    KeyBlocks blocks = keyBlocks(item);
    if (blocks.before)
      SkipBlocksOp::create(n.b, loc, blocks.before, blocks.behind);
    item = part(item);
    auto next = [&](bool mask) {
      return [&, mask](Value t, Values carried) {
        return s.maxFree && !(mask && hasEdge())
                   ? nextMaxFree(item, blocks, t, q, carried[0], carried[1], mask)
                   : nextExact(item, blocks, t, carried[0], carried[1], mask);
      };
    };
    auto masked = next(true), plain = next(false);
    std::optional<NetworkBuilder::Edge> edge;
    if (hasEdge())
      edge = NetworkBuilder::Edge{plainFrom(blocks), plainTo(blocks), masked};
    auto first = [&](Value t) { return firstBlock(item, blocks, t); };
    Values state = masksLater() && !edge ? n.blocks(blocks.count, {}, first, masked)
                                                         : n.blocks(blocks.count, {}, first, plain, edge);
    if (q)
      n.pass(q);
    finish(item, state[0], state[1]);
  });
}

FlashNetwork::Values FlashNetwork::firstBlock(Item item, const KeyBlocks &blocks, Value t) {
  Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value();
  Value scores = scoresOf(readScores(), item, blocks, t, /*mask=*/true);
  Value top = online.topOf(scores), weights, total;
  if (!s.staged) {
    weights = online.weightsOf(scores, top);
    total = online.partialSum(weights);
  }
  if (keeper() == own("softmax"))
    n.pass(n.take(own("O"), 0, Unit::Threads)); // nothing is in it yet
  else
    n.pass(n.take(own("Growth"), 0, Unit::Threads));
  if (s.staged)
    total = writeStaged(scores, top);
  else
    writeWeights(weights);
  if (k)
    n.pass(k);
  return {top, total};
}

FlashNetwork::Values FlashNetwork::nextExact(Item item, const KeyBlocks &blocks, Value t, Value top, Value total,
                                             bool mask) {
  Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value();
  Value slot = s.maxFree && !k ? takeScores() : Value(); // the events of nextMaxFree
  Value scores = scoresOf(slot ? n.read(slot) : readScores(), item, blocks, t, mask);
  if (target.tcgen05)
    return nextThresholded(scores, slot, top, total);
  Value newTop = online.runningTop(top, scores);
  Value factor = online.decay(top, newTop);
  Value weights = online.weightsOf(scores, newTop);
  Value newTotal = online.accumulate(total, factor, weights);
  Value o = n.take(own("O"), 0, Unit::Threads);
  ScaleOp::create(n.b, loc, o, factor);
  n.pass(o);
  writeWeights(weights);
  if (k)
    n.pass(k);
  return {newTop, newTotal};
}

// The same, but the maximum moves only where it grows by much; the accumulator lies in tensor memory, where each
// rescale costs a pass over it.
FlashNetwork::Values FlashNetwork::nextThresholded(Value scores, Value slot, Value top, Value total) {
  auto [newTop, growth] = online.topAboveThreshold(top, scores);
  const bool keeps = keeper() == own("softmax");
  if (!keeps)
    tell("Growth", growth);
  if (s.staged) {
    if (keeps)
      rescale(growth, slot);
    Value kept = online.scaled(total, online.decay(growth));
    return {newTop, online.sum(kept, writeStaged(scores, newTop))};
  }
  Value weights = online.weightsOf(scores, newTop);
  Value newTotal = online.accumulate(total, online.decay(growth), weights);
  if (keeps)
    rescale(growth, slot);
  writeWeights(weights);
  return {newTop, newTotal};
}

// The maximum of the first block stays. See passes/Lower/README.md for why that is exact enough, and when it is not:
// then the warp computes this block's scores again and moves its rows to their true maximum.
FlashNetwork::Values FlashNetwork::nextMaxFree(Item item, const KeyBlocks &blocks, Value t, Value q, Value top,
                                               Value total, bool mask) {
  Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value(), slot = k ? Value() : takeScores();
  Value scores = scoresOf(k ? readScores() : n.read(slot), item, blocks, t, mask);
  // In a staged release the first weights leave before the others are there, whose greatest is known from its score.
  Value weights = online.weightsOf(s.staged ? early(scores) : scores, top);
  Value part = online.partialSum(weights);
  Value outgrows = s.staged ? online.sum(part, online.greatestWeight(late(scores), top)) : part;
  Value o = n.take(own("O"), 0, Unit::Threads);
  auto rare = RareOp::create(n.b, loc, TypeRange{weights.getType(), top.getType(), top.getType(), top.getType()}, outgrows,
                             n.b.getF64FloatAttr(OnlineSoftmax::kSumLimit), ValueRange{weights, part, top, total});
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.createBlock(&rare.getBody());
    Value dots = k ? WarpProductOp::create(n.b, loc, scores.getType(), q, k).getResult() : n.read(slot);
    Value again = scoresOf(dots, item, blocks, t, mask);
    Value newTop = online.runningTop(top, again);
    Value factor = online.decay(top, newTop);
    ScaleOp::create(n.b, loc, o, factor);
    Value newWeights = online.weightsOf(s.staged ? early(again) : again, newTop);
    Value newPart = online.partialSum(newWeights);
    YieldOp::create(n.b, loc, ValueRange{newWeights, newPart, newTop, online.scaled(total, factor)});
  }
  if (slot)
    n.pass(slot); // P may lie over it
  n.pass(o);
  writeWeights(rare.getResult(0));
  if (k)
    n.pass(k);
  Value newTop = rare.getResult(2), newTotal = online.sum(rare.getResult(3), rare.getResult(1));
  return {newTop, s.staged ? online.sum(newTotal, writeLate(scores, newTop)) : newTotal};
}

// Of each pair: the score's expression, then -inf where the mask has no pair.
Value FlashNetwork::scoresOf(Value dots, Item item, const KeyBlocks &blocks, Value t, bool mask) {
  Value first = firstKey(blocks, t), scores = dots;
  PairScalars place{item.query,   first,     item.head, item.batch,
                    item.queries, item.keys, n.sub(item.row, item.query), item.key, s.packed};
  if (p.score)
    scores = n.checked(emitMapPairs(n.b, p.score, dots, place), scores);
  if (mask)
    scores = emitMaskKeys(n.b, loc, scores, first, item.query, emitRowLimits(n.b, loc, range, blocks.tile));
  return n.checked(emitResidualMask(n.b, loc, range, scores, place), scores);
}

// The steps of blocks that every row sees whole; step 0 is masked anyhow.
Value FlashNetwork::plainFrom(const KeyBlocks &blocks) {
  if (blocks.range.edges)
    return blocks.range.edges->end;
  return n.maximum(n.sub(blocks.range.end, blocks.range.endWhole), n.i32(1));
}
Value FlashNetwork::plainTo(const KeyBlocks &blocks) {
  if (range.lower.empty() || blocks.range.edges)
    return Value();
  return n.maximum(n.sub(blocks.range.end, blocks.range.firstWhole), plainFrom(blocks));
}

Value FlashNetwork::takeScores() { return n.take(own("S"), 1, Unit::Threads); }
Value FlashNetwork::readScores() {
  Value slot = takeScores();
  Value scores = n.read(slot);
  n.pass(slot);
  return scores;
}

void FlashNetwork::writeWeights(Value weights, const char *channel) {
  Value out = n.take(own(channel), 0, Unit::Threads);
  WriteOp::create(n.b, loc, weights, out);
  n.pass(out);
}

// Staged release (Schedule::staged): the tensor core multiplies the first weights of a block while threads work on the
// others. Their scores are those columns.
Value FlashNetwork::early(Value scores) { return columns(scores, 0, s.staged); }
Value FlashNetwork::late(Value scores) { return columns(scores, s.staged, s.keyRows - s.staged); }
Value FlashNetwork::columns(Value scores, int64_t from, int64_t count) {
  auto type = cast<RankedTensorType>(scores.getType());
  auto part = RankedTensorType::get({type.getDimSize(0), count}, type.getElementType(), type.getEncoding());
  return ColumnsOp::create(n.b, loc, part, scores, from);
}

// Both parts in turn; returns their sum, which nobody waits for.
Value FlashNetwork::writeStaged(Value scores, Value top) {
  Value first = online.weightsOf(early(scores), top);
  writeWeights(first);
  Value part = online.partialSum(first);
  return online.sum(part, writeLate(scores, top));
}

Value FlashNetwork::writeLate(Value scores, Value top) {
  Value rest = online.weightsOf(late(scores), top);
  writeWeights(rest, "PLate");
  return online.partialSum(rest);
}
