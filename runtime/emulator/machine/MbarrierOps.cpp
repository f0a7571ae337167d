// runtime/emulator/machine/MbarrierOps.cpp - the mbarrier instructions.
#include "runtime/emulator/machine/MemoryAccess.h"

namespace fovea::emulator {
namespace {

struct MbarrierForm : Extra {
  enum Kind : uint8_t { Init, Inval, Arrive, ArriveExpect, Drop, DropExpect, Expect, Complete, TestWait, TryWait } kind = Init;
  Where where = Where::Shared;
  bool wide = true, parity = false, noComplete = false, token = false;
};

/// What a token tells: the phase it belongs to and the arrivals that were missing.
uint64_t makeToken(const Mbarrier &b) { return b.phase << 20 | b.pending; }

void writeOpaque(Cta &owner, uint32_t offset, const Mbarrier &b) {
  uint64_t v = b.phase << 40 ^ uint64_t(b.pending) << 20 ^ b.expected ^ 0x5a00000000000000;
  std::memcpy(owner.shared.data() + offset, &v, 8);
}

/// r: result, address, count/tx/parity/token. imm: address offset.
Step mbarrierOp(Warp &w, const Inst &i) {
  const MbarrierForm &f = *static_cast<const MbarrierForm *>(i.extra);
  Cluster &cluster = *w.cta->cluster;
  Observer *o = cluster.launch->config->observer;
  ++cluster.progress;
  eachLane(w.active, [&](int l) {
    try {
      uint32_t address = sharedAddress(w, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), l, "mbarrier");
      Cta *owner;
      uint32_t offset;
      sharedAt(w, address, 8, "mbarrier access", &owner, &offset);
      uint32_t n = i.r[2] ? w.reg<uint32_t>(i.r[2])[l] : 1;
      MbarrierTable &table = owner->mbarriers;
      if (f.kind == MbarrierForm::Init) {
        if (owner != w.cta)
          throw Fault("barrier: mbarrier.init of another block's barrier");
        writeOpaque(*owner, offset, table.init(offset, n, i.line));
        if (o)
          o->mbarrierInit(w, i, *owner, offset);
        return;
      }
      if (f.kind == MbarrierForm::Inval) {
        table.invalidate(offset);
        return;
      }
      Mbarrier &b = table.at(offset, "mbarrier operation");
      uint64_t token = makeToken(b);
      if (o)
        o->mbarrierArrive(w, i, unsigned(l), *owner, offset, b.phase);
      bool done = false;
      switch (f.kind) {
      case MbarrierForm::ArriveExpect:
      case MbarrierForm::DropExpect:
        // Expect and arrive are one step: the phase cannot end between them.
        b.tx += n;
        if (b.tx > (1 << 20) - 1)
          throw Fault("barrier: transaction count " + std::to_string(b.tx) + " exceeds 2^20 - 1 bytes");
        done = f.kind == MbarrierForm::ArriveExpect ? table.arrive(b, 1) : table.arriveDrop(b, 1);
        break;
      case MbarrierForm::Arrive: done = table.arrive(b, n); break;
      case MbarrierForm::Drop: done = table.arriveDrop(b, n); break;
      case MbarrierForm::Expect: done = table.expectTx(b, n); break;
      default: done = table.completeTx(b, n); break;
      }
      if (f.noComplete && done)
        throw Fault("barrier: an arrive.noComplete completed the phase");
      writeOpaque(*owner, offset, b);
      if (done)
        owner->wake(Wait::Mbarrier, barrierKey(*owner, offset));
      if (f.token)
        w.reg<uint64_t>(i.r[0])[l] = token;
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
  });
  return Step::Next;
}

Step mbarrierWait(Warp &w, const Inst &i) {
  const MbarrierForm &f = *static_cast<const MbarrierForm *>(i.extra);
  Cluster &cluster = *w.cta->cluster;
  Observer *o = cluster.launch->config->observer;
  uint32_t passed = 0, waitOffset = 0;
  uint64_t waitPhase = 0;
  // Threads that saw the same phase of the same barrier are told of at once.
  Cta *seenOwner = nullptr;
  uint32_t seenOffset = 0, seenLanes = 0;
  uint64_t seenPhase = 0;
  eachLane(w.active, [&](int l) {
    try {
      uint32_t address = sharedAddress(w, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), l, "mbarrier wait");
      Cta *owner;
      uint32_t offset;
      sharedAt(w, address, 8, "mbarrier wait", &owner, &offset);
      if (owner != w.cta)
        throw Fault("barrier: a wait on another block's mbarrier is not allowed");
      Mbarrier &b = owner->mbarriers.at(offset, "mbarrier wait");
      bool done;
      uint64_t phase;
      if (f.parity) {
        uint32_t p = w.reg<uint32_t>(i.r[2])[l];
        if (p > 1)
          throw Fault("barrier: phase parity must be 0 or 1, found " + std::to_string(p));
        done = (b.phase & 1) != p;
        phase = done ? b.phase - 1 : b.phase;
      } else {
        phase = w.reg<uint64_t>(i.r[2])[l] >> 20;
        if (phase > b.phase || phase + 1 < b.phase)
          throw Fault("barrier: wait for phase " + std::to_string(phase) + " of an mbarrier in phase " + std::to_string(b.phase) +
                      "; only the current and the preceding phase may be asked about");
        done = b.phase > phase;
      }
      if (done) {
        passed |= kLaneBit[l];
        if (o && (seenOwner != owner || seenOffset != offset || seenPhase != phase)) {
          if (seenLanes)
            o->mbarrierWaited(w, i, seenLanes, *seenOwner, seenOffset, seenPhase);
          seenOwner = owner, seenOffset = offset, seenPhase = phase, seenLanes = 0;
        }
        seenLanes |= kLaneBit[l];
      } else {
        waitOffset = offset;
        waitPhase = phase;
      }
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
  });
  if (o && seenLanes)
    o->mbarrierWaited(w, i, seenLanes, *seenOwner, seenOffset, seenPhase);
  if (f.kind == MbarrierForm::TryWait && !passed) {
    // A try_wait may also give up early; kernels must loop. The random policy does so now and then.
    bool giveUp = w.group->timedOut || (cluster.launch->config->policy == AsyncPolicy::Random && cluster.rng() % 16 == 0);
    w.group->timedOut = false;
    if (!giveUp)
      return park(w, Wait::Mbarrier, barrierKey(*w.cta, waitOffset), waitPhase);
  }
  w.group->timedOut = false;
  uint32_t &p = w.pred(i.r[0]);
  p = passed | (p & ~w.active);
  return passed ? Step::Next : Step::Yield;
}

Step pendingCount(Warp &w, const Inst &i) {
  const uint64_t *t = w.reg<uint64_t>(i.r[1]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) { return uint32_t(t[l] & 0xfffff); });
  return Step::Next;
}

void mbarrier(Decoder &d) {
  MbarrierForm *f = d.extra<MbarrierForm>();
  int op = d.mods.oneOf({".init", ".inval", ".arrive", ".arrive_drop", ".expect_tx", ".complete_tx", ".test_wait", ".try_wait", ".pending_count"});
  if (op < 0)
    d.fail("'mbarrier' needs an operation");
  if (op == 8) {
    d.needType("the .b64");
    d.count(2, 2);
    uint32_t t = d.src(d.op(1), Type::B64), r = d.dst(d.op(0), 4);
    Inst &i = d.emit(pendingCount);
    i.r[0] = r, i.r[1] = t;
    return;
  }
  bool expect = (op == 2 || op == 3) && d.mods.take(".expect_tx");
  f->noComplete = (op == 2 || op == 3) && d.mods.take(".noComplete");
  f->parity = op >= 6 && d.mods.take(".parity");
  d.mods.oneOf({".release", ".acquire", ".relaxed"});
  d.mods.oneOf({".cta", ".cluster"});
  int space = d.mods.oneOf({".shared", ".shared::cta", ".shared::cluster"});
  f->where = space < 0 ? Where::Generic : Where::Shared;
  d.needType("the .b64");
  bool arrive = op == 2 || op == 3, wait = op >= 6;
  size_t at = arrive || wait ? 1 : 0;
  // `mbarrier.arrive.shared::cluster.b64 _, [a]` has a sink; older remote forms leave the result out.
  if (arrive && d.op(0).kind == Operand::Address)
    at = 0;
  AddressOperand a = d.address(d.op(at));
  f->wide = a.wide;
  size_t left = d.operands() - at - 1;
  uint32_t second = 0, result = 0;
  if (wait) {
    if (left < 1 || left > 2 || (left == 2 && op == 6))
      d.fail("wrong number of operands");
    second = f->parity ? d.src(d.op(at + 1), Type::U32) : d.src(d.op(at + 1), Type::B64);
    if (left == 2)
      d.src(d.op(at + 2), Type::U32);  // suspend-time hint
    result = d.dstPred(d.op(0));
  } else {
    bool needs = op == 0 || op == 4 || op == 5 || expect, allowed = needs || (arrive && !expect);
    if (left > (allowed ? 1u : 0u) || (needs && !left))
      d.fail("wrong number of operands");
    if (left)
      second = d.src(d.op(at + 1), Type::U32);
    if (arrive && at == 1 && d.op(0).kind != Operand::Sink) {
      result = d.dst(d.op(0), 8);
      f->token = true;
    }
  }
  using K = MbarrierForm;
  f->kind = op == 0   ? K::Init
            : op == 1 ? K::Inval
            : op == 2 ? (expect ? K::ArriveExpect : K::Arrive)
            : op == 3 ? (expect ? K::DropExpect : K::Drop)
            : op == 4 ? K::Expect
            : op == 5 ? K::Complete
            : op == 6 ? K::TestWait
                      : K::TryWait;
  Inst &i = d.emit(wait ? mbarrierWait : mbarrierOp);
  i.r[0] = result, i.r[1] = a.base, i.r[2] = second;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

} // namespace

void addMbarrier(OpcodeTable &t) { t.add({"mbarrier"}, mbarrier); }

} // namespace fovea::emulator
