// codegen/kernel/Loops.cpp - the loop over key blocks and its cold paths: what is carried, and how rings advance.
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

// Tiles as their registers, scalars as they are.
SmallVector<Value> Emitter::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value v : values)
    if (isa<RankedTensorType>(v.getType()))
      llvm::append_range(flat, tiles[v]);
    else
      flat.push_back(scalars[v]);
  return flat;
}

// Gives `values` the registers in `flat`, which has the shape of flatten(like).
void Emitter::unflatten(ValueRange values, ValueRange like, ArrayRef<Value> flat) {
  for (auto [v, model] : llvm::zip_equal(values, like)) {
    if (!isa<RankedTensorType>(v.getType())) {
      scalars[v] = flat.front(), flat = flat.drop_front();
      continue;
    }
    size_t count = tiles[model].size();
    tiles[v] = SmallVector<Value>(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

const GroupState::Ring &Emitter::ring(int64_t depth, std::optional<uint64_t> visit) {
  return !visit ? group.item[depth] : *visit == 0 ? group.block[depth] : group.before[depth];
}

void Emitter::advanceBlocks() {
  group.before = group.block;
  for (auto &[depth, at] : group.block)
    at = advance(at, depth);
}

SmallVector<int64_t> Emitter::blockDepths() const {
  SmallVector<int64_t> depths(llvm::make_first_range(group.block));
  llvm::sort(depths);
  return depths;
}

SmallVector<Value> Emitter::blockRings() const {
  SmallVector<Value> rings;
  for (int64_t depth : blockDepths()) {
    GroupState::Ring at = group.block.lookup(depth);
    rings.append({at.slot, at.parity});
  }
  return rings;
}

void Emitter::setBlockRings(ValueRange rings) {
  for (int64_t depth : blockDepths()) {
    group.block[depth] = {rings[0], rings[1]};
    rings = rings.drop_front(2);
  }
}

namespace {
// Channels in registers whose contents enter a region from outside, or leave it: first read there, or only scaled.
// A product without `accumulate` and a write begin with fresh registers.
SmallVector<std::pair<ChannelOp, Value>> carriedChannels(Block &body) {
  SmallVector<std::pair<ChannelOp, Value>> carried;
  llvm::SmallPtrSet<Operation *, 4> fresh;
  auto inRegisters = [](Value slot) { return cast<SlotType>(slot.getType()).getSpace() == Space::Registers; };
  auto reads = [&](Value slot) {
    ChannelOp owner = ownerOf(channelOf(slot));
    if (inRegisters(slot) && !fresh.contains(owner) &&
        llvm::none_of(carried, [&](auto &c) { return c.first == owner; }))
      carried.push_back({owner, slot});
  };
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto mma = dyn_cast<MmaOp>(op)) {
      reads(mma.getA());
      if (mma.getAccumulate())
        reads(mma.getD());
      else
        fresh.insert(ownerOf(channelOf(mma.getD())));
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      fresh.insert(ownerOf(channelOf(write.getSlot())));
    } else if (isa<ReadOp, ScaleOp, CopyOp>(op)) {
      reads(op->getOperand(0));
    }
  });
  return carried;
}
} // namespace

// Gives `values` and the channels what flatten(inits) and their registers are in `flat`; returns what is left of it.
ArrayRef<Value> Emitter::restoreCarried(ValueRange values, ValueRange inits, ArrayRef<std::pair<ChannelOp, Value>> channels,
                                        ArrayRef<Value> flat) {
  size_t carried = flatten(inits).size();
  unflatten(values, inits, flat.take_front(carried));
  flat = flat.drop_front(carried);
  for (auto &[channel, slot] : channels) {
    SmallVector<Value> &registers = slotRegisters(slot);
    size_t count = registers.size();
    registers.assign(flat.begin(), flat.begin() + count);
    flat = flat.drop_front(count);
  }
  return flat;
}

LogicalResult Emitter::emitLoop(LoopOp op) {
  if (failed(lowering.atLoopEdge(*this, op)))
    return failure();
  Block &body = op.getBody().front();
  APInt from;
  // Block 0 may stand in front of the first loop.
  const bool isFirst = op == *op->getBlock()->getOps<LoopOp>().begin();
  if (isFirst && matchPattern(op.getFrom(), m_ConstantInt(&from)) && from == 1)
    advanceBlocks();

  // State: what the op carries, registers of channels, and the rings.
  SmallVector<Value> init = flatten(op.getInits());
  auto channels = idle ? SmallVector<std::pair<ChannelOp, Value>>() : carriedChannels(body);
  for (auto &[channel, slot] : channels) {
    SmallVector<Value> &registers = slotRegisters(slot);
    if (registers.empty()) { // nothing is in it yet: the first product overwrites
      auto type = cast<SlotType>(slot.getType());
      Type element = type.getElementType().isF32() ? Type(b.getF32Type()) : b.getI32Type();
      int64_t count = type.getBytes() / 4 / groupThreads();
      registers.assign(count, LLVM::UndefOp::create(b, loc, element));
    }
    llvm::append_range(init, registers);
  }
  const SmallVector<int64_t> depths = blockDepths();
  auto rings = [&] {
    SmallVector<Value> values;
    for (int64_t depth : depths)
      values.append({group.block[depth].slot, group.block[depth].parity, group.before[depth].slot,
                     group.before[depth].parity});
    return values;
  };
  if (group.before.empty())
    group.before = group.block;
  llvm::append_range(init, rings());

  auto restore = [&](ValueRange opValues, ValueRange flat) {
    SmallVector<Value> values(flat);
    ArrayRef<Value> rest(values);
    rest = restoreCarried(opValues, op.getInits(), channels, rest);
    for (int64_t depth : depths) {
      group.block[depth] = {rest[0], rest[1]}, group.before[depth] = {rest[2], rest[3]};
      rest = rest.drop_front(4);
    }
  };

  // The group's last loop; shorter ones are late already.
  auto later = llvm::make_range(std::next(op->getIterator()), op->getBlock()->end());
  const bool frees = freesItemsLate() && llvm::none_of(later, llvm::IsaPred<LoopOp>);
  Value freedAt = frees ? addI32(b, loc, scalars[op.getCount()], uint32_t(-kBlocksToFind)) : Value();
  if (frees)
    ifThen(cmp(ICmpPredicate::slt, freedAt, scalars[op.getFrom()]), [&] { freeItem(); });
  auto loop = scf::ForOp::create(b, loc, scalars[op.getFrom()], scalars[op.getCount()], i32(1), init);
  LogicalResult result = success();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scalars[body.getArgument(0)] = loop.getInductionVar();
    restore(body.getArguments().drop_front(), loop.getRegionIterArgs());
    if (frees)
      ifThen(cmp(ICmpPredicate::eq, freedAt, loop.getInductionVar()), [&] { freeItem(); });
    if (failed(emitBody(body)) || failed(lowering.atLoopEdge(*this, op)))
      result = failure();
    advanceBlocks();
    SmallVector<Value> yields = flatten(body.getTerminator()->getOperands());
    for (auto &[channel, slot] : channels)
      llvm::append_range(yields, slotRegisters(slot));
    llvm::append_range(yields, rings());
    scf::YieldOp::create(b, loc, yields);
  }
  restore(op.getResults(), loop.getResults());
  return result;
}

// Waits and arrivals of one block, without its work: those of its own step, then those that lag behind. No wait needs an
// arrival of a later block.
void Emitter::emitSkippedBlocks(SkipBlocksOp op, Value count) {
  Block &body = (*op->getBlock()->getOps<LoopOp>().begin()).getBody().front();
  const auto before = group.before;
  auto loop = scf::ForOp::create(b, loc, i32(0), count, i32(1), blockRings());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    setBlockRings(loop.getRegionIterArgs());
    group.before = group.block;
    for (uint64_t visit : {0, 1})
      for (Operation &event : body) {
        if (auto wait = dyn_cast<WaitOp>(event); wait && wait.getVisit() == visit)
          emitWait(wait);
        else if (auto arrive = dyn_cast<ArriveOp>(event); arrive && arrive.getVisit() == visit)
          emitArrive(arrive);
      }
    advanceBlocks();
    scf::YieldOp::create(b, loc, blockRings());
  }
  setBlockRings(loop.getResults());
  group.before = before;
}

LogicalResult Emitter::emitRare(RareOp op) {
  // One vote for the thread's rows; "not at most" so that NaN counts.
  Value beyond = constI1(b, loc, false);
  Value limit = constF32(b, loc, float(op.getLimit().convertToDouble()));
  for (Value v : SmallVector<Value>(tiles[op.getValues()]))
    beyond = LLVM::OrOp::create(b, loc, beyond, LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::ugt, v, limit));
  Block &body = op.getBody().front();
  auto channels = carriedChannels(body);
  SmallVector<Value> kept = flatten(op.getInits());
  for (auto &[channel, slot] : channels)
    llvm::append_range(kept, slotRegisters(slot));
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(kept)), voteAny(b, loc, beyond), /*withElseRegion=*/true);
  LogicalResult result = success();
  {
    OpBuilder::InsertionGuard guard(b);
    // Without results the branches have their terminators already.
    auto yield = [&](ValueRange values) {
      if (!kept.empty())
        scf::YieldOp::create(b, loc, values);
    };
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    yield(kept);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    llvm::StringMap<SmallVector<Value>> outside = channelRegisters;
    result = emitBody(body);
    SmallVector<Value> yields = flatten(body.getTerminator()->getOperands());
    for (auto &[channel, slot] : channels)
      llvm::append_range(yields, slotRegisters(slot));
    yield(yields);
    channelRegisters = outside;
  }
  SmallVector<Value> results(branch.getResults());
  (void)restoreCarried(op.getResults(), op.getInits(), channels, results);
  return result;
}
