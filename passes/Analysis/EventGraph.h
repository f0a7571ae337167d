// passes/Analysis/EventGraph.h - the timed marked graph of a mapped kernel: takes, passes, and what they wait for.
//
// Every group is a sequential program over one work item; every channel is a ring. The takes and passes are the
// events; edges say "not before", and an edge with t tokens says "not before the event t items earlier":
//   program  consecutive events of a group                                      0 tokens
//   closing  the last event of a group to its first                              1 token  (the next item)
//   full     a pass at station s to the take at station s + 1                    0 tokens
//   empty    a pass at the last station to the take at station 0, `depth` later  depth tokens
//            (of the host, where a channel lies over another's slots: they come back through it)
// A kernel that is not persistent runs one item per CTA: it has no empty edges across items, and its groups close
// through one more event, the start of the next CTA.
//
// A station may be visited several times per item: the loop over key blocks is unrolled. Visit v of item i uses ring
// entry i * visits + v, and an empty edge that reaches the next visits of the same item carries no token. Offsets are
// bounded by the depths, so that items of 1 to depth + 2 blocks show all that any number of blocks can do.
//
// Sources: Commoner, Holt, Even, Pnueli, "Marked directed graphs", 1971 (liveness); Baccelli et al.,
// "Synchronization and Linearity", 1992 (period = maximum over circuits of duration over tokens).
#pragma once

#include "dialect/Tile/Tile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace fovea::tile {

/// One op of a group's program with its loop unrolled.
struct ProgramOp {
  mlir::Operation *op = nullptr;
  unsigned block = 0;             ///< the key block that the program is at: 0 before the loop, all of them behind it
  bool rare = false;              ///< in a cold path
};
/// The program of a group for one item of `blocks` key blocks; what a cold path holds follows its tile.rare.
std::vector<ProgramOp> unrolledProgram(GroupOp group, unsigned blocks);
/// Whether the items of a kernel loop over key blocks.
bool hasKeyBlocks(KernelOp kernel);
/// As many key blocks as show all that can happen: one more than the deepest ring and the pipeline hold.
unsigned blocksToUnroll(KernelOp kernel);

struct Event {
  enum class Kind { Take, Pass, NextCta };
  Kind kind = Kind::Take;
  mlir::Operation *op = nullptr;  ///< the tile.take or tile.pass; null for NextCta
  TakeOp take;                    ///< the take that owns the slot (of a pass: the one it passes on)
  ChannelOp channel;
  unsigned station = 0;
  unsigned visit = 0;             ///< which of the item's visits of this station
  unsigned group = 0;             ///< index into EventGraph::groups
  unsigned position = 0;          ///< of the op in EventGraph::bodies
  llvm::StringRef role;
};

struct Edge {
  enum class Kind { Program, Closing, Full, Empty };
  Kind kind = Kind::Program;
  unsigned from = 0, to = 0;
  unsigned tokens = 0;
  double duration = 0;            ///< clocks from `from` to `to`; the graph is built with zeros
};

/// A closed walk, as edge indices in order.
struct Circuit {
  llvm::SmallVector<unsigned> edges;
  double duration = 0;
  unsigned tokens = 0;
  double period() const { return tokens ? duration / tokens : 0; }
};

class EventGraph {
public:
  /// Reads the graph off a kernel whose roles are mapped to groups. Balance is checked first: every station of a
  /// channel is visited equally often, by one group; otherwise an error is emitted at the channel.
  /// `blocks`: key blocks of an item, where its items have any.
  static mlir::FailureOr<EventGraph> build(KernelOp kernel, unsigned blocks);
  static mlir::FailureOr<EventGraph> build(KernelOp kernel) { return build(kernel, blocksToUnroll(kernel)); }

  /// The shortest circuit without a token: a deadlock. None: the kernel is live for every number of items.
  std::optional<Circuit> findDeadlock() const;
  /// The circuit of a deadlock as the cycle of waits, in words.
  std::string describeWaits(const Circuit &circuit) const;

  /// The circuit of the greatest duration over tokens: its period is the kernel's, its events are the bottleneck.
  /// Requires a live graph. None when no circuit takes time.
  std::optional<Circuit> findCritical() const;
  /// The roles and channels that a circuit runs through: "load -[K] -> qk -[S] -> softmax -> …".
  std::string describe(const Circuit &circuit) const;

  /// Fewest tokens on a path between two events (0: earlier in the same item), none if there is no path.
  std::optional<unsigned> distance(unsigned from, unsigned to) const;
  /// "softmax takes S".
  std::string name(unsigned event) const;

  std::vector<Event> events;
  std::vector<Edge> edges;
  std::vector<GroupOp> groups;
  std::vector<llvm::SmallVector<unsigned>> programs; ///< events of each group in order
  std::vector<std::vector<ProgramOp>> bodies;        ///< all ops of each group in order
  bool persistent = false;
};

} // namespace fovea::tile
