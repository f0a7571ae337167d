// codegen/kernel/Copies.cpp - slots, TMA loads and stores, and the tails that threads handle.
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sync.h"
#include "codegen/common/Tma.h"
#include "codegen/kernel/Emitter.h"
#include "codegen/kernel/TileElements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

void Emitter::emitTake(TakeOp op) {
  ChannelOp channel = channelOf(op);
  SlotType type = channel.getSlotType();
  if (type.getSpace() == Space::Registers)
    return;
  Value address = addI32(b, loc, moved(channel), uint32_t(*channel.getOffset()));
  if (channel.getDepth() > 1)
    address = add(address, mul(ring(channel.getDepth(), op.getVisit()).slot, i32(*channel.getSlotSize())));
  addresses[op.getSlot()] = address;
}

void Emitter::emitLoad(LoadOp op) {
  layout::SmemTile tile = smemTile(cast<SlotType>(op.getSlot().getType()));
  Value base = address(op.getSlot()), bar = barrierAddress(*op.getBarrier(), takeOf(op.getSlot()).getVisit());
  Value row = scalars[op.getRow()], rows = scalars[op.getRows()], head = scalars[op.getHead()];
  // Other work items of the same rows follow soon (heads innermost), and neighbours share lines at tile edges.
  Value hint = l2Policy(b, loc, L2Policy::EvictLast);
  if (op.getWhole()) {
    // {columns of a panel, rows, panels, heads, batch}: the whole tile is one box.
    SmallVector<Value> at{i32(0), row, i32(0), head};
    if (kernel.lookupSymbol<TensorOp>(op.getTensor()).getTileHeads() != 1)
      at = {i32(0), head, row, i32(0)};
    if (op.getBatch())
      at.push_back(scalars[op.getBatch()]);
    tmaLoad(b, loc, base, argument(params.map(op.getTensor())), at, bar, hint);
    return;
  }
  const bool isShared = kernel.lookupSymbol<TensorOp>(op.getTensor()).isShared();
  auto boxes = [&](const ParamRef &map, Value from, Value to, int64_t boxRows) {
    forLoop(from, to, i32(boxRows), [&](Value r) {
      Value line = add(base, mul(r, i32(tile.rowBytes())));
      for (uint32_t panel = 0; panel < tile.panelCount(); ++panel) {
        SmallVector<Value> at = {i32(panel * tile.panelCols()), add(row, r)};
        if (!isShared)
          at.push_back(head);
        tmaLoad(b, loc, addI32(b, loc, line, panel * tile.panelBytes()), argument(map), at, bar, hint);
      }
    });
  };
  Value whole = bitAnd(rows, i32(-kBoxRows));
  boxes(params.map(op.getTensor()), i32(0), whole, kBoxRows);
  boxes(params.tailMap(op.getTensor()), whole, rows, kTailRows);
}

/// Whether the warp meets again before an aligned instruction: at the group's barrier, or behind its leader's work.
static bool meetsNext(Operation *op) {
  bool tcgen05 = false;
  if (const Target *target = findTarget(op->getParentOfType<KernelOp>().getTarget()))
    tcgen05 = target->tcgen05;
  for (op = op->getNextNode(); op; op = op->getNextNode()) {
    if (isa<SyncOp>(op) || (isa<MmaOp>(op) && tcgen05))
      return true;
    if (!isa<TakeOp, PassOp, FenceOp, WaitOp, ClearTailOp>(op) || (isa<FenceOp>(op) && cast<FenceOp>(op).getKind() == FenceKind::TmemStores))
      return false;
  }
  return false;
}

void Emitter::emitStore(StoreOp op) {
  auto type = cast<SlotType>(op.getSlot().getType());
  layout::SmemTile tile = smemTile(type);
  Value base = address(op.getSlot());
  Value row = scalars[op.getRow()], rows = scalars[op.getRows()], head = scalars[op.getHead()];
  // A team stores its own rows, panel by panel, since they lie apart there.
  const int64_t ownRows = type.getRows() / int64_t(GroupOp(group.op).getTeams());
  const int64_t packed = kernel.lookupSymbol<TensorOp>(op.getTensor()).getTileHeads();
  Value first = group.team ? mul(group.team, i32(ownRows)) : i32(0);
  auto storeTile = [&](Value batch) {
    Value query = group.team ? add(row, packed == 1 ? first : mul(group.team, i32(ownRows / packed))) : row;
    const int64_t firstPanel = int64_t(op.getColumn()) / tile.panelCols();
    SmallVector<Value> at{i32(0), query, i32(firstPanel), head};
    const size_t panelAt = packed == 1 ? 2 : 3;
    if (packed != 1)
      at = {i32(0), head, query, i32(firstPanel)};
    if (batch)
      at.push_back(batch);
    Value map = argument(params.map(op.getTensor()));
    if (!group.team)
      return tmaStore(b, loc, map, at, base);
    Value own = add(base, mul(first, i32(tile.rowBytes())));
    for (uint32_t panel = 0; panel < tile.panelCount(); ++panel) {
      at[panelAt] = i32(firstPanel + panel);
      tmaStore(b, loc, map, at, addI32(b, loc, own, panel * tile.panelBytes()));
    }
  };
  if (op.getBatch()) // TMA drops what lies beyond the sequence
    return asLeader([&] {
      storeTile(scalars[op.getBatch()]);
      bulkCommitGroup(b, loc);
    });
  if (packed != 1) // of the tile
    rows = mul(rows, i32(packed));
  if (group.team)
    rows = sub(rows, first);
  auto branch = scf::IfOp::create(b, loc, cmp(group.team ? ICmpPredicate::sge : ICmpPredicate::eq, rows, i32(ownRows)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  asLeader([&] {
    Value map = argument(params.map(op.getTensor()));
    if (kernel->hasAttr("key_blocks"))
      storeTile({});
    else
      for (uint32_t panel = 0; panel < tile.panelCount(); ++panel)
        tmaStore(b, loc, map, {i32(panel * tile.panelCols()), row, head},
                 addI32(b, loc, base, panel * tile.panelBytes()));
    bulkCommitGroup(b, loc);
  });

  // A short tile: rows beyond it belong to a neighbour, so threads store the valid ones, 16 bytes each.
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  // A row's chunks are shared by a power of two of threads, so that a thread keeps its column; a batch of rows is read
  // before it is written, which hides the latency of shared memory.
  int64_t elementBytes = tile.elemBytes(), perChunk = 16 / elementBytes, chunks = type.getCols() / perChunk;
  int64_t threadsPerRow = int64_t(llvm::PowerOf2Ceil(uint64_t(chunks))), pass = teamThreads() / threadsPerRow;
  int64_t batch = std::clamp<int64_t>(ownRows / pass, 1, 4);
  Value pointer = argument(params.pointer(op.getTensor()));
  Value rowStride = argument(params.rowStride(op.getTensor())), headStride = argument(params.headStride(op.getTensor()));
  Value place = group.team ? sub(group.thread, mul(group.team, i32(teamThreads()))) : group.thread;
  Value firstRow = LLVM::LShrOp::create(b, loc, place, i32(llvm::Log2_64(uint64_t(threadsPerRow))));
  Value chunk = bitAnd(group.thread, i32(threadsPerRow - 1));
  Value limit = rows;
  if (chunks < threadsPerRow)
    limit = codegen::select(b, loc, cmp(ICmpPredicate::slt, chunk, i32(chunks)), rows, i32(0));
  Value col = mul(chunk, i32(perChunk)), ofHead = addI32(b, loc, col, uint32_t(op.getColumn()));
  Value bytes = constI64(b, loc, uint64_t(elementBytes));
  Value column = globalByte(b, loc, pointer, mul(add(mul(wideSigned(head), headStride), wideSigned(ofHead)), bytes));
  Value rowBytes = mul(rowStride, bytes), headBytes = packed == 1 ? Value() : mul(headStride, bytes);
  if (group.team) {
    row = add(row, packed == 1 ? first : mul(group.team, i32(ownRows / packed)));
    base = add(base, mul(first, i32(tile.rowBytes())));
  }
  forLoop(firstRow, limit, i32(pass * batch), [&](Value first) {
    SmallVector<SmallVector<Value>> data;
    for (int64_t i = 0; i < batch; ++i) {
      Value r = addI32(b, loc, first, uint32_t(i * pass));
      Value four = loadShared(b, loc, VectorType::get({4}, b.getI32Type()), add(base, tileOffset(b, loc, tile, r, col)));
      data.emplace_back();
      for (int64_t k = 0; k < 4; ++k)
        data.back().push_back(LLVM::ExtractElementOp::create(b, loc, four, i32(k)));
    }
    for (int64_t i = 0; i < batch; ++i) {
      Value r = addI32(b, loc, first, uint32_t(i * pass));
      Value valid = cmp(ICmpPredicate::slt, r, limit), offset;
      if (packed == 1) {
        offset = mul(wideSigned(add(row, r)), rowBytes);
      } else {
        RowPlace place = rowPlace(b, loc, r, packed);
        offset = add(mul(wideSigned(add(row, place.query)), rowBytes), mul(wideSigned(place.head), headBytes));
      }
      storeGlobal16If(b, loc, valid, globalByte(b, loc, column, offset), data[i]);
    }
  });
  // Threads leave the loop one after the other.
  if (!meetsNext(op))
    warpSync(b, loc);
}

Emitter::Place Emitter::placeOf(Value row, Value queries, Value head) {
  if (schedule.packed == 1)
    return {queries, row, head};
  RowPlace place = rowPlace(b, loc, row, schedule.packed);
  return {mul(queries, i32(schedule.packed)), place.query, add(head, place.head)};
}

void Emitter::emitStoreRows(StoreRowsOp op) {
  auto type = cast<RankedTensorType>(op.getValues().getType());
  bool fragment = cast<RegsAttr>(type.getEncoding()).getLayout() == RegisterLayout::Fragment;
  Value pointer = argument(params.pointer(op.getTensor()));
  Value rowStride = argument(params.rowStride(op.getTensor())), headStride = argument(params.headStride(op.getTensor()));
  Value at = LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), pointer);
  Value present = cmp(ICmpPredicate::ne, at, constI64(b, loc, 0));
  for (auto [k, value] : llvm::enumerate(registers(op.getValues()))) {
    // Fragment: the quad's four lanes hold the same two rows; the first of them stores.
    Value r = fragment ? add(add(warpRow(), LLVM::LShrOp::create(b, loc, lane, i32(2))), i32(8 * k))
                       : add(warpRow(), lane);
    const auto [rows, query, head] = placeOf(r, scalars[op.getRows()], scalars[op.getHead()]);
    Value store = bitAnd(present, cmp(ICmpPredicate::slt, r, rows));
    if (fragment)
      store = bitAnd(store, cmp(ICmpPredicate::eq, bitAnd(lane, i32(3)), i32(0)));
    Value element = add(mul(wideSigned(add(scalars[op.getRow()], query)), rowStride), mul(wideSigned(head), headStride));
    if (op.getBatch())
      element = add(element, mul(wideSigned(scalars[op.getBatch()]), argument(params.batchStride(op.getTensor()))));
    storeGlobal4If(b, loc, store, globalElement(b, loc, pointer, b.getF32Type(), element), bitsOf(b, loc, value));
  }
}

void Emitter::emitClearTail(ClearTailOp op) {
  auto type = cast<SlotType>(op.getSlot().getType());
  layout::SmemTile tile = smemTile(type);
  Value base = address(op.getSlot()), rows = scalars[op.getRows()];
  // A swizzle exchanges 16-byte chunks inside a row only, so whole rows are contiguous in every panel.
  ifThen(cmp(ICmpPredicate::slt, rows, i32(type.getRows())), [&] {
    Value from = add(mul(rows, i32(tile.rowBytes())), mul(group.thread, i32(16)));
    forLoop(from, i32(tile.panelBytes()), i32(16 * groupThreads()), [&](Value offset) {
      for (uint32_t panel = 0; panel < tile.panelCount(); ++panel)
        zeroShared16(b, loc, addI32(b, loc, add(base, offset), panel * tile.panelBytes()));
    });
    if (!meetsNext(op))
      warpSync(b, loc);
  });
}
