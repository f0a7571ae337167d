// codegen/kernel/ItemRing.cpp - items that CTAs take as they get free, and how a CTA's groups learn of them.
//
// A warp that has nothing else to do finds the items: it asks a counter in memory for the next index, looks up what it stands
// for, and hands that on through a slot in shared memory. Where there is no such warp, the group that loads does it behind the
// loads of an item. A group reads the slot when it is done with the item before, and frees it; the loader frees it a few key
// blocks before its last (kBlocksToFind): items that are dealt out when the one before begins balance worse, of two causal
// items for each SM by a third. Nobody waits for a group that waits: the finder waits for readers of the item before, whose
// loads are under way.
// Each index is asked for once, by a CTA that is done with one, so that a launch of n items counts to n: atom.inc with the
// limit n - 1 leaves the counter at zero for the next launch.
#include "codegen/common/Mbarrier.h"
#include "codegen/common/Registers.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/kernel/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

static GroupOp finder(KernelOp kernel) {
  GroupOp loader;
  for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
    if (group.getBody().front().empty())
      return group;
    bool loads = false;
    group.walk([&](LoadOp) { loads = true; });
    if (loads && !loader)
      loader = group;
  }
  return loader;
}

// Part 0: the words of an item, 1: the barrier of handed-on items, 2: that of read ones.
Value Emitter::itemRing(int64_t part, Value slot) {
  int64_t base = kernel->getAttrOfType<IntegerAttr>("item_ring").getInt() + (part ? 4 * kItemWords * kItemRing : 0) +
                 (part == 2 ? 8 * kItemRing : 0);
  return add(addI32(b, loc, smemBase, uint32_t(base)), mul(slot, i32(part ? 8 : 4 * kItemWords)));
}

void Emitter::initItemRing() {
  int64_t warps = 0;
  for (GroupOp group : kernel.getBody().getOps<GroupOp>())
    warps += group.getBody().front().empty() ? 0 : int64_t(group.getWarps());
  for (int64_t slot = 0; slot < kItemRing; ++slot) {
    mbarrierInit(b, loc, itemRing(1, i32(slot)), 1);
    mbarrierInit(b, loc, itemRing(2, i32(slot)), uint32_t(warps));
  }
}

// Whether the group frees an item's slot behind reading it: the loader, unless it takes long to find an item (the finder looks for
// the sequence, and again for each index beyond the last).
bool Emitter::freesItemsLate() {
  bool loops = false;
  GroupOp(group.op).walk([&](LoadOp load) { loops |= bool(load->getParentOfType<LoopOp>()); });
  return loops && kernel->hasAttr("item_ring") && !findsItems() && !kernel->hasAttr("jagged_queries");
}

bool Emitter::findsItems() { return GroupOp(group.op) == finder(kernel); }

// What describes an item: the arguments of programs, the part of its keys and of how many, and the lists before its sequence's.
static_assert(1 + itemArguments(true) + 3 <= kItemWords);
size_t Emitter::itemWords() { return itemArguments(true) + (kernel->hasAttr("splits") ? 2 : 0) + (countedBlock() ? 1 : 0); }

// The program of a warp that only finds items.
void Emitter::emitFinder() {
  Type i32t = b.getI32Type();
  SmallVector<Value> init{blockId(b, loc), i32(0), i32(0)};
  auto begin = cmp(ICmpPredicate::eq, group.warp, i32(0));
  ifThen(begin, [&] {
    scf::WhileOp::create(
        b, loc, TypeRange{i32t, i32t, i32t}, init,
        [&](OpBuilder &, Location, ValueRange args) {
          // Waited for where the index was asked for; at first all slots are free.
          Value more = handOnItem(args[0], {args[1], args[2]}, /*read=*/true);
          scf::ConditionOp::create(b, loc, cmp(ICmpPredicate::ne, more, i32(0)), args);
        },
        [&](OpBuilder &, Location, ValueRange args) {
          GroupState::Ring at = advance({args[1], args[2]}, kItemRing);
          scf::YieldOp::create(b, loc, ValueRange{askForIndex(&at), at.slot, at.parity});
        });
  });
}

void Emitter::waitForReaders(const GroupState::Ring &at) {
  mbarrierWait(b, loc, itemRing(2, at.slot), LLVM::XOrOp::create(b, loc, b.getI32Type(), at.parity, i32(1)));
}

// The next index, behind those that the CTAs begin with, once the slot for its item has been read. The warp asks as one.
Value Emitter::askForIndex(const GroupState::Ring *at) {
  auto asked = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()}, cmp(ICmpPredicate::eq, lane, i32(0)), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&asked.getThenRegion().front());
    if (at)
      waitForReaders(*at);
    Value last = addI32(b, loc, argument(params.scalar("items")), uint32_t(-1));
    Value taken = LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::uinc_wrap, argument(params.scalar("counter")),
                                            last, LLVM::AtomicOrdering::monotonic, "device");
    scf::YieldOp::create(b, loc, taken);
    b.setInsertionPointToStart(&asked.getElseRegion().front());
    scf::YieldOp::create(b, loc, i32(0));
  }
  warpSync(b, loc);
  return add(shuffleIdx(b, loc, asked.getResult(0), i32(0)), gridDim(b, loc));
}

// Looks up the item of an index, or of the next one that stands for work, and hands it on once the slot has been read (`read`:
// it has). Returns whether there was one (i32). Each lane holds all of it.
Value Emitter::handOnItem(Value index, const GroupState::Ring &at, bool read) {
  const size_t words = itemWords();
  SmallVector<Type> types(2 + words, b.getI32Type()); // index, whether it has work, what describes it
  auto search = scf::WhileOp::create(
      b, loc, types, ValueRange{index},
      [&](OpBuilder &, Location, ValueRange args) {
        auto inside = scf::IfOp::create(b, loc, types, cmp(ICmpPredicate::slt, args[0], argument(params.scalar("items"))), true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(&inside.getThenRegion().front());
          WorkItem item = findItem(args[0]);
          auto next = scf::IfOp::create(b, loc, TypeRange{b.getI32Type()}, item.valid, true);
          b.setInsertionPointToStart(&next.getThenRegion().front());
          scf::YieldOp::create(b, loc, args[0]);
          b.setInsertionPointToStart(&next.getElseRegion().front());
          scf::YieldOp::create(b, loc, askForIndex());
          b.setInsertionPointAfter(next);
          SmallVector<Value> found{next.getResult(0), LLVM::ZExtOp::create(b, loc, b.getI32Type(), item.valid)};
          llvm::append_range(found, item.values);
          for (Value more : {item.part, item.parts, item.blocksBefore})
            if (more)
              found.push_back(more);
          scf::YieldOp::create(b, loc, found);
          b.setInsertionPointToStart(&inside.getElseRegion().front());
          SmallVector<Value> none(types.size(), i32(0));
          none[0] = args[0];
          scf::YieldOp::create(b, loc, none);
        }
        Value again = LLVM::AndOp::create(b, loc, cmp(ICmpPredicate::slt, inside.getResult(0), argument(params.scalar("items"))),
                                          cmp(ICmpPredicate::eq, inside.getResult(1), i32(0)));
        scf::ConditionOp::create(b, loc, again, inside.getResults());
      },
      [&](OpBuilder &, Location, ValueRange args) { scf::YieldOp::create(b, loc, args.take_front(1)); });
  SmallVector<Value> item(search.getResults().drop_front());
  item.resize(kItemWords, i32(0));
  asLeader([&] {
    if (!read)
      waitForReaders(at);
    for (int64_t word = 0; word < kItemWords; word += 4)
      storeShared(b, loc, packVector(b, loc, ValueRange(item).slice(word, 4)),
                  addI32(b, loc, itemRing(0, at.slot), uint32_t(4 * word)));
    mbarrierArrive(b, loc, itemRing(1, at.slot));
  });
  return item[0];
}

// Whether there is an item (i32), then what describes it. Frees the slot, unless that is for later.
SmallVector<Value> Emitter::nextItem(const GroupState::Ring &at) {
  mbarrierWait(b, loc, itemRing(1, at.slot), at.parity);
  SmallVector<Value> item;
  for (int64_t word = 0; word < kItemWords; word += 4) {
    Value four = loadShared(b, loc, VectorType::get({4}, b.getI32Type()), addI32(b, loc, itemRing(0, at.slot), uint32_t(4 * word)));
    llvm::append_range(item, unpackVector(b, loc, four));
  }
  item.resize(1 + itemWords());
  if (!freesItemsLate())
    freeItem();
  return item;
}

void Emitter::freeItem() {
  static_assert(kItemRing == 1, "an item is freed where no slot is at hand: with more slots, carry the one it was read from");
  warpSync(b, loc);
  mbarrierArrive(b, loc, itemRing(2, i32(0)), cmp(ICmpPredicate::eq, lane, i32(0)));
}
