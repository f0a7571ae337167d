// runtime/emulator/detect/Races.cpp - the race detector.
#include "runtime/emulator/detect/Races.h"
#include "runtime/emulator/detect/Clock.h"
#include "runtime/emulator/machine/Machine.h"
#include <set>
#include <tuple>
#include <unordered_map>

namespace fovea::emulator {
namespace {

/// Actors of a warp: its instructions, and the engines that work for it in order of issue.
enum Engine : uint32_t { Self, TensorPipe, BulkReads, TmemStores, TmemLoads, Classic, WgmmaPipe, Engines };
constexpr uint32_t kLoadActor = 1u << 30;   ///< + index: a load that completes on mbarriers
constexpr uint32_t kWgmmaActor = 1u << 29;  ///< + first warp of a warp group: over when each of its warps has waited

struct Barrier {
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

/// What ends a load: the barrier phases that its bytes were counted on.
struct Load {
  std::vector<std::pair<uint32_t, uint32_t>> done;
};

struct Operation {
  View view;             ///< of the issuing warp, at issue
  uint32_t actor = 0, step = 0;
};

struct WarpState {
  View view;
  uint32_t step = 1;
  uint32_t engines[Engines] = {};      ///< operations handed to each engine
  std::vector<uint32_t> bulkGroups;    ///< operations issued when each group was closed
  std::vector<uint32_t> classicGroups;
};

struct ClusterState {
  uint32_t warpsPerCta = 0, actors = 0;
  std::vector<WarpState> warps;
  std::vector<std::vector<Granule>> shared;  ///< per CTA
  std::vector<std::vector<Granule>> tmem;    ///< per CTA: 8 lane groups x 512 columns
  std::unordered_map<uint64_t, Barrier> mbarriers;
  std::unordered_map<uint64_t, View> named, atomics;
  View clusterPhases[2];
  std::vector<Load> loads;
  std::set<std::tuple<uint32_t, uint32_t, int>> said;
};

class Races final : public Observer {
public:
  void clusterBegin(Cluster &c) override {
    auto s = std::make_shared<ClusterState>();
    s->warpsPerCta = uint32_t(c.ctas[0]->warps.size());
    s->warps.resize(c.ctas.size() * s->warpsPerCta);
    s->actors = uint32_t(s->warps.size()) * Engines;
    for (size_t k = 0; k < c.ctas.size(); ++k) {
      s->shared.emplace_back((c.ctas[k]->shared.size() + 3) / 4);
      s->tmem.emplace_back(c.ctas[k]->tmem ? 8 * 512 : 0);
    }
    for (uint32_t w = 0; w < s->warps.size(); ++w)
      s->warps[w].view.happened.raise(actorOf(w, Self), 1);
    c.observerState = s;
  }

  // ---- memory ------------------------------------------------------------------------------------------------------
  void shared(Warp &w, const Inst &i, Access a, Cta &owner, unsigned, uint32_t offset, uint32_t bytes) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    WarpState &ws = self(s, w);
    if (a == Access::Atomic) {
      // An atomic orders its threads by the location itself.
      View &v = s.atomics[key(owner, offset)];
      ws.view.acquire(v);
      v.release(ws.view);
      tick(s, w);
      return;
    }
    Mark m = mark(w, i.line, actorOf(indexOf(s, w), Self), ws.step, true);
    touchShared(*w.cta->cluster, s, owner, offset, bytes, a == Access::Write, m, ws.view, w);
  }
  void asyncShared(Cluster &c, const AsyncOp &op, Proxy p, Access a, Cta &owner, uint32_t offset, uint32_t bytes) override {
    ClusterState &s = stateOf(c);
    Operation &o = *static_cast<Operation *>(op.observerState);
    Mark m = mark(*op.issuer, op.line, o.actor, o.step, p == Proxy::Generic);
    touchShared(c, s, owner, offset, bytes, a != Access::Read, m, o.view, *op.issuer);
  }
  void tmem(Warp &w, const Inst &i, Access a, uint32_t address, uint32_t columns) override {
    if ((address >> 16) % 16)
      return;  // accesses cover whole groups of 16 lanes
    ClusterState &s = stateOf(*w.cta->cluster);
    WarpState &ws = self(s, w);
    Engine e = a == Access::Write ? TmemStores : TmemLoads;
    Mark m = mark(w, i.line, actorOf(indexOf(s, w), e), ws.engines[e] + 1, false);
    checkFences(*w.cta->cluster, s, *w.cta, address, columns, a == Access::Write, m, ws.view, indexOf(s, w), w);
    touchTmem(*w.cta->cluster, s, *w.cta, address, columns, a == Access::Write, m, ws.view, w);
    ws.engines[e] = m.step;
  }
  void asyncTmem(Cluster &c, const AsyncOp &op, Access a, Cta &owner, uint32_t address, uint32_t columns) override {
    if ((address >> 16) % 16)
      return;
    ClusterState &s = stateOf(c);
    Operation &o = *static_cast<Operation *>(op.observerState);
    Mark m = mark(*op.issuer, op.line, o.actor, o.step, false);
    checkFences(c, s, owner, address, columns, a != Access::Read, m, o.view, indexOf(s, *op.issuer), *op.issuer);
    touchTmem(c, s, owner, address, columns, a != Access::Read, m, o.view, *op.issuer);
  }

  // ---- order -------------------------------------------------------------------------------------------------------
  void fence(Warp &w, const Inst &, Fence f) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    WarpState &ws = self(s, w);
    uint32_t index = indexOf(s, w);
    if (f == Fence::ProxyAsync || f == Fence::ProxyAsyncShared) {
      ws.view.proxied.join(ws.view.happened);
      tick(s, w);
    } else if (f == Fence::TcgenBefore) {
      ws.view.tensorOut.join(ws.view.happened);
      tick(s, w);
    } else if (f == Fence::TcgenAfter) {
      ws.view.tensor.join(ws.view.tensorIn);
    } else if (f == Fence::TcgenWaitLoad) {
      ws.view.happened.raise(actorOf(index, TmemLoads), ws.engines[TmemLoads]);
    } else if (f == Fence::TcgenWaitStore) {
      ws.view.happened.raise(actorOf(index, TmemStores), ws.engines[TmemStores]);
    }
  }
  void barrierArrive(Warp &w, const Inst &, uint32_t id, uint64_t generation) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    s.named[uint64_t(w.cta->rank) << 48 | uint64_t(id) << 40 | (generation & 0xff)].release(self(s, w).view);
    tick(s, w);
  }
  void barrierLeave(Warp &w, const Inst &, uint32_t id, uint64_t generation) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    self(s, w).view.acquire(s.named[uint64_t(w.cta->rank) << 48 | uint64_t(id) << 40 | (generation & 0xff)]);
  }
  void clusterArrive(Warp &w, const Inst &, uint64_t generation) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    s.clusterPhases[generation & 1].release(self(s, w).view);
    tick(s, w);
  }
  void clusterLeave(Warp &w, const Inst &, uint64_t generation) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    self(s, w).view.acquire(s.clusterPhases[generation & 1]);
  }
  void mbarrierInit(Warp &w, const Inst &i, Cta &owner, uint32_t offset) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    Barrier fresh;
    fresh.actor = s.actors++;
    fresh.init = mark(w, i.line, actorOf(indexOf(s, w), Self), self(s, w).step, true);
    s.mbarriers[key(owner, offset)] = fresh;
  }
  void mbarrierArrive(Warp &w, const Inst &i, unsigned, Cta &owner, uint32_t offset, uint64_t phase) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    afterInit(s, w, i.line, barrierOf(s, owner, offset));
    barrierOf(s, owner, offset).of(phase).release(self(s, w).view);
    tick(s, w);
  }
  void mbarrierWaited(Warp &w, const Inst &i, unsigned, Cta &owner, uint32_t offset, uint64_t phase) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    Barrier &b = barrierOf(s, owner, offset);
    afterInit(s, w, i.line, b);
    if (phase == ~uint64_t(0))  // the phase before the first: nothing happened in it
      return;
    View &v = b.phase == phase + 1 ? b.phases[phase & 1] : b.of(phase);
    self(s, w).view.acquire(v);
  }
  void mbarrierSignal(Cluster &c, const AsyncOp &op, Cta &owner, uint32_t offset, uint64_t phase) override {
    ClusterState &s = stateOf(c);
    Operation &o = *static_cast<Operation *>(op.observerState);
    Barrier &b = barrierOf(s, owner, offset);
    View &v = b.of(phase);
    v.release(o.view);
    if (op.kind == AsyncKind::Commit) {  // fence::before_thread_sync is part of it
      v.tensorOut.join(o.view.happened);
      v.tensorOut.raise(o.actor, o.step);
    }
    if (op.kind == AsyncKind::Load) {
      v.happened.raise(b.actor, uint32_t(phase) + 1);
      s.loads[o.actor - kLoadActor].done.push_back({b.actor, uint32_t(phase) + 1});
    } else {
      v.happened.raise(o.actor, o.step);
    }
  }

  // ---- operations --------------------------------------------------------------------------------------------------
  void asyncIssue(Warp &w, const Inst &, unsigned, AsyncOp &op) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = stateOf(c);
    uint32_t index = indexOf(s, w);
    WarpState &ws = s.warps[index];
    auto *o = new Operation;
    o->view = ws.view;
    auto engine = [&](Engine e, uint32_t at) {
      o->actor = actorOf(at, e);
      o->step = ++s.warps[at].engines[e];
    };
    switch (op.kind) {
    case AsyncKind::Load:
      o->actor = kLoadActor + uint32_t(s.loads.size());
      o->step = 1;
      s.loads.emplace_back();
      break;
    case AsyncKind::Store: engine(BulkReads, index); break;
    case AsyncKind::Tensor: engine(TensorPipe, index); break;
    case AsyncKind::Commit:  // stands for all that went before it
      o->actor = actorOf(index, TensorPipe);
      o->step = ws.engines[TensorPipe];
      break;
    case AsyncKind::Wgmma: {
      // Each warp computes its rows on its own: only what all four know has happened before all of it.
      uint32_t first = index / 4 * 4;
      for (uint32_t k = 0; k < 4; ++k) {
        o->view.happened.meet(s.warps[first + k].view.happened);
        o->view.proxied.meet(s.warps[first + k].view.proxied);
      }
      o->actor = kWgmmaActor + first;
      o->step = ++s.warps[first].engines[WgmmaPipe];
      break;
    }
    case AsyncKind::Classic: engine(Classic, index); break;
    case AsyncKind::ClassicArrive:
      o->actor = actorOf(index, Classic);
      o->step = ws.engines[Classic];
      break;
    }
    // Operations of one engine are carried out in order.
    if (op.kind == AsyncKind::Tensor)
      o->view.happened.raise(o->actor, o->step - 1);
    op.observerState = o;
    tick(s, w);
  }
  void asyncDone(Cluster &, const AsyncOp &op) override { delete static_cast<Operation *>(op.observerState); }
  void groupCommit(Warp &w, const Inst &, AsyncKind kind) override {
    WarpState &ws = self(stateOf(*w.cta->cluster), w);
    (kind == AsyncKind::Store ? ws.bulkGroups : ws.classicGroups).push_back(ws.engines[kind == AsyncKind::Store ? BulkReads : Classic]);
  }
  void groupWaited(Warp &w, const Inst &, AsyncKind kind, uint64_t pending, bool) override {
    ClusterState &s = stateOf(*w.cta->cluster);
    uint32_t index = indexOf(s, w);
    WarpState &ws = s.warps[index];
    if (kind == AsyncKind::Wgmma) {
      ws.view.happened.raise(actorOf(index, WgmmaPipe), uint32_t(pending));
      return;
    }
    Engine e = kind == AsyncKind::Store ? BulkReads : Classic;
    auto &groups = kind == AsyncKind::Store ? ws.bulkGroups : ws.classicGroups;
    if (pending == ~uint64_t(0))
      ws.view.happened.raise(actorOf(index, e), ws.engines[e]);
    else if (groups.size() > pending)
      ws.view.happened.raise(actorOf(index, e), groups[groups.size() - 1 - size_t(pending)]);
  }

private:
  static ClusterState &stateOf(Cluster &c) { return *static_cast<ClusterState *>(c.observerState.get()); }
  static uint32_t indexOf(const ClusterState &s, const Warp &w) { return w.cta->rank * s.warpsPerCta + w.id; }
  static uint32_t actorOf(uint32_t warp, Engine e) { return warp * Engines + e; }
  static WarpState &self(ClusterState &s, const Warp &w) { return s.warps[indexOf(s, w)]; }
  static uint64_t key(const Cta &c, uint32_t offset) { return uint64_t(c.rank) << 32 | offset; }
  static Barrier &barrierOf(ClusterState &s, const Cta &owner, uint32_t offset) {
    auto [it, fresh] = s.mbarriers.try_emplace(key(owner, offset));
    if (fresh)
      it->second.actor = s.actors++;
    return it->second;
  }
  /// The warp's next accesses are later than what it has just released.
  static void tick(ClusterState &s, const Warp &w) {
    uint32_t index = indexOf(s, w);
    s.warps[index].view.happened.raise(actorOf(index, Self), ++s.warps[index].step);
  }
  static Mark mark(const Warp &w, uint32_t line, uint32_t actor, uint32_t step, bool generic) {
    Mark m;
    m.actor = actor;
    m.step = step;
    m.line = line;
    m.warp = uint16_t(w.id);
    m.generic = generic;
    return m;
  }

  static bool ordered(const ClusterState &s, const Mark &earlier, const Mark &now, const Clock &seen) {
    if (!earlier.step || earlier.actor == now.actor)
      return true;
    if (earlier.actor >= kLoadActor) {
      for (auto [actor, step] : s.loads[earlier.actor - kLoadActor].done)
        if (seen[actor] >= step)
          return true;
      return false;
    }
    if (earlier.actor >= kWgmmaActor) {
      for (uint32_t k = 0; k < 4; ++k)
        if (seen[actorOf(earlier.actor - kWgmmaActor + k, WgmmaPipe)] < earlier.step)
          return false;
      return true;
    }
    return seen[earlier.actor] >= earlier.step;
  }

  void conflict(Cluster &c, ClusterState &s, const Mark &earlier, const Mark &now, bool earlierWrites, bool nowWrites, const std::string &where, bool onlyProxy, Warp &w) {
    if (!s.said.insert({earlier.line, now.line, onlyProxy}).second)
      return;
    std::string text;
    if (onlyProxy)
      text = "fence: line " + std::to_string(now.line) + " reads " + where + " through the asynchronous proxy, written by an ordinary store at line " +
             std::to_string(earlier.line) + " (warp " + std::to_string(earlier.warp) + ") with no fence.proxy.async between";
    else
      text = std::string("race: ") + (nowWrites ? "write" : "read") + " at line " + std::to_string(now.line) + " of " + where + " is not ordered after the " +
             (earlierWrites ? "write" : "read") + " at line " + std::to_string(earlier.line) + " (warp " + std::to_string(earlier.warp) + ")";
    // All threads storing one value to one place is common (a role table, a cleared flag) and harmless: a warning.
    bool sameStore = earlier.line == now.line && earlierWrites && nowWrites && earlier.generic && now.generic;
    c.report(&w, now.line, -1, sameStore, text);
  }

  void afterInit(ClusterState &s, Warp &w, uint32_t line, const Barrier &b) {
    Mark m = mark(w, line, actorOf(indexOf(s, w), Self), self(s, w).step, true);
    if (!ordered(s, b.init, m, self(s, w).view.happened))
      conflict(*w.cta->cluster, s, b.init, m, true, false, "an mbarrier (its init)", false, w);
  }

  void touch(Cluster &c, ClusterState &s, Granule &g, bool write, const Mark &m, const View &seen, const std::string &where, Warp &w) {
    for (Mark &e : g.writes) {
      if (!(e.bytes & m.bytes))
        continue;
      if (!ordered(s, e, m, seen.happened))
        conflict(c, s, e, m, true, write, where, false, w);
      else if (!write && !m.generic && e.generic && e.step && e.actor != m.actor && seen.proxied[e.actor] < e.step)
        conflict(c, s, e, m, true, write, where, true, w);
    }
    if (write) {
      for (Mark &e : g.reads)
        if ((e.bytes & m.bytes) && !ordered(s, e, m, seen.happened))
          conflict(c, s, e, m, false, true, where, false, w);
      // Older marks that the new write covers are history.
      for (Mark &e : g.reads)
        if (!(e.bytes & ~m.bytes))
          e = Mark();
      if (!(g.writes[0].bytes & ~m.bytes))
        g.writes[0] = m;
      else if (!(g.writes[1].bytes & ~m.bytes))
        g.writes[1] = m;
      else {
        g.writes[1] = g.writes[0];
        g.writes[0] = m;
      }
      if (!(g.writes[1].bytes & ~m.bytes) && &g.writes[1] != &g.writes[0] && g.writes[0].step == m.step && g.writes[0].actor == m.actor)
        g.writes[1] = Mark();
      return;
    }
    for (Mark &e : g.reads)
      if (e.step && e.actor == m.actor) {
        uint8_t bytes = e.bytes | m.bytes;
        e = m;
        e.bytes = bytes;
        return;
      }
    for (Mark &e : g.reads)
      if (!e.step || ordered(s, e, m, seen.happened)) {  // a read that is ordered before this one is covered by it
        uint8_t bytes = e.step ? e.bytes | m.bytes : m.bytes;
        e = m;
        e.bytes = bytes;
        return;
      }
    g.reads[g.nextRead++ & 3] = m;
  }

  void touchShared(Cluster &c, ClusterState &s, Cta &owner, uint32_t offset, uint32_t bytes, bool write, Mark m, const View &seen, Warp &w) {
    auto &shadow = s.shared[owner.rank];
    for (uint32_t at = offset; at < offset + bytes;) {
      uint32_t granule = at / 4, end = std::min(granule * 4 + 4, offset + bytes);
      m.bytes = uint8_t(((1u << (end - at)) - 1) << (at % 4));
      if (granule < shadow.size())
        touch(c, s, shadow[granule], write, m, seen, sharedName, w);
      at = end;
    }
  }
  /// Accesses to tensor memory by different warps also need fence::before on one side and fence::after on the other. Only a
  /// warning: proven compilers leave them out where a barrier stands.
  void checkFences(Cluster &c, ClusterState &s, Cta &owner, uint32_t address, uint32_t columns, bool write, const Mark &m, const View &seen, uint32_t self, Warp &w) {
    auto &shadow = s.tmem[owner.rank];
    uint32_t group = (address >> 16) / 16;
    if (shadow.empty() || group >= 8)
      return;
    for (uint32_t k = address & 0xffff; k < (address & 0xffff) + columns && k < 512; ++k) {
      Granule &g = shadow[group * 512 + k];
      auto check = [&](const Mark &e) {
        bool own = e.actor == m.actor || (e.actor / Engines == self && e.actor % Engines != TensorPipe);
        if (!e.step || own || !ordered(s, e, m, seen.happened) || seen.tensor[e.actor] >= e.step || !s.said.insert({e.line, m.line, 2}).second)
          return;
        c.report(&w, m.line, -1, true,
                 "fence: tensor memory accessed at line " + std::to_string(m.line) + " after line " + std::to_string(e.line) + " (warp " + std::to_string(e.warp) +
                     ") without tcgen05.fence::before_thread_sync there and ::after_thread_sync here");
      };
      check(g.writes[0]);
      if (write)
        for (const Mark &e : g.reads)
          check(e);
    }
  }
  void touchTmem(Cluster &c, ClusterState &s, Cta &owner, uint32_t address, uint32_t columns, bool write, Mark m, const View &seen, Warp &w) {
    auto &shadow = s.tmem[owner.rank];
    if (shadow.empty())
      shadow.resize(8 * 512);
    uint32_t group = (address >> 16) / 16;
    m.bytes = 1;
    for (uint32_t k = address & 0xffff; k < (address & 0xffff) + columns && k < 512 && group < 8; ++k)
      touch(c, s, shadow[group * 512 + k], write, m, seen, tmemName, w);
  }
  const std::string sharedName = "shared memory", tmemName = "tensor memory";
};

} // namespace

std::unique_ptr<Observer> makeRaceDetector() { return std::make_unique<Races>(); }

} // namespace fovea::emulator
