// runtime/emulator/machine/AsyncCopy.cpp - bulk copies and reductions, their groups, st.async; entry of everything called cp.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/TensorCopyOps.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include <cstring>

namespace fovea::emulator {
namespace {

// ---- bulk copies ---------------------------------------------------------------------------------------------------

struct BulkForm : Extra {
  enum Kind : uint8_t { Load, ToPeer, Store, ReduceGlobal, ReducePeer } kind = Load;
  bool multicast = false, wideTo = true, wideFrom = true, wideBar = true, byteMask = false;
  int64_t offsetTo = 0, offsetFrom = 0, offsetBar = 0;
  ReduceOp op = ReduceOp::Add;
  MapType type = MapType::U32;
  uint32_t element = 4;
};

/// Global or shared memory into shared memory of one or more CTAs, then complete_tx.
struct BulkLoad : AsyncOp {
  const BulkForm *form = nullptr;
  uint64_t global = 0;
  SharedPlace source;
  std::vector<std::pair<SharedPlace, SharedPlace>> to;  ///< (data, barrier)
  uint32_t bytes = 0, done = 0;
  bool moved = false;
  bool step(Cluster &c) override {
    Observer *o = c.launch->config->observer;
    if (!moved) {
      const uint8_t *from;
      if (form->kind == BulkForm::Load) {
        from = c.launch->memory->at(global, bytes, "bulk copy read");
        if (o)
          o->asyncGlobal(c, *this, Access::Read, global, bytes);
      } else {
        from = source.cta->shared.data() + source.offset;
        if (o)
          o->asyncShared(c, *this, Proxy::Async, Access::Read, *source.cta, source.offset, bytes);
      }
      for (auto &[data, barrier] : to) {
        uint8_t *p = data.cta->shared.data() + data.offset;
        if (form->kind == BulkForm::ReducePeer)
          for (uint32_t k = 0; k < bytes; k += form->element)
            reduceElement(form->type, form->op, p + k, from + k);
        else
          std::memmove(p, from, bytes);
        if (o)
          o->asyncShared(c, *this, Proxy::Async, Access::Write, *data.cta, data.offset, bytes);
      }
      moved = true;
      return false;
    }
    for (auto &[data, barrier] : to)
      signalBytes(c, *this, barrier, bytes);
    return true;
  }
};

/// Shared memory to global memory, in two steps: the source is read, then the result becomes visible.
struct BulkStore : AsyncOp {
  BulkStore() { kind = AsyncKind::Store; }
  const BulkForm *form = nullptr;
  SharedPlace source;
  uint64_t global = 0;
  uint32_t bytes = 0, mask = 0xffff;
  std::vector<uint8_t> data;
  std::shared_ptr<ThreadGroups::Group> group;
  bool step(Cluster &c) override {
    Observer *o = c.launch->config->observer;
    if (data.empty() && bytes) {
      const uint8_t *p = source.cta->shared.data() + source.offset;
      data.assign(p, p + bytes);
      if (o) {
        o->asyncShared(c, *this, Proxy::Async, Access::Read, *source.cta, source.offset, bytes);
        reportPoison(*issuer, line, -1, data.data(), bytes, "a bulk store");
      }
      --group->reading;
      wakeGroups(*issuer, Wait::BulkGroup);
      return false;
    }
    AddressSpace &m = *c.launch->memory;
    if (form->kind == BulkForm::Store) {
      if (mask == 0xffff)
        m.write(global, data.data(), bytes);
      else
        for (uint32_t k = 0; k < bytes; ++k)
          if (mask >> (k & 15) & 1)
            m.write(global + k, &data[k], 1);
    } else {
      for (uint32_t k = 0; k < bytes; k += form->element)
        m.modify(global + k, form->element, [&](void *to) { reduceElement(form->type, form->op, to, &data[k]); });
    }
    if (o)
      o->asyncGlobal(c, *this, form->kind == BulkForm::Store ? Access::Write : Access::Atomic, global, bytes);
    --group->writing;
    wakeGroups(*issuer, Wait::BulkGroup);
    return true;
  }
};

/// r: to, from, size, barrier, multicast or byte mask.
Step bulkCopy(Warp &w, const Inst &i) {
  const BulkForm &f = *static_cast<const BulkForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    uint32_t bytes = w.reg<uint32_t>(i.r[3])[l];
    uint64_t to = addressOf(w, i.r[1], f.wideTo, f.offsetTo, l), from = addressOf(w, i.r[2], f.wideFrom, f.offsetFrom, l);
    if (bytes % 16 || to % 16 || from % 16)
      faultAt(w, l, "misaligned: a bulk copy needs addresses and a size that are multiples of 16, found size " + std::to_string(bytes));
    bool out = f.kind == BulkForm::Store || f.kind == BulkForm::ReduceGlobal;
    if (out) {
      auto op = std::make_unique<BulkStore>();
      op->form = &f;
      op->source = sharedPlace(w, Where::Shared, from, bytes, l, "bulk copy");
      op->global = to;
      op->bytes = bytes;
      if (f.byteMask)
        op->mask = w.reg<uint16_t>(i.r[5])[l];
      ThreadGroups &g = w.bulk[uint32_t(l)];
      op->group = g.open;
      ++g.open->reading;
      ++g.open->writing;
      issueAsync(w, i, l, std::move(op));
      return;
    }
    auto op = std::make_unique<BulkLoad>();
    op->form = &f;
    op->bytes = bytes;
    SharedPlace data = sharedPlace(w, Where::Shared, to, bytes, l, "bulk copy");
    SharedPlace bar = sharedPlace(w, Where::Shared, addressOf(w, i.r[4], f.wideBar, f.offsetBar, l), 8, l, "mbarrier of a bulk copy");
    if (f.kind == BulkForm::Load)
      op->global = from;
    else
      op->source = sharedPlace(w, Where::Shared, from, bytes, l, "bulk copy");
    if (f.multicast) {
      for (auto &[cta, signalled] : multicastTargets(w, w.reg<uint16_t>(i.r[5])[l], *bar.cta, false, l))
        op->to.push_back({{cta, data.offset}, {signalled, bar.offset}});
    } else {
      if (data.cta != bar.cta)
        faultAt(w, l, "cluster: the mbarrier of a bulk copy must be in the destination's block");
      op->to.push_back({data, bar});
    }
    issueAsync(w, i, l, std::move(op));
  });
  return Step::Next;
}

Step bulkCommit(Warp &w, const Inst &i) {
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->groupCommit(w, i, AsyncKind::Store);
  eachLane(w.active, [&](int l) { w.bulk[uint32_t(l)].commit(); });
  return Step::Next;
}
Step bulkWait(Warp &w, const Inst &i) {
  bool done = true;
  eachLane(w.active, [&](int l) { done &= w.bulk[uint32_t(l)].finished(i.imm, i.r[0]); });
  if (!done)
    return park(w, Wait::BulkGroup, 0, i.imm);
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->groupWaited(w, i, AsyncKind::Store, i.imm, i.r[0]);
  return Step::Next;
}
Step nothing(Warp &, const Inst &) { return Step::Next; }

bool reduction(Decoder &d, ReduceOp &op) {
  int k = d.mods.oneOf({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"});
  if (k < 0)
    return false;
  op = ReduceOp(k);
  return true;
}

void bulk(Decoder &d, bool reduce) {
  if (!reduce && d.mods.take(".commit_group")) {
    d.count(0, 0);
    d.emit(bulkCommit);
    return;
  }
  if (!reduce && d.mods.take(".wait_group")) {
    bool read = d.mods.take(".read");
    d.count(1, 1);
    int64_t n = d.immediate(d.op(0), "the number of groups");
    Inst &i = d.emit(bulkWait);
    i.imm = uint64_t(n);
    i.r[0] = read;
    return;
  }
  if (d.mods.take(".prefetch")) {
    if (d.mods.take(".tensor")) {
      d.mods.takeIf([](std::string_view m) { return m.size() == 3 && m[2] == 'd'; });
      d.mods.oneOf({".tile", ".tile::gather4", ".im2col", ".im2col::w", ".im2col::w::128"});
    }
    d.mods.take(".L2");
    d.mods.take(".global");
    d.mods.take(".L2::cache_hint");
    d.count(1, 4);
    d.emit(nothing);
    return;
  }
  if (d.mods.take(".tensor"))
    return decodeTensorCopy(d, reduce);
  BulkForm *f = d.extra<BulkForm>();
  int where[2] = {-1, -1}, n = 0;
  // The state spaces in order: destination, source.
  for (std::string_view m : d.in->modifiers)
    if (n < 2 && (m == ".global" || m == ".shared::cta" || m == ".shared::cluster"))
      where[n++] = m == ".global" ? 0 : 1;
  for (int k = 0; k < n; ++k)
    d.mods.oneOf({".global", ".shared::cta", ".shared::cluster"});
  if (n != 2)
    d.fail("a bulk copy needs a destination and a source state space");
  bool barrier = d.mods.take(".mbarrier::complete_tx::bytes"), group = d.mods.take(".bulk_group");
  f->multicast = d.mods.take(".multicast::cluster");
  bool hint = d.mods.take(".L2::cache_hint");
  f->byteMask = d.mods.take(".cp_mask");
  if (reduce) {
    if (!reduction(d, f->op))
      d.fail("a bulk reduction needs an operation");
    d.mods.take(".noftz");
    switch (d.needType("an element")) {
    case Type::U32: case Type::B32: f->type = MapType::U32; break;
    case Type::S32: f->type = MapType::S32; break;
    case Type::U64: case Type::B64: f->type = MapType::U64, f->element = 8; break;
    case Type::S64: f->type = MapType::S64, f->element = 8; break;
    case Type::F16: f->type = MapType::F16, f->element = 2; break;
    case Type::BF16: f->type = MapType::BF16, f->element = 2; break;
    case Type::F32: f->type = MapType::F32; break;
    case Type::F64: f->type = MapType::F64, f->element = 8; break;
    default: d.fail("this element type has no bulk reduction");
    }
  }
  bool out = where[0] == 0;
  if (out ? !group || where[1] != 1 : !barrier)
    d.fail(out ? "a copy to global memory comes from shared memory and completes by .bulk_group" : "a copy to shared memory completes by .mbarrier::complete_tx::bytes");
  f->kind = out ? (reduce ? BulkForm::ReduceGlobal : BulkForm::Store) : where[1] == 0 ? BulkForm::Load : reduce ? BulkForm::ReducePeer : BulkForm::ToPeer;
  size_t want = 3 + (out ? 0 : 1) + (f->multicast ? 1 : 0) + (hint ? 1 : 0) + (f->byteMask ? 1 : 0);
  d.count(want, want);
  AddressOperand t = d.address(d.op(0)), s = d.address(d.op(1)), b;
  uint32_t size = d.src(d.op(2), Type::U32), mask = 0;
  if (!out)
    b = d.address(d.op(3));
  if (f->multicast)
    mask = d.src(d.op(4), Type::U16);
  if (f->byteMask)
    mask = d.src(d.op(d.operands() - 1), Type::U16);
  f->wideTo = t.wide, f->offsetTo = t.offset, f->wideFrom = s.wide, f->offsetFrom = s.offset, f->wideBar = b.wide, f->offsetBar = b.offset;
  Inst &i = d.emit(bulkCopy);
  i.r[1] = t.base, i.r[2] = s.base, i.r[3] = size, i.r[4] = b.base, i.r[5] = mask;
  i.extra = f;
}

void copy(Decoder &d) {
  bool reduce = d.mods.take(".reduce");
  if (!d.mods.take(".async"))
    d.fail("expected cp.async or cp.reduce.async");
  if (d.mods.take(".bulk"))
    return bulk(d, reduce);
  if (reduce)
    d.fail("cp.reduce.async needs .bulk");
  decodeCpAsync(d);
}

// ---- st.async ------------------------------------------------------------------------------------------------------

struct StoreAsyncForm : Extra { bool wideTo, wideBar; int64_t offsetTo, offsetBar; uint32_t element, count; uint32_t regs[4]; };
struct StoreAsync : AsyncOp {
  SharedPlace to, barrier;
  uint8_t data[16];
  uint32_t bytes = 0;
  bool step(Cluster &c) override {
    std::memcpy(to.cta->shared.data() + to.offset, data, bytes);
    if (Observer *o = c.launch->config->observer)
      o->asyncShared(c, *this, Proxy::Async, Access::Write, *to.cta, to.offset, bytes);
    signalBytes(c, *this, barrier, bytes);
    return true;
  }
};
Step storeAsync(Warp &w, const Inst &i) {
  const StoreAsyncForm &f = *static_cast<const StoreAsyncForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<StoreAsync>();
    op->bytes = f.element * f.count;
    op->to = sharedPlace(w, Where::Shared, addressOf(w, i.r[1], f.wideTo, f.offsetTo, l), op->bytes, l, "st.async");
    op->barrier = sharedPlace(w, Where::Shared, addressOf(w, i.r[2], f.wideBar, f.offsetBar, l), 8, l, "mbarrier of st.async");
    if (op->to.offset % op->bytes)
      faultAt(w, l, "misaligned: st.async");
    if (op->to.cta != op->barrier.cta)
      faultAt(w, l, "cluster: the mbarrier of st.async must be in the destination's block");
    for (uint32_t k = 0; k < f.count; ++k)
      if (f.element == 4)
        std::memcpy(op->data + 4 * k, &w.reg<uint32_t>(f.regs[k])[l], 4);
      else
        std::memcpy(op->data + 8 * k, &w.reg<uint64_t>(f.regs[k])[l], 8);
    issueAsync(w, i, l, std::move(op));
  });
  return Step::Next;
}

} // namespace

void decodeStoreAsync(Decoder &d) {
  StoreAsyncForm *f = d.extra<StoreAsyncForm>();
  d.mods.take(".shared::cluster");
  if (!d.mods.take(".mbarrier::complete_tx::bytes"))
    d.fail("st.async needs .shared::cluster.mbarrier::complete_tx::bytes");
  int vec = d.mods.oneOf({".v2", ".v4"});
  Type t = d.needType("a");
  d.count(3, 3);
  f->count = vec < 0 ? 1 : 2u << vec;
  f->element = uint32_t(ptx::bytesOf(t));
  if ((f->element != 4 && f->element != 8) || f->element * f->count > 16)
    d.fail("st.async stores 4, 8 or 16 bytes");
  AddressOperand a = d.address(d.op(0)), b = d.address(d.op(2));
  const Operand &v = d.op(1);
  if ((v.kind == Operand::Vector ? v.parts.size() : 1) != f->count)
    d.fail("wrong number of data operands");
  for (uint32_t k = 0; k < f->count; ++k)
    f->regs[k] = d.src(v.kind == Operand::Vector ? v.parts[k] : v, t);
  f->wideTo = a.wide, f->offsetTo = a.offset, f->wideBar = b.wide, f->offsetBar = b.offset;
  Inst &i = d.emit(storeAsync);
  i.r[1] = a.base, i.r[2] = b.base;
  i.extra = f;
}

void addAsyncCopy(OpcodeTable &t) { t.add({"cp"}, copy); }

} // namespace fovea::emulator
