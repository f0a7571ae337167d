// runtime/emulator/machine/Barrier.cpp - named barriers, cluster barriers, fences, register reallocation.
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {
namespace {

struct BarrierForm : Extra {
  enum Kind : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr } kind = Sync;
  bool hasCount = false, aligned = false, negate = false;
  uint8_t reduction = 0;
};

/// bar.sync a{, b}; bar.arrive a, b; bar.red.op p|d, a{, b}, {!}c. r: d, a, b, c.
Step namedBarrier(Warp &w, const Inst &i) {
  const BarrierForm &f = *static_cast<const BarrierForm *>(i.extra);
  Cta &cta = *w.cta;
  Group &g = *w.group;
  int lane = __builtin_ctz(w.active);
  uint32_t id = w.reg<uint32_t>(i.r[1])[lane];
  if (id >= 16)
    faultAt(w, lane, "barrier: named barrier " + std::to_string(id) + "; there are 0 to 15");
  NamedBarrier &b = cta.barriers[id];
  uint32_t count = f.hasCount ? w.reg<uint32_t>(i.r[2])[lane] : 0;
  if (f.hasCount && (count == 0 || count % 32))
    faultAt(w, lane, "barrier: the thread count of a named barrier must be a positive multiple of 32, found " + std::to_string(count));
  // Without a count: all warps of the CTA that still live.
  auto needed = [&]() -> uint32_t {
    if (f.hasCount)
      return count;
    uint32_t n = 0;
    for (auto &other : cta.warps)
      n += other->live ? 32 : 0;
    return n;
  };
  uint64_t generation = b.generation;
  bool justWoken = false;
  if (g.token == 0) {
    if (f.aligned)
      requireConverged(w, "bar / barrier.cta.aligned", true);
    if (b.arrived && f.hasCount && b.expected && b.expected != count)
      faultAt(w, lane, "barrier: named barrier " + std::to_string(id) + " is used with a count of " + std::to_string(count) +
                           " while " + std::to_string(b.arrived) + " threads wait with a count of " + std::to_string(b.expected));
    // An arrival counts for the whole warp; a diverged one counts its threads.
    uint32_t n = w.active == w.live ? 32 : uint32_t(__builtin_popcount(w.active));
    b.expected = count;
    b.arrived += n;
    if (f.reduction) {
      uint32_t p = w.pred(i.r[3]);
      p = (f.negate ? ~p : p) & w.active;
      b.popc += uint32_t(__builtin_popcount(p));
      b.all &= p == w.active;
      b.any |= p != 0;
    }
    ++cta.cluster->progress;
    if (Observer *o = cta.cluster->launch->config->observer)
      o->barrierArrive(w, i, id, generation);
    g.token = generation + 1;
    justWoken = true;
  }
  generation = g.token - 1;
  if (b.generation == generation && b.arrived >= needed()) {
    if (f.hasCount && b.arrived > count)
      faultAt(w, lane, "barrier: " + std::to_string(b.arrived) + " threads arrived at named barrier " + std::to_string(id) + ", which counts " + std::to_string(count));
    b.arrived = b.expected = 0;
    ++b.generation;
    b.resultPopc = b.popc, b.resultAll = b.all, b.resultAny = b.any;
    b.popc = 0, b.all = true, b.any = false;
    ++cta.cluster->progress;
    cta.wake(Wait::NamedBarrier, id);
  }
  (void)justWoken;
  if (f.kind == BarrierForm::Arrive) {
    g.token = 0;
    return Step::Next;
  }
  if (b.generation == generation)
    return park(w, Wait::NamedBarrier, id, needed());
  g.token = 0;
  w.metByBranch = false;
  if (f.reduction == 1)
    forLanes(w, w.reg<uint32_t>(i.r[0]), [&](int) { return b.resultPopc; });
  else if (f.reduction) {
    uint32_t &p = w.pred(i.r[0]);
    bool v = f.reduction == 2 ? b.resultAll : b.resultAny;
    p = (v ? w.active : 0) | (p & ~w.active);
  }
  if (Observer *o = cta.cluster->launch->config->observer)
    o->barrierLeave(w, i, id, generation);
  return Step::Next;
}

/// barrier.cluster.arrive / wait. The arrival's generation is kept per warp for the wait.
Step clusterArrive(Warp &w, const Inst &i) {
  Cluster &c = *w.cta->cluster;
  if (w.clusterToken & w.active)
    faultAt(w, __builtin_ctz(w.active), "barrier: barrier.cluster.arrive twice without a wait between");
  w.clusterToken |= w.active;
  w.clusterGeneration = c.generation;
  c.arrived += uint32_t(__builtin_popcount(w.active));
  ++c.progress;
  if (Observer *o = c.launch->config->observer)
    o->clusterArrive(w, i, c.generation);
  c.tryAdvance();
  return Step::Next;
}
Step clusterWait(Warp &w, const Inst &i) {
  Cluster &c = *w.cta->cluster;
  if ((w.clusterToken & w.active) != w.active)
    faultAt(w, __builtin_ctz(w.active), "barrier: barrier.cluster.wait without an arrive");
  c.tryAdvance();
  if (c.generation == w.clusterGeneration)
    return park(w, Wait::ClusterBarrier, 0);
  w.clusterToken &= ~w.active;
  if (Observer *o = c.launch->config->observer)
    o->clusterLeave(w, i, w.clusterGeneration);
  return Step::Next;
}

Step fence(Warp &w, const Inst &i) {
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence(i.imm));
  return Step::Next;
}

/// setmaxnreg: registers move between the warps of a CTA through a pool.
Step setRegisters(Warp &w, const Inst &i) {
  requireConverged(w, "setmaxnreg");
  Cta &cta = *w.cta;
  uint32_t want = uint32_t(i.imm);
  bool increase = i.r[0];
  if (w.registersNow == 0)
    return Step::Next;  // no per-thread bound is known: ptxas drops the instruction (hardware.md 6.2)
  if (!increase) {
    if (want > w.registersNow)
      faultAt(w, -1, "registers: setmaxnreg.dec to " + std::to_string(want) + " from " + std::to_string(w.registersNow));
    cta.registerPool += (w.registersNow - want) * 32;
    w.registersNow = want;
    ++cta.cluster->progress;
    cta.wake(Wait::Registers, 0);
    return Step::Next;
  }
  if (want < w.registersNow)
    faultAt(w, -1, "registers: setmaxnreg.inc to " + std::to_string(want) + " from " + std::to_string(w.registersNow));
  uint32_t more = (want - w.registersNow) * 32;
  if (more > cta.registerPool)
    return park(w, Wait::Registers, 0, more);
  cta.registerPool -= more;
  w.registersNow = want;
  return Step::Next;
}

void emitBarrier(Decoder &d, BarrierForm::Kind kind, uint8_t reduction, bool aligned) {
  BarrierForm *f = d.extra<BarrierForm>();
  f->kind = kind;
  f->reduction = reduction;
  f->aligned = aligned;
  size_t at = reduction ? 1 : 0;
  uint32_t result = 0, predicate = Decoder::kTrue;
  if (reduction)
    result = reduction == 1 ? d.dst(d.op(0), 4) : d.dstPred(d.op(0));
  uint32_t id = d.src(d.op(at), Type::U32), count = 0;
  size_t left = d.operands() - at - 1 - (reduction ? 1 : 0);
  if (left > 1)
    d.fail("too many operands");
  if (left == 1) {
    f->hasCount = true;
    count = d.src(d.op(at + 1), Type::U32);
  } else if (kind == BarrierForm::Arrive) {
    d.fail("an arrival needs a thread count");
  }
  if (reduction)
    predicate = d.srcPred(d.op(d.operands() - 1));
  Inst &i = d.emit(namedBarrier);
  i.r[0] = result, i.r[1] = id, i.r[2] = count, i.r[3] = predicate;
  i.extra = f;
}

Step warpSync(Warp &w, const Inst &i);

void barrier(Decoder &d) {  // bar, barrier
  if (d.mods.take(".warp")) {
    d.mods.take(".sync");
    d.count(1, 1);
    uint32_t m = d.src(d.op(0), Type::U32);
    d.emit(warpSync).r[1] = m;
    return;
  }
  if (d.mods.take(".cluster")) {
    int what = d.mods.oneOf({".arrive", ".wait"});
    int order = d.mods.oneOf({".release", ".relaxed", ".acquire"});
    d.mods.take(".aligned");
    d.count(0, 0);
    if (what < 0)
      d.fail("'barrier.cluster' needs .arrive or .wait");
    d.emit(what == 0 ? clusterArrive : clusterWait).r[0] = order == 1;
    return;
  }
  d.mods.take(".cta");
  int what = d.mods.oneOf({".sync", ".arrive", ".red"});
  int red = what == 2 ? d.mods.oneOf({".popc", ".and", ".or"}) + 1 : 0;
  bool aligned = d.mods.take(".aligned") || d.in->opcode == "bar";
  if (red) {
    d.mods.type();
    d.count(3, 4);
  } else {
    d.count(1, 2);
  }
  if (what < 0)
    d.fail("the barrier needs .sync, .arrive or .red");
  emitBarrier(d, what == 1 ? BarrierForm::Arrive : BarrierForm::Sync, uint8_t(red), aligned);
}

void fences(Decoder &d) {  // fence, membar
  Fence kind = Fence::Gpu;
  auto emit = [&] {
    d.emit(fence).imm = uint64_t(kind);
  };
  if (d.mods.take(".mbarrier_init")) {
    d.mods.take(".release");
    d.mods.take(".cluster");
    d.count(0, 0);
    kind = Fence::MbarrierInit;
    return emit();
  }
  if (d.mods.take(".proxy")) {
    int p = d.mods.oneOf({".async", ".alias", ".async.global", ".tensormap::generic", ".async::generic", ".tensormap"});
    if (p < 0)
      d.fail("unknown proxy");
    int order = d.mods.oneOf({".acquire", ".release"});
    d.mods.oneOf({".sync_restrict::shared::cta", ".sync_restrict::shared::cluster"});
    int scope = d.mods.oneOf({".cta", ".cluster", ".gpu", ".sys"});
    int space = d.mods.oneOf({".global", ".shared::cta", ".shared::cluster"});
    kind = p == 1 ? Fence::ProxyAlias : p == 3 || p == 5 ? Fence::ProxyTensormap
           : space == 0 ? Fence::ProxyAsyncGlobal : space > 0 ? Fence::ProxyAsyncShared : Fence::ProxyAsync;
    if (p == 3 && order == 0) {
      if (scope < 0)
        d.fail("a scope is needed");
      d.count(2, 2);
      d.address(d.op(0));
    } else {
      d.count(0, 0);
    }
    return emit();
  }
  d.mods.oneOf({".sc", ".acq_rel", ".acquire", ".release"});
  d.mods.oneOf({".sync_restrict::shared::cta", ".sync_restrict::shared::cluster"});
  int scope = d.mods.oneOf({".cta", ".cluster", ".gpu", ".sys", ".gl"});
  if (scope < 0)
    d.fail("a scope (.cta .cluster .gpu .sys) is needed");
  kind = scope == 0 ? Fence::Cta : scope == 1 ? Fence::Cluster : scope == 3 ? Fence::Sys : Fence::Gpu;
  d.count(0, 0);
  emit();
}

void setMaxRegisters(Decoder &d) {
  int how = d.mods.oneOf({".inc", ".dec"});
  bool sync = d.mods.take(".sync");
  d.mods.take(".aligned");
  d.needType("the .u32");
  d.count(1, 1);
  int64_t n = d.immediate(d.op(0), "the register count");
  if (how < 0 || !sync)
    d.fail("malformed setmaxnreg");
  if (n < 24 || n > 256 || n % 8)
    d.fail("setmaxnreg takes a multiple of 8 from 24 to 256, found " + std::to_string(n));
  Inst &i = d.emit(setRegisters);
  i.imm = uint64_t(n);
  i.r[0] = how == 0;
}

Step warpSync(Warp &w, const Inst &i) {
  uint32_t members = w.reg<uint32_t>(i.r[1])[__builtin_ctz(w.active)], lanes;
  if (!gatherWarp(w, i, members, lanes))
    return Step::Park;
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->warpSync(w, i, lanes);
  return Step::Next;
}

} // namespace

void Cluster::tryAdvance() {
  uint32_t live = 0;
  for (auto &cta : ctas)
    live += cta->liveThreads;
  // Threads that exited without waiting have arrived or do not count.
  if (arrived && arrived >= live) {
    arrived = 0;
    ++generation;
    ++progress;
    wakeAll(Wait::ClusterBarrier, 0);
  }
}

void addBarrier(OpcodeTable &t) {
  t.add({"bar", "barrier"}, barrier);
  t.add({"fence", "membar"}, fences);
  t.add({"setmaxnreg"}, setMaxRegisters);
}

} // namespace fovea::emulator
