// test/unit/passes/HazardTest.cpp - the proofs accept every finished kernel, and none that lacks a synchronising op.
//
// Each synchronising op of each kernel is removed, then moved past its neighbouring accesses, one at a time. The proof
// must refuse the result, except for the ops in the table below, which are harmless alone for the reason given there;
// every row of the table must occur, so that it cannot outlive its reason.
#include "passes/Tile/Passes.h"
#include "test/unit/passes/Kernels.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::test;
using namespace fovea::tile;

namespace {
bool synchronises(Operation &op) {
  return isa<WaitOp, ArriveOp, CommitOp, ProductWaitOp, FenceOp, StoreWaitOp, SyncOp>(op);
}
bool touchesMemory(Operation &op) {
  return isa<LoadOp, StoreOp, MmaOp, ReadOp, WriteOp, CopyOp, ClearTailOp, RotateOp, MapElementsOp>(op);
}

// "fence async_proxy for threads", "wait @K_empty for tma empty", "product_wait".
std::string textOf(Operation &op) {
  if (isa<ProductWaitOp>(op))
    return "product_wait";
  std::string text = printed(&op);
  StringRef trimmed = StringRef(text).trim();
  trimmed.consume_front("tile.");
  return trimmed.str();
}

// Kernels of a kind have the same network: the backward's differ where its roles do (passes/Lower/BackwardNetwork.h).
std::string kind(const Variant &v) {
  if (!v.backward)
    return v.roles;
  return v.roles == "split" ? "split backward" : v.dim == 256 && v.block == 128 ? "fused in slices" : v.roles;
}

struct Harmless {
  const char *target, *roles, *op; ///< roles: kind()
  const char *before; ///< what follows the op, empty: anything
  const char *why;
  bool always = true; ///< false: whether it occurs depends on which hops meet at one place
};

const Harmless kHarmless[] = {
    {"sm_100a", "split", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted"},
    {"sm_100a", "split", "fence tensor_after for tensor", "tile.take @P", "a later one stands before the product too",
     false},
    {"sm_100a", "split", "wait @P_empty for threads empty", "",
     "the load ring is no deeper than P's, so that V's arrival shows that P's last product is over"},
    {"sm_100a", "split", "wait @K_empty for tma empty", "", "Q's commit behind the same product covers K"},
    {"sm_100a", "fused", "fence async_proxy for threads", "tile.pass", "P's fence follows before the same sync", false},
    {"sm_100a", "fused", "sync", "tile.take @V", "P's sync stands beside it", false},
    {"sm_100a", "fused", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted", false},
    {"sm_100a", "fused", "fence tensor_before for threads", "tile.pass",
     "P over S: a warp rewrites the lanes that it alone has read", false},
    {"sm_100a", "fused", "fence tensor_after for threads", "tile.take @P", "P over S, see above", false},
    {"sm_100a", "fused", "sync", "tile.fence tensor_after",
     "P over S, see above; or the sync before the last gradient's store stands behind the same fences", false},
    {"sm_100a", "fused", "sync", "tile.take @DS", "the sync before dV's store stands behind the same fences", false},
    {"sm_90a", "fused", "sync", "tile.take @DS", "the sync before dV's store stands behind the same fences", false},
    {"sm_100a", "fused", "sync", "tile.take @P", "V's sync stands beside it", false},
    {"sm_90a", "fused", "product_wait", "", "products of blocks below 64 rows are synchronous; nothing is emitted"},
    {"sm_90a", "split", "product_wait", "", "products of blocks below 64 rows are synchronous; nothing is emitted"},
    // The backward: Q is released last of an item, by dK's product, which waits for everything but dV.
    {"sm_100a", "split backward", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted"},
    {"sm_100a", "split backward", "sync", "", "a group of one warp: the proof's steps are a warp's"},
    {"sm_100a", "split backward", "wait @V_empty for tma empty", "", "Q's wait covers V"},
    {"sm_100a", "split backward", "wait @K_empty for tma empty", "", "Q's commit behind a later product covers K", false},
    {"sm_100a", "split backward", "wait @DS_empty for threads empty", "", "one load stage: Q's wait covers dS", false},
    {"sm_100a", "split backward", "fence tensor_before for threads", "", "S's or dP's fence stands before the same product", false},
    {"sm_100a", "split backward", "fence tensor_after for tensor", "", "S's or dP's fence stands before the same product", false},
    {"sm_90a", "split backward", "wait @K_empty for tma empty", "", "Q's wait covers K", false},
    {"sm_90a", "split backward", "wait @V_empty for tma empty", "", "Q's wait covers V", false},
    {"sm_90a", "split backward", "product_wait", "", "products of blocks below 64 rows are synchronous", false},
    {"sm_90a", "split backward", "fence async_proxy for threads", "tile.pass", "products of blocks below 64 rows read by threads", false},
    {"sm_100a", "fused in slices", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted", false},
    {"sm_90a", "fused in slices", "product_wait", "tile.read", "a later product was waited for before"},
    {"sm_100a", "fused in slices", "wait @S_full for threads", "", "dO's second slice was loaded behind the scores' products, and is awaited before"},
    {"sm_100a", "fused in slices", "wait @DP_full1 for threads", "", "dV, of later products, was awaited before"},
};

// The same for ops that are moved and not removed.
const Harmless kHarmlessMoves[] = {
    {"sm_100a", "split", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted"},
    {"sm_100a", "split", "fence tensor_after for tensor", "tile.take @P", "a later one stands before the product too",
     false},
    {"sm_100a", "split", "arrive @V_full1 from threads", "", "V is awaited behind P, whose arrival comes later"},
    {"sm_100a", "split", "wait @V_full1 for tensor", "", "P's wait behind the same writers' later arrival covers V"},
    {"sm_100a", "split", "commit @K_empty", "", "Q's commit behind the same product covers K"},
    {"sm_90a", "split", "wait @K_empty for tma empty", "", "Q's wait covers K"},
    {"sm_90a", "split", "arrive @K_empty from threads", "", "Q's arrival behind the same product covers K"},
    {"sm_100a", "split", "commit @P_empty", "", "V's arrival shows that P's last product is over, see above"},
    {"sm_100a", "split", "wait @P_empty for threads empty", "", "V's arrival shows that P's last product is over"},
    {"sm_100a", "split", "arrive @S_empty from threads", "", "one load stage: Q and K wait for the scores' reader"},
    {"sm_100a", "split", "wait @S_empty for tensor empty", "", "one load stage: Q and K wait for the scores' reader"},
    {"sm_100a", "fused", "fence async_proxy for threads", "tile.pass", "P's fence follows before the same sync", false},
    {"sm_100a", "fused", "sync", "tile.take @V", "P's sync stands beside it", false},
    {"sm_100a", "fused", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted", false},
    {"sm_100a", "fused", "fence tensor_before for threads", "tile.pass",
     "P over S: a warp rewrites the lanes that it alone has read", false},
    {"sm_100a", "fused", "fence tensor_after for threads", "tile.take @P", "P over S, see above", false},
    {"sm_100a", "fused", "sync", "tile.fence tensor_after",
     "P over S, see above; or the sync before the last gradient's store stands behind the same fences", false},
    {"sm_100a", "fused", "sync", "tile.take @DS", "the sync before dV's store stands behind the same fences", false},
    {"sm_90a", "fused", "sync", "tile.take @DS", "the sync before dV's store stands behind the same fences", false},
    {"sm_100a", "fused", "sync", "tile.take @P", "V's sync stands beside it", false},
    {"sm_90a", "fused", "fence async_proxy for threads", "tile.pass", "mma.sync reads in the generic proxy"},
    {"sm_90a", "fused", "product_wait", "", "products of blocks below 64 rows are synchronous"},
    {"sm_90a", "split", "product_wait", "", "products of blocks below 64 rows are synchronous"},
    {"sm_100a", "split", "arrive @Q_full1 from threads", "", "Q is awaited beside K, whose arrival comes later"},
    {"sm_100a", "split", "wait @Q_full1 for tensor", "", "K's wait behind the same writers' later arrival covers Q"},
    {"sm_100a", "split", "arrive @V_full2 from threads", "", "V, turned on load: as V_full1"},
    {"sm_100a", "split", "wait @V_full2 for tensor", "", "V, turned on load: as V_full1"},
    // The backward, see above.
    {"sm_100a", "split backward", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted"},
    {"sm_100a", "split backward", "sync", "", "a group of one warp: the proof's steps are a warp's"},
    {"sm_100a", "split backward", "wait @V_empty for tma empty", "", "Q's wait covers V"},
    {"sm_100a", "split backward", "wait @K_empty for tma empty", "", "Q's wait covers K"},
    {"sm_100a", "split backward", "commit @V_empty", "", "Q's wait covers V"},
    {"sm_100a", "split backward", "commit @K_empty", "", "Q's commit behind a later product covers K", false},
    {"sm_100a", "split backward", "wait @S_empty for tensor empty", "", "the load ring is no deeper than S's: Q's wait covers S"},
    {"sm_100a", "split backward", "arrive @S_empty from threads", "", "the load ring is no deeper than S's: Q's wait covers S"},
    {"sm_100a", "split backward", "wait @DP_empty for tensor empty", "", "the load ring is no deeper than dP's: Q's wait covers dP"},
    {"sm_100a", "split backward", "arrive @DP_empty from threads", "", "the load ring is no deeper than dP's: Q's wait covers dP"},
    {"sm_100a", "split backward", "wait @DS_empty for threads empty", "", "one load stage: Q's wait covers dS", false},
    {"sm_100a", "split backward", "commit @DS_empty", "", "one load stage: Q's wait covers dS", false},
    {"sm_100a", "split backward", "commit @Q_full2", "", "two products may read Q at once"},
    {"sm_100a", "split backward", "commit @K_full2", "", "two products may read K at once"},
    {"sm_100a", "split backward", "commit @DO_full2", "", "two products may read dO at once"},
    {"sm_100a", "split backward", "arrive @Q_full2 from threads", "", "what it tells of, the cleared tail, is before the product"},
    {"sm_100a", "split backward", "arrive @K_full2 from threads", "", "what it tells of, the cleared tail, is before the product"},
    {"sm_100a", "split backward", "arrive @DO_full2 from threads", "", "what it tells of, the cleared tail, is before the product"},
    {"sm_100a", "split backward", "wait @Q_full2 for tensor", "", "K's wait, for the same arrivals, stands before"},
    {"sm_100a", "split backward", "fence tensor_before for threads", "", "S's or dP's fence stands before the same product", false},
    {"sm_100a", "split backward", "fence tensor_after for tensor", "", "S's or dP's fence stands before the same product", false},
    {"sm_90a", "split backward", "wait @K_empty for tma empty", "", "Q's wait covers K", false},
    {"sm_90a", "split backward", "wait @V_empty for tma empty", "", "Q's wait covers V"},
    {"sm_90a", "split backward", "wait @P_empty for threads empty", "", "a sync behind every warp's wait for P's product stands before"},
    {"sm_90a", "split backward", "wait @DS_empty for threads empty", "", "a sync behind every warp's wait for dS's products stands before"},
    {"sm_90a", "split backward", "arrive @V_empty from threads", "", "Q's wait covers V"},
    {"sm_90a", "split backward", "arrive @K_empty from threads", "", "Q's wait covers K", false},
    {"sm_90a", "split backward", "arrive @DO_empty from threads", "", "Q's wait covers dO"},
    {"sm_90a", "split backward", "arrive @P_empty from threads", "", "a sync behind every warp's wait for P's product stands before"},
    {"sm_90a", "split backward", "arrive @DS_empty from threads", "", "a sync behind every warp's wait for dS's products stands before"},
    {"sm_90a", "split backward", "product_wait", "", "products of blocks below 64 rows are synchronous", false},
    {"sm_90a", "split backward", "fence async_proxy for threads", "tile.pass", "mma.sync reads in the generic proxy", false},
    {"sm_100a", "fused in slices", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted", false},
    {"sm_90a", "fused in slices", "product_wait", "", "a later product was waited for before"},
    {"sm_100a", "fused in slices", "wait @S_full for threads", "", "dO's second slice was loaded behind the scores' products"},
    {"sm_100a", "fused in slices", "wait @DP_full1 for threads", "", "dV, of later products, was awaited before"},
    {"sm_100a", "fused in slices", "commit @S_full", "", "dO's second slice was loaded behind the scores' products"},
    {"sm_100a", "fused in slices", "commit @DP_full1", "", "dV, of later products, was awaited before"},
};

// Kernels whose items loop over key blocks; op by op as above.
const Harmless kHarmlessInLoops[] = {
    {"sm_100a", "loop", "fence tmem_loads for threads", "", "a read waits for its own loads; nothing is emitted"},
    {"sm_100a", "loop", "fence tensor_after for tensor", "tile.take @S",
     "who has read S writes P two blocks before the slot returns, and P's fence stands behind it"},
    {"sm_100a", "loop", "fence tensor_after for tensor", "tile.take @P", "O's fence stands before the same product"},
    {"sm_100a", "loop", "fence tensor_after for threads", "tile.take @P", "O's fence stands behind a later product"},
    {"sm_100a", "loop", "fence tmem_stores for threads", "tile.pass", "P's and O's stand behind the stores to both"},
    {"sm_100a", "loop", "wait @K_empty for tma empty visit 0", "tile.take @K", "block 0: Q was released behind the last product with K"},
    {"sm_100a", "loop", "wait @Q1_empty for tma empty", "tile.take @Q1", "Q0's release, or K's, stands behind a later product"},
    {"sm_100a", "loop", "wait @O_empty for threads empty visit 0", "tile.take @O", "block 0: S's arrival covers the item before"},
    {"sm_100a", "loop", "wait @O0_empty for threads empty visit 0", "tile.take @O0", "block 0: S's arrival covers the item before"},
    {"sm_100a", "loop", "wait @O1_empty for threads empty visit 0", "tile.take @O1", "block 0: S's arrival covers the item before"},
    {"sm_100a", "loop", "wait @P0_empty for threads empty visit 0", "tile.fence", "block 0: S's arrival covers the item before"},
    {"sm_100a", "loop", "wait @P1_empty for threads empty visit 0", "tile.fence", "block 0: S's arrival covers the item before"},
    {"sm_90a", "loop", "product_wait", "tile.pass", "one product writes O and reads P, which is awaited next"},
    {"sm_90a", "loop", "product_wait", "tile.write", "O's wait, for the same product, stands before P's"},
};

std::vector<Variant> withRotary() {
  std::vector<Variant> all = allVariants();
  llvm::append_range(all, rotaryVariants());
  llvm::append_range(all, epilogueVariants());
  return all;
}

class Mutations : public ::testing::Test {
protected:
  // Runs the proof on a mutated kernel; true if it is refused or in the table.
  bool refused(const Variant &v, ModuleOp module, Operation &op, StringRef next, ArrayRef<Harmless> table) {
    if (!kernels.run(module, createProveNoHazardPass()).empty())
      return true;
    for (size_t i = 0; i < table.size(); ++i) {
      const Harmless &h = table[i];
      if (v.target == h.target && kind(v) == h.roles && textOf(op) == h.op && next.contains(h.before)) {
        occurred.insert(i);
        return true;
      }
    }
    return false;
  }

  void everyRowOccurred(ArrayRef<Harmless> table) {
    for (size_t i = 0; i < table.size(); ++i)
      EXPECT_TRUE(occurred.count(i) || !table[i].always) << "no kernel needs the row of '" << table[i].op << "' for " << table[i].target
                                     << ", " << table[i].roles << ": " << table[i].why;
  }

  // Calls `mutate` with every synchronising op of every kernel.
  void forEveryOp(ArrayRef<Variant> variants,
                  llvm::function_ref<void(const Variant &, ModuleOp, GroupOp, Operation &)> mutate) {
    for (const Variant &v : variants) {
      auto module = kernels.compile(v, Phase::Sync);
      if (!module)
        continue;
      KernelOp kernel = *module->getOps<KernelOp>().begin();
      for (GroupOp group : kernel.getBody().getOps<GroupOp>()) {
        SmallVector<Operation *> ops;
        group.walk([&](Operation *op) {
          if (synchronises(*op))
            ops.push_back(op);
        });
        for (Operation *op : ops)
          mutate(v, *module, group, *op);
      }
    }
  }

  Kernels kernels;
  std::set<size_t> occurred;
};

TEST(Proofs, AcceptEveryKernel) {
  Kernels kernels;
  unsigned count = 0;
  for (const Variant &v : withRotary())
    if (kernels.compile(v, Phase::Sync, /*verify=*/true))
      ++count;
    else
      EXPECT_NE(kernels.error.find("no schedule fits"), std::string::npos) << v.name() << kernels.error;
  EXPECT_GE(count, 80u);
}

TEST_F(Mutations, RemovedOpIsMissed) {
  unsigned removed = 0;
  forEveryOp(withRotary(), [&](const Variant &v, ModuleOp module, GroupOp group, Operation &op) {
    Operation *next = op.getNextNode();
    op.remove();
    EXPECT_TRUE(refused(v, module, op, printed(next), kHarmless))
        << v.name() << ": without '" << textOf(op) << "' in '" << group.getSymName().str() << "' before " << printed(next);
    ++removed;
    next->getBlock()->getOperations().insert(Block::iterator(next), &op);
  });
  EXPECT_GT(removed, 1500u);
  everyRowOccurred(kHarmless);
}

TEST(Proofs, AcceptEveryLoop) {
  Kernels kernels;
  for (const Variant &v : loopVariants())
    EXPECT_TRUE(bool(kernels.compile(v, Phase::Sync, /*verify=*/true))) << v.name() << ": " << kernels.error;
}

// Before the loop, in it, and behind it.
TEST_F(Mutations, RemovedOpOfALoopIsMissed) {
  unsigned removed = 0, inLoops = 0;
  forEveryOp(loopVariants(), [&](const Variant &v, ModuleOp module, GroupOp group, Operation &op) {
    Operation *next = op.getNextNode();
    const bool inLoop = isa<LoopOp>(op.getParentOp());
    op.remove();
    EXPECT_TRUE(refused(v, module, op, printed(next), kHarmlessInLoops))
        << v.name() << ": without '" << textOf(op) << "' in '" << group.getSymName().str() << "'"
        << (inLoop ? " in the loop" : "") << " before " << printed(next);
    ++removed, inLoops += inLoop;
    next->getBlock()->getOperations().insert(Block::iterator(next), &op);
  });
  EXPECT_GT(removed, 150u);
  EXPECT_GT(inLoops, 50u);
  everyRowOccurred(kHarmlessInLoops);
}

// The channel that a barrier belongs to: V of V_full1.
StringRef channelName(Operation &op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return wait.getBarrier().rsplit('_').first;
  if (auto arrive = dyn_cast<ArriveOp>(op))
    return arrive.getBarrier().rsplit('_').first;
  if (auto commit = dyn_cast<CommitOp>(op))
    return commit.getBarrier().rsplit('_').first;
  return "";
}

bool touches(Operation &op, StringRef channel) {
  return touchesMemory(op) && (channel.empty() || llvm::any_of(op.getOperands(), [&](Value v) {
           return isa<SlotType>(v.getType()) && channelOf(v).getSymName() == channel;
         }));
}

TEST_F(Mutations, MisplacedOpIsNoticed) {
  unsigned moved = 0;
  forEveryOp(withRotary(), [&](const Variant &v, ModuleOp module, GroupOp group, Operation &op) {
    // What makes others wait moves up, before the access it covers; what waits moves down, behind the one it guards.
    auto fence = dyn_cast<FenceOp>(op);
    bool up = isa<ArriveOp, CommitOp>(op) || (fence && fence.getKind() != FenceKind::TensorAfter);
    Operation *past = up ? op.getPrevNode() : op.getNextNode();
    while (past && !touches(*past, channelName(op)))
      past = up ? past->getPrevNode() : past->getNextNode();
    // An arrival that announces bytes may stand anywhere before its copies.
    auto arrive = dyn_cast<ArriveOp>(op);
    if (!past || (arrive && arrive.getUnit() == Unit::Tma))
      return;
    Operation *next = op.getNextNode();
    op.remove();
    past->getBlock()->getOperations().insert(up ? Block::iterator(past) : std::next(Block::iterator(past)), &op);
    EXPECT_TRUE(refused(v, module, op, printed(next), kHarmlessMoves))
        << v.name() << ": '" << textOf(op) << "' in '" << group.getSymName().str() << "' moved past " << printed(past);
    ++moved;
    op.remove();
    next->getBlock()->getOperations().insert(Block::iterator(next), &op);
  });
  EXPECT_GT(moved, 1500u);
  everyRowOccurred(kHarmlessMoves);
}

// Ops that cover for one another are not harmless together.
TEST_F(Mutations, AllOpsOfAKindAreMissed) {
  std::vector<Variant> variants = withRotary();
  llvm::append_range(variants, loopVariants());
  for (const Variant &v : variants)
    for (const char *text : {"sync", "fence async_proxy for threads", "fence tensor_after for tensor",
                             "fence tensor_after for threads", "fence tensor_before for threads",
                             "fence tmem_stores for threads"}) {
      auto module = kernels.compile(v, Phase::Sync);
      if (!module)
        continue;
      SmallVector<Operation *> ops;
      module->walk([&](Operation *op) {
        if (synchronises(*op) && textOf(*op) == text)
          ops.push_back(op);
      });
      if (ops.empty())
        continue;
      for (Operation *op : ops)
        op->erase();
      EXPECT_NE(kernels.run(*module, createProveNoHazardPass()), "") << v.name() << ": without every '" << text << "'";
    }
}
} // namespace
