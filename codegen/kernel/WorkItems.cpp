// codegen/kernel/WorkItems.cpp - which tile and head an index stands for: a list, or a search over the offsets.
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Registers.h"
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

// The work item of a linear index: heads innermost, then tiles in memory order.
Emitter::WorkItem Emitter::findItem(Value index) {
  if (kernel->hasAttr("key_blocks"))
    return findKeyBlockItem(index);
  // A number that the spec states saves a division in every CTA.
  int64_t stated = (*kernel.getBody().getOps<TensorOp>().begin()).getHeads();
  Value heads = stated > 0 ? i32(stated) : argument(params.scalar("heads"));
  Value tileIndex = div(index, heads);
  Value head = sub(index, mul(tileIndex, heads));
  Type i32t = b.getI32Type(), i64 = b.getI64Type();
  if (!params.hasTileList()) {
    Tile tile = searchTile(tileIndex);
    return clampItem(tile.row, tile.left, head, sub(tile.row, tile.start));
  }
  Value tiles = argument(params.scalar("tiles"));
  Value listed = cmp(ICmpPredicate::ne, LLVM::PtrToIntOp::create(b, loc, i64, tiles), constI64(b, loc, 0));
  auto branch = scf::IfOp::create(b, loc, TypeRange{i32t, i32t}, listed, /*withElseRegion=*/true);
  {
    // An entry is row | rows << 32.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value entry = loadGlobal(b, loc, i64, globalElement(b, loc, tiles, i64, tileIndex), /*nc=*/true);
    Value rows = LLVM::TruncOp::create(b, loc, i32t, LLVM::LShrOp::create(b, loc, entry, constI64(b, loc, 32)));
    scf::YieldOp::create(b, loc, ValueRange{LLVM::TruncOp::create(b, loc, i32t, entry), rows});
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    Tile tile = searchTile(tileIndex);
    scf::YieldOp::create(b, loc, ValueRange{tile.row, tile.left});
  }
  return clampItem(branch.getResult(0), branch.getResult(1), head, /*position=*/{});
}

// Neither offsets nor a list can reach memory outside the tensor.
Emitter::WorkItem Emitter::clampItem(Value row, Value left, Value head, Value position) {
  auto atMost = [&](Value v, Value limit) {
    return codegen::select(b, loc, cmp(ICmpPredicate::slt, v, limit), v, limit);
  };
  Value rows = atMost(atMost(left, sub(argument(params.scalar("total")), row)), i32(schedule.itemQueries()));
  Value valid = bitAnd(cmp(ICmpPredicate::sgt, rows, i32(0)), cmp(ICmpPredicate::sge, row, i32(0)));
  return {{row, rows, head}, valid, position, {}, {}, {}};
}

// Where items loop over key blocks: dense or shared queries are cut into tiles by arithmetic, with the tiles of one head
// next to each other, since they read the same keys; tiles of jagged queries are searched for.
Emitter::WorkItem Emitter::findKeyBlockItem(Value index) {
  Value heads = argument(params.scalar("heads")); // or of the packs of heads that share tiles
  if (schedule.packed != 1)
    heads = div(heads, i32(schedule.packed));
  const int64_t M = schedule.itemQueries();
  auto table = kernel->getAttrOfType<StringAttr>("key_offsets");
  Value row, rows, head, sequence, query, queries, valid, part, parts, items = argument(params.scalar("items"));
  if (kernel->hasAttr("splits")) {
    // Whole tiles, then the parts of the others, those of a tile one behind the other.
    Value whole = argument(params.scalar("whole")), splits = argument(params.scalar("splits"));
    Value behind = sub(index, whole), tile = div(behind, splits), shared = cmp(ICmpPredicate::sge, behind, i32(0));
    part = codegen::select(b, loc, shared, sub(behind, mul(tile, splits)), i32(0));
    parts = codegen::select(b, loc, shared, splits, i32(1));
    index = codegen::select(b, loc, shared, add(whole, tile), index);
    items = add(whole, div(sub(items, whole), splits));
  }
  if (kernel->hasAttr("jagged_queries")) {
    if (kernel->hasAttr("heavy_first")) // the last rows of a sequence before its first
      index = sub(addI32(b, loc, items, uint32_t(-1)), index);
    Value tileIndex = div(index, heads);
    head = sub(index, mul(tileIndex, heads));
    Tile tile = searchTile(tileIndex);
    row = tile.row, sequence = tile.sequence, query = sub(row, tile.start), queries = sub(tile.stop, tile.start);
    WorkItem clamped = clampItem(row, tile.left, head, query);
    rows = clamped.values[1], valid = clamped.valid;
  } else {
    queries = argument(params.scalar("queries"));
    Value tiles = div(addI32(b, loc, queries, uint32_t(M - 1)), i32(M));
    Value pair, turn; // a sequence's head, and which of its tiles comes now
    if (kernel->hasAttr("heavy_first")) {
      // Of the pairs whose keys stay in L2 together, all heavy tiles before the lighter ones: tiles of one pair alone
      // would leave the launch's end to the heaviest of the last pair.
      Value together = argument(params.scalar("together")), size = mul(tiles, together);
      Value before = mul(div(index, size), together), inside = sub(index, mul(div(index, size), size));
      Value left = sub(argument(params.scalar("pairs")), before);
      Value here = codegen::select(b, loc, cmp(ICmpPredicate::slt, left, together), left, together);
      turn = div(inside, here);
      pair = add(before, sub(inside, mul(turn, here)));
    } else {
      pair = div(index, tiles);
      turn = sub(index, mul(pair, tiles));
    }
    Value tile = sub(addI32(b, loc, tiles, uint32_t(-1)), turn);
    sequence = div(pair, heads);
    head = sub(pair, mul(sequence, heads));
    row = query = mul(tile, i32(M));
    Value left = sub(queries, row);
    rows = codegen::select(b, loc, cmp(ICmpPredicate::slt, left, i32(M)), left, i32(M));
    valid = constI1(b, loc, true);
  }
  if (schedule.packed != 1)
    head = mul(head, i32(schedule.packed));
  Value key = i32(0), keys;
  if (table) {
    key = loadOffset(table.getValue(), sequence);
    keys = sub(loadOffset(table.getValue(), addI32(b, loc, sequence, 1)), key);
    keys = codegen::select(b, loc, cmp(ICmpPredicate::sgt, keys, i32(0)), keys, i32(0));
  } else {
    keys = argument(params.scalar("keys"));
  }
  return {{row, rows, head, sequence, query, queries, key, keys}, valid, {}, part, parts, countedBlock() ? blocksBefore(sequence) : Value()};
}

Value Emitter::loadOffset(StringRef table, Value i) {
  return codegen::loadOffset(b, loc, argument(params.offsets(table)), argument(params.offsetShift(table)), i);
}

// Index v belongs to the last sequence b with offsets[b] / M + b <= v, its rank: sequence b then owns at least
// ceil(length / M) indices, so that no list and no prefix sum is needed, at the price of at most one index without work
// per sequence.
//
// Ranks rise, so that a vote of lanes that look at rising sequences counts those at or before the owner.
Emitter::Tile Emitter::searchTile(Value tileIndex) {
  Value batch = argument(params.scalar("batch"));
  StringRef table = kernel->getAttrOfType<StringAttr>("offsets").getValue();
  // A constant, so that a division by a power of two is a shift.
  const int64_t M = schedule.itemQueries();
  Type i32t = b.getI32Type();
  auto slt = [&](Value x, Value y) -> Value { return cmp(ICmpPredicate::slt, x, y); };
  auto select = [&](Value c, Value x, Value y) -> Value { return codegen::select(b, loc, c, x, y); };
  auto offset = [&](Value i) { return loadOffset(table, i); };
  auto rank = [&](Value i, Value start) -> Value {
    return add(div(start, i32(M)), i);
  };
  auto clamped = [&](Value i, Value limit) { return select(slt(i, limit), i, limit); };
  // How many lanes look at a sequence that begins at or before the index.
  auto countBefore = [&](Value sequence) -> Value {
    Value before = cmp(ICmpPredicate::sle, rank(sequence, offset(clamped(sequence, batch))), tileIndex);
    Value vote = NVVM::VoteSyncOp::create(b, loc, i32t, i32(-1), bitAnd(slt(sequence, batch), before),
                                          NVVM::VoteSyncKind::ballot);
    return LLVM::CtPopOp::create(b, loc, vote);
  };

  // Most often one load finds it: 64 sequences around where the index would be were all equally long, which lengths
  // that vary independently leave by about the root of the batch.
  Value bound = add(div(argument(params.scalar("total")), i32(M)), batch);
  auto real = [&](Value v) -> Value { return LLVM::UIToFPOp::create(b, loc, b.getF32Type(), v); };
  Value sequencesPerIndex = mulF(b, loc, real(batch), rcp(b, loc, real(bound)));
  Value guess = LLVM::FPToSIOp::create(b, loc, i32t, mulF(b, loc, real(tileIndex), sequencesPerIndex));
  auto from = [&](int64_t distance) -> Value {
    Value begin = sub(guess, i32(distance));
    return select(slt(begin, i32(0)), i32(0), begin);
  };
  Value begin = from(32);
  Value count = add(countBefore(add(begin, lane)), countBefore(addI32(b, loc, add(begin, lane), 32)));
  Value found = bitAnd(cmp(ICmpPredicate::sgt, count, i32(0)), slt(count, i32(64)));
  auto branch = scf::IfOp::create(b, loc, TypeRange{i32t}, found, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(b, loc, ValueRange{sub(add(begin, count), i32(1))});

    // Else by parting into 32, first a wider surrounding. Of the bracket [lo, hi), lo (unless it is 0) begins at or
    // before the index, hi (unless it is the batch) behind it.
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    auto narrow = [&](Value lo, Value hi, Value begin, Value step) -> std::pair<Value, Value> {
      Value count = countBefore(add(begin, mul(lane, step)));
      Value end = add(begin, mul(count, step)), last = sub(end, step);
      Value some = bitAnd(cmp(ICmpPredicate::sgt, count, i32(0)), slt(lo, last));
      Value all = cmp(ICmpPredicate::eq, count, i32(32));
      Value open = LLVM::OrOp::create(b, loc, all, slt(hi, end));
      return {select(some, last, lo), select(open, hi, end)};
    };
    auto [lo, hi] = narrow(i32(0), batch, from(16 * 32), i32(32));
    auto loop = scf::WhileOp::create(
        b, loc, TypeRange{i32t, i32t}, ValueRange{lo, hi},
        [&](OpBuilder &, Location, ValueRange args) {
          scf::ConditionOp::create(b, loc, cmp(ICmpPredicate::sgt, sub(args[1], args[0]), i32(32)), args);
        },
        [&](OpBuilder &, Location, ValueRange args) {
          Value step = LLVM::LShrOp::create(b, loc, add(sub(args[1], args[0]), i32(31)), i32(5));
          auto [lo, hi] = narrow(args[0], args[1], args[0], step);
          scf::YieldOp::create(b, loc, ValueRange{lo, hi});
        });
    // Among the 32 that are left; if the first begins behind the index, so do all, and the index has no work.
    Value left = loop.getResult(0), last = sub(countBefore(add(left, lane)), i32(1));
    scf::YieldOp::create(b, loc, ValueRange{add(left, select(slt(last, i32(0)), i32(0), last))});
  }
  Value sequence = branch.getResult(0);
  Value start = offset(sequence), stop = offset(clamped(addI32(b, loc, sequence, 1), batch));
  Value skipped = sub(tileIndex, rank(sequence, start));
  Value row = add(start, mul(skipped, i32(M)));
  // Indices before the first sequence's have no work.
  Value left = select(cmp(ICmpPredicate::sge, skipped, i32(0)), sub(stop, row), i32(0));
  return {sequence, row, left, start, stop};
}
