// runtime/emulator/detect/Races.cpp - the race detector: hooks of the machine to views and shadows.
#include "runtime/emulator/detect/Races.h"
#include "runtime/emulator/detect/RaceMemory.h"

namespace fovea::emulator {
namespace {

class Races final : public RaceDetector {
public:
  std::vector<UnwrittenRead> unwrittenReads() const override { return memory.unwrittenReads(); }

  void clusterBegin(Cluster &c) override {
    auto s = std::make_shared<ClusterState>();
    const LaunchConfig &k = *c.launch->config;
    s->index = c.id[0] + uint64_t(k.grid[0] / k.cluster[0]) * (c.id[1] + uint64_t(k.grid[1] / k.cluster[1]) * c.id[2]);
    s->warpsPerCta = uint32_t(c.ctas[0]->warps.size());
    s->warps.resize(c.ctas.size() * s->warpsPerCta);
    s->actors = uint32_t(s->warps.size()) * Engines;
    for (size_t k = 0; k < c.ctas.size(); ++k) {
      s->shared.emplace_back(c.ctas[k]->shared.size());
      s->tmem.emplace_back(c.ctas[k]->tmem ? 8 * 512 : 0);
    }
    memory.begin(*s);
    c.observerState = s;
  }
  void clusterEnd(Cluster &c) override {
    std::lock_guard<std::mutex> hold(flagsLock);
    for (auto [line, news] : ClusterState::of(c).waits)
      waits[line] |= news;
  }
  std::vector<uint32_t> impliedWaits() const override {
    std::lock_guard<std::mutex> hold(flagsLock);
    std::vector<uint32_t> lines;
    for (auto [line, news] : waits)
      if (!news)
        lines.push_back(line);
    return lines;
  }
  void warpExit(Warp &w) override {
    // Shared memory goes to another block when this one ends; a bulk store may still read it.
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    WarpState &ws = s.self(w);
    uint32_t actor = s.actorOf(s.indexOf(w), BulkReads), seen = ws.view.happened[actor];
    for (auto &entry : ws.own)
      seen = std::max(seen, entry.second.happened[actor]);
    if (seen < ws.engines[BulkReads] && s.said.insert({ws.lastBulkLine, 0, 6}).second)
      c.report(&w, ws.lastBulkLine, -1, false,
               "leak: the thread that issued the bulk copy of line " + std::to_string(ws.lastBulkLine) +
                   " ends without cp.async.bulk.wait_group for it; the block's shared memory may be gone before it is read");
  }

  // ---- memory ------------------------------------------------------------------------------------------------------
  void shared(Warp &w, const Inst &i, Access a, Cta &owner, unsigned lane, uint32_t offset, uint32_t bytes) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    if (a == Access::Atomic) {
      // An atomic orders its threads by the location itself.
      View &v = s.atomics[s.key(owner, offset)];
      s.learn(w, kLaneBit[lane], [&](View &x) { x.acquire(v); });
      s.publish(w, kLaneBit[lane], v);
      s.tick(w);
      return;
    }
    memory.touchShared(c, owner, offset, bytes, isWrite(a), s.laneMark(w, i.line, lane), s.known(w, lane), w);
  }
  void sharedLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint32_t *offsets, uint32_t bytes) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    bool write = isWrite(a);
    Mark m = s.laneMark(w, i.line, unsigned(__builtin_ctz(lanes)));
    SharedShadow &shadow = s.shared[w.cta->rank];
    OwnBlock::Last last{m.step, m.line, m.instance};
    s.self(w).lastLane = 31;
    for (uint32_t left = lanes; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      if (bytes == 16) {
        OwnBlock &o = shadow.own[offsets[lane] / 16];
        if (o.owner == m.warp * 32 + lane + 1) {
          if (write)
            o.write = last, o.read.step = 0;
          else
            o.read = last;
          continue;
        }
      }
      m.lanes = kLaneBit[lane];
      memory.touchShared(c, *w.cta, offsets[lane], bytes, write, m, s.known(w, lane), w);
    }
  }
  void global(Warp &w, const Inst &i, Access a, unsigned lane, uint64_t address, uint32_t bytes) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    if (a == Access::Read || a == Access::Write)
      return memory.touchGlobal(c, address, bytes, a == Access::Write, false, s.laneMark(w, i.line, lane), s.known(w, lane), w);
    // Flags and counters: take over what others left at this address, touch it, leave what the last fence covers.
    exchange(s, w, lane, address);
    memory.touchGlobal(c, address, bytes, a != Access::StrongRead, true, s.laneMark(w, i.line, lane), s.known(w, lane), w);
  }
  void globalLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint64_t *addresses, uint32_t bytes) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    Mark m = s.laneMark(w, i.line, unsigned(__builtin_ctz(lanes)));
    s.self(w).lastLane = 31;
    for (uint32_t left = lanes; left; left &= left - 1) {
      unsigned lane = unsigned(__builtin_ctz(left));
      m.lanes = kLaneBit[lane];
      memory.touchGlobal(c, addresses[lane], bytes, isWrite(a), false, m, s.known(w, lane), w);
    }
  }
  void globalSeen(Warp &w, unsigned lane, uint64_t address) override {
    std::lock_guard<std::mutex> hold(flagsLock);
    takeOver(ClusterState::of(*w.cta->cluster), w, lane, flags[address]);
  }
  void asyncShared(Cluster &c, const AsyncOp &op, Proxy p, Access a, Cta &owner, uint32_t offset, uint32_t bytes) override {
    Operation &o = operation(op);
    memory.touchShared(c, owner, offset, bytes, a != Access::Read, markOf(c, op, p == Proxy::Generic), o.view, *op.issuer);
  }
  void asyncSharedBlocks(Cluster &c, const AsyncOp &op, Proxy p, Access a, Cta &owner, uint32_t page, uint64_t blocks) override {
    memory.touchSharedBlocks(c, owner, page, blocks, a != Access::Read, markOf(c, op, p == Proxy::Generic), operation(op).view, *op.issuer);
  }
  void asyncGlobal(Cluster &c, const AsyncOp &op, Access a, uint64_t address, uint32_t bytes) override {
    Operation &o = operation(op);
    Mark m = markOf(c, op, false);
    if (op.kind == AsyncKind::Store) {
      m.actor = ClusterState::actorOf(m.warp, BulkWrites);
      m.generic = false;
    }
    memory.touchGlobal(c, address, bytes, a != Access::Read, a == Access::Atomic, m, o.view, *op.issuer);
  }
  void asyncGlobalRows(Cluster &c, const AsyncOp &op, Access a, uint64_t address, uint32_t bytes, uint64_t stride, uint32_t count) override {
    if (a == Access::Read && memory.noteRows(c, address, bytes, stride, count, markOf(c, op, false)))
      return;
    RaceDetector::asyncGlobalRows(c, op, a, address, bytes, stride, count);
  }
  void tmem(Warp &w, const Inst &i, Access a, uint32_t address, uint32_t columns) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    WarpState &ws = s.self(w);
    Engine e = a == Access::Write ? TmemStores : TmemLoads;
    Mark m = s.mark(w, i.line, s.actorOf(s.indexOf(w), e), ws.engines[e] + 1, false);
    memory.checkTensorFences(c, *w.cta, address, columns, a == Access::Write, m, ws.view, w);
    memory.touchTmem(c, *w.cta, address, columns, a == Access::Write, m, ws.view, w);
    ws.engines[e] = m.step;
  }
  void asyncTmem(Cluster &c, const AsyncOp &op, Access a, Cta &owner, uint32_t address, uint32_t columns) override {
    Operation &o = operation(op);
    Mark m = markOf(c, op, false);
    memory.checkTensorFences(c, owner, address, columns, a != Access::Read, m, o.view, *op.issuer);
    memory.touchTmem(c, owner, address, columns, a != Access::Read, m, o.view, *op.issuer);
  }
  void tmemAlloc(Warp &w, const Inst &i, uint32_t address, uint32_t columns) override {
    own(w, i, address, columns);
    // What earlier owners left there is nobody's value.
    auto &shadow = ClusterState::of(*w.cta->cluster).tmem[w.cta->rank];
    for (uint32_t g = 0; g < 8; ++g)
      shadow.visit(g * 512 + (address & 511), columns, nullptr, [](Granule &x, uint32_t) { x.written = 0; });
  }
  void tmemDealloc(Warp &w, const Inst &i, uint32_t address, uint32_t columns) override { own(w, i, address, columns); }

  // ---- order -------------------------------------------------------------------------------------------------------
  void fence(Warp &w, const Inst &i, Fence f) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    WarpState &ws = s.self(w);
    uint32_t index = s.indexOf(w);
    switch (f) {
    case Fence::MbarrierInit:  // seen by the asynchronous units of the cluster as well
      s.know(w, w.active, ws.fenced);
      [[fallthrough]];
    case Fence::ProxyAsync: case Fence::ProxyAsyncShared: case Fence::ProxyAsyncGlobal: {
      View now;
      s.know(w, w.active, now);
      s.learn(w, w.active, [&](View &v) { v.proxied.join(now.happened); });
      s.tick(w);
      break;
    }
    case Fence::Cluster: case Fence::Gpu: case Fence::Sys:
      s.know(w, w.active, ws.fenced);
      s.tick(w);
      break;
    case Fence::TcgenBefore:
      s.learn(w, w.active, [&](View &v) { s.handOut(v.tensorOut, v, index); });
      std::copy(ws.waited, ws.waited + 2, ws.fencedTmem);
      s.tick(w);
      break;
    case Fence::TcgenAfter: {
      bool &news = s.waits[i.line];
      s.learn(w, w.active, [&](View &v) {
        news |= !v.tensor.covers(v.tensorIn);
        v.tensor.join(v.tensorIn);
      });
      break;
    }
    case Fence::TcgenWaitLoad: case Fence::TcgenWaitStore: {
      bool store = f == Fence::TcgenWaitStore;
      Engine e = store ? TmemStores : TmemLoads;
      ws.waited[store] = ws.engines[e];
      s.learn(w, w.active, [&](View &v) { v.weak.raise(s.actorOf(index, e), ws.engines[e]); });
      break;
    }
    default: break;
    }
  }
  void warpSync(Warp &w, const Inst &, uint32_t lanes) override { ClusterState::of(*w.cta->cluster).synchronise(w, lanes); }
  void barrierArrive(Warp &w, const Inst &, uint32_t id, uint64_t generation) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    s.publish(w, w.active, s.named[uint64_t(w.cta->rank) << 48 | uint64_t(id) << 40 | (generation & 0xff)]);
    s.tick(w);
  }
  void barrierLeave(Warp &w, const Inst &, uint32_t id, uint64_t generation) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    leave(s, w, s.named[uint64_t(w.cta->rank) << 48 | uint64_t(id) << 40 | (generation & 0xff)]);
  }
  void clusterArrive(Warp &w, const Inst &i, uint64_t generation) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    View now, &phase = s.clusterPhases[generation & 1];
    s.know(w, w.active, now);
    if (i.r[0]) {  // .relaxed publishes only what a fence before it covers
      phase.release(s.self(w).fenced);
      phase.weak.join(now.happened);
    } else {
      phase.release(now);
    }
    s.tick(w);
  }
  void clusterLeave(Warp &w, const Inst &, uint64_t generation) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    leave(s, w, s.clusterPhases[generation & 1]);
  }
  void mbarrierInit(Warp &w, const Inst &i, Cta &owner, uint32_t offset) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    BarrierView fresh;
    fresh.actor = s.actors++;
    fresh.init = s.laneMark(w, i.line, unsigned(__builtin_ctz(w.active)));
    s.mbarriers[s.key(owner, offset)] = fresh;
  }
  void mbarrierArrive(Warp &w, const Inst &i, unsigned lane, Cta &owner, uint32_t offset, uint64_t phase) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    BarrierView &b = s.barrier(owner, offset);
    memory.checkInit(c, b, owner, offset, signalMark(s, w, i.line, lane), s.known(w, lane), w);
    s.publish(w, kLaneBit[lane], b.of(phase));
    s.tick(w);
  }
  void mbarrierWaited(Warp &w, const Inst &i, uint32_t lanes, Cta &owner, uint32_t offset, uint64_t phase) override {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    BarrierView &b = s.barrier(owner, offset);
    unsigned lane = unsigned(__builtin_ctz(lanes));
    memory.checkInit(c, b, owner, offset, signalMark(s, w, i.line, lane), s.known(w, lane), w);
    bool &news = s.waits[i.line];
    if (phase == ~uint64_t(0))  // the phase before the first: nothing happened in it
      return;
    View &v = b.phase == phase + 1 ? b.phases[phase & 1] : b.of(phase);
    s.learn(w, lanes, [&](View &x) {
      news |= !x.knows(v);
      x.acquire(v);
    });
  }
  void mbarrierSignal(Cluster &c, const AsyncOp &op, Cta &owner, uint32_t offset, uint64_t phase) override {
    ClusterState &s = ClusterState::of(c);
    Operation &o = operation(op);
    BarrierView &b = s.barrier(owner, offset);
    memory.checkInit(c, b, owner, offset, markOf(c, op, op.kind == AsyncKind::ClassicArrive), o.view, *op.issuer);
    View &v = b.of(phase);
    v.release(o.view);
    if (op.kind == AsyncKind::Commit) {  // fence::before_thread_sync is part of it
      s.handOut(v.tensorOut, o.view, o.actor / Engines);
      v.tensorOut.raise(o.actor, o.step);
    }
    if (op.kind == AsyncKind::Load) {
      v.happened.raise(b.actor, uint32_t(phase) + 1);
      s.loads->end(o.actor - kLoadActor, b.actor, uint32_t(phase) + 1);
    } else {
      v.happened.raise(o.actor, o.step);
    }
  }

  // ---- operations --------------------------------------------------------------------------------------------------
  void asyncIssue(Warp &w, const Inst &i, unsigned lane, AsyncOp &op) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    uint32_t index = s.indexOf(w);
    WarpState &ws = s.warps[index];
    Operation *o = s.newOperation();
    bool together = op.kind == AsyncKind::Wgmma || op.kind == AsyncKind::Classic || op.kind == AsyncKind::ClassicArrive;
    s.know(w, together ? w.active : kLaneBit[lane], o->view);
    auto engine = [&](Engine e, uint32_t at) {
      o->actor = s.actorOf(at, e);
      o->step = ++s.warps[at].engines[e];
    };
    switch (op.kind) {
    case AsyncKind::Load:
      o->actor = kLoadActor + s.loads->add();
      o->step = 1;
      break;
    case AsyncKind::Store:
      engine(BulkWrites, index);
      engine(BulkReads, index);
      ws.lastBulkLine = i.line;
      break;
    case AsyncKind::Tensor: engine(TensorPipe, index); break;
    case AsyncKind::Commit:  // stands for all that went before it
      o->actor = s.actorOf(index, TensorPipe);
      o->step = ws.engines[TensorPipe];
      break;
    case AsyncKind::Wgmma: {
      // Each warp computes its rows on its own: only what all four know has happened before all of it.
      uint32_t first = index / 4 * 4;
      for (uint32_t k = 0; k < 4; ++k) {
        const Warp &other = *w.cta->warps[w.id / 4 * 4 + k];
        if (other.id != w.id)
          s.meetPublished(other, o->view);
      }
      o->actor = kWgmmaActor + first;
      o->step = ++s.warps[first].engines[WgmmaPipe];
      break;
    }
    case AsyncKind::Classic: engine(Classic, index); break;
    case AsyncKind::ClassicArrive:
      o->actor = s.actorOf(index, Classic);
      o->step = ws.engines[Classic];
      break;
    }
    // Operations of one engine are carried out in order.
    if (op.kind == AsyncKind::Tensor)
      o->view.happened.raise(o->actor, o->step - 1);
    op.observerState = o;
    s.tick(w);
  }
  void asyncDone(Cluster &c, const AsyncOp &op) override { ClusterState::of(c).over.push_back(static_cast<Operation *>(op.observerState)); }
  void groupCommit(Warp &w, const Inst &, AsyncKind kind) override {
    WarpState &ws = ClusterState::of(*w.cta->cluster).self(w);
    (kind == AsyncKind::Store ? ws.bulkGroups : ws.classicGroups).push_back(ws.engines[kind == AsyncKind::Store ? BulkReads : Classic]);
  }
  void groupWaited(Warp &w, const Inst &, AsyncKind kind, uint64_t pending, bool readOnly) override {
    ClusterState &s = ClusterState::of(*w.cta->cluster);
    uint32_t index = s.indexOf(w);
    WarpState &ws = s.warps[index];
    if (kind == AsyncKind::Wgmma)
      return over(s, w, s.actorOf(index, WgmmaPipe), uint32_t(pending));
    Engine e = kind == AsyncKind::Store ? BulkReads : Classic;
    auto &groups = kind == AsyncKind::Store ? ws.bulkGroups : ws.classicGroups;
    uint32_t step = pending == ~uint64_t(0) ? ws.engines[e] : groups.size() > pending ? groups[groups.size() - 1 - size_t(pending)] : 0;
    over(s, w, s.actorOf(index, e), step);
    if (kind == AsyncKind::Store && !readOnly)
      over(s, w, s.actorOf(index, BulkWrites), step);
  }

private:
  RaceMemory memory;
  /// What passed through global memory: at each address, by cluster, what its threads had published.
  mutable std::mutex flagsLock;
  std::map<uint32_t, bool> waits;
  std::unordered_map<uint64_t, std::map<uint64_t, Clock>> flags;

  /// A thread's operation on an mbarrier, which touches no data.
  static Mark signalMark(ClusterState &s, const Warp &w, uint32_t line, unsigned lane) {
    Mark m = s.mark(w, line, s.actorOf(s.indexOf(w), Self), s.self(w).step, true);
    m.lanes = kLaneBit[lane];
    return m;
  }
  static bool isWrite(Access a) { return a == Access::Write || a == Access::StrongWrite; }
  static Operation &operation(const AsyncOp &op) { return *static_cast<Operation *>(op.observerState); }
  static Mark markOf(Cluster &c, const AsyncOp &op, bool generic) {
    return ClusterState::of(c).mark(*op.issuer, op.line, operation(op).actor, operation(op).step, generic);
  }
  static void over(ClusterState &s, Warp &w, uint32_t actor, uint32_t step) {
    s.learn(w, w.active, [&](View &v) { v.happened.raise(actor, step); });
  }
  /// The end of a barrier that all threads of the warp arrived at is one for the warp, too.
  static void leave(ClusterState &s, Warp &w, const View &v) {
    s.learn(w, w.active, [&](View &x) { x.acquire(v); });
    if (s.whole(w, w.active)) {
      WarpState &ws = s.self(w);
      for (auto &entry : ws.own)
        ws.view.unite(entry.second);
      ws.own.clear();
    }
  }
  static void takeOver(ClusterState &s, Warp &w, unsigned lane, const std::map<uint64_t, Clock> &flag) {
    s.learn(w, kLaneBit[lane], [&](View &x) {
      x.foreign.join(flag);
      if (auto it = flag.find(s.index); it != flag.end())
        x.happened.join(it->second);
    });
  }
  void exchange(ClusterState &s, Warp &w, unsigned lane, uint64_t address) {
    View mine;
    s.know(w, kLaneBit[lane], mine);
    mine.happened.raise(s.actorOf(s.indexOf(w), Self), s.self(w).step);
    std::lock_guard<std::mutex> hold(flagsLock);
    std::map<uint64_t, Clock> &flag = flags[address];
    takeOver(s, w, lane, flag);
    flag[s.index].join(mine.happened);
    mine.foreign.each([&](uint64_t cluster, const Clock &clock) { flag[cluster].join(clock); });
    s.tick(w);
  }
  /// Allocation and release of tensor memory: all accesses by others lie after the one and before the other.
  void own(Warp &w, const Inst &i, uint32_t address, uint32_t columns) {
    Cluster &c = *w.cta->cluster;
    ClusterState &s = ClusterState::of(c);
    Mark m = s.mark(w, i.line, s.actorOf(s.indexOf(w), Self), s.use(w), true);
    m.lanes = 1;
    for (uint32_t group = 0; group < 8; ++group)
      memory.touchTmem(c, *w.cta, (group * 16) << 16 | (address & 0xffff), columns, true, m, s.self(w).view, w);
    s.tick(w);
  }
};

} // namespace

std::unique_ptr<RaceDetector> makeRaceDetector() { return std::make_unique<Races>(); }

} // namespace fovea::emulator
