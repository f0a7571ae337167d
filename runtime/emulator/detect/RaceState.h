// runtime/emulator/detect/RaceState.h - what the race detector knows of a cluster: the views of warps, lanes and barriers.
#pragma once
#include "runtime/emulator/detect/Shadow.h"
#include "runtime/emulator/machine/Machine.h"
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fovea::emulator {

/// Actors of a warp: its instructions, and the engines that work for it in order of issue. Bulk stores have two: a read
/// of shared memory that .read waits for, a write of global memory that only a plain wait_group ends.
enum Engine : uint32_t { Self, TensorPipe, BulkReads, BulkWrites, TmemStores, TmemLoads, Classic, WgmmaPipe, Engines };
constexpr uint32_t kLoadActor = 1u << 30;   ///< + index: a load that completes on mbarriers
constexpr uint32_t kWgmmaActor = 1u << 29;  ///< + first warp of a warp group: over when each of its warps has waited

struct BarrierView {
  uint32_t actor = 0;
  Mark init;
  View phases[2];
  uint64_t phase = 0;  ///< phases[phase & 1] collects for it
  View &of(uint64_t p) {
    if (p > phase) {  // later phases know all that earlier ones knew
      phases[p & 1] = phases[phase & 1];
      phase = p;
    }
    return phases[p & 1];
  }
};

/// What ends each load of a cluster: the barrier phases that its bytes were counted on.
class Loads {
public:
  uint32_t add() {
    std::lock_guard<std::mutex> hold(lock);
    ends.emplace_back();
    return uint32_t(ends.size() - 1);
  }
  void end(uint32_t load, uint32_t barrier, uint32_t phase) {
    std::lock_guard<std::mutex> hold(lock);
    ends[load].push_back({barrier, phase});
  }
  /// Is one of them known to have passed? (By other clusters' host threads, too.)
  bool over(uint32_t load, const Clock &seen) {
    std::lock_guard<std::mutex> hold(lock);
    for (auto [actor, step] : ends[load])
      if (seen[actor] >= step)
        return true;
    return false;
  }

private:
  std::mutex lock;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> ends;
};

/// An asynchronous operation in flight.
struct Operation {
  View view;             ///< of the issuing thread, at issue
  uint32_t actor = 0, step = 0;
};

struct WarpState {
  View view;                           ///< what every lane knows
  std::map<uint32_t, View> own;        ///< lanes that know more
  View fenced;                         ///< at the last fence of cluster scope or wider: what a relaxed arrival publishes
  uint32_t step = 1;
  bool stepOver = false;               ///< published: the next access begins another step
  uint32_t engines[Engines] = {};      ///< operations handed to each engine
  std::vector<uint32_t> bulkGroups;    ///< operations issued when each group was closed
  std::vector<uint32_t> classicGroups;
  /// tcgen05.ld and st that each lane has waited for itself, and those also behind fence::before_thread_sync. A lane that
  /// tells others speaks for all once the warp has met; until then chips keep the order and the ISA does not promise it.
  uint32_t waited[2] = {}, fencedTmem[2] = {};
  uint32_t lastBulkLine = 0;
  uint32_t instance = 0, lastLine = 0, lastLane = 0;
};

struct ClusterState {
  uint64_t index = 0;                        ///< of the cluster in the grid
  uint32_t warpsPerCta = 0, actors = 0;
  std::vector<WarpState> warps;
  std::vector<SharedShadow> shared;          ///< per CTA
  std::vector<TmemShadow> tmem;              ///< per CTA: 8 lane groups x 512 columns
  std::unordered_map<uint64_t, BarrierView> mbarriers;
  std::unordered_map<uint64_t, View> named, atomics;
  std::unordered_map<uint32_t, uint32_t> laneActors;  ///< warp * 32 + lane: actor, for lanes that published alone
  /// Buffers of global memory that were met lately, and what RaceMemory knows of them.
  struct Buffer {
    uint64_t begin = 0, size = 0;
    void *log = nullptr;
  } buffers[16];
  /// Pages of global memory that were met lately, likewise.
  struct NearPage {
    uint64_t number = ~uint64_t(0);
    void *page = nullptr;
  } pages[64];
  View clusterPhases[2];
  std::shared_ptr<Loads> loads = std::make_shared<Loads>();
  std::set<std::tuple<uint32_t, uint32_t, int>> said;
  std::map<uint32_t, bool> waits;            ///< PTX line of an mbarrier wait: did it ever tell anything new?
  std::vector<std::unique_ptr<Operation>> operations;  ///< all that were ever in flight at once; a launch may stop in between
  std::vector<Operation *> over;                       ///< those of them that are not in flight

  static ClusterState &of(const Cluster &c) { return *static_cast<ClusterState *>(c.observerState.get()); }
  uint32_t indexOf(const Warp &w) const { return w.cta->rank * warpsPerCta + w.id; }
  static uint32_t actorOf(uint32_t warp, Engine e) { return warp * Engines + e; }
  WarpState &self(const Warp &w) { return warps[indexOf(w)]; }
  BarrierView &barrier(const Cta &owner, uint32_t offset);
  Operation *newOperation() {
    if (over.empty()) {
      operations.push_back(std::make_unique<Operation>());
      return operations.back().get();
    }
    Operation *o = over.back();
    over.pop_back();
    return o;
  }
  static uint64_t key(const Cta &c, uint32_t offset) { return uint64_t(c.rank) << 32 | offset; }

  /// True when `lanes` are all threads of the warp that still live. (Those that exited take part in no barrier: the rest waits for
  /// them no more, and what they did last is known to nobody who did not meet them; see `published`.)
  static bool whole(const Warp &w, uint32_t lanes) { return !(w.live & ~lanes); }
  /// Adds what these lanes publish to a barrier's view.
  void publish(const Warp &w, uint32_t lanes, View &to);
  /// `v` becomes what these lanes know, their own accesses included. (Assigned, so that its memory is used again.)
  void know(const Warp &w, uint32_t lanes, View &v);
  /// The part of both that the lanes did themselves.
  void raiseOwn(const Warp &w, uint32_t lanes, View &to);
  /// Keeps of `v` what all threads of `w` would know, too: what happened, and what is proxied.
  void meetPublished(const Warp &w, View &v);
  /// The same without copying, for a check by one lane.
  const View &known(const Warp &w, unsigned lane);
  /// f(view) for each view that the lanes' knowledge is kept in.
  template <class F> void learn(const Warp &w, uint32_t lanes, F f) {
    WarpState &ws = self(w);
    if (whole(w, lanes)) {
      f(ws.view);
      for (auto &entry : ws.own)
        f(entry.second);
      return;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
      f(ws.own.try_emplace(uint32_t(__builtin_ctz(m)), ws.view).first->second);
  }
  /// The whole warp speaks: what each lane knows of its own tcgen05.ld and st, all know.
  void meetTmem(const Warp &w, View &v) const;
  /// fence::before_thread_sync: what the warp itself did with tensor memory. Others' work is theirs to fence.
  static void handOut(Clock &out, const View &known, uint32_t warp) {
    for (uint32_t e = 0; e < Engines; ++e)
      out.raise(actorOf(warp, Engine(e)), known.happened[actorOf(warp, Engine(e))]);
  }
  /// A barrier among the lanes: each knows what all knew.
  void synchronise(const Warp &w, uint32_t lanes);
  /// The warp's next accesses are later than what it has just published.
  void tick(const Warp &w) { self(w).stepOver = true; }
  /// The step of an access that is made now.
  uint32_t use(const Warp &w) {
    WarpState &ws = self(w);
    ws.step += ws.stepOver;
    ws.stepOver = false;
    return ws.step;
  }
  /// Did `earlier` certainly end before `now`, which is done with the knowledge `seen`?
  bool ordered(const Mark &earlier, const Mark &now, const Clock &seen) const;

  /// Is this generic write, which happened before, visible to the asynchronous proxy?
  bool proxied(const Mark &written, const View &seen) const;

  Mark mark(const Warp &w, uint32_t line, uint32_t actor, uint32_t step, bool generic) const;
  /// A thread's ordinary access.
  Mark laneMark(const Warp &w, uint32_t line, unsigned lane);
};

} // namespace fovea::emulator
