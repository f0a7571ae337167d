// codegen/kernel/Groups.cpp - warp groups: who runs which program, and its walk over work items.
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/common/Tma.h"
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

// Whether all warps of the group meet once more behind their last use of tensor memory.
static bool meetsAfterTensorMemory(GroupOp group) {
  for (Operation &op : llvm::reverse(group.getBody().front())) {
    if (isa<SyncOp>(op))
      return true;
    for (Value v : op.getOperands())
      if (auto slot = dyn_cast<SlotType>(v.getType()); slot && slot.getSpace() == Space::Tmem && !isa<PassOp>(op))
        return false;
  }
  return false;
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
    ifThen(bitAnd(low, high), body);
  };
  SmallVector<GroupOp> groups(kernel.getBody().getOps<GroupOp>());
  for (size_t i = 0; i < groups.size();) {
    int64_t first = groups[i].getFirstWarp(), last = first + groups[i].getWarps();
    if (i + 1 < groups.size()) {
      if (std::optional<Twin> twin = twinOf(groups[i], groups[i + 1])) {
        inWarps(first, 2 * groups[i].getWarps(), [&] {
          handOverRegisters(groups[i]);
          if (failed(emitGroup(groups[i], uint32_t(i), item, &*twin)))
            result = failure();
        });
        i += 2;
        continue;
      }
    }
    // The groups from i on that share i's warpgroups.
    size_t end = i + 1;
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
    if (groups.size() > 1 || !meetsAfterTensorMemory(groups.front()))
      ctaSync(b, loc);
    ifThen(cmp(ICmpPredicate::eq, warp, i32(0)), [&] { lowering.freeTensorMemory(*this, tmemBase, columns); });
  }
  return result;
}

void Emitter::handOverRegisters(GroupOp op) {
  int64_t entry = schedule.registersAtEntry(target);
  int64_t wanted = op.getRegisters();
  if (wanted > entry)
    increaseRegisters(b, loc, uint32_t(wanted));
  else if (wanted && wanted < entry)
    decreaseRegisters(b, loc, uint32_t(wanted));
}

GroupState::Ring Emitter::advance(const GroupState::Ring &at, int64_t depth) {
  Value slot = addI32(b, loc, at.slot, 1), wraps = cmp(ICmpPredicate::eq, slot, i32(depth));
  Value parity = LLVM::XOrOp::create(b, loc, at.parity, LLVM::ZExtOp::create(b, loc, b.getI32Type(), wraps));
  return {codegen::select(b, loc, wraps, i32(0), slot), parity};
}

// A CTA may leave only after TMA has read its last store (PTX ISA, cp.async.bulk.wait_group.read): whether a store may still
// read when the program is over.
static bool leavesStores(Block &program) {
  for (Operation &op : llvm::reverse(program))
    if (auto wait = dyn_cast<StoreWaitOp>(op); wait && wait.getPending() == 0)
      return false;
    else if (isa<StoreOp>(op))
      return true;
  return false;
}

LogicalResult Emitter::emitGroup(GroupOp op, uint32_t index, const WorkItem &item, const Twin *twin) {
  Block &block = op.getBody().front();
  group = GroupState();
  group.op = op;
  group.index = index;
  group.thread = sub(threadId(b, loc), i32(32 * op.getFirstWarp()));
  group.warp = sub(warpId(b, loc), i32(op.getFirstWarp()));
  if (twin)
    beginTwin(*twin);
  Value place = group.thread; // in the team
  if (op.getTeams() > 1) {
    group.team = div(group.thread, i32(teamThreads()));
    place = sub(group.thread, mul(group.team, i32(teamThreads())));
  }
  group.isLeader = cmp(ICmpPredicate::eq, place, i32(0));

  if (block.empty()) {
    if (kernel->hasAttr("item_ring") && findsItems())
      emitFinder();
    return success();
  }

  SmallVector<int64_t> depths, blockDepths;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    if (!llvm::is_contained(depths, int64_t(channel.getDepth())))
      depths.push_back(channel.getDepth());
  if (kernel->hasAttr("key_blocks"))
    blockDepths = depths;

  LogicalResult result = success();
  if (schedule.persistent) {
    result = walkItems(block, depths, blockDepths);
  } else {
    for (int64_t depth : depths)
      group.item[depth] = {i32(0), i32(0)};
    for (int64_t depth : blockDepths)
      group.block[depth] = {i32(0), i32(0)};
    result = emitProgram(block, item);
  }
  if (leavesStores(block))
    asLeader([&] { bulkWaitGroupRead(b, loc, 0); });
  return result;
}

// A persistent CTA's items, one after the other.
LogicalResult Emitter::walkItems(Block &block, ArrayRef<int64_t> depths, ArrayRef<int64_t> blockDepths) {
  LogicalResult result = success();
  // State of the walk: the item's index, or what the ring of items says of it and (slot, parity) there; then (slot, parity)
  // for each ring depth of items and of key blocks.
  const bool dynamic = kernel->hasAttr("item_ring");
  SmallVector<Value> init;
  if (dynamic) {
    GroupState::Ring first{i32(0), i32(0)};
    if (findsItems())
      handOnItem(blockId(b, loc), first, /*read=*/false);
    init = nextItem(first);
    GroupState::Ring second = advance(first, kItemRing);
    init.append({second.slot, second.parity});
  } else {
    init.push_back(blockId(b, loc));
  }
  const size_t own = init.size();
  init.append(2 * (depths.size() + blockDepths.size()), i32(0));
  SmallVector<Type> types(init.size(), b.getI32Type());
  scf::WhileOp::create(
      b, loc, types, init,
      [&](OpBuilder &, Location, ValueRange args) {
        Value more = dynamic ? cmp(ICmpPredicate::ne, args[0], i32(0))
                             : cmp(ICmpPredicate::slt, args[0], argument(params.scalar("items")));
        scf::ConditionOp::create(b, loc, more, args);
      },
      [&](OpBuilder &, Location, ValueRange args) {
        ValueRange state = args.drop_front(own);
        // The rings behind an item.
        auto program = [&](const WorkItem &found) {
          ValueRange rest = state;
          group.block.clear(), group.before.clear();
          for (auto [ring, list] : {std::pair(&group.item, &depths), {&group.block, &blockDepths}})
            for (int64_t depth : *list)
              (*ring)[depth] = {rest[0], rest[1]}, rest = rest.drop_front(2);
          if (failed(group.team ? emitTeamProgram(block, found) : emitProgram(block, found)))
            result = failure();
          SmallVector<Value> after;
          for (int64_t depth : depths) {
            GroupState::Ring at = advance(group.item[depth], depth);
            after.append({at.slot, at.parity});
          }
          for (int64_t depth : blockDepths)
            after.append({group.block[depth].slot, group.block[depth].parity});
          return after;
        };
        SmallVector<Value> next;
        if (dynamic) {
          WorkItem item{SmallVector<Value>(args.slice(1, own - 3)), {}, {}, {}, {}, {}};
          if (countedBlock())
            item.blocksBefore = item.values.pop_back_val();
          if (kernel->hasAttr("splits"))
            item.parts = item.values.pop_back_val(), item.part = item.values.pop_back_val();
          SmallVector<Value> after = program(item);
          GroupState::Ring at{args[own - 2], args[own - 1]};
          if (findsItems())
            handOnItem(askForIndex(), at, /*read=*/false);
          next = nextItem(at);
          at = advance(at, kItemRing);
          next.append({at.slot, at.parity});
          llvm::append_range(next, after);
        } else {
          WorkItem found = findItem(args[0]);
          auto branch = scf::IfOp::create(b, loc, TypeRange(state), found.valid, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(&branch.getThenRegion().front());
            scf::YieldOp::create(b, loc, program(found));
            b.setInsertionPointToStart(&branch.getElseRegion().front());
            scf::YieldOp::create(b, loc, state);
          }
          next.push_back(add(args[0], gridDim(b, loc)));
          llvm::append_range(next, branch.getResults());
        }
        scf::YieldOp::create(b, loc, next);
      });
  return result;
}

// --- twins --------------------------------------------------------------------------------------------------------

// One register for each base and distance that occurs, behind which offsets stay constants.
void Emitter::beginTwin(const Twin &twin) {
  group.twin = &twin;
  Value isTwin = cmp(ICmpPredicate::uge, group.warp, i32(GroupOp(group.op).getWarps()));
  group.inTwin = LLVM::ZExtOp::create(b, loc, b.getI32Type(), isTwin);
  group.thread = sub(group.thread, mul(group.inTwin, i32(groupThreads())));
  group.warp = sub(group.warp, mul(group.inTwin, i32(groupThreads() / 32)));
  for (auto [op, distance] : twin.distances) {
    Value base = baseOf(op), &place = group.moved[{base, distance}];
    if (!place)
      place = base ? add(base, mul(group.inTwin, i32(distance))) : mul(group.inTwin, i32(distance));
  }
}

Value Emitter::baseOf(Operation *op) const {
  if (auto channel = dyn_cast<ChannelOp>(op))
    return channel.getSlotType().getSpace() == Space::Smem ? smemBase : tmemBase;
  return isa<BarrierOp>(op) ? smemBase : Value();
}

Value Emitter::moved(Operation *op) {
  int64_t distance = group.twin ? group.twin->distance(op) : 0;
  return distance ? group.moved.at({baseOf(op), distance}) : baseOf(op);
}
