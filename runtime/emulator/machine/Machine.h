// runtime/emulator/machine/Machine.h - grid, clusters, CTAs, warps: the state that handlers work on.
#pragma once
#include "runtime/emulator/detect/Observer.h"
#include "runtime/emulator/machine/AddressSpace.h"
#include "runtime/emulator/machine/Async.h"
#include "runtime/emulator/machine/Code.h"
#include "runtime/emulator/machine/Lanes.h"
#include "runtime/emulator/machine/Mbarrier.h"
#include "runtime/emulator/machine/Report.h"
#include "runtime/emulator/machine/tensor/Tmem.h"
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace fovea::emulator {

/// What a parked group waits for; `key` tells which one (barrier number, mbarrier address, ...).
struct Wait {
  enum Kind : uint8_t { None, Mbarrier, NamedBarrier, ClusterBarrier, Registers, TmemAlloc, BulkGroup, CpAsync, Wgmma, Tcgen, WarpSync, PairPeer };
  Kind kind = None;
  uint64_t key = 0;
  uint64_t detail = 0;  ///< mbarrier: the phase that must end
};

/// Threads of a warp that run together. A warp is split into several while it is diverged.
struct Group {
  uint32_t pc = 0, mask = 0;
  int32_t join = -1;      ///< innermost reconvergence point, -1 none
  Wait wait;              ///< kind None: runnable
  bool timedOut = false;  ///< woken without what it waited for (try_wait may fail)
  uint64_t token = 0;     ///< barrier generation that this group has arrived at, plus 1
};

/// A place where groups of a warp meet again (immediate post-dominator of a divergent branch).
struct Join {
  uint32_t pc = 0, expected = 0, arrived = 0;
  int32_t parent = -1;
  bool used = false;
};

/// A tcgen05.st that has not taken effect yet.
struct TmemStore {
  virtual ~TmemStore() = default;
  virtual void apply(Tmem &t) = 0;
};

struct Warp : Lanes {
  Cta *cta = nullptr;
  const Code *code = nullptr;
  uint32_t id = 0;         ///< rank in the CTA
  uint32_t live = 0;       ///< threads that have not exited
  uint32_t begun = 0;      ///< threads that ever existed
  Group *group = nullptr;  ///< the running one
  std::vector<Group> groups;
  std::vector<Join> joins;
  uint32_t registersNow = 0;  ///< setmaxnreg; 0: no bound known
  uint32_t clusterToken = 0;  ///< threads that arrived at the cluster barrier and have not waited
  uint64_t clusterGeneration = 0;
  uint64_t instructions = 0;
  std::map<uint32_t, ThreadGroups> bulk;     ///< per lane: cp.async.bulk groups
  std::map<uint32_t, ThreadGroups> cpAsync;  ///< per lane: cp.async groups
  std::vector<std::unique_ptr<TmemStore>> tmemStores;  ///< issued, not yet waited for
  bool carry[32] = {};
  uint32_t stack[32] = {};                                ///< bytes that alloca has handed out
  bool metByBranch = false;  ///< diverged threads met again where their branches meet, and at no .sync instruction since
  std::unique_ptr<uint8_t[]> file;
  bool runnable() const {
    for (const Group &g : groups)
      if (g.wait.kind == Wait::None)
        return true;
    return false;
  }
};

/// The wgmma instructions of one warp group, in order; an instruction is issued when all four warps have executed it.
struct WgmmaStream {
  struct Op { uint32_t pc = 0, warps = 0; uint64_t a = 0, b = 0; bool scaleD = false, done = false; };
  std::deque<Op> ops;             ///< ops[k] has index first + k
  uint64_t first = 0;
  uint64_t issued[4] = {};        ///< next index per warp
  std::deque<uint64_t> groups[4]; ///< committed: index behind the last instruction
};

struct NamedBarrier {
  uint32_t expected = 0, arrived = 0;  ///< threads
  uint64_t generation = 0;
  uint32_t popc = 0, resultPopc = 0;   ///< bar.red
  bool all = true, any = false, resultAll = false, resultAny = false;
};

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;          ///< %cluster_ctarank
  uint32_t id[3] = {0, 0, 0}; ///< %ctaid
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> shared;  ///< window offsets 0..size-1; the first kSharedReserved bytes are the system's
  std::unique_ptr<uint8_t[]> local;
  MbarrierTable mbarriers;
  NamedBarrier barriers[16];
  std::unique_ptr<Tmem> tmem;
  uint32_t registerPool = 0;
  uint32_t liveThreads = 0;
  std::vector<std::unique_ptr<WgmmaStream>> wgmmaStreams;  ///< per warp group, made on first use
  SharedSpan span() { return {shared.data(), uint32_t(shared.size())}; }
  uint32_t windowBase() const { return rank << 24; }
  void wake(Wait::Kind kind, uint64_t key);
};

struct Launch;

/// The unit that one host thread runs: CTAs that can reach each other's shared memory.
struct Cluster {
  Launch *launch = nullptr;
  uint32_t id[3] = {0, 0, 0};   ///< %clusterid
  std::vector<std::unique_ptr<Cta>> ctas;
  AsyncEngine async;
  std::mt19937_64 rng;
  uint64_t progress = 0;        ///< bumped by everything another thread could be waiting for
  uint32_t polls = 0;           ///< strong loads and atomics of global memory that changed nothing, since something was written there
  uint32_t arrived = 0;         ///< barrier.cluster: threads that arrived
  uint64_t generation = 0;
  std::map<uint64_t, std::unique_ptr<std::vector<uint8_t>>> scratch;
  std::shared_ptr<void> observerState;
  void wakeAll(Wait::Kind kind, uint64_t key);
  void tryAdvance();            ///< completes barrier.cluster when all live threads arrived
  /// Records a finding that does not stop the launch.
  void report(const Warp *warp, uint32_t line, int lane, bool warning, const std::string &message, const Earlier *earlier = nullptr);
};

enum class AsyncPolicy : uint8_t { Lazy, Eager, Random };

struct LaunchConfig {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params;
  AsyncPolicy policy = AsyncPolicy::Lazy;
  uint64_t seed = 0;
  uint64_t limit = uint64_t(1) << 40;  ///< warp instructions
  unsigned threads = 0;                ///< host threads, 0 = all
  int smArch = 100;
  uint32_t smCount = 148;
  Observer *observer = nullptr;
  uint32_t poison = kPoison;           ///< what registers, shared and tensor memory hold before they are written
  bool quiet = false;                  ///< device printf says nothing
};

/// One running kernel, shared by the host threads.
struct Launch {
  const Code *code = nullptr;
  const LaunchConfig *config = nullptr;
  AddressSpace *memory = nullptr;
  std::function<std::string(uint32_t)> lineText;
  std::function<std::string(uint32_t)> fileName;
  std::atomic<uint64_t> nextCluster{0};
  uint64_t clusterCount = 0;
  std::atomic<uint64_t> executed{0};
  std::atomic<bool> stop{false};
  std::mutex lock;             ///< guards report
  Report report;
  uint64_t startNanos = 0;
};

/// Runs a kernel to its end. Findings that stop it are in the report; it never throws for what the kernel does.
Report runKernel(const Code &code, const LaunchConfig &config, AddressSpace &memory,
                 std::function<std::string(uint32_t)> lineText = {}, std::function<std::string(uint32_t)> fileName = {});

// Services for handlers.
[[noreturn]] void faultAt(const Warp &w, int lane, const std::string &message);
/// Pointer into a CTA's shared memory for a 32-bit shared address as seen by `w`; `owner` and `offset` if wanted.
uint8_t *sharedAt(Warp &w, uint32_t address, uint32_t bytes, const char *what, Cta **owner = nullptr, uint32_t *offset = nullptr);
Step park(Warp &w, Wait::Kind kind, uint64_t key, uint64_t detail = 0);
/// Faults unless the whole warp (its live threads) executes the instruction. With detectors on, warns when only the end of
/// a branch brought it together, unless it is a barrier: the ISA promises convergence after bar.warp.sync, ptxas after both.
void requireConverged(Warp &w, const char *what, bool barrier = false);
/// Brings the threads of `members` (those alive) together at this instruction: true when all are here, with the mask of
/// those that act now in `lanes` and w.active; false: the group is parked until the rest comes.
bool gatherWarp(Warp &w, const Inst &i, uint32_t members, uint32_t &lanes);
inline uint64_t barrierKey(const Cta &c, uint32_t offset) { return uint64_t(c.rank) << 32 | offset; }
/// Ends `lanes` of the current group (exit).
void exitLanes(Warp &w, uint32_t lanes);
/// Splits or redirects the current group: lanes in `taken` go to `target`, the rest to pc + 1; meets again at `join`.
void branchGroup(Warp &w, uint32_t taken, uint32_t target, int32_t joinPc);

} // namespace fovea::emulator
