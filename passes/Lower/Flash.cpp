// passes/Lower/Flash.cpp - flash forward's channels, and the roles that load, multiply and store.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/FlashNetwork.h"
#include "passes/Lower/MapPairs.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

FlashNetwork::FlashNetwork(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc)
    : p(p), range(p.range), s(s), target(target), loc(loc),
      n(module, p.name + "_forward", p.queries.kind == RowSpace::Kind::Jagged ? p.queries.name : "", s, target, loc),
      online(n, p.score ? kLog2e : p.scale * kLog2e, s.polynomial, loc) {}

KernelOp FlashNetwork::build() {
  declareTables();
  addNotes();
  declareTensors();
  declareChannels();
  addLoads();
  forTiles([&] {
    addProducts();
    addSoftmax();
    if (corrects())
      addCorrection();
    addStore("store", 0);
    if (s.outHalves) {
      addSecondHalf();
      addStore("store_second", 1);
    }
  });
  KernelOp kernel = n.finish();
  addAttributes(kernel);
  return kernel;
}

void FlashNetwork::addAttributes(KernelOp kernel) {
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
}

Item FlashNetwork::part(Item item) {
  if (s.queryTiles == 1)
    return item;
  Value skipped = n.i32(tile * s.tileQueries()), rows = n.sub(item.rows, skipped);
  item.row = n.add(item.row, skipped), item.query = n.add(item.query, skipped);
  item.rows = n.minimum(n.maximum(rows, n.i32(0)), n.i32(s.tileQueries()));
  return item;
}

std::vector<std::string> FlashNetwork::forEachTile(std::vector<std::string> stations, const char *role) {
  forTiles([&] { stations.push_back(own(role)); });
  return stations;
}

void FlashNetwork::declareTables() {
  if (p.spec)
    n.check(fovea::declareTables(n.b, p.spec));
  if (range.blocks)
    TableOp::create(n.b, loc, tableSymbol(p.list), p.queries.kind == RowSpace::Kind::Jagged ? 3 : 4, n.b.getI32Type());
}

void FlashNetwork::addNotes() {
  n.note(describe(range) + (range.residual.empty() ? "" : ", and a predicate on what is left"));
  const bool jagged = p.queries.kind == RowSpace::Kind::Jagged;
  n.note(jagged ? heavyFirst() ? "items: from the last row to the first, whose later rows see more keys; heads innermost"
                               : "items: tiles in memory order, heads innermost"
         : heavyFirst() ? "items: of the heads whose keys stay in L2 together, the tiles with the most keys first"
                        : "items: the tiles of one head after another");
  if (s.staged)
    n.note("weights: of " + std::to_string(s.staged) + " keys of a block first, then of the other " +
           std::to_string(s.keyRows - s.staged) + "; the tensor core multiplies those meanwhile");
  n.note(s.maxFree ? "softmax: the maximum of the first key block stays; a row that outgrows it takes a cold path"
                   : "softmax: a running maximum; the output is rescaled where it grows");
  if (s.packed != 1)
    n.note("rows: " + std::to_string(s.packed) + " heads of a group share a tile, and its keys; row r is query r / " +
           std::to_string(s.packed) + " of head r % " + std::to_string(s.packed));
  if (s.splits != 1)
    n.note("keys of a tile in " + (s.splits ? std::to_string(s.splits) : "as many") + " parts" +
           (s.splits ? "" : " as fill the chip (1 where the tiles do; the last tiles may have more)") +
           "; a second kernel adds them up");
  if (!p.sink.empty())
    n.note("sink: exp(" + p.sink + "[head]) joins each row's sum behind its last key block");
}

void FlashNetwork::declareTensors() {
  const bool queriesBatched = p.queries.kind == RowSpace::Kind::Dense;
  const bool keysBatched = p.keys.kind == RowSpace::Kind::Dense;
  const bool outBatched = p.queries.kind != RowSpace::Kind::Jagged;
  n.tensor(p.q, "input", p.element, p.heads, p.headDim, "", 0, queriesBatched, 0, s.packed);
  n.tensor(p.k, "input", p.element, p.keyHeads, p.headDim, "", 0, keysBatched);
  n.tensor(p.v, "input", p.element, p.keyHeads, p.valueDim, "", 0, keysBatched);
  n.tensor(p.o, "output", p.element, p.heads, p.valueDim, "", 0, outBatched, 0, s.packed);
  if (p.lse)
    n.tensor("lse", "output", n.b.getF32Type(), p.heads, 1, "", 0, outBatched);
}

void FlashNetwork::declareChannels() {
  Type f32 = n.b.getF32Type();
  const int64_t M = s.tileRows, N = s.keyRows;
  const Space accumulator = target.tcgen05 ? Space::Tmem : Space::Registers;
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
    std::vector<std::string> result{own("pv"), finisher()}, out{finisher(), own("store")};
    if (s.outHalves)
      result.push_back(own("second")), out.insert(out.end(), {own("second"), own("store_second")});
    n.channel(own("Result"), M, p.valueDim, f32, accumulator, result, /*view=*/own("O"));
    if (!s.outInQ)
      n.channel(own("Out"), M, s.outHalves ? p.valueDim / 2 : p.valueDim, p.element, Space::Smem, out);
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

bool FlashNetwork::rowsDiffer() const {
  auto moves = [](ArrayRef<Clause> clauses) {
    return llvm::any_of(clauses, [](const Clause &c) { return llvm::any_of(c, [](const Bound &b) { return b.block; }); });
  };
  return moves(range.upper) && !moves(range.lower);
}

Value FlashNetwork::batchOf(const RowSpace &rows, Item item, bool output) {
  return rows.kind == RowSpace::Kind::Dense || (output && rows.kind == RowSpace::Kind::Shared) ? item.batch : Value();
}

Value FlashNetwork::keyHead(Item item) {
  return p.keyHeads == p.heads ? item.head
                               : arith::DivUIOp::create(n.b, loc, item.head, n.i32(p.heads / p.keyHeads)).getResult();
}

bool FlashNetwork::teamsDiffer() const {
  const GroupSchedule *group = s.groupOf(own("softmax"));
  return group && group->teams > 1 && masksLater() && !range.gap && !range.blocks && s.splits == 1;
}

FlashNetwork::KeyBlocks FlashNetwork::keyBlocks(Item item, bool ofTeam) {
  QueryTile tile{item.query, item.rows, item.queries, item.keys};
  KeyBlockRange blocks = emitBlockRange(n.b, loc, range, tile, s.keyRows);
  if (ofTeam && teamsDiffer()) {
    auto mine = TeamRowsOp::create(n.b, loc, n.b.getI32Type(), n.b.getI32Type(), item.query, item.rows);
    QueryTile ofMine{mine.getTeamFirst(), mine.getTeamRows(), item.queries, item.keys};
    KeyBlockRange part = emitBlockRange(n.b, loc, range, ofMine, s.keyRows);
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

Value FlashNetwork::firstKey(const KeyBlocks &blocks, Value t) {
  return n.mul(emitBlockOfStep(n.b, loc, blocks.range, t), n.i32(s.keyRows));
}

void FlashNetwork::loadKeys(StringRef channel, StringRef tensor, Item item, const KeyBlocks &blocks, Value t) {
  Value slot = n.take(channel, 0, Unit::Tma), first = firstKey(blocks, t);
  LoadOp::create(n.b, loc, tensor, n.add(item.key, first), n.i32(s.keyRows), keyHead(item), batchOf(p.keys, item),
                 slot, /*whole=*/true, FlatSymbolRefAttr());
  n.pass(slot);
}

void FlashNetwork::addLoads() {
  n.role("load_k", [&](Item item) {
    forTiles([&] {
      Item mine = part(item);
      Value q = n.take(own("Q"), 0, Unit::Tma);
      LoadOp::create(n.b, loc, p.q, mine.row, mine.rows, item.head, batchOf(p.queries, item), q, /*whole=*/true,
                     FlatSymbolRefAttr());
      n.pass(q);
    });
    KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
    n.blocks(blocks.count, {}, nullptr, [&](Value t, Values) -> Values {
      loadKeys("K", p.k, item, blocks, t);
      return {};
    });
  });
  n.role("load_v", [&](Item item) {
    KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
    n.blocks(blocks.count, {}, nullptr, [&](Value t, Values) -> Values {
      loadKeys("V", p.v, item, blocks, t);
      return {};
    });
  });
  if (!clears())
    return;
  // A neighbour's value must not meet a zero probability: 0 x NaN is NaN.
  n.role("clear", [&](Item item) {
    KeyBlocks blocks = keyBlocks(item, /*ofTeam=*/false);
    n.blocks(blocks.count, {}, nullptr, [&](Value t, Values) -> Values {
      Value v = n.take("V", 1, Unit::Threads);
      Value rows = n.sub(item.keys, firstKey(blocks, t));
      // The block behind the last key has rows of nobody.
      ClearTailOp::create(n.b, loc, v, blocks.range.none ? n.maximum(rows, n.i32(0)) : rows);
      n.pass(v);
      return {};
    });
  });
}

void FlashNetwork::addProducts() {
  n.role(own("qk"), [&](Item item) {
    Value q = n.take(own("Q"), 1, Unit::Tensor);
    if (holdsOperands()) {
      Value again = n.take("QAgain", 0, Unit::Threads);
      n.pass(again);
    }
    n.blocks(keyBlocks(item).count, {}, nullptr, [&](Value, Values) -> Values {
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
    n.blocks(keyBlocks(item).count, {}, nullptr, [&](Value t, Values) -> Values {
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

KernelOp fovea::buildFlash(ModuleOp module, const Problem &p, const Schedule &s, const Target &target, Location loc) {
  return FlashNetwork(module, p, s, target, loc).build();
}
