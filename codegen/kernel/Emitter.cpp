// codegen/kernel/Emitter.cpp - the kernel's frame: set-up, warp groups, work items, tear-down.
#include "codegen/kernel/Emitter.h"
#include "codegen/common/Fence.h"
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Mbarrier.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/common/Tma.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

Emitter::Emitter(KernelOp kernel, const Target &target, Schedule schedule, TargetLowering &lowering, OpBuilder &b)
    : b(b), loc(kernel.getLoc()), kernel(kernel), target(target), schedule(std::move(schedule)), lowering(lowering),
      params(kernel, this->schedule) {}

// --- small helpers ------------------------------------------------------------------------------------------------

Value Emitter::cmp(ICmpPredicate predicate, Value x, Value y) {
  return LLVM::ICmpOp::create(b, loc, predicate, x, y);
}
Value Emitter::add(Value x, Value y) { return LLVM::AddOp::create(b, loc, x, y); }
Value Emitter::sub(Value x, Value y) { return LLVM::SubOp::create(b, loc, x, y); }
Value Emitter::mul(Value x, Value y) { return LLVM::MulOp::create(b, loc, x, y); }

void Emitter::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getThenRegion().front());
  body();
}

void Emitter::forLoop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(b, loc, from, to, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void Emitter::asLeader(llvm::function_ref<void()> body) {
  ifThen(group.isLeader, body);
  // The leader's warp meets again: aligned instructions follow.
  warpSync(b, loc);
}

layout::SmemTile Emitter::smemTile(SlotType type) const {
  return layout::SmemTile(uint32_t(type.getRows()), uint32_t(type.getCols()),
                          type.getElementType().getIntOrFloatBitWidth() / 8);
}

bool Emitter::holdsRows() const {
  return tile::registerLayout(target, schedule.tileRows, GroupOp(group.op).getWarps()) == RegisterLayout::Rows;
}

Value Emitter::warpRow() {
  if (holdsRows())
    return mul(group.warp, i32(32));
  if (!target.tcgen05 || schedule.tileRows == 64)
    return mul(group.warp, i32(16));
  Value quarter = LLVM::AndOp::create(b, loc, group.warp, i32(3));
  return add(mul(quarter, i32(32)), mul(LLVM::LShrOp::create(b, loc, group.warp, i32(2)), i32(16)));
}

Value Emitter::barrierAddress(StringRef name) {
  auto barrier = kernel.lookupSymbol<BarrierOp>(name);
  Value address = addI32(b, loc, smemBase, uint32_t(*barrier.getOffset()));
  if (barrier.getDepth() == 1)
    return address;
  return add(address, mul(group.ring[barrier.getDepth()].first, i32(8)));
}

// --- frame --------------------------------------------------------------------------------------------------------

LogicalResult Emitter::emit() {
  KernelLimits limits;
  limits.threads = uint32_t(32 * schedule.warps());
  limits.minCtas = uint32_t(schedule.ctasPerSm);
  function = createKernel(b, loc, kernel.getSymName(), params.types(b), limits);
  smemBase = dynamicSharedBase(b, loc, function->getParentOp());
  lane = laneId(b, loc);

  LogicalResult result = success();
  if (schedule.persistent) {
    emitFrame();
    result = emitGroups({});
  } else {
    // One item per CTA: a CTA without work leaves before it sets anything up.
    WorkItem item = findItem(blockId(b, loc));
    ifThen(item.valid, [&] {
      emitFrame();
      result = emitGroups(item);
    });
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return result;
}

void Emitter::emitFrame() {
  int64_t columns = kernel->getAttrOfType<IntegerAttr>("tmem_columns").getInt();
  Value tmemSlot = addI32(b, loc, smemBase, uint32_t(kernel->getAttrOfType<IntegerAttr>("tmem_slot").getInt()));
  Value warp = warpId(b, loc);
  if (columns)
    ifThen(cmp(ICmpPredicate::eq, warp, i32(0)),
           [&] { lowering.allocateTensorMemory(*this, tmemSlot, columns); });
  ifThen(cmp(ICmpPredicate::eq, threadId(b, loc), i32(0)), [&] {
    for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
      for (int64_t i = 0; i < int64_t(barrier.getDepth()); ++i)
        mbarrierInit(b, loc, addI32(b, loc, smemBase, uint32_t(*barrier.getOffset() + 8 * i)),
                     uint32_t(barrier.getCount()));
    mbarrierInitFence(b, loc);
    fenceProxyAsyncShared(b, loc);
  });
  ctaSync(b, loc);
  if (columns)
    tmemBase = lowering.tensorMemoryBase(*this, tmemSlot);
}

// A warpgroup hands registers over as one (setmaxnreg), so the dispatch is by warpgroup first, by group inside it.
LogicalResult Emitter::emitGroups(const WorkItem &item) {
  Value warp = warpId(b, loc);
  LogicalResult result = success();
  auto inWarps = [&](int64_t first, int64_t count, llvm::function_ref<void()> body) {
    if (count >= schedule.warps())
      return body();
    Value low = cmp(ICmpPredicate::uge, warp, i32(first));
    Value high = cmp(ICmpPredicate::ult, warp, i32(first + count));
    ifThen(LLVM::AndOp::create(b, loc, low, high), body);
  };
  SmallVector<GroupOp> groups(kernel.getBody().getOps<GroupOp>());
  for (size_t i = 0; i < groups.size();) {
    // The groups from i on that share i's warpgroups.
    size_t end = i + 1;
    int64_t first = groups[i].getFirstWarp(), last = first + groups[i].getWarps();
    while (end < groups.size() && last % 4)
      last = groups[end].getFirstWarp() + groups[end].getWarps(), ++end;
    inWarps(first, last - first, [&] {
      handOverRegisters(groups[i]);
      for (size_t g = i; g < end; ++g)
        inWarps(groups[g].getFirstWarp(), groups[g].getWarps(), [&] {
          if (failed(emitGroup(groups[g], uint32_t(g), item)))
            result = failure();
        });
    });
    i = end;
  }
  if (int64_t columns = kernel->getAttrOfType<IntegerAttr>("tmem_columns").getInt()) {
    // Every use of tensor memory is behind this barrier; the warp that allocated gives it back.
    ctaSync(b, loc);
    ifThen(cmp(ICmpPredicate::eq, warp, i32(0)), [&] { lowering.freeTensorMemory(*this, tmemBase, columns); });
  }
  return result;
}

// The work item of a linear index: heads innermost, then tiles in memory order.
Emitter::WorkItem Emitter::findItem(Value index) {
  Value heads = argument(params.scalar("heads")), tiles = argument(params.scalar("tiles"));
  Value tileIndex = LLVM::UDivOp::create(b, loc, index, heads);
  Value head = sub(index, mul(tileIndex, heads));
  Type i32t = b.getI32Type(), i64 = b.getI64Type();
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
    auto [row, left] = searchTile(tileIndex);
    scf::YieldOp::create(b, loc, ValueRange{row, left});
  }
  // Clamped, so that neither offsets nor a list can reach memory outside the tensor.
  Value row = branch.getResult(0), left = branch.getResult(1);
  auto atMost = [&](Value v, Value limit) {
    return codegen::select(b, loc, cmp(ICmpPredicate::slt, v, limit), v, limit);
  };
  Value rows = atMost(atMost(left, sub(argument(params.scalar("total")), row)), i32(schedule.tileRows));
  Value valid = LLVM::AndOp::create(b, loc, cmp(ICmpPredicate::sgt, rows, i32(0)),
                                    cmp(ICmpPredicate::sge, row, i32(0)));
  return {row, rows, head, valid};
}

// Tile v of the search belongs to the last sequence b with offsets[b] / M + b <= v: sequence b then owns at least ceil(length / M) indices, so that no list
// and no prefix sum is needed, at the price of at most one index without work per sequence. The warp searches 32
// candidates at a time.
// Returns the tile's first row and the rows left in its sequence (at most 0 if the index has no work).
std::pair<Value, Value> Emitter::searchTile(Value tileIndex) {
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
  Value row = add(start, LLVM::ShlOp::create(b, loc, skipped, i32(shift)));
  // Indices before the first sequence's have no work.
  Value left = codegen::select(b, loc, cmp(ICmpPredicate::sge, skipped, i32(0)), sub(stop, row), i32(0));
  return {row, left};
}

void Emitter::handOverRegisters(GroupOp op) {
  int64_t entry = target.registersPerSm / (32 * schedule.warps() * schedule.ctasPerSm) / 8 * 8;
  int64_t wanted = op.getRegisters();
  if (wanted > entry)
    increaseRegisters(b, loc, uint32_t(wanted));
  else if (wanted && wanted < entry)
    decreaseRegisters(b, loc, uint32_t(wanted));
}

LogicalResult Emitter::emitGroup(GroupOp op, uint32_t index, const WorkItem &item) {
  Block &block = op.getBody().front();
  if (block.empty())
    return success();
  group = GroupState();
  group.op = op;
  group.index = index;
  group.thread = sub(threadId(b, loc), i32(32 * op.getFirstWarp()));
  group.warp = sub(warpId(b, loc), i32(op.getFirstWarp()));
  group.isLeader = cmp(ICmpPredicate::eq, group.thread, i32(0));

  SmallVector<int64_t> depths;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    if (!llvm::is_contained(depths, int64_t(channel.getDepth())))
      depths.push_back(channel.getDepth());

  LogicalResult result = success();
  if (!schedule.persistent) {
    for (int64_t depth : depths)
      group.ring[depth] = {i32(0), i32(0)};
    result = emitProgram(block, item);
  } else {
    // State of the walk: item index, then (slot, parity) for each ring depth.
    SmallVector<Value> init{blockId(b, loc)};
    for (size_t i = 0; i < depths.size(); ++i)
      init.append({i32(0), i32(0)});
    SmallVector<Type> types(init.size(), b.getI32Type());
    Value items = argument(params.scalar("items"));
    scf::WhileOp::create(
        b, loc, types, init,
        [&](OpBuilder &, Location, ValueRange args) {
          scf::ConditionOp::create(b, loc, cmp(ICmpPredicate::slt, args[0], items), args);
        },
        [&](OpBuilder &, Location, ValueRange args) {
          WorkItem found = findItem(args[0]);
          SmallVector<Type> ringTypes(args.size() - 1, b.getI32Type());
          auto branch = scf::IfOp::create(b, loc, ringTypes, found.valid, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(&branch.getThenRegion().front());
            SmallVector<Value> next;
            for (auto [i, depth] : llvm::enumerate(depths))
              group.ring[depth] = {args[1 + 2 * i], args[2 + 2 * i]};
            if (failed(emitProgram(block, found)))
              result = failure();
            for (auto [i, depth] : llvm::enumerate(depths)) {
              Value slot = addI32(b, loc, args[1 + 2 * i], 1);
              Value wraps = cmp(ICmpPredicate::eq, slot, i32(depth));
              next.push_back(codegen::select(b, loc, wraps, i32(0), slot));
              next.push_back(LLVM::XOrOp::create(b, loc, args[2 + 2 * i],
                                                 LLVM::ZExtOp::create(b, loc, b.getI32Type(), wraps)));
            }
            scf::YieldOp::create(b, loc, next);
            b.setInsertionPointToStart(&branch.getElseRegion().front());
            scf::YieldOp::create(b, loc, args.drop_front());
          }
          SmallVector<Value> next{add(args[0], gridDim(b, loc))};
          llvm::append_range(next, branch.getResults());
          scf::YieldOp::create(b, loc, next);
        });
  }
  // A CTA may leave only after TMA has read its last store (PTX ISA, cp.async.bulk.wait_group.read).
  bool stores = false;
  block.walk([&](StoreOp) { stores = true; });
  if (stores)
    asLeader([&] { bulkWaitGroupRead(b, loc, 0); });
  return result;
}

// --- programs -----------------------------------------------------------------------------------------------------

LogicalResult Emitter::emitProgram(Block &block, const WorkItem &item) {
  addresses.clear();
  channelRegisters.clear();
  tiles.clear();
  scalars.clear();
  scalars[block.getArgument(0)] = item.row;
  scalars[block.getArgument(1)] = item.rows;
  scalars[block.getArgument(2)] = item.head;

  // Consecutive ops of the leader share one branch. A take is an address and belongs to everybody.
  SmallVector<Operation *> pending;
  LogicalResult result = success();
  auto flush = [&] {
    if (pending.empty())
      return;
    asLeader([&] {
      for (Operation *op : pending)
        if (failed(emitLeaderOp(*op)))
          result = failure();
    });
    pending.clear();
  };
  for (Operation &op : block) {
    if (auto take = dyn_cast<TakeOp>(op)) {
      emitTake(take);
    } else if (isa<PassOp>(op)) {
      continue;
    } else if (isLeaderOp(op)) {
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
      .Case([&](StoreOp store) { return emitStore(store), success(); })
      .Case([&](StoreRowsOp store) { return emitStoreRows(store), success(); })
      .Case([&](ClearTailOp clear) { return emitClearTail(clear), success(); })
      .Case([&](ArriveOp arrive) { return emitArrive(arrive), success(); })
      .Case([&](WaitOp wait) { return emitWait(wait), success(); })
      .Case([&](SyncOp) { return emitSync(), success(); })
      .Case([&](FenceOp fence) { return lowering.fence(*this, fence); })
      .Case([&](MmaOp mma) { return lowering.mma(*this, mma); })
      .Case([&](ReadOp read) { return lowering.read(*this, read); })
      .Case([&](WriteOp write) { return lowering.write(*this, write); })
      .Case([&](CopyOp copy) { return lowering.copy(*this, copy); })
      .Case([&](ProductWaitOp wait) { return lowering.productWait(*this, wait); })
      .Case([&](MaskTailOp mask) { return emitMaskTail(mask), success(); })
      .Case([&](RowReduceOp reduce) { return emitRowReduce(reduce), success(); })
      .Case([&](BroadcastOp broadcast) { return emitBroadcast(broadcast), success(); })
      .Default([&](Operation *other) { return emitMath(*other); });
}
