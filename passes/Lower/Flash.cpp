// passes/Lower/Flash.cpp - the forward network of attention whose items loop over key blocks.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Lower/KeyBlocks.h"
#include "passes/Lower/MapPairs.h"
#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
// A row without a key yet has this maximum, so that differences are numbers. Scores below it (people mask with -1e9 or
// -1e30) count as masked: c s - top is rounded once, c max - top twice, and beyond 2^27 that alone may outgrow f16.
constexpr double kLowest = -134217728.0; // -2^27
// Sums of a thread beyond this send its warp to the cold path: bf16 P and f32 sums hold 2^127.
constexpr double kSumLimit = 18446744073709551616.0; // 2^64
// A running maximum moves when it would grow by more than this (log2 units): weights are then at most 2^8, which f16
// and bf16 hold, and the accumulator is seldom rescaled. Sums and outputs share the maximum, so that it cancels.
constexpr double kGrowth = 8;

// The key blocks of an item. They run from the last to the first, those at the edges of a window before the others: tails
// and diagonals come early, so that a row meets its first keys in the block that sets its maximum.
struct KeyBlocks {
  QueryTile tile;
  KeyBlockRange range;
  Value count;
  Value before, behind; ///< blocks of the item that the role's team does not visit; null where all teams visit all
};

class FlashNetwork {
public:
  FlashNetwork(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc)
      : p(p), range(p.range), s(s), target(target), loc(loc), n(module, p.name + "_forward", p.queries.kind == RowSpace::Kind::Jagged ? p.queries.name : "", s, target, loc),
        c(p.score ? kLog2e : p.scale * kLog2e) {}

  KernelOp run() {
    declare();
    addLoads();
    forTiles([&] {
      addProducts();
      addSoftmax();
      if (corrects())
        addCorrection();
      n.role(own("store"), [&](Item item) {
        item = part(item);
        Value out = s.outInQ ? n.take(own("Q"), 3, Unit::Tma) : n.take(own("Out"), 1, Unit::Tma);
        StoreOp::create(n.b, loc, p.o, item.row, item.rows, item.head, batchOf(p.queries, item, /*output=*/true), out);
        n.pass(out);
      });
    });
    KernelOp kernel = n.finish();
    if (!refusal.empty())
      kernel->setAttr("refused", n.b.getStringAttr(refusal));
    if (p.queries.kind == RowSpace::Kind::Jagged)
      kernel->setAttr("jagged_queries", n.b.getUnitAttr());
    if (heavyFirst())
      kernel->setAttr("heavy_first", n.b.getI64IntegerAttr((p.headDim + p.valueDim) * p.element.getIntOrFloatBitWidth() / 8));
    if (p.queries.kind == RowSpace::Kind::Shared)
      kernel->setAttr("key_readers", n.b.getI64IntegerAttr((p.queries.count + s.itemQueries() - 1) / s.itemQueries()));
    if (!p.sink.empty())
      kernel->setAttr("sink", n.b.getStringAttr(p.sink));
    if (s.splits != 1)
      kernel->setAttr("splits", n.b.getI64IntegerAttr(s.splits));
    if (p.keys.kind == RowSpace::Kind::Jagged)
      kernel->setAttr("key_offsets", n.b.getStringAttr(p.keys.name));
    return kernel;
  }

private:
  // Tiles of queries in flight are copies of one network over the same keys and values. `tile` is the one that is being
  // written; its roles and channels carry its number where there are several.
  void forTiles(llvm::function_ref<void()> body) {
    for (tile = 0; tile < s.queryTiles; ++tile)
      body();
  }
  std::string own(const char *name) const { return s.queryTiles == 1 ? name : name + std::to_string(tile); }
  // The tile's rows of an item: none if the item ends before it.
  Item part(Item item) {
    if (s.queryTiles == 1)
      return item;
    Value skipped = n.i32(tile * s.tileQueries()), rows = n.sub(item.rows, skipped);
    item.row = n.add(item.row, skipped), item.query = n.add(item.query, skipped);
    item.rows = n.minimum(n.maximum(rows, n.i32(0)), n.i32(s.tileQueries()));
    return item;
  }
  // The stations of a slot that each tile's product reads in turn.
  std::vector<std::string> forEachTile(std::vector<std::string> stations, const char *role) {
    forTiles([&] { stations.push_back(own(role)); });
    return stations;
  }
  // sm_90a computes scores again from Q and K; those of sm_100a are still in tensor memory.
  bool holdsOperands() const { return s.maxFree && !target.tcgen05; }

  // Whether warps other than softmax's bring the output out, and rescale it where a running maximum grows, so that
  // softmax goes on to the next block or item meanwhile.
  bool corrects() const { return s.groupOf(own("correct")); }
  // Who has the accumulator between two products, and who has it when the item ends.
  std::string keeper() const { return own(corrects() && !s.maxFree ? "correct" : "softmax"); }
  std::string finisher() const { return own(corrects() ? "correct" : "softmax"); }

  void declare() {
    Type f32 = n.b.getF32Type();
    const int64_t M = s.tileRows, N = s.keyRows;
    const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
    if (p.spec)
      check(declareTables(n.b, p.spec));
    if (range.blocks)
      TableOp::create(n.b, loc, tableSymbol(p.list), p.queries.kind == RowSpace::Kind::Jagged ? 3 : 4, n.b.getI32Type());
    n.note(describe(range) + (range.residual.empty() ? "" : ", and a predicate on what is left"));
    const bool jagged = p.queries.kind == RowSpace::Kind::Jagged;
    n.note(jagged ? heavyFirst() ? "items: from the last row to the first, whose later rows see more keys; heads innermost"
                                 : "items: tiles in memory order, heads innermost"
           : heavyFirst() ? "items: of the heads whose keys stay in L2 together, the tiles with the most keys first"
                          : "items: the tiles of one head after another");
    if (s.staged)
      n.note("weights: of " + std::to_string(s.staged) + " keys of a block first, then of the other " +
             std::to_string(N - s.staged) + "; the tensor core multiplies those meanwhile");
    n.note(s.maxFree ? "softmax: the maximum of the first key block stays; a row that outgrows it takes a cold path"
                     : "softmax: a running maximum; the output is rescaled where it grows");
    if (s.packed != 1)
      n.note("rows: " + std::to_string(s.packed) + " heads of a group share a tile, and its keys; row r is query r / " +
             std::to_string(s.packed) + " of head r % " + std::to_string(s.packed));
    if (s.splits != 1)
      n.note("keys of a tile in " + (s.splits ? std::to_string(s.splits) : "as many") + " parts" +
             (s.splits ? "" : " as fill the chip (1 where the tiles do; the last tiles may have more)") + "; a second kernel adds them up");
    if (!p.sink.empty())
      n.note("sink: exp(" + p.sink + "[head]) joins each row's sum behind its last key block");
    const bool queriesBatched = p.queries.kind == RowSpace::Kind::Dense;
    const bool keysBatched = p.keys.kind == RowSpace::Kind::Dense;
    const bool outBatched = p.queries.kind != RowSpace::Kind::Jagged;
    n.tensor(p.q, "input", p.element, p.heads, p.headDim, "", 0, queriesBatched, 0, s.packed);
    n.tensor(p.k, "input", p.element, p.keyHeads, p.headDim, "", 0, keysBatched);
    n.tensor(p.v, "input", p.element, p.keyHeads, p.valueDim, "", 0, keysBatched);
    n.tensor(p.o, "output", p.element, p.heads, p.valueDim, "", 0, outBatched, 0, s.packed);
    if (p.lse)
      n.tensor("lse", "output", f32, p.heads, 1, "", 0, outBatched);

    forTiles([&] {
      if (s.outInQ)
        n.channel(own("Q"), M, p.headDim, p.element, Space::Smem, {"load_k", own("qk"), own("softmax"), own("store")});
      else
        n.channel(own("Q"), M, p.headDim, p.element, Space::Smem, {"load_k", own("qk")});
    });
    std::vector<std::string> ofKeys = forEachTile({"load_k"}, "qk");
    if (holdsOperands())
      ofKeys.push_back("softmax");
    n.channel("K", N, p.headDim, p.element, Space::Smem, ofKeys);
    if (holdsOperands())
      n.channel("QAgain", M, p.headDim, p.element, Space::Smem, {"qk", "softmax"}, /*view=*/"Q");
    n.channel("V", N, p.valueDim, p.element, Space::Smem,
              forEachTile(clears() ? std::vector<std::string>{"load_v", "clear"} : std::vector<std::string>{"load_v"}, "pv"));
    forTiles([&] {
      n.channel(own("S"), M, N, f32, accumulator, {own("qk"), own("softmax")});
      n.channel(own("P"), M, s.staged ? s.staged : N, p.element, accumulator, {own("softmax"), own("pv")});
      if (s.staged) // the weights of the block's other keys
        n.channel(own("PLate"), M, N - s.staged, p.element, accumulator, {own("softmax"), own("pv")});
      n.channel(own("O"), M, p.valueDim, f32, accumulator, {keeper(), own("pv")});
      n.channel(own("Result"), M, p.valueDim, f32, accumulator, {own("pv"), finisher()}, /*view=*/own("O"));
      if (!s.outInQ)
        n.channel(own("Out"), M, p.valueDim, p.element, Space::Smem, {finisher(), own("store")});
    });
    // What softmax tells the correction: by how much each row's maximum grew, the factor of its output, and what a part
    // of its keys leaves. These come last: they need no alignment.
    forTiles([&] {
      if (!corrects())
        return;
      std::vector<const char *> names{"Factor"};
      if (!s.maxFree)
        names.push_back("Growth");
      if (s.splits != 1)
        names.insert(names.end(), {"Top", "Sum"});
      for (const char *name : names)
        n.channel(own(name), M, 1, f32, Space::Smem, {own("softmax"), own("correct")});
    });
  }

  // Whether later rows see more keys (causal, not a window).
  bool rowsDiffer() const {
    auto moves = [](ArrayRef<Clause> clauses) {
      return llvm::any_of(clauses, [](const Clause &c) { return llvm::any_of(c, [](const Bound &b) { return b.block; }); });
    };
    return moves(range.upper) && !moves(range.lower);
  }
  bool heavyFirst() const {
    return rowsDiffer() && (p.queries.kind == RowSpace::Kind::Jagged || p.keys.kind == RowSpace::Kind::Dense);
  }
  // Beyond a jagged sequence lie its neighbour's rows; beyond a dense one TMA reads zeros.
  bool clears() const { return p.keys.kind == RowSpace::Kind::Jagged; }

  static Value batchOf(const RowSpace &rows, Item item, bool output = false) {
    return rows.kind == RowSpace::Kind::Dense || (output && rows.kind == RowSpace::Kind::Shared) ? item.batch : Value();
  }
  Value keyHead(Item item) {
    return p.keyHeads == p.heads ? item.head
                                 : arith::DivUIOp::create(n.b, loc, item.head, n.i32(p.heads / p.keyHeads)).getResult();
  }

  // Whether each team visits only the blocks that its own rows see. (In a list and around a gap, the block of a step
  // depends on the range.)
  bool teamsDiffer() const {
    const GroupSchedule *group = s.groupOf(own("softmax"));
    return group && group->teams > 1 && masksLater() && !range.gap && !range.blocks && s.splits == 1;
  }

  // The blocks of an item: all of them for those who load and clear, for the others those of their team.
  KeyBlocks keyBlocks(Item item, bool ofTeam = true) {
    QueryTile tile{item.query, item.rows, item.queries, item.keys};
    KeyBlockRange blocks = emitBlockRange(n.b, loc, range, tile, s.keyRows);
    if (ofTeam && teamsDiffer()) {
      auto mine = TeamRowsOp::create(n.b, loc, n.b.getI32Type(), n.b.getI32Type(), item.query, item.rows);
      KeyBlockRange part = emitBlockRange(n.b, loc, range, {mine.getTeamFirst(), mine.getTeamRows(), item.queries, item.keys}, s.keyRows);
      emitKeepInside(n.b, loc, part, blocks);
      return {tile, part, emitBlockCount(n.b, loc, part), n.sub(blocks.end, part.end), n.sub(part.first, blocks.first)};
    }
    if (range.blocks)
      blocks = emitPickedBlocks(n.b, loc, *range.blocks, tableSymbol(p.list), blocks, tile, s.keyRows, item.batch,
                                p.listHeads == 1 ? n.i32(0) : item.head);
    if (s.splits != 1) {
      auto split = SplitOp::create(n.b, loc, n.b.getI32Type(), n.b.getI32Type());
      blocks = emitPartOfBlocks(n.b, loc, blocks, tile, s.keyRows, split.getPart(), split.getCount());
    }
    // Not where teams leave blocks out at both ends: those of one would lie in the midst of another's.
    if (hasEdge() && !range.lower.empty() && !teamsDiffer())
      emitEdgesFirst(n.b, loc, blocks);
    return {tile, blocks, emitBlockCount(n.b, loc, blocks), {}, {}};
  }
  // Position of the first key of step t.
  Value firstKey(const KeyBlocks &blocks, Value t) {
    return n.mul(emitBlockOfStep(n.b, loc, blocks.range, t), n.i32(s.keyRows));
  }

  void loadKeys(StringRef channel, StringRef tensor, Item item, const KeyBlocks &blocks, Value t) {
    Value slot = n.take(channel, 0, Unit::Tma), first = firstKey(blocks, t);
    LoadOp::create(n.b, loc, tensor, n.add(item.key, first), n.i32(s.keyRows), keyHead(item), batchOf(p.keys, item),
                   slot, /*whole=*/true, FlatSymbolRefAttr());
    n.pass(slot);
  }

  void addLoads() {
    n.role("load_k", [&](Item item) {
      forTiles([&] {
        Item mine = part(item);
        Value q = n.take(own("Q"), 0, Unit::Tma);
        LoadOp::create(n.b, loc, p.q, mine.row, mine.rows, item.head, batchOf(p.queries, item), q, /*whole=*/true,
                       FlatSymbolRefAttr());
        n.pass(q);
      });
      KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
      n.blocks(blocks.count, {}, nullptr, [&](Value t, NetworkBuilder::Values) -> NetworkBuilder::Values {
        loadKeys("K", p.k, item, blocks, t);
        return {};
      });
    });
    n.role("load_v", [&](Item item) {
      KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
      n.blocks(blocks.count, {}, nullptr, [&](Value t, NetworkBuilder::Values) -> NetworkBuilder::Values {
        loadKeys("V", p.v, item, blocks, t);
        return {};
      });
    });
    if (!clears())
      return;
    // A neighbour's value must not meet a zero probability: 0 x NaN is NaN.
    n.role("clear", [&](Item item) {
      KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
      n.blocks(blocks.count, {}, nullptr, [&](Value t, NetworkBuilder::Values) -> NetworkBuilder::Values {
        Value v = n.take("V", 1, Unit::Threads);
        Value rows = n.sub(item.keys, firstKey(blocks, t));
        // The block behind the last key has rows of nobody.
        ClearTailOp::create(n.b, loc, v, blocks.range.none ? n.maximum(rows, n.i32(0)) : rows);
        n.pass(v);
        return {};
      });
    });
  }

  void addProducts() {
    n.role(own("qk"), [&](Item item) {
      Value q = n.take(own("Q"), 1, Unit::Tensor);
      if (holdsOperands()) {
        Value again = n.take("QAgain", 0, Unit::Threads);
        n.pass(again);
      }
      n.blocks(keyBlocks(item).count, {}, nullptr, [&](Value, NetworkBuilder::Values) -> NetworkBuilder::Values {
        Value k = n.take("K", 1 + tile, Unit::Tensor), scores = n.take(own("S"), 0, Unit::Tensor);
        MmaOp::create(n.b, loc, scores, q, k, false, /*b_transposed=*/true, IntegerAttr());
        n.pass(scores), n.pass(k);
        return {};
      });
      n.pass(q);
    });
    n.role(own("pv"), [&](Item item) {
      // Taken first, so that the item before is out of the accumulator.
      Value result = n.take(own("Result"), 0, Unit::Tensor);
      n.blocks(keyBlocks(item).count, {}, nullptr, [&](Value t, NetworkBuilder::Values) -> NetworkBuilder::Values {
        Value v = n.take("V", (clears() ? 2 : 1) + tile, Unit::Tensor), prob = n.take(own("P"), 1, Unit::Tensor);
        Value o = n.take(own("O"), 1, Unit::Tensor);
        Value later = arith::CmpIOp::create(n.b, loc, arith::CmpIPredicate::sgt, t, n.i32(0));
        auto product = MmaOp::create(n.b, loc, o, prob, v, false, false, IntegerAttr(), later);
        if (s.staged) {
          product.setFrom(0);
          Value late = n.take(own("PLate"), 1, Unit::Tensor);
          Value always = arith::ConstantOp::create(n.b, loc, n.b.getBoolAttr(true));
          MmaOp::create(n.b, loc, o, late, v, false, false, IntegerAttr(), always).setFrom(s.staged);
          n.pass(o), n.pass(late), n.pass(prob), n.pass(v);
          return {};
        }
        n.pass(o), n.pass(prob), n.pass(v);
        return {};
      });
      n.pass(result);
    });
  }

  // --- softmax ------------------------------------------------------------------------------------------------------
  // Per row: `top`, the maximum in log2 units, and `sum`, of the part that a thread holds, of exp2(c s - top).

  // Of each pair: the score's expression, then -inf where the mask has no pair.
  Value scoresOf(Value dots, Item item, const KeyBlocks &blocks, Value t, bool mask) {
    Value first = firstKey(blocks, t), scores = dots;
    PairScalars place{item.query,   first,     item.head, item.batch,
                      item.queries, item.keys, n.sub(item.row, item.query), item.key, s.packed};
    if (p.score)
      scores = check(emitMapPairs(n.b, p.score, dots, place), scores);
    if (mask)
      scores = emitMaskKeys(n.b, loc, scores, first, item.query, emitRowLimits(n.b, loc, range, blocks.tile));
    return check(emitResidualMask(n.b, loc, range, scores, place), scores);
  }
  // The end of the keys is in the last block, which is the first in order.
  bool masksLater() const { return !range.lower.empty() || !range.upper.empty(); }
  // Masked blocks then have a loop of their own, with a running maximum: a row may meet its first keys there.
  bool hasEdge() const { return masksLater() && range.residual.empty(); }
  // The steps of blocks that every row sees whole; step 0 is masked anyhow.
  Value plainFrom(const KeyBlocks &blocks) {
    if (blocks.range.edges)
      return blocks.range.edges->end;
    return n.maximum(n.sub(blocks.range.end, blocks.range.endWhole), n.i32(1));
  }
  Value plainTo(const KeyBlocks &blocks) {
    return range.lower.empty() || blocks.range.edges ? Value() : n.maximum(n.sub(blocks.range.end, blocks.range.firstWhole), plainFrom(blocks));
  }

  // What has no lowering refuses the kernel.
  void check(llvm::Error error) {
    if (error)
      refusal = llvm::toString(std::move(error));
  }
  Value check(llvm::Expected<Value> value, Value otherwise) {
    if (value)
      return *value;
    check(value.takeError());
    return otherwise;
  }
  Value topOf(Value scores) {
    Value max = n.reduce(Reduction::Max, scores);
    Value scaled = arith::MulFOp::create(n.b, loc, max, n.splat(c, max.getType()));
    return arith::MaximumFOp::create(n.b, loc, scaled, n.splat(kLowest, max.getType()));
  }
  Value negate(Value v) { return arith::NegFOp::create(n.b, loc, v); }
  Value weightsOf(Value scores, Value top) {
    Value exponent = math::FmaOp::create(n.b, loc, scores, n.splat(c, scores.getType()),
                                         n.broadcast(negate(top), scores));
    auto weights = math::Exp2Op::create(n.b, loc, exponent);
    if (s.polynomial)
      weights->setAttr("tile.polynomial", n.b.getI64IntegerAttr(s.polynomial));
    return weights;
  }
  Value difference(Value x, Value y) { return arith::SubFOp::create(n.b, loc, x, y); }
  Value decay(Value from, Value to) { return math::Exp2Op::create(n.b, loc, difference(from, to)); }
  Value product(Value x, Value y) { return arith::MulFOp::create(n.b, loc, x, y); }
  Value sum(Value x, Value y) { return arith::AddFOp::create(n.b, loc, x, y); }

  Value takeScores() { return n.take(own("S"), 1, Unit::Threads); }
  Value readScores() {
    Value slot = takeScores();
    Value scores = n.read(slot);
    n.pass(slot);
    return scores;
  }
  void writeWeights(Value weights, const char *channel = "P") {
    Value out = n.take(own(channel), 0, Unit::Threads);
    WriteOp::create(n.b, loc, weights, out);
    n.pass(out);
  }

  // Staged release (Schedule::staged): the tensor core multiplies the first weights of a block while threads work on the
  // others. Their scores are those columns.
  Value early(Value scores) { return columns(scores, 0, s.staged); }
  Value late(Value scores) { return columns(scores, s.staged, s.keyRows - s.staged); }
  Value columns(Value scores, int64_t from, int64_t count) {
    auto type = cast<RankedTensorType>(scores.getType());
    return ColumnsOp::create(n.b, loc, RankedTensorType::get({type.getDimSize(0), count}, type.getElementType(), type.getEncoding()),
                             scores, from);
  }
  // Both parts in turn; returns their sum, which nobody waits for.
  Value writeStaged(Value scores, Value top) {
    Value first = weightsOf(early(scores), top);
    writeWeights(first);
    return sum(n.reduce(Reduction::Add, first, true), writeLate(scores, top));
  }
  Value writeLate(Value scores, Value top) {
    Value rest = weightsOf(late(scores), top);
    writeWeights(rest, "PLate");
    return n.reduce(Reduction::Add, rest, true);
  }

  void addSoftmax() {
    n.role(own("softmax"), [&](Item item) {
      Value q = holdsOperands() ? n.take("QAgain", 1, Unit::Threads) : Value();
      KeyBlocks blocks = keyBlocks(item);
      if (blocks.before)
        SkipBlocksOp::create(n.b, loc, blocks.before, blocks.behind);
      item = part(item);
      auto next = [&](bool mask) {
        return [&, mask](Value t, NetworkBuilder::Values carried) {
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
      NetworkBuilder::Values state = masksLater() && !edge ? n.blocks(blocks.count, {}, first, masked)
                                                           : n.blocks(blocks.count, {}, first, plain, edge);
      if (q)
        n.pass(q);
      finish(item, state[0], state[1]);
    });
  }

  NetworkBuilder::Values firstBlock(Item item, const KeyBlocks &blocks, Value t) {
    Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value();
    Value scores = scoresOf(readScores(), item, blocks, t, /*mask=*/true);
    Value top = topOf(scores), weights, total;
    if (!s.staged) {
      weights = weightsOf(scores, top);
      total = n.reduce(Reduction::Add, weights, /*partial=*/true);
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

  NetworkBuilder::Values nextExact(Item item, const KeyBlocks &blocks, Value t, Value top, Value total, bool mask) {
    Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value();
    Value slot = s.maxFree && !k ? takeScores() : Value(); // the events of nextMaxFree
    Value scores = scoresOf(slot ? n.read(slot) : readScores(), item, blocks, t, mask);
    if (target.tcgen05)
      return nextThresholded(scores, slot, top, total);
    Value newTop = arith::MaximumFOp::create(n.b, loc, top, topOf(scores));
    Value factor = decay(top, newTop);
    Value weights = weightsOf(scores, newTop);
    Value newTotal = math::FmaOp::create(n.b, loc, total, factor, n.reduce(Reduction::Add, weights, true));
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
  NetworkBuilder::Values nextThresholded(Value scores, Value slot, Value top, Value total) {
    Value candidate = topOf(scores), limit = n.splat(kGrowth, top.getType());
    Value moves = arith::CmpFOp::create(n.b, loc, arith::CmpFPredicate::OGT, difference(candidate, top), limit);
    Value newTop = arith::SelectOp::create(n.b, loc, moves, candidate, top), growth = difference(newTop, top);
    const bool keeps = keeper() == own("softmax");
    if (!keeps)
      tell("Growth", growth);
    if (s.staged) {
      if (keeps)
        rescale(growth, slot);
      Value kept = product(total, math::Exp2Op::create(n.b, loc, negate(growth)));
      return {newTop, sum(kept, writeStaged(scores, newTop))};
    }
    Value weights = weightsOf(scores, newTop);
    Value newTotal = math::FmaOp::create(n.b, loc, total, math::Exp2Op::create(n.b, loc, negate(growth)),
                                         n.reduce(Reduction::Add, weights, true));
    if (keeps)
      rescale(growth, slot);
    writeWeights(weights);
    return {newTop, newTotal};
  }

  // Between two products of a tile; then hands on `scores`, a slot or null.
  void rescale(Value growth, Value scores = {}) {
    Value o = n.take(own("O"), 0, Unit::Threads);
    auto rare = RareOp::create(n.b, loc, TypeRange(), growth, n.b.getF64FloatAttr(0), ValueRange());
    {
      OpBuilder::InsertionGuard guard(n.b);
      n.b.createBlock(&rare.getBody());
      ScaleOp::create(n.b, loc, o, math::Exp2Op::create(n.b, loc, negate(growth)));
      YieldOp::create(n.b, loc, ValueRange());
    }
    if (scores)
      n.pass(scores);
    n.pass(o);
  }

  // One value a row from softmax to the correction.
  void tell(const char *channel, Value values) {
    Value slot = n.take(own(channel), 0, Unit::Threads);
    WriteOp::create(n.b, loc, values, slot);
    n.pass(slot);
  }
  Value told(const char *channel) {
    Value slot = n.take(own(channel), 1, Unit::Threads), values = n.read(slot);
    n.pass(slot);
    return values;
  }

  void addCorrection() {
    n.role(own("correct"), [&](Item item) {
      if (!s.maxFree)
        n.blocks(
            keyBlocks(item).count, {},
            [&](Value) -> NetworkBuilder::Values {
              // Nothing is in them yet.
              n.pass(n.take(own("Growth"), 1, Unit::Threads)), n.pass(n.take(own("O"), 0, Unit::Threads));
              return {};
            },
            [&](Value, NetworkBuilder::Values) -> NetworkBuilder::Values {
              rescale(told("Growth"));
              return {};
            });
      Value factor = told("Factor"), top, total;
      if (s.splits != 1)
        top = told("Top"), total = told("Sum");
      bringOut(part(item), factor, top, total);
    });
  }

  // The maximum of the first block stays. See passes/Lower/README.md for why that is exact enough, and when it is not:
  // then the warp computes this block's scores again and moves its rows to their true maximum.
  NetworkBuilder::Values nextMaxFree(Item item, const KeyBlocks &blocks, Value t, Value q, Value top, Value total,
                                     bool mask) {
    Value k = holdsOperands() ? n.take("K", 2, Unit::Threads) : Value(), slot = k ? Value() : takeScores();
    Value scores = scoresOf(k ? readScores() : n.read(slot), item, blocks, t, mask);
    // In a staged release the first weights leave before the others are there, whose greatest is known from its score.
    Value weights = weightsOf(s.staged ? early(scores) : scores, top);
    Value part = n.reduce(Reduction::Add, weights, /*partial=*/true);
    Value outgrows = s.staged ? sum(part, decay(topOf(late(scores)), top)) : part;
    Value o = n.take(own("O"), 0, Unit::Threads);
    auto rare = RareOp::create(n.b, loc, TypeRange{weights.getType(), top.getType(), top.getType(), top.getType()}, outgrows,
                               n.b.getF64FloatAttr(kSumLimit), ValueRange{weights, part, top, total});
    {
      OpBuilder::InsertionGuard guard(n.b);
      n.b.createBlock(&rare.getBody());
      Value dots = k ? WarpProductOp::create(n.b, loc, scores.getType(), q, k).getResult() : n.read(slot);
      Value again = scoresOf(dots, item, blocks, t, mask);
      Value newTop = arith::MaximumFOp::create(n.b, loc, top, topOf(again));
      Value factor = decay(top, newTop);
      ScaleOp::create(n.b, loc, o, factor);
      Value newWeights = weightsOf(s.staged ? early(again) : again, newTop);
      YieldOp::create(n.b, loc, ValueRange{newWeights, n.reduce(Reduction::Add, newWeights, true), newTop,
                                           product(total, factor)});
    }
    if (slot)
      n.pass(slot); // P may lie over it
    n.pass(o);
    writeWeights(rare.getResult(0));
    if (k)
      n.pass(k);
    Value newTotal = sum(rare.getResult(3), rare.getResult(1));
    return {rare.getResult(2), s.staged ? sum(newTotal, writeLate(scores, rare.getResult(2))) : newTotal};
  }

  void finish(Item item, Value top, Value part) {
    Value total = n.reduce(Reduction::Add, part);
    const Value ofKeys[] = {top, total};
    // A row without a key has the sum 0 and an accumulator of 0: any finite factor will do.
    Value least = n.splat(1e-30, total.getType()), numerator, atLeast;
    if (p.sink.empty()) {
      atLeast = arith::MaximumFOp::create(n.b, loc, total, least);
      numerator = n.splat(1.0, total.getType());
    } else {
      RowSum with = addSink(n, p.sink, item.head, top, total, loc);
      top = with.top, total = with.total, numerator = with.shrink;
      atLeast = sum(total, least); // a sink may be NaN
    }
    Value inverse = arith::DivFOp::create(n.b, loc, numerator, atLeast);
    if (corrects()) {
      tell("Factor", inverse);
      if (s.splits != 1) // parts are added up without the sink, which counts once
        tell("Top", ofKeys[0]), tell("Sum", ofKeys[1]);
    } else {
      bringOut(item, inverse, ofKeys[0], ofKeys[1]);
    }
    if (!p.lse)
      return;
    // (top + log2(sum)) ln 2.
    Value lse2 = sum(math::Log2Op::create(n.b, loc, total), top);
    StoreRowsOp::create(n.b, loc, "lse", item.row, item.rows, item.head, batchOf(p.queries, item, true),
                        product(lse2, n.splat(0.6931471805599453, lse2.getType())));
  }

  void bringOut(Item item, Value factor, Value top, Value total) {
    Value result = n.take(own("Result"), 1, Unit::Threads);
    Value out = s.outInQ ? n.take(own("Q"), 2, Unit::Threads) : n.take(own("Out"), 0, Unit::Threads);
    CopyOp::create(n.b, loc, result, out, Value(), factor, PairingAttr());
    if (s.splits != 1) {
      auto split = SplitOp::create(n.b, loc, n.b.getI32Type(), n.b.getI32Type());
      StorePartialOp::create(n.b, loc, item.row, item.rows, item.head, batchOf(p.queries, item, true), split.getPart(), result, top, total);
    }
    n.pass(result), n.pass(out);
  }

  const Problem &p;
  const KeyRange &range;
  const Schedule &s;
  const Target &target;
  Location loc;
  NetworkBuilder n;
  int64_t tile = 0; ///< of the item's tiles, the one whose roles and channels are being written
  std::string refusal;
  const double c; ///< exp(scale s) = exp2(c s)
};
} // namespace

KernelOp fovea::buildFlash(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc) {
  return FlashNetwork(module, p, s, target, loc).run();
}
