// codegen/kernel/Program.cpp - a group's program: which op is the leader's, and which function emits it.
#include "codegen/common/Tma.h"
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

LogicalResult Emitter::emitProgram(Block &block, const WorkItem &item) {
  addresses.clear();
  channelRegisters.clear();
  tiles.clear();
  scalars.clear();
  itemPosition = item.position, itemPart = item.part, itemParts = item.parts, itemBlocksBefore = item.blocksBefore;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), item.values))
    scalars[argument] = value;
  return emitBody(block);
}

// A team beyond the last row of its item keeps up with the barriers and does nothing else.
LogicalResult Emitter::emitTeamProgram(Block &block, const WorkItem &item) {
  Value hasRows = cmp(LLVM::ICmpPredicate::slt, mul(group.team, i32(teamQueries())), item.values[1]);
  const auto before = group;
  SmallVector<Type> types(2 * group.block.size(), b.getI32Type());
  auto branch = scf::IfOp::create(b, loc, types, hasRows, /*withElseRegion=*/true);
  LogicalResult result = success();
  for (bool works : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(works ? &branch.getThenRegion().front() : &branch.getElseRegion().front());
    group = before;
    idle = !works;
    if (failed(emitProgram(block, item)))
      result = failure();
    for (auto skip : block.getOps<SkipBlocksOp>())
      emitSkippedBlocks(skip, scalars[skip.getBehind()]);
    idle = false;
    scf::YieldOp::create(b, loc, blockRings());
  }
  group = before;
  setBlockRings(branch.getResults());
  return result;
}

// A team's rows of a tile; the last row where it has none.
void Emitter::emitTeamRows(TeamRowsOp op) {
  const int64_t own = teamQueries();
  Value rows = scalars[op.getRows()];
  Value skipped = LLVM::SMinOp::create(b, loc, mul(group.team, i32(own)), sub(rows, i32(1)));
  scalars[op.getTeamFirst()] = add(scalars[op.getFirst()], skipped);
  scalars[op.getTeamRows()] = LLVM::SMinOp::create(b, loc, sub(rows, skipped), i32(own));
}

LogicalResult Emitter::emitBody(Block &block) {
  // Consecutive ops of the leader share one branch. A take is an address and belongs to everybody.
  SmallVector<Operation *> pending;
  LogicalResult result = success();
  auto flush = [&] {
    if (!met) {
      if (failed(meet(pending)))
        result = failure();
    } else if (!pending.empty()) {
      asLeader([&] {
        for (Operation *op : pending)
          if (failed(emitLeaderOp(*op)))
            result = failure();
      });
    }
    pending.clear();
  };
  for (Operation &op : block) {
    const bool isScalar = op.getNumResults() && llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    if (idle && !isScalar && !isa<TakeOp, WaitOp, ArriveOp, LoopOp, SkipBlocksOp>(op))
      continue;
    if (auto take = dyn_cast<TakeOp>(op)) {
      emitTake(take);
    } else if (auto position = dyn_cast<PositionOp>(op)) {
      scalars[position.getPosition()] = itemPosition;
    } else if (auto split = dyn_cast<SplitOp>(op)) {
      scalars[split.getPart()] = itemPart, scalars[split.getCount()] = itemParts;
    } else if (auto rows = dyn_cast<TeamRowsOp>(op)) {
      emitTeamRows(rows);
    } else if (auto row = dyn_cast<ListRowOp>(op)) {
      emitListRow(row);
    } else if (auto below = dyn_cast<ListBelowOp>(op)) {
      emitListBelow(below);
    } else if (auto tile = dyn_cast<ListTileOp>(op)) {
      emitListTile(tile);
    } else if (isa<PassOp, YieldOp>(op)) {
      continue;
    } else if (isScalar) {
      if (failed(emitScalar(op)))
        return failure();
    } else if (isLeaderOp(op)) {
      if (!met && !isa<LoadOp, ArriveOp>(op)) // the first loads end here
        flush();
      pending.push_back(&op);
    } else {
      flush();
      if (failed(emitOp(op)))
        return failure();
    }
  }
  flush();
  return result;
}

bool Emitter::isLeaderOp(Operation &op) {
  auto leads = [&](Unit unit) {
    return unit == Unit::Tma || (unit == Unit::Tensor && lowering.leaderIssuesProducts());
  };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case<LoadOp, CommitOp, StoreWaitOp>([](auto) { return true; })
      .Case([&](MmaOp) { return lowering.leaderIssuesProducts(); })
      .Case([&](ArriveOp arrive) { return arrive.getUnit() == Unit::Tma; })
      .Case([&](WaitOp wait) { return leads(wait.getUnit()); })
      .Case([&](FenceOp fence) { return leads(fence.getUnit()); })
      .Default(false);
}

LogicalResult Emitter::emitLeaderOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](LoadOp load) { return emitLoad(load), success(); })
      .Case([&](StoreWaitOp wait) { return bulkWaitGroupRead(b, loc, uint32_t(wait.getPending())), success(); })
      .Case([&](ArriveOp arrive) { return emitArrive(arrive), success(); })
      .Case([&](WaitOp wait) { return emitWait(wait), success(); })
      .Case([&](CommitOp commit) { return lowering.commit(*this, commit); })
      .Case([&](MmaOp mma) { return lowering.mma(*this, mma); })
      .Case([&](FenceOp fence) { return lowering.fence(*this, fence); })
      .Default([](Operation *other) { return other->emitOpError("is not an operation of the leader thread"); });
}

LogicalResult Emitter::emitOp(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](StoreOp store) { return unlessSplit([&] { emitStore(store); }), success(); })
      .Case([&](StoreRowsOp store) { return unlessSplit([&] { emitStoreRows(store); }), success(); })
      .Case([&](ClearTailOp clear) { return emitClearTail(clear), success(); })
      .Case([&](RotateOp rotate) { return emitRotate(rotate), success(); })
      .Case([&](ArriveOp arrive) { return emitArrive(arrive), success(); })
      .Case([&](WaitOp wait) { return emitWait(wait), success(); })
      .Case([&](SyncOp) { return emitSync(), success(); })
      .Case([&](FenceOp fence) { return lowering.fence(*this, fence); })
      .Case([&](MmaOp mma) { return lowering.mma(*this, mma); })
      .Case([&](ReadOp read) { return lowering.read(*this, read); })
      .Case([&](WriteOp write) { return lowering.write(*this, write); })
      .Case([&](LoopOp loop) { return emitLoop(loop); })
      .Case([&](SkipBlocksOp skip) { return emitSkippedBlocks(skip, scalars[skip.getBefore()]), success(); })
      .Case([&](RareOp rare) { return emitRare(rare); })
      .Case([&](ScaleOp scale) { return lowering.scale(*this, scale); })
      .Case([&](WarpProductOp product) { return lowering.warpProduct(*this, product); })
      .Case([&](CopyOp copy) { return lowering.copy(*this, copy); })
      .Case([&](StorePartialOp store) { return emitStorePartial(store), success(); })
      .Case([&](StoreScratchOp store) { return emitStoreScratch(store), success(); })
      .Case([&](ProductWaitOp wait) { return lowering.productWait(*this, wait); })
      .Case([&](MaskTailOp mask) { return emitMaskTail(mask), success(); })
      .Case([&](MaskKeysOp mask) { return emitMaskKeys(mask), success(); })
      .Case([&](MapPairsOp map) { return emitMapPairs(map); })
      .Case([&](MapElementsOp map) { return emitMapElements(map); })
      .Case([&](RowReduceOp reduce) { return emitRowReduce(reduce), success(); })
      .Case([&](LookupRowsOp lookup) { return emitLookupRows(lookup), success(); })
      .Case([&](ColumnsOp columns) { return emitColumns(columns), success(); })
      .Case([&](BroadcastOp broadcast) { return emitBroadcast(broadcast), success(); })
      .Default([&](Operation *other) { return emitMath(*other); });
}
