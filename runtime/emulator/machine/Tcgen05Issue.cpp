// runtime/emulator/machine/Tcgen05Issue.cpp - tcgen05.mma, cp, shift, commit: queued per issuing thread, in order.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/Tcgen05.h"
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"
#include "runtime/emulator/machine/tensor/TmemMove.h"

namespace fovea::emulator {
namespace {

/// One thread's mma, cp, shift and commit take effect in the order of issue (hardware.md 4.4, 10.19).
uint64_t chainOf(const Warp &w, int lane) { return uint64_t(4) << 60 | uint64_t(w.cta->rank) << 32 | (w.id * 32 + uint32_t(lane)); }

/// The executing CTA, or the two of its pair, even one first. Located Fault when the pair is not there.
void pairOf(Warp &w, bool pair, int lane, Cta *out[2]) {
  if (!pair) {
    out[0] = out[1] = w.cta;
    return;
  }
  auto &ctas = w.cta->cluster->ctas;
  uint32_t even = w.cta->rank & ~1u;
  if (even + 1 >= ctas.size())
    faultAt(w, lane, "cluster: .cta_group::2 needs the other block of the pair; the cluster has " + std::to_string(ctas.size()) + " blocks");
  out[0] = ctas[even].get();
  out[1] = ctas[even + 1].get();
  for (int k = 0; k < 2; ++k)
    if (!out[k]->liveThreads)
      faultAt(w, lane, "cluster: .cta_group::2 while the other block of the pair has already exited");
}

struct TensorOp : AsyncOp {
  TensorOp() { kind = AsyncKind::Tensor; }
  Cta *ctas[2];
  void report(Cluster &c, const Touched &t) {
    Observer *o = c.launch->config->observer;
    Cta &owner = *ctas[t.cta];
    Access a = t.write ? Access::Write : Access::Read;
    if (t.blocks)
      o->asyncSharedBlocks(c, *this, Proxy::Tensor, a, owner, t.address, t.blocks);
    else if (t.space == Touched::Shared)
      o->asyncShared(c, *this, Proxy::Tensor, a, owner, t.address, t.count);
    else
      eachLaneGroup(t, [&](uint32_t address) { o->asyncTmem(c, *this, a, owner, address, t.count); });
  }
};

// ---- mma -----------------------------------------------------------------------------------------------------------

struct MmaIssue : Extra {
  MmaForm form;
  uint32_t d, a, b, idesc, enable, sfa = 0, sfb = 0, meta = 0, zero = 0;
  uint32_t offsetD = 0, offsetA = 0, offsetSfa = 0, offsetSfb = 0, offsetMeta = 0;
  uint32_t lanes[8];
  uint8_t laneWords = 0, scaleD = 0;
  bool blockScale = false;
};
struct MmaOp : TensorOp {
  const MmaIssue *issue = nullptr;
  MmaOperands operands;
  bool step(Cluster &c) override {
    if (c.launch->config->observer)
      touched(issue->form, operands, [&](const Touched &t) { report(c, t); });
    MmaCta m[2] = {{ctas[0]->tmem.get(), ctas[0]->span()}, {ctas[1]->tmem.get(), ctas[1]->span()}};
    execute(issue->form, operands, m);
    return true;
  }
};

Step issueMma(Warp &w, const Inst &i) {
  const MmaIssue &f = *static_cast<const MmaIssue *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<MmaOp>();
    op->issue = &f;
    pairOf(w, f.form.pair, l, op->ctas);
    MmaOperands &o = op->operands;
    auto u32 = [&](uint32_t r) { return w.reg<uint32_t>(r)[l]; };
    o.d = u32(f.d) + f.offsetD;
    o.a = f.form.aInTmem ? u32(f.a) + f.offsetA : w.reg<uint64_t>(f.a)[l];
    o.b = w.reg<uint64_t>(f.b)[l];
    o.idesc = u32(f.idesc);
    if (f.blockScale) {
      o.sfa = u32(f.sfa) + f.offsetSfa;
      o.sfb = u32(f.sfb) + f.offsetSfb;
    }
    if (f.form.sparse)
      o.sparseMeta = u32(f.meta) + f.offsetMeta;
    o.accumulate = w.pred(f.enable) & kLaneBit[l];
    o.scaleInputD = f.scaleD;
    for (int k = 0; k < f.laneWords; ++k)
      o.disabledLanes[k] = u32(f.lanes[k]);
    if (f.zero)
      o.zeroColumns = w.reg<uint64_t>(f.zero)[l];
    try {
      decodeInstruction(f.form, o.idesc);
      if (!f.form.aInTmem)
        decodeTcgen05Descriptor(o.a);
      decodeTcgen05Descriptor(o.b);
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
    issueAsync(w, i, l, std::move(op), chainOf(w, l));
  });
  return Step::Next;
}

// ---- cp, shift, commit ---------------------------------------------------------------------------------------------

struct CpIssue : Extra { TmemCopy op; bool pair; uint32_t address, offset, descriptor; };
struct CpOp : TensorOp {
  const CpIssue *issue = nullptr;
  uint32_t address = 0;
  uint64_t descriptor = 0;
  /// The source is read at issue: compilers in the field re-use it without waiting for the copy (the detectors still
  /// see the read when the copy takes effect).
  std::vector<uint8_t> source[2];
  uint32_t begin = 0;
  void read() {
    uint32_t first = ~0u, last = 0;
    touched(issue->op, address, descriptor, [&](const Touched &t) {
      if (t.space == Touched::Shared) {
        first = std::min(first, t.address);
        last = std::max(last, t.address + t.count);
      }
    });
    begin = first;
    for (int k = 0; k < (issue->pair ? 2 : 1); ++k) {
      if (last > ctas[k]->shared.size() || first < kSharedReserved)
        throw Fault("out of bounds: tcgen05.cp reads shared memory from " + std::to_string(first) + " to " + std::to_string(last) + ", the block has " +
                    std::to_string(ctas[k]->shared.size()) + " bytes");
      source[k].assign(ctas[k]->shared.data() + first, ctas[k]->shared.data() + last);
    }
  }
  bool step(Cluster &c) override {
    int n = issue->pair ? 2 : 1;
    for (int k = 0; k < n; ++k) {
      if (c.launch->config->observer)
        touched(issue->op, address, descriptor, [&](Touched t) {
          t.cta = uint8_t(k);
          report(c, t);
        });
      SharedSpan span{reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(source[k].data()) - begin), begin + uint32_t(source[k].size())};
      copy(*ctas[k]->tmem, span, issue->op, address, descriptor);
    }
    return true;
  }
};
Step issueCp(Warp &w, const Inst &i) {
  const CpIssue &f = *static_cast<const CpIssue *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<CpOp>();
    op->issue = &f;
    pairOf(w, f.pair, l, op->ctas);
    op->address = w.reg<uint32_t>(f.address)[l] + f.offset;
    op->descriptor = w.reg<uint64_t>(f.descriptor)[l];
    try {
      op->read();
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
    issueAsync(w, i, l, std::move(op), chainOf(w, l));
  });
  return Step::Next;
}

struct ShiftIssue : Extra { bool pair; uint32_t address, offset; };
struct ShiftOp : TensorOp {
  bool pair = false;
  uint32_t address = 0;
  bool step(Cluster &) override {
    for (int k = 0; k < (pair ? 2 : 1); ++k)
      shiftDown(*ctas[k]->tmem, address);
    return true;
  }
};
Step issueShift(Warp &w, const Inst &i) {
  const ShiftIssue &f = *static_cast<const ShiftIssue *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<ShiftOp>();
    pairOf(w, f.pair, l, op->ctas);
    op->pair = f.pair;
    op->address = w.reg<uint32_t>(f.address)[l] + f.offset;
    issueAsync(w, i, l, std::move(op), chainOf(w, l));
  });
  return Step::Next;
}

struct CommitIssue : Extra { Where where; bool wide, multicast, pair; };
struct CommitOp : AsyncOp {
  CommitOp() { kind = AsyncKind::Commit; }
  std::vector<SharedPlace> barriers;
  bool step(Cluster &c) override {
    for (SharedPlace b : barriers)
      signalArrive(c, *this, b);
    return true;
  }
};
Step issueCommit(Warp &w, const Inst &i) {
  const CommitIssue &f = *static_cast<const CommitIssue *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<CommitOp>();
    SharedPlace bar = sharedPlace(w, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), 8, l, "mbarrier of tcgen05.commit");
    if (f.multicast)
      for (auto &[cta, signalled] : multicastTargets(w, w.reg<uint16_t>(i.r[2])[l], *bar.cta, false, l))
        op->barriers.push_back({cta, bar.offset});
    else
      op->barriers.push_back(bar);
    issueAsync(w, i, l, std::move(op), chainOf(w, l));
  });
  return Step::Next;
}

} // namespace

void decodeTcgenMma(Decoder &d) {
  MmaIssue *f = d.extra<MmaIssue>();
  f->form.ws = d.mods.take(".ws");
  f->form.sparse = d.mods.take(".sp");
  if (d.mods.take(".ws"))
    f->form.ws = true;
  f->form.pair = takeCtaGroup(d);
  int kind = d.mods.oneOf({".kind::f16", ".kind::tf32", ".kind::f8f6f4", ".kind::i8", ".kind::mxf8f6f4", ".kind::mxf4", ".kind::mxf4nvf4"});
  if (kind < 0)
    d.fail("tcgen05.mma needs a .kind");
  f->form.kind = MmaKind(kind);
  f->blockScale = d.mods.take(".block_scale");
  if (f->blockScale != (kind >= 4))
    d.fail(kind >= 4 ? "this kind needs .block_scale" : ".block_scale is for the mx kinds");
  if (f->form.ws && (kind > 3 || f->form.pair))
    d.fail(".ws exists for f16, tf32, f8f6f4 and i8 with .cta_group::1");
  int vec = d.mods.oneOf({".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X"}), block = d.mods.oneOf({".block16", ".block32"});
  if (f->blockScale) {
    try {
      f->form.scalesPerRow = vec >= 0 ? 1u << vec : scalesPerRow(f->form.kind, block < 0 ? 0 : block == 0 ? 16 : 32);
    } catch (const Fault &fault) {
      d.fail(fault.what());
    }
    unsigned want = kind == 4 ? 1 : kind == 5 ? 2 : f->form.scalesPerRow == 4 ? 4 : 2;
    if (f->form.scalesPerRow != want)
      d.fail("this scale vector size does not go with this kind");
  } else if (vec >= 0 || block >= 0) {
    d.fail("a scale vector size needs .block_scale");
  }
  f->form.ashift = d.mods.take(".ashift");
  d.mods.takeIf([](std::string_view m) {
    return m == ".collector::a::fill" || m == ".collector::a::use" || m == ".collector::a::lastuse" || m == ".collector::a::discard" ||
           (m.size() > 15 && m.substr(0, 13) == ".collector::b" && m[13] >= '0' && m[13] <= '3');
  });
  size_t at = 0;
  TmemOperand dd = tmemOperand(d, d.op(at++));
  f->d = dd.base, f->offsetD = dd.offset;
  const Operand &a = d.op(at++);
  f->form.aInTmem = a.kind == Operand::Address;
  if (f->form.aInTmem) {
    TmemOperand t = tmemOperand(d, a);
    f->a = t.base, f->offsetA = t.offset;
  } else {
    f->a = d.src(a, Type::B64);
  }
  if (f->form.ashift && !f->form.aInTmem)
    d.fail(".ashift needs A in tensor memory");
  f->b = d.src(d.op(at++), Type::B64);
  if (f->form.sparse) {
    TmemOperand t = tmemOperand(d, d.op(at++));
    f->meta = t.base, f->offsetMeta = t.offset;
  }
  f->idesc = d.src(d.op(at++), Type::B32);
  if (f->blockScale) {
    TmemOperand s = tmemOperand(d, d.op(at++));
    f->sfa = s.base, f->offsetSfa = s.offset;
    s = tmemOperand(d, d.op(at++));
    f->sfb = s.base, f->offsetSfb = s.offset;
  }
  if (d.op(at).kind == Operand::Vector) {
    const Operand &v = d.op(at++);
    size_t want = f->form.pair ? 8 : 4;
    if (v.parts.size() != want || f->blockScale || f->form.ws)
      d.fail("disable-output-lane takes " + std::to_string(want) + " words and goes with no .block_scale or .ws");
    for (const Operand &w : v.parts)
      f->lanes[f->laneWords++] = d.src(w, Type::B32);
  }
  f->enable = d.srcPred(d.op(at++));
  if (at < d.operands()) {
    if (f->form.ws) {
      f->zero = d.src(d.op(at++), Type::B64);
    } else {
      int64_t s = d.immediate(d.op(at++), "scale-input-d");
      if (s < 0 || s > 15 || kind > 1)
        d.fail("scale-input-d is 0 to 15, for kinds f16 and tf32");
      f->scaleD = uint8_t(s);
    }
  }
  if (at != d.operands())
    d.fail("too many operands");
  d.emit(issueMma).extra = f;
}

void decodeTcgenCp(Decoder &d) {
  CpIssue *f = d.extra<CpIssue>();
  f->pair = takeCtaGroup(d);
  int shape = d.mods.oneOf({".128x256b", ".128x128b", ".4x256b", ".64x128b", ".32x128b"});
  int cast = d.mods.oneOf({".warpx2::02_13", ".warpx2::01_23", ".warpx4"});
  bool expands = d.mods.take(".b8x16");
  int format = d.mods.oneOf({".b4x16_p64", ".b6x16_p32"});
  if (shape < 0)
    d.fail("tcgen05.cp needs a shape");
  if ((shape == 3) != (cast == 0 || cast == 1) || (shape == 4) != (cast == 2))
    d.fail(".64x128b needs .warpx2::02_13 or ::01_23, .32x128b needs .warpx4, the others none");
  if (expands != (format >= 0))
    d.fail("expected .b8x16 with .b4x16_p64 or .b6x16_p32");
  f->op.shape = CpShape(shape);
  f->op.multicast = cast < 0 ? CpMulticast::None : cast == 0 ? CpMulticast::Warpx2_02_13 : cast == 1 ? CpMulticast::Warpx2_01_23 : CpMulticast::Warpx4;
  f->op.format = format < 0 ? CpFormat::Plain : format == 0 ? CpFormat::B4x16P64 : CpFormat::B6x16P32;
  d.count(2, 2);
  TmemOperand t = tmemOperand(d, d.op(0));
  f->address = t.base, f->offset = t.offset;
  f->descriptor = d.src(d.op(1), Type::B64);
  d.emit(issueCp).extra = f;
}

void decodeTcgenShift(Decoder &d) {
  ShiftIssue *f = d.extra<ShiftIssue>();
  f->pair = takeCtaGroup(d);
  if (!d.mods.take(".down"))
    d.fail("tcgen05.shift needs .down");
  d.count(1, 1);
  TmemOperand t = tmemOperand(d, d.op(0));
  f->address = t.base, f->offset = t.offset;
  d.emit(issueShift).extra = f;
}

void decodeTcgenCommit(Decoder &d) {
  CommitIssue *f = d.extra<CommitIssue>();
  f->pair = takeCtaGroup(d);
  if (!d.mods.take(".mbarrier::arrive::one"))
    d.fail("tcgen05.commit needs .mbarrier::arrive::one");
  f->where = d.mods.oneOf({".shared::cluster", ".shared::cta", ".shared"}) >= 0 ? Where::Shared : Where::Generic;
  f->multicast = d.mods.take(".multicast::cluster");
  d.mods.take(".b64");
  d.count(f->multicast ? 2 : 1, f->multicast ? 2 : 1);
  AddressOperand a = d.address(d.op(0));
  f->wide = a.wide;
  uint32_t mask = f->multicast ? d.src(d.op(1), Type::U16) : 0;
  Inst &i = d.emit(issueCommit);
  i.r[1] = a.base, i.r[2] = mask;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

} // namespace fovea::emulator
