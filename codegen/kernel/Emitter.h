// codegen/kernel/Emitter.h - tile.kernel (after tile-synchronise) to one NVVM kernel function.
//
// The frame is the same on every target: barriers and tensor memory are set up, each warp group walks the work
// items and runs its program, and the CTA leaves together. A program is straight-line tile code; the emitter
// turns each tile op into instructions of the library in codegen/common, and asks TargetLowering for the few that
// only a target knows (products, accumulators).
#pragma once

#include "codegen/common/Kernel.h"
#include "codegen/common/Registers.h"
#include "codegen/common/Values.h"
#include "codegen/kernel/Expressions.h"
#include "codegen/kernel/Parameters.h"
#include "codegen/kernel/ScalarBuilder.h"
#include "codegen/kernel/Twins.h"
#include "dialect/Layout/SmemTile.h"
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "runtime/abi/Target.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace fovea::codegen {

/// Key blocks before the last that a loader loads of an item when the next is dealt out. An H200 takes about 2 us to find one,
/// and less than these blocks and those in the rings keep the others busy.
inline constexpr int64_t kBlocksToFind = 4;

/// What one group's program runs under.
struct GroupState {
  tile::GroupOp op;
  uint32_t index = 0;       ///< of the group in the kernel; named barrier index + 1 is its own
  Value isLeader;           ///< i1: the one thread, of a team if there are any, that issues TMA and tcgen05 work
  Value thread;             ///< i32: thread index inside the group
  Value warp;               ///< i32: warp index inside the group
  Value team;               ///< i32: the thread's team (tile.group); null if the group has only one
  const Twin *twin = nullptr; ///< the group behind it runs this code, too
  Value inTwin;             ///< i32: 1 in the threads of that group, 0 in the group's own
  llvm::DenseMap<std::pair<Value, int64_t>, Value> moved; ///< see Emitter::moved
  /// Slot index and phase parity for each channel depth that the group uses.
  struct Ring {
    Value slot, parity;
  };
  llvm::DenseMap<int64_t, Ring> item;          ///< of the current item
  llvm::DenseMap<int64_t, Ring> block, before; ///< of the key block that the loop is at, and of the one before
};

class TargetLowering;

/// Writes one kernel; `b` and `loc` (ScalarBuilder) are for TargetLowering, too.
class Emitter : public ScalarBuilder {
public:
  Emitter(tile::KernelOp kernel, const Target &target, tile::Schedule schedule, TargetLowering &lowering,
          OpBuilder &b);

  /// Emits `llvm.func @<kernel>` at the builder's point. Diagnostics go to the op that could not be emitted.
  mlir::LogicalResult emit();

  // --- for TargetLowering -------------------------------------------------------------------------------------
  tile::KernelOp kernel;
  const Target &target;
  tile::Schedule schedule;
  Value smemBase, tmemBase, lane;
  GroupState group;

  /// SMEM byte address or TMEM address (i32) of a slot.
  Value address(Value slot) { return addresses.lookup(slot); }
  /// Registers of a slot in registers: f32 accumulators, or packed 16-bit operands. All stations of such a channel
  /// run on one group, so that they share one set.
  SmallVector<Value> &slotRegisters(Value slot) {
    return channelRegisters[tile::ownerOf(tile::channelOf(slot)).getSymName()];
  }
  layout::SmemTile smemTile(tile::SlotType type) const;
  Half half(Type element) const { return element.isBF16() ? Half::BF16 : Half::F16; }
  /// Registers of a register tile, in the order of its layout (tile.regs).
  SmallVector<Value> &registers(Value tile) { return tiles[tile]; }
  /// The value of a scalar that a program computes.
  Value scalar(Value v) { return scalars.lookup(v); }
  /// Whether this group's register tiles hold a row a thread (#tile.regs<rows>) rather than fragments.
  bool holdsRows() const;
  /// First row (i32) of this warp's part of a tile: 32 rows (rows), or 16 (fragment). Eight warps on 128 rows of tensor
  /// memory share its quarters in pairs.
  Value warpRow();
  /// Runs `body` unless the item has a part of its tile's keys only: its output is not the tile's then.
  void unlessSplit(llvm::function_ref<void()> body);
  int64_t groupThreads() const { return 32 * int64_t(tile::GroupOp(group.op).getWarps()); }
  /// Queries of a tile that each team of the group has.
  int64_t teamQueries() const { return schedule.tileQueries() / int64_t(tile::GroupOp(group.op).getTeams()); }
  int64_t teamThreads() const { return groupThreads() / int64_t(tile::GroupOp(group.op).getTeams()); }
  /// Slot and parity at a channel or barrier of this depth; `visit` as in tile.take.
  const GroupState::Ring &ring(int64_t depth, std::optional<uint64_t> visit);
  Value barrierAddress(llvm::StringRef barrier, std::optional<uint64_t> visit);
  /// What a channel's or barrier's offset counts from, in the threads of a twin moved to the twin's; of a constant, what they
  /// add to it (null: nothing).
  Value moved(mlir::Operation *op);
  /// Runs `body` in the leader thread only and brings its warp back together.
  void asLeader(llvm::function_ref<void()> body);
  const Parameters &parameters() const { return params; }
  Value argument(const ParamRef &p) { return function.getArgument(p.index); }

private:
  struct WorkItem {
    SmallVector<Value> values; ///< the arguments of a program (tile.kernel)
    Value valid;               ///< i1: the index stands for work
    Value position;            ///< of the first row in its sequence; null if no program asks for it
    Value part, parts;         ///< which part of the tile's keys, of how many; null if the kernel does not split them
    Value blocksBefore;        ///< in the lists of the sequences before; null if the kernel does not count them
  };
  // codegen/kernel/WorkItems.cpp
  WorkItem findItem(Value index);
  WorkItem findKeyBlockItem(Value index);
  WorkItem clampItem(Value row, Value left, Value head, Value position);
  /// Where a tile lies: its sequence, first row, and the rows left in the sequence (at most 0: the index has no work);
  /// the sequence's first row and the one behind its last.
  struct Tile {
    Value sequence, row, left, start, stop;
  };
  Tile searchTile(Value tileIndex);
  Value loadOffset(llvm::StringRef table, Value i); ///< entry i of a tensor of offsets
  // codegen/kernel/Lists.cpp
  void emitListRow(tile::ListRowOp op);
  void emitListBelow(tile::ListBelowOp op);
  void emitListTile(tile::ListTileOp op);
  int64_t countedBlock();
  Value blocksBefore(Value sequence);
  Value listEntry(llvm::StringRef table, Value row, Value index, Value when);
  // codegen/kernel/ItemRing.cpp
  Value itemRing(int64_t part, Value slot);
  void initItemRing();
  bool findsItems();
  bool freesItemsLate();
  Value askForIndex(const GroupState::Ring *at = nullptr);
  void emitFinder();
  void waitForReaders(const GroupState::Ring &at);
  Value handOnItem(Value index, const GroupState::Ring &at, bool read);
  size_t itemWords();
  SmallVector<Value> nextItem(const GroupState::Ring &at);
  void freeItem();
  // codegen/kernel/Emitter.cpp
  void emitFrame();
  Value tensorMemorySlot();
  mlir::LogicalResult meet(llvm::ArrayRef<mlir::Operation *> loads);
  // codegen/kernel/Groups.cpp
  mlir::LogicalResult emitGroups(const WorkItem &item);
  mlir::LogicalResult emitGroup(tile::GroupOp op, uint32_t index, const WorkItem &item, const Twin *twin = nullptr);
  /// `depths`: of the rings that advance with items; `blockDepths`: with key blocks, if items have any.
  mlir::LogicalResult walkItems(mlir::Block &block, ArrayRef<int64_t> depths, ArrayRef<int64_t> blockDepths);
  GroupState::Ring advance(const GroupState::Ring &at, int64_t depth);
  void handOverRegisters(tile::GroupOp op);
  void beginTwin(const Twin &twin);
  Value baseOf(mlir::Operation *op) const;
  // codegen/kernel/Program.cpp
  mlir::LogicalResult emitProgram(mlir::Block &block, const WorkItem &item);
  mlir::LogicalResult emitTeamProgram(mlir::Block &block, const WorkItem &item);
  mlir::LogicalResult emitBody(mlir::Block &block);
  void emitTeamRows(tile::TeamRowsOp op);
  // codegen/kernel/Loops.cpp
  mlir::LogicalResult emitLoop(tile::LoopOp op);
  mlir::LogicalResult emitRare(tile::RareOp op);
  void emitSkippedBlocks(tile::SkipBlocksOp op, Value count);
  SmallVector<Value> flatten(ValueRange values);
  void unflatten(ValueRange values, ValueRange like, ArrayRef<Value> flat);
  ArrayRef<Value> restoreCarried(ValueRange values, ValueRange inits,
                                 ArrayRef<std::pair<tile::ChannelOp, Value>> channels, ArrayRef<Value> flat);
  void advanceBlocks();
  /// Depths of the rings in group.block, ascending.
  SmallVector<int64_t> blockDepths() const;
  /// group.block as values that a region can yield, by depth, and from such values.
  SmallVector<Value> blockRings() const;
  void setBlockRings(ValueRange rings);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  bool isLeaderOp(mlir::Operation &op);
  mlir::LogicalResult emitLeaderOp(mlir::Operation &op);

  // codegen/kernel/Copies.cpp
  void emitTake(tile::TakeOp op);
  void emitLoad(tile::LoadOp op);
  void emitStore(tile::StoreOp op);
  void emitStoreRows(tile::StoreRowsOp op);
  /// Row `row` of a tile of `queries` valid queries from `head` on (i32): its valid rows, and the row's query and head.
  struct Place {
    Value rows, query, head;
  };
  Place placeOf(Value row, Value queries, Value head);
  // codegen/kernel/Splits.cpp
  void emitStorePartial(tile::StorePartialOp op);
  Value partialRow(tile::StorePartialOp op, Value row);
  void emitStoreScratch(tile::StoreScratchOp op);
  /// f32 columns from `column` on, to row `rowOf(row of the tile)` (i64) of scratch memory with `cols` columns; rows of the tile
  /// below `rowsOf(row)`.
  void storeColumns(Value scratch, int64_t cols, llvm::function_ref<Value(Value)> rowOf, llvm::function_ref<Value(Value)> rowsOf,
                    bool holdsRows, ArrayRef<Value> registers, int64_t column);
  void emitClearTail(tile::ClearTailOp op);
  // codegen/kernel/Rotary.cpp
  void emitRotate(tile::RotateOp op);
  // codegen/kernel/Elements.cpp
  mlir::LogicalResult emitMapElements(tile::MapElementsOp op);
  // codegen/kernel/Synchronisation.cpp
  void emitWait(tile::WaitOp op);
  void emitArrive(tile::ArriveOp op);
  void emitSync();
  // codegen/kernel/Mathematics.cpp
  mlir::LogicalResult emitMath(mlir::Operation &op);
  bool isPacked(mlir::Operation &op) const;
  void emitMaskTail(tile::MaskTailOp op);
  void emitMaskKeys(tile::MaskKeysOp op);
  mlir::LogicalResult emitMapPairs(tile::MapPairsOp op);
  /// An element of a table.
  Value emitLookup(llvm::StringRef table, Type type, ArrayRef<TableIndex> indices);
  void emitRowReduce(tile::RowReduceOp op);
  void emitBroadcast(tile::BroadcastOp op);
  void emitColumns(tile::ColumnsOp op);
  void emitLookupRows(tile::LookupRowsOp op);
  mlir::LogicalResult emitScalar(mlir::Operation &op);
  size_t registerCount(mlir::RankedTensorType type) const;

  TargetLowering &lowering;
  Value itemPosition; ///< WorkItem::position of the program's item
  Value itemPart, itemParts; ///< WorkItem::part and ::parts of the program's item
  Value itemBlocksBefore; ///< WorkItem::blocksBefore of the program's item
  Parameters params;
  mlir::LLVM::LLVMFuncOp function;
  llvm::DenseMap<Value, Value> addresses;
  llvm::StringMap<SmallVector<Value>> channelRegisters;
  llvm::DenseMap<Value, SmallVector<Value>> tiles;
  llvm::DenseMap<Value, Value> scalars; ///< item arguments and what programs compute from them
  bool idle = false; ///< a team without rows: waits and arrivals only
  bool met = false; ///< whether the barriers have been set up and all threads have seen it
};

/// Emits `llvm.func @<kernel>_combine`: adds up the parts that a kernel with the attribute `splits` leaves of each row, in
/// their order, and writes the output and the row statistic. See Combine.cpp.
void emitCombine(tile::KernelOp kernel, const tile::Schedule &schedule, OpBuilder &b);

/// What only a target knows. Implemented once in codegen/sm90a and once in codegen/sm100a.
class TargetLowering {
public:
  virtual ~TargetLowering() = default;
  /// Whether products are issued by the leader alone (tcgen05) or by all threads of the group (wgmma).
  virtual bool leaderIssuesProducts() const = 0;
  virtual mlir::LogicalResult mma(Emitter &e, tile::MmaOp op) = 0;
  virtual mlir::LogicalResult read(Emitter &e, tile::ReadOp op) = 0;
  virtual mlir::LogicalResult write(Emitter &e, tile::WriteOp op) = 0;
  virtual mlir::LogicalResult copy(Emitter &e, tile::CopyOp op) = 0;
  /// Columns [col, col + count) of an f32 accumulator (registers or tensor memory), in the layout of the group's register tiles.
  virtual SmallVector<Value> accumulator(Emitter &e, Value slot, uint32_t col, uint32_t count) = 0;
  virtual mlir::LogicalResult productWait(Emitter &e, tile::ProductWaitOp op) = 0;
  virtual mlir::LogicalResult scale(Emitter &e, tile::ScaleOp op) = 0;
  virtual mlir::LogicalResult warpProduct(Emitter &e, tile::WarpProductOp op) = 0;
  /// Called where a loop begins, at the end of its body, and behind it: nothing may be pending there that only
  /// straight-line code can wait for.
  virtual mlir::LogicalResult atLoopEdge(Emitter &e, tile::LoopOp op) { return mlir::success(); }
  virtual mlir::LogicalResult commit(Emitter &e, tile::CommitOp op) = 0;
  virtual mlir::LogicalResult fence(Emitter &e, tile::FenceOp op) = 0;
  virtual void allocateTensorMemory(Emitter &e, Value slot, int64_t columns) {}
  virtual Value tensorMemoryBase(Emitter &e, Value slot) { return {}; }
  virtual void freeTensorMemory(Emitter &e, Value base, int64_t columns) {}
};

} // namespace fovea::codegen
