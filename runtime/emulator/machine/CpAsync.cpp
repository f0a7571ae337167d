// runtime/emulator/machine/CpAsync.cpp - cp.async: copies of single threads, their groups and their mbarrier arrivals.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/TensorCopyOps.h"
#include <cstring>

namespace fovea::emulator {
namespace {

/// The copies of one instruction: all active threads of a warp.
struct ClassicCopy : AsyncOp {
  ClassicCopy() { kind = AsyncKind::Classic; }
  struct One { uint8_t *to; uint32_t offset; uint64_t from; uint32_t bytes, valid; std::shared_ptr<ThreadGroups::Group> group; };
  std::vector<One> copies;
  bool step(Cluster &c) override {
    Observer *o = c.launch->config->observer;
    for (One &k : copies) {
      if (k.valid)
        c.launch->memory->read(k.from, k.to, k.valid);
      std::memset(k.to + k.valid, 0, k.bytes - k.valid);
      if (o) {
        o->asyncGlobal(c, *this, Access::Read, k.from, k.valid);
        o->asyncShared(c, *this, Proxy::Generic, Access::Write, *issuer->cta, k.offset, k.bytes);
      }
      --k.group->writing;
    }
    wakeGroups(*issuer, Wait::CpAsync);
    return true;
  }
};
struct ClassicForm : Extra { Where where; bool wideTo, wideFrom; int64_t offsetTo, offsetFrom; uint32_t bytes; bool ignore; };

uint64_t classicChain(const Warp &w) { return uint64_t(1) << 62 | uint64_t(w.cta->rank) << 32 | w.id; }

/// r: to, from, source size (or 0), ignore predicate (or 0).
Step classicCopy(Warp &w, const Inst &i) {
  const ClassicForm &f = *static_cast<const ClassicForm *>(i.extra);
  auto op = std::make_unique<ClassicCopy>();
  eachLane(w.active, [&](int l) {
    SharedPlace to = sharedPlace(w, f.where, addressOf(w, i.r[1], f.wideTo, f.offsetTo, l), f.bytes, l, "cp.async");
    uint64_t from = addressOf(w, i.r[2], f.wideFrom, f.offsetFrom, l);
    uint32_t valid = i.r[3] ? w.reg<uint32_t>(i.r[3])[l] : f.bytes;
    if (f.ignore && (w.pred(i.r[4]) & kLaneBit[l]))
      valid = 0;
    if (valid > f.bytes || to.offset % f.bytes || (valid && from % f.bytes))
      faultAt(w, l, "misaligned: cp.async of " + std::to_string(f.bytes) + " bytes needs addresses aligned to its size and a source size up to it");
    auto &groups = w.cpAsync[uint32_t(l)];
    ++groups.open->writing;
    op->copies.push_back({to.cta->shared.data() + to.offset, to.offset, from, f.bytes, valid, groups.open});
  });
  issueAsync(w, i, __builtin_ctz(w.active), std::move(op), classicChain(w));
  return Step::Next;
}

Step classicCommit(Warp &w, const Inst &i) {
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->groupCommit(w, i, AsyncKind::Classic);
  eachLane(w.active, [&](int l) { w.cpAsync[uint32_t(l)].commit(); });
  return Step::Next;
}
/// imm: N of wait_group; all ones: wait_all.
Step classicWait(Warp &w, const Inst &i) {
  bool done = true;
  eachLane(w.active, [&](int l) {
    ThreadGroups &g = w.cpAsync[uint32_t(l)];
    done &= i.imm == ~uint64_t(0) ? g.finished(0, false) && !g.open->writing : g.finished(i.imm, false);
  });
  if (!done)
    return park(w, Wait::CpAsync, 0);
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->groupWaited(w, i, AsyncKind::Classic, i.imm, false);
  return Step::Next;
}

struct ClassicArrive : AsyncOp {
  ClassicArrive() { kind = AsyncKind::ClassicArrive; }
  std::vector<SharedPlace> barriers;
  bool step(Cluster &c) override {
    for (SharedPlace b : barriers)
      signalArrive(c, *this, b);
    return true;
  }
};
struct BarrierAddress : Extra { Where where; bool wide; bool noinc; };
Step classicArrive(Warp &w, const Inst &i) {
  const BarrierAddress &f = *static_cast<const BarrierAddress *>(i.extra);
  auto op = std::make_unique<ClassicArrive>();
  eachLane(w.active, [&](int l) {
    SharedPlace p = sharedPlace(w, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), 8, l, "cp.async.mbarrier.arrive");
    try {
      Mbarrier &b = p.cta->mbarriers.at(p.offset, "cp.async.mbarrier.arrive");
      if (!f.noinc)
        ++b.pending;  // the arrival it makes later is its own
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
    op->barriers.push_back(p);
  });
  issueAsync(w, i, __builtin_ctz(w.active), std::move(op), classicChain(w));
  return Step::Next;
}

} // namespace

void decodeCpAsync(Decoder &d) {
  if (d.mods.take(".commit_group")) {
    d.count(0, 0);
    d.emit(classicCommit);
    return;
  }
  bool all = d.mods.take(".wait_all");
  if (all || d.mods.take(".wait_group")) {
    d.count(all ? 0 : 1, all ? 0 : 1);
    uint64_t n = all ? ~uint64_t(0) : uint64_t(d.immediate(d.op(0), "the number of groups"));
    d.emit(classicWait).imm = n;
    return;
  }
  if (d.mods.take(".mbarrier")) {
    d.mods.take(".arrive");
    BarrierAddress *f = d.extra<BarrierAddress>();
    f->noinc = d.mods.take(".noinc");
    f->where = d.mods.oneOf({".shared", ".shared::cta"}) >= 0 ? Where::Shared : Where::Generic;
    d.needType("the .b64");
    d.count(1, 1);
    AddressOperand a = d.address(d.op(0));
    f->wide = a.wide;
    Inst &i = d.emit(classicArrive);
    i.r[1] = a.base;
    i.imm = uint64_t(a.offset);
    i.extra = f;
    return;
  }
  int cache = d.mods.oneOf({".ca", ".cg"});
  int to = d.mods.oneOf({".shared", ".shared::cta"});
  bool from = d.mods.take(".global");
  bool hint = d.mods.take(".L2::cache_hint");
  d.mods.oneOf({".L2::64B", ".L2::128B", ".L2::256B"});
  if (cache < 0 || to < 0 || !from)
    d.fail("malformed cp.async; expected cp.async.{ca,cg}.shared.global");
  d.count(3, hint ? 5 : 4);
  AddressOperand t = d.address(d.op(0)), s = d.address(d.op(1));
  ClassicForm *f = d.extra<ClassicForm>();
  *f = ClassicForm();
  f->where = Where::Shared;
  f->wideTo = t.wide, f->offsetTo = t.offset, f->wideFrom = s.wide, f->offsetFrom = s.offset;
  int64_t bytes = d.immediate(d.op(2), "the size");
  if (bytes != 16 && (cache == 1 || (bytes != 4 && bytes != 8)))
    d.fail("cp.async copies 4, 8 or 16 bytes (.cg: 16)");
  f->bytes = uint32_t(bytes);
  size_t extra = d.operands() - (hint ? 1 : 0);
  uint32_t size = 0, ignore = 0;
  f->ignore = false;
  if (extra == 4) {
    if (d.widthOf(d.op(3)) == 0 && d.op(3).kind == Operand::Register) {
      f->ignore = true;
      ignore = d.srcPred(d.op(3));
    } else {
      size = d.src(d.op(3), Type::U32);
    }
  }
  Inst &i = d.emit(classicCopy);
  i.r[1] = t.base, i.r[2] = s.base, i.r[3] = size, i.r[4] = ignore;
  i.extra = f;
}

} // namespace fovea::emulator
