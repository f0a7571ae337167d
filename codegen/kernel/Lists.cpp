// codegen/kernel/Lists.cpp - lists of key blocks in memory: where a tile's list is, and what it picks.
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

// Queries of a block whose lists lie behind one another for all sequences; 0 if there are none such.
int64_t Emitter::countedBlock() {
  int64_t block = 0;
  kernel.walk([&](ListRowOp op) {
    if (kernel.lookupSymbol<TableOp>(op.getTable()).getDims() == 3)
      block = op.getQueryBlock();
  });
  return block;
}

// The blocks of the sequences before one: lengths of a batch have no closed form, so that the warp that finds items adds
// them up.
Value Emitter::blocksBefore(Value sequence) {
  const int64_t queryBlock = countedBlock();
  StringRef table = kernel->getAttrOfType<StringAttr>("offsets").getValue();
  Type i32t = b.getI32Type();
  auto loop = scf::ForOp::create(b, loc, i32(0), sequence, i32(32), ValueRange{i32(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value i = add(loop.getInductionVar(), lane);
    Value mine = cmp(ICmpPredicate::slt, i, sequence);
    i = codegen::select(b, loc, mine, i, i32(0));
    Value length = sub(loadOffset(table, addI32(b, loc, i, 1)), loadOffset(table, i));
    Value some = bitAnd(mine, cmp(ICmpPredicate::sgt, length, i32(0)));
    Value blocks = div(addI32(b, loc, length, uint32_t(queryBlock - 1)), i32(queryBlock));
    Value sum = add(loop.getRegionIterArg(0), codegen::select(b, loc, some, blocks, i32(0)));
    scf::YieldOp::create(b, loc, sum);
  }
  return NVVM::ReduxOp::create(b, loc, i32t, loop.getResult(0), NVVM::ReduxKind::ADD, i32(-1));
}

void Emitter::emitListRow(ListRowOp op) {
  StringRef name = op.getTable();
  const int64_t dims = kernel.lookupSymbol<TableOp>(name).getDims();
  Value block = div(scalars[op.getQuery()], i32(op.getQueryBlock()));
  Value sequence = scalars[op.getSequence()], head = scalars[op.getHead()];
  SmallVector<Value> at;
  if (dims == 4)
    at = {sequence, block, head};
  else
    at = {add(itemBlocksBefore, block), head};
  Value inside = constI1(b, loc, true), row = constI64(b, loc, 0);
  for (auto [n, index] : llvm::enumerate(at)) {
    inside = bitAnd(inside, cmp(ICmpPredicate::ult, index, argument(params.size(name, n))));
    Value place = wide(index);
    row = add(row, mul(place, argument(params.stride(name, n))));
  }
  scalars[op.getRow()] = codegen::select(b, loc, inside, row, constI64(b, loc, -1));
}

// Entry `index` of the list, or -1 where `when` is false or the list ends before.
Value Emitter::listEntry(StringRef name, Value row, Value index, Value when) {
  const int64_t dims = kernel.lookupSymbol<TableOp>(name).getDims();
  Value inside = bitAnd(when, cmp(ICmpPredicate::ult, index, argument(params.size(name, dims - 1))));
  Value element = add(row, wide(index));
  Value entry = loadGlobalNc4If(b, loc, inside, globalElement(b, loc, argument(params.pointer(name)), b.getI32Type(), element));
  return codegen::select(b, loc, inside, entry, i32(-1));
}

static Value isRow(OpBuilder &b, Location loc, Value row) {
  return LLVM::ICmpOp::create(b, loc, ICmpPredicate::sge, row, constI64(b, loc, 0));
}

// Lanes look at 32 entries each, four at a time: one latency for 128 of them.
void Emitter::emitListBelow(ListBelowOp op) {
  constexpr int64_t kAtOnce = 4;
  StringRef name = op.getTable();
  const int64_t dims = kernel.lookupSymbol<TableOp>(name).getDims(), tiles = op.getTiles();
  Value row = scalars[op.getRow()], listed = isRow(b, loc, row);
  // Wholly below a limit are the blocks before limit / tiles; of that block itself, limit % tiles.
  SmallVector<Value> whole, part, places;
  for (auto [v, place] : llvm::zip_equal(op.getLimits(), op.getPlaces())) {
    if (place.use_empty())
      continue;
    places.push_back(place);
    Value limit = scalars[v];
    whole.push_back(tiles == 1 ? limit : div(limit, i32(tiles)));
    part.push_back(tiles == 1 ? Value() : sub(limit, mul(whole.back(), i32(tiles))));
  }
  auto ballot = [&](Value predicate) -> Value {
    return NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), i32(-1), predicate, NVVM::VoteSyncKind::ballot);
  };
  Value entries = argument(params.size(name, dims - 1));
  SmallVector<Type> types(1 + whole.size(), b.getI32Type());
  SmallVector<Value> init(types.size(), i32(0));
  init[0] = codegen::select(b, loc, listed, i32(0), entries);
  auto loop = scf::WhileOp::create(
      b, loc, types, init,
      [&](OpBuilder &, Location, ValueRange args) {
        scf::ConditionOp::create(b, loc, cmp(ICmpPredicate::slt, args[0], entries), args);
      },
      [&](OpBuilder &, Location, ValueRange args) {
        SmallVector<Value> entry, counts(args.drop_front());
        for (int64_t k = 0; k < kAtOnce; ++k)
          entry.push_back(listEntry(name, row, addI32(b, loc, add(args[0], lane), uint32_t(32 * k)), listed));
        Value goesOn = constI1(b, loc, true); // no end so far
        for (Value e : entry) {
          // Lanes before the first that holds no entry.
          Value ends = ballot(cmp(ICmpPredicate::slt, e, i32(0)));
          Value before = sub(bitAnd(ends, sub(i32(0), ends)), i32(1));
          before = codegen::select(b, loc, goesOn, before, i32(0));
          auto count = [&](ICmpPredicate predicate, Value limit) -> Value {
            return LLVM::CtPopOp::create(b, loc, bitAnd(before, ballot(cmp(predicate, e, limit))));
          };
          for (size_t n = 0; n < whole.size(); ++n) {
            Value below = count(ICmpPredicate::slt, whole[n]);
            if (tiles > 1)
              below = add(mul(below, i32(tiles)), mul(count(ICmpPredicate::eq, whole[n]), part[n]));
            counts[n] = add(counts[n], below);
          }
          goesOn = bitAnd(goesOn, cmp(ICmpPredicate::eq, ends, i32(0)));
        }
        SmallVector<Value> next{codegen::select(b, loc, goesOn, addI32(b, loc, args[0], uint32_t(32 * kAtOnce)), entries)};
        llvm::append_range(next, counts);
        scf::YieldOp::create(b, loc, next);
      });
  for (auto [place, count] : llvm::zip_equal(places, loop.getResults().drop_front()))
    scalars[place] = count;
}

void Emitter::emitListTile(ListTileOp op) {
  const int64_t tiles = op.getTiles();
  Value row = scalars[op.getRow()], place = scalars[op.getPlace()], most = scalars[op.getMost()];
  Value index = tiles == 1 ? place : div(place, i32(tiles));
  Value block = listEntry(op.getTable(), row, index, isRow(b, loc, row));
  // Unsigned, and before it is scaled: whatever is in memory stays among the keys.
  auto least = [&](Value x, Value y) -> Value { return LLVM::UMinOp::create(b, loc, x, y); };
  Value tile = least(block, most);
  if (tiles > 1)
    tile = least(add(mul(tile, i32(tiles)), sub(place, mul(index, i32(tiles)))), most);
  scalars[op.getTile()] = tile;
}
