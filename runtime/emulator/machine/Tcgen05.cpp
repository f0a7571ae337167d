// runtime/emulator/machine/Tcgen05.cpp - tensor memory: alloc, dealloc, ld, st, waits, fences.
#include "runtime/emulator/machine/Tcgen05.h"
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include <cstring>

namespace fovea::emulator {

Tmem &tmemOf(Warp &w) {
  if (!w.cta->tmem)
    w.cta->tmem = std::make_unique<Tmem>(w.cta->cluster->launch->config->poison);
  return *w.cta->tmem;
}

namespace {

struct AllocForm : Extra { Where where = Where::Shared; bool wide = true; };

/// r: address, columns.
Step allocate(Warp &w, const Inst &i) {
  const AllocForm &f = *static_cast<const AllocForm *>(i.extra);
  requireConverged(w, "tcgen05.alloc");
  uint32_t columns = w.reg<uint32_t>(i.r[2])[0];
  try {
    std::optional<uint32_t> base = tmemOf(w).allocate(columns);
    if (!base)
      return park(w, Wait::TmemAlloc, 0, columns);
    ++w.cta->cluster->progress;
    uint64_t address = addressOf(w, i.r[1], f.wide, int64_t(i.imm), 0);
    uint8_t *slot = accessAt(w, i, Where::Shared, sharedAddress(w, f.where, address, 0, "tcgen05.alloc"), 4, 4, 0, Access::Write);
    std::memcpy(slot, &*base, 4);
    if (Observer *o = w.cta->cluster->launch->config->observer)
      o->tmemAlloc(w, i, *base, columns);
  } catch (const LocatedFault &) {
    throw;
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  return Step::Next;
}
Step deallocate(Warp &w, const Inst &i) {
  requireConverged(w, "tcgen05.dealloc");
  uint32_t address = w.reg<uint32_t>(i.r[1])[0], columns = w.reg<uint32_t>(i.r[2])[0];
  try {
    flushTmemStores(w);
    if (Observer *o = w.cta->cluster->launch->config->observer)
      o->tmemDealloc(w, i, address, columns);
    tmemOf(w).deallocate(address, columns);
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  ++w.cta->cluster->progress;
  w.cta->wake(Wait::TmemAlloc, 0);
  return Step::Next;
}
Step relinquish(Warp &w, const Inst &) {
  requireConverged(w, "tcgen05.relinquish_alloc_permit");
  tmemOf(w).relinquish();
  return Step::Next;
}

struct MoveForm : Extra {
  TmemAccess access;
  std::vector<uint32_t> regs;
};

/// Registers of a store, as they were when it was issued.
struct PendingStore : TmemStore {
  const MoveForm *form = nullptr;
  uint32_t address = 0, warp = 0;
  std::vector<uint32_t> data;
  void apply(Tmem &t) override {
    WarpRegister regs[128];
    for (size_t k = 0; k < form->regs.size(); ++k)
      regs[k].lanes = data.data() + 32 * k;
    store(t, form->access, address, warp, regs);
  }
};

uint32_t uniformAddress(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]);
  for (int l = 1; l < 32; ++l)
    if (a[l] != a[0])
      faultAt(w, l, "tmem: all threads of a warp must give the same tensor-memory address");
  return a[0] + uint32_t(i.imm);
}

Step loadStore(Warp &w, const Inst &i) {
  const MoveForm &f = *static_cast<const MoveForm *>(i.extra);
  bool isStore = i.r[2];
  requireConverged(w, isStore ? "tcgen05.st" : "tcgen05.ld");
  uint32_t address = uniformAddress(w, i);
  Cluster &c = *w.cta->cluster;
  Tmem &t = tmemOf(w);
  try {
    if (Observer *o = c.launch->config->observer)
      touched(f.access, address, isStore, [&](const Touched &x) {
        eachLaneGroup(x, [&](uint32_t at) { o->tmem(w, i, isStore ? Access::Write : Access::Read, at, x.count); });
      });
    if (!isStore) {
      WarpRegister regs[128];
      for (size_t k = 0; k < f.regs.size(); ++k)
        regs[k].lanes = w.reg<uint32_t>(f.regs[k]);
      load(t, f.access, address, w.id, regs);
      return Step::Next;
    }
    auto s = std::make_unique<PendingStore>();
    s->form = &f;
    s->address = address;
    s->warp = w.id;
    s->data.resize(32 * f.regs.size());
    for (size_t k = 0; k < f.regs.size(); ++k)
      std::memcpy(s->data.data() + 32 * k, w.reg<uint32_t>(f.regs[k]), 128);
    AsyncPolicy policy = c.launch->config->policy;
    // The store takes effect between now and the wait: at once, at the wait, or one or the other.
    bool now = policy == AsyncPolicy::Eager || (policy == AsyncPolicy::Random && w.tmemStores.empty() && c.rng() % 2);
    if (now)
      s->apply(t);
    else
      w.tmemStores.push_back(std::move(s));
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  return Step::Next;
}

Step waitStores(Warp &w, const Inst &i) {
  requireConverged(w, "tcgen05.wait::st");
  try {
    flushTmemStores(w);
  } catch (const Fault &fault) {
    faultAt(w, -1, fault.what());
  }
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence::TcgenWaitStore);
  return Step::Next;
}
Step waitLoads(Warp &w, const Inst &i) {
  requireConverged(w, "tcgen05.wait::ld");
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence::TcgenWaitLoad);
  return Step::Next;
}
Step tcgenFence(Warp &w, const Inst &i) {
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence(i.imm));
  return Step::Next;
}

void decodeAlloc(Decoder &d, int what) {
  takeCtaGroup(d);
  d.mods.take(".sync");
  d.mods.take(".aligned");
  if (what == 2) {
    d.count(0, 0);
    d.emit(relinquish);
    return;
  }
  AllocForm *f = d.extra<AllocForm>();
  if (what == 0)
    f->where = d.mods.oneOf({".shared::cta", ".shared"}) >= 0 ? Where::Shared : Where::Generic;
  d.mods.take(".b32");
  d.count(2, 2);
  uint32_t columns = d.src(d.op(1), Type::U32);
  if (d.isImmediate(d.op(1))) {
    int64_t n = d.op(1).integer;
    if (n != 32 && n != 64 && n != 128 && n != 256 && n != 512)
      d.fail("tcgen05.alloc takes 32, 64, 128, 256 or 512 columns, found " + std::to_string(n));
  }
  if (what == 0) {
    AddressOperand a = d.address(d.op(0));
    f->wide = a.wide;
    Inst &i = d.emit(allocate);
    i.r[1] = a.base, i.r[2] = columns;
    i.imm = uint64_t(a.offset);
    i.extra = f;
  } else {
    uint32_t a = d.src(d.op(0), Type::U32);
    Inst &i = d.emit(deallocate);
    i.r[1] = a, i.r[2] = columns;
  }
}

void decodeMove(Decoder &d, bool isStore) {
  if (!isStore && d.mods.take(".red"))
    d.fail("tcgen05.ld.red does not exist on sm_100a");
  d.mods.take(".sync");
  d.mods.take(".aligned");
  MoveForm *f = d.extra<MoveForm>();
  int shape = d.mods.oneOf({".32x32b", ".16x64b", ".16x128b", ".16x256b", ".16x32bx2"});
  int num = d.mods.oneOf({".x1", ".x2", ".x4", ".x8", ".x16", ".x32", ".x64", ".x128"});
  f->access.pack16 = d.mods.take(isStore ? ".unpack::16b" : ".pack::16b");
  d.mods.take(".b32");
  if (shape < 0 || num < 0)
    d.fail("tcgen05.ld and .st need a shape and .x1 to .x128");
  f->access.shape = TmemShape(shape);
  f->access.repeat = 1u << num;
  bool split = shape == 4;
  d.count(split ? 3 : 2, split ? 3 : 2);
  // ld: registers, address{, offset}; st: address{, offset}, registers.
  const Operand &v = d.op(isStore ? (split ? 2 : 1) : 0), &a = d.op(isStore ? 0 : 1);
  if (split)
    f->access.splitOffset = uint32_t(d.immediate(d.op(isStore ? 1 : 2), "the column offset of the second half"));
  size_t n = v.kind == Operand::Vector ? v.parts.size() : 1;
  unsigned want = registerCount(f->access);
  if (want > 128)
    d.fail("this shape and repeat would need more than 128 registers");
  if (n != want)
    d.fail("expected " + std::to_string(want) + " registers, found " + std::to_string(n));
  for (size_t k = 0; k < n; ++k) {
    const Operand &r = v.kind == Operand::Vector ? v.parts[k] : v;
    f->regs.push_back(isStore ? d.src(r, Type::B32) : d.dst(r, 4));
  }
  TmemOperand t = tmemOperand(d, a);
  Inst &i = d.emit(loadStore);
  i.r[1] = t.base;
  i.imm = t.offset;
  i.r[2] = isStore;
  i.extra = f;
  if (!isStore)
    d.tmemLoaded(f->regs);
}

void tcgen05(Decoder &d) {
  if (d.smArch() < 100)
    d.fail("tcgen05 exists on sm_100a only");
  d.output().usesTmem = true;
  int op = d.mods.oneOf({".alloc", ".dealloc", ".relinquish_alloc_permit", ".ld", ".st", ".wait::ld", ".wait::st", ".fence::before_thread_sync",
                         ".fence::after_thread_sync", ".mma", ".cp", ".shift", ".commit"});
  switch (op) {
  case 0: case 1: case 2: return decodeAlloc(d, op);
  case 3: case 4: return decodeMove(d, op == 4);
  case 5: case 6:
    d.mods.take(".sync");
    d.mods.take(".aligned");
    d.count(0, 0);
    if (op == 5)
      d.tmemWaited();
    d.emit(op == 5 ? waitLoads : waitStores);
    return;
  case 7: case 8:
    d.count(0, 0);
    d.emit(tcgenFence).imm = uint64_t(op == 7 ? Fence::TcgenBefore : Fence::TcgenAfter);
    return;
  case 9: return decodeTcgenMma(d);
  case 10: return decodeTcgenCp(d);
  case 11: return decodeTcgenShift(d);
  case 12: return decodeTcgenCommit(d);
  default: d.fail("tcgen05 needs alloc, dealloc, relinquish_alloc_permit, ld, st, wait, fence, mma, cp, shift or commit");
  }
}

} // namespace

void flushTmemStores(Warp &w) {
  for (auto &s : w.tmemStores)
    s->apply(tmemOf(w));
  w.tmemStores.clear();
}

bool takeCtaGroup(Decoder &d) {
  int g = d.mods.oneOf({".cta_group::1", ".cta_group::2"});
  if (g < 0)
    d.fail("tcgen05 needs .cta_group::1 or .cta_group::2");
  return g == 1;
}

TmemOperand tmemOperand(Decoder &d, const Operand &o) {
  if (o.kind != Operand::Address || o.parts.size() != 1)
    d.fail("expected a tensor-memory address in [ ]");
  const Operand &p = o.parts[0];
  Operand base = p;
  TmemOperand t;
  if (p.kind == Operand::Register) {
    t.offset = uint32_t(p.integer);
    base.integer = 0;
  }
  t.base = d.src(base, Type::U32);
  return t;
}

void addTcgen05(OpcodeTable &t) { t.add({"tcgen05"}, tcgen05); }

} // namespace fovea::emulator
