// runtime/emulator/machine/Async.h - operations that complete later than they are issued.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace fovea::emulator {

struct Cluster;
struct Warp;

/// How an operation tells that it is over, which is what the detectors need to know of it.
enum class AsyncKind : uint8_t {
  Load,      ///< complete_tx on mbarriers
  Store,     ///< bulk group of the issuing thread
  Tensor,    ///< tcgen05.mma, cp, shift: in order, seen by a commit
  Commit,    ///< tcgen05.commit
  Wgmma,     ///< wgmma group
  Classic,   ///< cp.async: group of each thread, in order here
  ClassicArrive
};

/// One asynchronous operation. `step` performs the next portion and returns true after the last one.
struct AsyncOp {
  virtual ~AsyncOp() = default;
  virtual bool step(Cluster &cluster) = 0;
  Warp *issuer = nullptr;
  uint32_t lane = 0;
  uint32_t line = 0;     ///< PTX line of the issuing instruction
  AsyncKind kind = AsyncKind::Load;
  uint64_t id = 0;
  void *observerState = nullptr;
};

/// Operations pending in a cluster, as chains: inside a chain in order, between chains in any order that the policy
/// likes (hardware.md 4.4, 11.3). Chain 0 means an order of its own.
class AsyncEngine {
public:
  /// Queues the operation; under the eager policy it is carried out at once.
  void issue(Cluster &c, std::unique_ptr<AsyncOp> op, uint64_t chain = 0);
  bool idle() const { return chains.empty(); }
  size_t pending() const { return chains.size(); }
  /// One portion of one operation: the oldest, or a random one.
  void pump(Cluster &c, bool random);
  /// Everything that is pending (end of a cluster).
  void drain(Cluster &c);
  const AsyncOp *oldest() const { return chains.empty() ? nullptr : chains.front().ops.front().get(); }

private:
  struct Chain {
    uint64_t key;
    std::deque<std::unique_ptr<AsyncOp>> ops;
  };
  std::deque<Chain> chains;
  uint64_t nextId = 1;
  void stepAt(Cluster &c, size_t index);
};

/// Groups of one thread's asynchronous operations (commit_group / wait_group).
struct ThreadGroups {
  struct Group {
    uint32_t reading = 0, writing = 0;  ///< operations that still read their source / have not written
  };
  std::shared_ptr<Group> open = std::make_shared<Group>();
  std::deque<std::shared_ptr<Group>> closed;
  void commit() {
    closed.push_back(open);
    open = std::make_shared<Group>();
  }
  /// True when at most `n` of the latest groups are unfinished.
  bool finished(uint64_t n, bool readOnly) {
    while (!closed.empty() && !closed.front()->reading && !closed.front()->writing)
      closed.pop_front();
    for (size_t i = 0; i + n < closed.size(); ++i)
      if (closed[i]->reading || (!readOnly && closed[i]->writing))
        return false;
    return true;
  }
};

} // namespace fovea::emulator
