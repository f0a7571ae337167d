// runtime/emulator/detect/Observer.h - what the machine tells the detectors.
#pragma once
#include <cstdint>
#include <string>

namespace fovea::emulator {

struct Warp;
struct Cta;
struct Cluster;
struct Inst;
struct AsyncOp;
enum class AsyncKind : uint8_t;

/// Who touches memory: PTX threads by ordinary instructions, the asynchronous proxy (TMA, bulk copies), or the tensor
/// core (tcgen05.mma/cp, wgmma), which reads shared memory through the asynchronous proxy as well.
enum class Proxy : uint8_t { Generic, Async, Tensor };
/// Strong: volatile, relaxed, acquire, release and .mmio loads and stores, by which threads talk to each other.
enum class Access : uint8_t { Read, Write, Atomic, StrongRead, StrongWrite };

/// Fences and waits that order without moving data.
enum class Fence : uint8_t {
  Cta, Cluster, Gpu, Sys,                 ///< membar / fence.* by scope
  MbarrierInit, ProxyAsync, ProxyAsyncShared, ProxyAsyncGlobal, ProxyTensormap, ProxyAlias,
  TcgenBefore, TcgenAfter, TcgenWaitLoad, TcgenWaitStore, WgmmaFence
};

/// Hooks, called on the host thread that runs the cluster, so an implementation keeps its state per cluster (see
/// Cluster::observerState). All defaults do nothing; `warp.group->pc` and `inst.line` say where. Throwing a Fault stops
/// the launch with it as the report; Cluster::report records a finding and goes on.
///
/// `lanes` is a mask of the threads of `warp` that act; addresses are arrays over lanes. Shared addresses are
/// (cta, window offset) pairs: the CTA that owns the bytes need not be the warp's own. An asynchronous operation is
/// named by its AsyncOp from issue to end; its accesses come when it takes effect, which the policy decides.
class Observer {
public:
  virtual ~Observer() = default;
  virtual void clusterBegin(Cluster &) {}
  virtual void clusterEnd(Cluster &) {}
  virtual void warpExit(Warp &) {}

  // Memory.
  virtual void shared(Warp &, const Inst &, Access, Cta & /*owner*/, unsigned /*lane*/, uint32_t /*offset*/, uint32_t /*bytes*/) {}
  /// The same for several lanes at once, each at its offset in the warp's own block.
  virtual void sharedLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint32_t *offsets, uint32_t bytes);
  virtual void global(Warp &, const Inst &, Access, unsigned /*lane*/, uint64_t /*address*/, uint32_t /*bytes*/) {}
  /// The same for several lanes at once.
  virtual void globalLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint64_t *addresses, uint32_t bytes);
  /// After an atomic or a strong load has read its value, which another host thread may have written since `global` was called.
  virtual void globalSeen(Warp &, unsigned /*lane*/, uint64_t /*address*/) {}
  /// Tensor memory by groups of 16 lanes: one call for each whose first lane is touched.
  virtual void tmem(Warp &, const Inst &, Access, uint32_t /*address*/, uint32_t /*columns*/) {}
  virtual void asyncShared(Cluster &, const AsyncOp &, Proxy, Access, Cta & /*owner*/, uint32_t /*offset*/, uint32_t /*bytes*/) {}
  /// The same for blocks of 16 bytes of one KiB: bit k stands for the block at page + 16 k.
  virtual void asyncSharedBlocks(Cluster &c, const AsyncOp &op, Proxy p, Access a, Cta &owner, uint32_t page, uint64_t blocks);
  virtual void asyncGlobal(Cluster &, const AsyncOp &, Access, uint64_t /*address*/, uint32_t /*bytes*/) {}
  /// The same for `count` rows, each `stride` bytes behind the one before.
  virtual void asyncGlobalRows(Cluster &c, const AsyncOp &op, Access a, uint64_t address, uint32_t bytes, uint64_t stride, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k)
      asyncGlobal(c, op, a, address + k * stride, bytes);
  }
  virtual void asyncTmem(Cluster &, const AsyncOp &, Access, Cta & /*owner*/, uint32_t /*address*/, uint32_t /*columns*/) {}

  // Order.
  virtual void fence(Warp &, const Inst &, Fence) {}
  virtual void barrierArrive(Warp &, const Inst &, uint32_t /*id*/, uint64_t /*generation*/) {}
  virtual void barrierLeave(Warp &, const Inst &, uint32_t /*id*/, uint64_t /*generation*/) {}
  virtual void warpSync(Warp &, const Inst &, uint32_t /*lanes*/) {}
  /// inst.r[0]: .relaxed.
  virtual void clusterArrive(Warp &, const Inst &, uint64_t /*generation*/) {}
  virtual void clusterLeave(Warp &, const Inst &, uint64_t /*generation*/) {}
  virtual void mbarrierInit(Warp &, const Inst &, Cta & /*owner*/, uint32_t /*offset*/) {}
  virtual void mbarrierArrive(Warp &, const Inst &, unsigned /*lane*/, Cta & /*owner*/, uint32_t /*offset*/, uint64_t /*phase*/) {}
  /// A successful test: the lanes saw `phase` complete.
  virtual void mbarrierWaited(Warp &, const Inst &, uint32_t /*lanes*/, Cta & /*owner*/, uint32_t /*offset*/, uint64_t /*phase*/) {}
  /// An asynchronous arrival or complete_tx.
  virtual void mbarrierSignal(Cluster &, const AsyncOp &, Cta & /*owner*/, uint32_t /*offset*/, uint64_t /*phase*/) {}

  // Asynchronous operations.
  virtual void asyncIssue(Warp &, const Inst &, unsigned /*lane*/, AsyncOp &) {}
  virtual void asyncDone(Cluster &, const AsyncOp &) {}
  /// commit_group of bulk copies or cp.async by the warp's active lanes.
  virtual void groupCommit(Warp &, const Inst &, AsyncKind) {}
  /// A wait of the warp came back: at most `pending` of its latest groups (Store, Classic), or of wgmma instructions
  /// from index `pending` on (Wgmma), may be unfinished. `readOnly`: only their reads are over (.read).
  virtual void groupWaited(Warp &, const Inst &, AsyncKind, uint64_t /*pending*/, bool /*readOnly*/) {}

  // Tensor memory.
  virtual void tmemAlloc(Warp &, const Inst &, uint32_t /*address*/, uint32_t /*columns*/) {}
  virtual void tmemDealloc(Warp &, const Inst &, uint32_t /*address*/, uint32_t /*columns*/) {}
};

} // namespace fovea::emulator
