// codegen/kernel/WorkItems.cpp - which tile and head an index stands for: a list, or a search over the offsets.
#include "codegen/common/GlobalAccess.h"
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
  Value heads = argument(params.scalar("heads"));
  Value tileIndex = LLVM::UDivOp::create(b, loc, index, heads);
  Value head = sub(index, mul(tileIndex, heads));
  Type i32t = b.getI32Type(), i64 = b.getI64Type();
  Value row, left, position;
  if (!params.hasTileList()) {
    std::tie(row, left, position) = searchTile(tileIndex);
    return clampItem(row, left, head, position);
  }
  Value tiles = argument(params.scalar("tiles"));
  Value listed = LLVM::ICmpOp::create(b, loc, ICmpPredicate::ne, LLVM::PtrToIntOp::create(b, loc, i64, tiles),
                                      constI64(b, loc, 0));
  auto branch = scf::IfOp::create(b, loc, TypeRange{i32t, i32t}, listed, /*withElseRegion=*/true);
  {
    // An entry is row | rows << 32.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    Value entry = loadGlobal(b, loc, i64, globalElement(b, loc, tiles, i64, tileIndex), /*nc=*/true);
    Value rows = LLVM::TruncOp::create(b, loc, i32t, LLVM::LShrOp::create(b, loc, entry, constI64(b, loc, 32)));
    scf::YieldOp::create(b, loc, ValueRange{LLVM::TruncOp::create(b, loc, i32t, entry), rows});
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    std::tie(row, left, position) = searchTile(tileIndex);
    scf::YieldOp::create(b, loc, ValueRange{row, left});
  }
  return clampItem(branch.getResult(0), branch.getResult(1), head, /*position=*/{});
}

// Neither offsets nor a list can reach memory outside the tensor.
Emitter::WorkItem Emitter::clampItem(Value row, Value left, Value head, Value position) {
  auto atMost = [&](Value v, Value limit) {
    return codegen::select(b, loc, cmp(ICmpPredicate::slt, v, limit), v, limit);
  };
  Value rows = atMost(atMost(left, sub(argument(params.scalar("total")), row)), i32(schedule.tileRows));
  Value valid = LLVM::AndOp::create(b, loc, cmp(ICmpPredicate::sgt, rows, i32(0)),
                                    cmp(ICmpPredicate::sge, row, i32(0)));
  return {row, rows, head, valid, position};
}

// Index v belongs to the last sequence b with offsets[b] / M + b <= v: sequence b then owns at least ceil(length / M)
// indices, so that no list and no prefix sum is needed, at the price of at most one index without work per sequence.
// Returns the tile's first row, the rows left in its sequence (at most 0 if the index has no work), and the first row's
// position in it.
std::tuple<Value, Value, Value> Emitter::searchTile(Value tileIndex) {
  Value batch = argument(params.scalar("batch")), offsets = argument(params.scalar("offsets"));
  int64_t shift = llvm::Log2_64(uint64_t(schedule.tileRows));

  // The low word of an offset serves both sizes: offsets stay below 2^31.
  Value offsetShift = LLVM::ZExtOp::create(b, loc, b.getI64Type(), argument(params.scalar("offset_shift")));
  auto offset = [&](Value i) -> Value {
    Value wide = LLVM::ZExtOp::create(b, loc, b.getI64Type(), i);
    Value bytes = LLVM::ShlOp::create(b, loc, wide, offsetShift);
    return loadGlobal(b, loc, b.getI32Type(), globalByte(b, loc, offsets, bytes), /*nc=*/true);
  };
  auto rank = [&](Value i, Value start) -> Value {
    return add(LLVM::AShrOp::create(b, loc, start, i32(shift)), i);
  };

  // Each round is one load deep: a lane probes two candidates, which leaves a 64th of the range.
  Type i32t = b.getI32Type();
  auto below = [&](Value probe, Value hi) -> Value {
    Value inside = cmp(ICmpPredicate::slt, probe, hi);
    Value safe = codegen::select(b, loc, inside, probe, i32(0));
    Value ranked = cmp(ICmpPredicate::sle, rank(safe, offset(safe)), tileIndex);
    Value vote = NVVM::VoteSyncOp::create(b, loc, i32t, i32(-1), LLVM::AndOp::create(b, loc, inside, ranked),
                                          NVVM::VoteSyncKind::ballot);
    return LLVM::CtPopOp::create(b, loc, vote);
  };
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{i32t, i32t}, ValueRange{i32(0), batch},
      [&](OpBuilder &, Location, ValueRange args) {
        scf::ConditionOp::create(b, loc, cmp(ICmpPredicate::sgt, sub(args[1], args[0]), i32(32)), args);
      },
      [&](OpBuilder &, Location, ValueRange args) {
        Value lo = args[0], hi = args[1];
        Value step = LLVM::LShrOp::create(b, loc, add(sub(hi, lo), i32(63)), i32(6));
        Value first = add(lo, mul(lane, step)), second = add(first, mul(step, i32(32)));
        Value count = add(below(first, hi), below(second, hi));
        Value some = cmp(ICmpPredicate::sgt, count, i32(0));
        Value newLo = codegen::select(b, loc, some, add(lo, mul(sub(count, i32(1)), step)), lo);
        Value end = add(newLo, step);
        scf::YieldOp::create(
            b, loc, ValueRange{newLo, codegen::select(b, loc, cmp(ICmpPredicate::slt, end, hi), end, hi)});
      });
  // The last round finds the sequence among 32 neighbours, whose lanes hold its bounds already.
  Value candidate = add(loop.getResult(0), lane);
  Value inside = cmp(ICmpPredicate::slt, candidate, loop.getResult(1));
  Value safe = codegen::select(b, loc, inside, candidate, i32(0));
  Value laneStart = offset(safe), laneStop = offset(addI32(b, loc, safe, 1));
  Value ranked = LLVM::AndOp::create(b, loc, inside, cmp(ICmpPredicate::sle, rank(safe, laneStart), tileIndex));
  Value vote = NVVM::VoteSyncOp::create(b, loc, i32t, i32(-1), ranked, NVVM::VoteSyncKind::ballot);
  Value count = LLVM::CtPopOp::create(b, loc, vote);
  // No candidate at all (the first offset is beyond this tile): the rank of lane 0 then exceeds the index.
  Value some = cmp(ICmpPredicate::sgt, count, i32(0));
  Value owner = codegen::select(b, loc, some, sub(count, i32(1)), i32(0));
  Value start = shuffleIdx(b, loc, laneStart, owner), stop = shuffleIdx(b, loc, laneStop, owner);
  Value sequence = shuffleIdx(b, loc, safe, owner);
  Value skipped = sub(tileIndex, rank(sequence, start));
  Value position = LLVM::ShlOp::create(b, loc, skipped, i32(shift));
  Value row = add(start, position);
  // Indices before the first sequence's have no work.
  Value left = codegen::select(b, loc, cmp(ICmpPredicate::sge, skipped, i32(0)), sub(stop, row), i32(0));
  return {row, left, position};
}
