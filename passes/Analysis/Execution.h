// passes/Analysis/Execution.h - an explicit kernel unrolled over items: who touches which memory, and what orders it.
//
// Read from the synchronising ops alone (waits, arrivals, commits, fences), knowing nothing of how they were derived.
// Nodes are steps; an edge says that one step is over, and seen, before the other begins. There are two kinds:
//   program steps       one per op and warp. Ops of the leader thread are steps of warp 0 alone. Warps of a group run
//                       the same code, so three of them stand for all: any two behave like two of these.
//   asynchronous steps  a TMA copy, a product, a commit, the end of an mbarrier's phase. They begin after their issue
//                       and are over only for who waits for them.
// Sources: PTX ISA, "Memory Consistency Model", "Async Proxy", "mbarrier", "tcgen05 Memory Consistency Model",
// "wgmma.wait_group", "cp.async.bulk.wait_group".
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "runtime/abi/Target.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <vector>

namespace fovea::tile {

struct Step {
  mlir::Operation *op = nullptr;
  unsigned group = 0, item = 0, block = 0; ///< block: of the item's key blocks
  int warp = -1;    ///< the warp that runs or issued it; -1: all of the group, or a phase of an mbarrier
  int issue = -1;   ///< of an asynchronous step: the program step that issued it
};

/// What touches memory. A range is bytes of shared memory, columns of tensor memory, or one register slot.
struct Access {
  unsigned step = 0;
  ChannelOp channel;
  int64_t slot = 0;
  Space space = Space::Smem;
  int64_t begin = 0, end = 0;
  bool write = false;
  Unit unit = Unit::Threads;   ///< threads: the generic proxy
  bool ownRows = false;        ///< only the rows (or lanes) of the warp of the step
  int team = -1;               ///< only rows of this team of the group; -1: of any
  bool divided = false;        ///< the group's threads divide the tile, and no element belongs to two
};

struct WaitStep {
  unsigned step = 0;
  BarrierOp barrier;
  int64_t item = 0;            ///< waits for the phase that this item (or key block) completes; negative: none yet
};

struct ArrivalStep {
  unsigned step = 0;
  BarrierOp barrier;
  unsigned item = 0;
  bool ordered = false;        ///< commits of one issuer complete in order
};

class Execution {
public:
  /// Unrolls `items` work items of every group. Errors (an unknown barrier, a phase that its arrivals or bytes do not
  /// complete, a cycle of waits) are emitted at the op that is wrong.
  static mlir::FailureOr<Execution> unroll(KernelOp kernel, const Target &target, unsigned items);
  /// As many items as can differ: every ring wraps once and one item more; one if items do not meet. Where items loop
  /// over key blocks they have different numbers of them, so that rings of blocks wrap inside and between items.
  static unsigned itemsToUnroll(KernelOp kernel, const Schedule &schedule);

  /// Whether step `from` is over, for `to`, before `to` begins.
  bool ordered(unsigned from, unsigned to) const { return reach[from].test(to); }
  /// Whether `to` may read what the threads of `from` have written: the order above, by other means than that asynchronous
  /// work which a thread issued is over. A commit tells of its products, not of what threads wrote before them.
  bool told(unsigned from, unsigned to) const { return tells.empty() ? ordered(from, to) : tells[from].test(to); }
  /// The first fence of this kind behind `step` in its warp's program, the last one before it.
  std::optional<unsigned> fenceAfter(unsigned step, FenceKind kind) const;
  std::optional<unsigned> fenceBefore(unsigned step, FenceKind kind) const;
  /// The step at which the phase of `item` on a barrier ends.
  std::optional<unsigned> phase(BarrierOp barrier, int64_t item) const;
  llvm::StringRef groupName(unsigned group) const { return GroupOp(groups[group]).getSymName(); }

  std::vector<Step> steps;
  std::vector<Access> accesses;
  std::vector<WaitStep> waits;
  std::vector<ArrivalStep> arrivals;
  std::vector<GroupOp> groups;

private:
  friend class Unroller;
  struct Fence {
    unsigned step;
    FenceKind kind;
  };
  mlir::LogicalResult close();
  const std::vector<Fence> &fencesOf(const Step &step) const;

  std::vector<llvm::SmallVector<unsigned, 2>> successors;
  std::vector<llvm::BitVector> reach, tells; ///< tells: of kernels of several groups
  std::vector<std::vector<std::vector<Fence>>> fences; ///< [group][warp] in program order
  llvm::StringMap<std::vector<int>> phases;            ///< barrier -> step per item, -1: never completes
};

} // namespace fovea::tile
