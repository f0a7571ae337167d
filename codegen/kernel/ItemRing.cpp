// codegen/kernel/ItemRing.cpp - items that CTAs take as they get free, and how a CTA's groups learn of them.
//
// The group that loads asks a counter in memory for the next item when it begins one, and hands it on through a ring of
// kItemRing words in shared memory. A group reads a word when it is done with the item before, the loader's among them, so
// nobody waits for a group that waits: the loader waits for readers that are kItemRing items behind, which are never
// behind it for want of a later item.
// Each item is asked for once, by a CTA that begins one, so that a launch of n items counts to n: atom.inc with the limit
// n - 1 leaves the counter at zero for the next launch.
#include "codegen/common/Mbarrier.h"
#include "codegen/common/SharedAccess.h"
#include "codegen/common/Sreg.h"
#include "codegen/common/Sync.h"
#include "codegen/kernel/Emitter.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

static GroupOp loader(KernelOp kernel) {
  for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
    bool loads = false;
    group.walk([&](LoadOp) { loads = true; });
    if (loads)
      return group;
  }
  return {};
}

Value Emitter::itemRing(int64_t part, Value slot) {
  // Words, then barriers of handed-on items, then barriers of read ones.
  int64_t base = kernel->getAttrOfType<IntegerAttr>("item_ring").getInt() + (part ? 4 * kItemRing : 0) +
                 (part == 2 ? 8 * kItemRing : 0);
  return add(addI32(b, loc, smemBase, uint32_t(base)), mul(slot, i32(part ? 8 : 4)));
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

void Emitter::handOnItem(const GroupState::Ring &at) {
  if (GroupOp(group.op) != loader(kernel))
    return;
  asLeader([&] {
    Type i32t = b.getI32Type();
    Value last = addI32(b, loc, argument(params.scalar("items")), uint32_t(-1));
    Value taken = LLVM::AtomicRMWOp::create(b, loc, LLVM::AtomicBinOp::uinc_wrap, argument(params.scalar("counter")),
                                            last, LLVM::AtomicOrdering::monotonic, "device");
    mbarrierWait(b, loc, itemRing(2, at.slot), LLVM::XOrOp::create(b, loc, i32t, at.parity, i32(1)));
    storeShared(b, loc, add(taken, gridDim(b, loc)), itemRing(0, at.slot));
    mbarrierArrive(b, loc, itemRing(1, at.slot));
  });
}

Value Emitter::nextItem(const GroupState::Ring &at) {
  mbarrierWait(b, loc, itemRing(1, at.slot), at.parity);
  Value index = loadShared(b, loc, b.getI32Type(), itemRing(0, at.slot));
  warpSync(b, loc);
  mbarrierArrive(b, loc, itemRing(2, at.slot), cmp(ICmpPredicate::eq, lane, i32(0)));
  return index;
}
