// passes/Lower/FlashNetwork.h - the builder of flash forward's network: what its parts share.
//
// Flash.cpp holds the channels and the roles that load, multiply and store; FlashSoftmax.cpp the role between the
// products; FlashOutput.cpp how an item's rows leave. Networks.h draws the whole.
#pragma once

#include "passes/Lower/KeyBlocks.h"
#include "passes/Lower/NetworkBuilder.h"
#include "passes/Lower/OnlineSoftmax.h"
#include "passes/Lower/Problem.h"

namespace fovea {

/// Builds one kernel. Roles write ops in program order, and order is part of the result: what stands between a take and
/// a pass is done while a slot is held.
class FlashNetwork {
public:
  FlashNetwork(mlir::ModuleOp module, const Problem &p, const tile::Schedule &s, const Target &target, mlir::Location loc);
  tile::KernelOp build();

private:
  using Value = mlir::Value;
  using Values = NetworkBuilder::Values;

  // The key blocks of an item. They run from the last to the first, those at the edges of a window before the others: tails
  // and diagonals come early, so that a row meets its first keys in the block that sets its maximum.
  struct KeyBlocks {
    QueryTile tile;
    KeyBlockRange range;
    Value count;
    Value before, behind; ///< blocks of the item that the role's team does not visit; null where all teams visit all
  };

  // Tiles of queries in flight are copies of one network over the same keys and values. `tile` is the one that is being
  // written; its roles and channels carry its number where there are several.
  void forTiles(llvm::function_ref<void()> body) {
    for (tile = 0; tile < s.queryTiles; ++tile)
      body();
  }
  std::string own(const char *name) const { return s.queryTiles == 1 ? name : name + std::to_string(tile); }
  // The tile's rows of an item: none if the item ends before it.
  Item part(Item item);
  // The stations of a slot that each tile's product reads in turn.
  std::vector<std::string> forEachTile(std::vector<std::string> stations, const char *role);

  // sm_90a computes scores again from Q and K; those of sm_100a are still in tensor memory.
  bool holdsOperands() const { return s.maxFree && !target.tcgen05; }
  // Whether warps other than softmax's bring the output out, and rescale it where a running maximum grows, so that
  // softmax goes on to the next block or item meanwhile.
  bool corrects() const { return s.groupOf(own("correct")); }
  // Who has the accumulator between two products, and who has it when the item ends.
  std::string keeper() const { return own(corrects() && !s.maxFree ? "correct" : "softmax"); }
  std::string finisher() const { return own(corrects() ? "correct" : "softmax"); }
  // Whether later rows see more keys (causal, not a window).
  bool rowsDiffer() const;
  bool heavyFirst() const {
    return rowsDiffer() && (p.queries.kind == RowSpace::Kind::Jagged || p.keys.kind == RowSpace::Kind::Dense);
  }
  // Beyond a jagged sequence lie its neighbour's rows; beyond a dense one TMA reads zeros.
  bool clears() const { return p.keys.kind == RowSpace::Kind::Jagged; }
  // Whether blocks behind the first may need the mask: the end of the keys is in the last block, which is the first in order.
  bool masksLater() const { return !range.lower.empty() || !range.upper.empty(); }
  // Masked blocks then have a loop of their own, with a running maximum: a row may meet its first keys there.
  bool hasEdge() const { return masksLater() && range.residual.empty(); }
  // Whether each team visits only the blocks that its own rows see. (In a list and around a gap, the block of a step
  // depends on the range.)
  bool teamsDiffer() const;

  // --- Flash.cpp
  void declareTables();
  void declareTensors();
  void declareChannels();
  void addNotes(); ///< for `fovea explain`
  void addAttributes(tile::KernelOp kernel); ///< what launches and codegen ask of it
  void addLoads();
  void loadKeys(llvm::StringRef channel, llvm::StringRef tensor, Item item, const KeyBlocks &blocks, Value t);
  void addProducts();
  // The sequence of a tensor's rows; null where its rows are of all sequences (`output`: those that shared queries leave).
  static Value batchOf(const RowSpace &rows, Item item, bool output = false);
  Value keyHead(Item item);
  // The key blocks of an item: all of them for those who load and clear, for the others those of their team.
  KeyBlocks keyBlocks(Item item, bool ofTeam = true);
  // Position of the first key of step t.
  Value firstKey(const KeyBlocks &blocks, Value t);

  // --- FlashSoftmax.cpp. `top` and `total`: see OnlineSoftmax; blocks return both.
  void addSoftmax();
  Values firstBlock(Item item, const KeyBlocks &blocks, Value t);
  Values nextExact(Item item, const KeyBlocks &blocks, Value t, Value top, Value total, bool mask);
  Values nextThresholded(Value scores, Value slot, Value top, Value total);
  Values nextMaxFree(Item item, const KeyBlocks &blocks, Value t, Value q, Value top, Value total, bool mask);
  Value scoresOf(Value dots, Item item, const KeyBlocks &blocks, Value t, bool mask);
  Value plainFrom(const KeyBlocks &blocks);
  Value plainTo(const KeyBlocks &blocks);
  Value takeScores();
  Value readScores();
  void writeWeights(Value weights, const char *channel = "P");
  Value early(Value scores);
  Value late(Value scores);
  Value columns(Value scores, int64_t from, int64_t count);
  Value writeStaged(Value scores, Value top);
  Value writeLate(Value scores, Value top);

  // --- FlashOutput.cpp
  void addCorrection();
  void rescale(Value growth, Value scores = {});
  void tell(const char *channel, Value values);
  Value told(const char *channel);
  void finish(Item item, Value top, Value partialTotal);
  void bringOut(Item item, Value factor, Value top, Value total);
  void copyHalf(Value result, Value out, int64_t half);
  /// Of the output, or of half of its columns (Schedule::outHalves).
  void addStore(const char *role, int64_t half);
  void addSecondHalf();

  const Problem &p;
  const KeyRange &range;
  const tile::Schedule &s;
  const Target &target;
  mlir::Location loc;
  NetworkBuilder n;
  OnlineSoftmax online;
  int64_t tile = 0; ///< of the item's tiles, the one whose roles and channels are being written
};

} // namespace fovea
