// passes/Analysis/Unroller.h - how an Execution is made: the programs of a kernel's groups, step by step.
//
// Unroller.cpp walks items, key blocks and warps, and keeps the barriers' phases; UnrolledOps.cpp says of every op which
// steps it is, and which memory they touch.
#pragma once

#include "passes/Analysis/EventGraph.h"
#include "passes/Analysis/Execution.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fovea::tile {

/// Makes one Execution (Execution::unroll).
class Unroller {
public:
  Unroller(KernelOp kernel, const Target &target, unsigned items) : kernel(kernel), target(target), items(items) {}
  mlir::FailureOr<Execution> run();

private:
  struct Phase {
    int64_t arrivals = 0;         ///< of threads and commits, as many as complete it
    int64_t expected = 0;         ///< bytes per row that its arrivals announce
    int64_t loaded = 0;           ///< bytes per row that copies bring
  };
  struct Barrier {
    std::vector<Phase> phases;
  };
  /// A product that its warp has not waited for.
  struct Product {
    unsigned step;
    llvm::SmallVector<ChannelOp, 2> registers; ///< what it writes and reads in registers
  };
  /// Which rows of a slot a step touches: a warp's own, and those of its team, belong to no other.
  enum class Rows { All, OfTeam, OfWarp };

  // --- Unroller.cpp: programs, steps and phases
  mlir::LogicalResult unrollGroup(GroupOp group);
  mlir::LogicalResult connectWaits();

  unsigned addStep(mlir::Operation *op, int warp);
  void order(unsigned from, unsigned to) { x.successors[from].push_back(to); }
  unsigned programStep(mlir::Operation *op, int warp);
  unsigned asyncStep(mlir::Operation *op, unsigned issue);

  bool byLeader(Unit unit) const { return unit == Unit::Tma || (unit == Unit::Tensor && target.tcgen05); }
  // Of several teams two are looked at, with two warps each; the first of a team leads it.
  int teamOf(int warp) const { return groupTeams > 1 ? warp / 2 : 0; }
  bool leads(int warp) const { return groupTeams > 1 ? warp % 2 == 0 : warp == 0; }
  void forLeaders(llvm::function_ref<void(int warp)> body);
  void forWarps(llvm::function_ref<void(int warp)> body);
  void forThoseOf(Unit unit, llvm::function_ref<void(int warp)> body) {
    byLeader(unit) ? forLeaders(body) : forWarps(body);
  }

  // How often a channel was visited before this take, or a barrier's phase was over before this op.
  unsigned ring(std::optional<uint64_t> visit) const {
    return visit ? firstBlock[item] + block - unsigned(*visit) : item;
  }
  mlir::FailureOr<BarrierOp> lookup(mlir::Operation *op, llvm::StringRef name);
  Phase &phaseOf(BarrierOp barrier, unsigned at);
  // The step at which it ends.
  unsigned phaseStep(BarrierOp barrier, unsigned at);
  void arrive(BarrierOp barrier, unsigned at, unsigned step, int64_t count, bool ordered);

  // `divided`: among the group's threads (Access::divided).
  void access(unsigned step, mlir::Value slot, bool write, Unit unit, Rows rows = Rows::All, bool divided = false);
  void read(unsigned step, mlir::Value slot, Rows rows) { access(step, slot, false, Unit::Threads, rows); }
  void write(unsigned step, mlir::Value slot, Rows rows) { access(step, slot, true, Unit::Threads, rows); }

  // --- UnrolledOps.cpp
  mlir::LogicalResult unrollOp(mlir::Operation &op);
  mlir::LogicalResult unrollLoad(LoadOp load);
  void unrollStore(StoreOp store);
  void unrollStoreWait(StoreWaitOp wait);
  void unrollMma(MmaOp mma);
  void unrollProductWait(ProductWaitOp wait);
  mlir::LogicalResult unrollCommit(CommitOp commit);
  mlir::LogicalResult unrollArrive(ArriveOp op);
  mlir::LogicalResult unrollWait(WaitOp op);
  void unrollSync(SyncOp sync);
  void unrollFence(FenceOp op);

  KernelOp kernel;
  const Target &target;
  const unsigned items;
  Execution x;
  llvm::StringMap<Barrier> barriers;
  llvm::StringMap<int64_t> registerFile;                ///< channel -> a number of its own, its place in registers
  std::vector<unsigned> blocks, firstBlock;             ///< of each item: its key blocks, and those of items before it

  // Of the group being unrolled.
  unsigned index = 0, item = 0, block = 0;
  int warps = 1;                                        ///< that are looked at
  int64_t groupWarps = 1, groupTeams = 1;
  std::vector<int> last;                                ///< each warp's last step, -1: none
  std::vector<llvm::SmallVector<Product>> products;     ///< of each warp, in order
  llvm::SmallVector<std::pair<unsigned, int>> stores;   ///< TMA stores not yet waited for, and the warp that leads
};

} // namespace fovea::tile
