// runtime/emulator/machine/TensorCopyOps.cpp - cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, tensormap.*.
#include "runtime/emulator/machine/TensorCopyOps.h"
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/tensor/TensorCopy.h"
#include <cstring>

namespace fovea::emulator {
namespace {

struct TensorForm : Extra {
  BoxDirection direction = BoxDirection::Load;
  ReduceOp op = ReduceOp::Add;
  uint8_t rank = 1, coordinates = 1;
  bool fourRows = false, im2col = false, multicast = false, pair = false;
  bool wideShared = true, wideMap = true, wideBar = true;
  int64_t offsetShared = 0, offsetMap = 0, offsetBar = 0;
  uint32_t coords[6] = {}, offsets[3] = {};
};

struct TensorLoad : AsyncOp {
  TensorMap map;
  BoxPosition at;
  uint32_t shared = 0;
  std::vector<std::pair<Cta *, SharedPlace>> to;  ///< (destination, barrier)
  int stage = 0;
  bool step(Cluster &c) override {
    uint32_t bytes = boxBytes(map, at);
    if (stage == 0) {
      for (auto &target : to) {
        Cta *cta = target.first;
        loadBox(map, at, *c.launch->memory, cta->span(), shared);
        if (Observer *o = c.launch->config->observer)
          boxTouches(map, at, shared, BoxDirection::Load, [&](const BoxTouch &t) {
            if (!t.global)
              o->asyncShared(c, *this, Proxy::Async, Access::Write, *cta, uint32_t(t.address), t.bytes);
            else if (cta == to[0].first)
              o->asyncGlobalRows(c, *this, Access::Read, t.address, t.bytes, t.stride, t.count);
          });
      }
      stage = 1;
      return false;
    }
    // The bytes may be counted in several portions.
    uint32_t portion = stage == 1 && c.launch->config->policy == AsyncPolicy::Random && bytes >= 32 ? bytes / 32 * 16 : bytes;
    if (stage == 2)
      portion = bytes - bytes / 32 * 16;
    for (auto &[cta, barrier] : to)
      signalBytes(c, *this, barrier, portion);
    if (stage == 1 && portion != bytes) {
      stage = 2;
      return false;
    }
    return true;
  }
};

struct TensorStore : AsyncOp {
  TensorStore() { kind = AsyncKind::Store; }
  const TensorForm *form = nullptr;
  TensorMap map;
  BoxPosition at;
  SharedPlace source;
  std::vector<uint8_t> snapshot;
  uint32_t begin = 0, end = 0;
  bool taken = false;
  std::shared_ptr<ThreadGroups::Group> group;
  bool step(Cluster &c) override {
    Observer *o = c.launch->config->observer;
    if (!taken) {
      boxRange(map, at, source.offset, uint32_t(source.cta->shared.size()), begin, end);
      if (end > source.cta->shared.size())
        throw Fault("out of bounds: a tensor store reads shared memory beyond the block's");
      snapshot.assign(source.cta->shared.data() + begin, source.cta->shared.data() + end);
      if (o)
        boxTouches(map, at, source.offset, form->direction, [&](const BoxTouch &t) {
          if (!t.global && t.inBounds) {
            o->asyncShared(c, *this, Proxy::Async, Access::Read, *source.cta, uint32_t(t.address), t.bytes);
            reportPoison(*issuer, line, -1, source.cta->shared.data() + t.address, t.bytes, "a tensor store");
          }
        });
      taken = true;
      --group->reading;
      wakeGroups(*issuer, Wait::BulkGroup);
      return false;
    }
    SharedSpan span{reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(snapshot.data()) - begin), end};
    if (form->direction == BoxDirection::Store)
      storeBox(map, at, *c.launch->memory, span, source.offset);
    else
      reduceBox(map, at, form->op, *c.launch->memory, span, source.offset);
    if (o)
      boxTouches(map, at, source.offset, form->direction, [&](const BoxTouch &t) {
        if (t.global)
          o->asyncGlobalRows(c, *this, form->direction == BoxDirection::Store ? Access::Write : Access::Atomic, t.address, t.bytes, t.stride, t.count);
      });
    --group->writing;
    wakeGroups(*issuer, Wait::BulkGroup);
    return true;
  }
};

/// r: shared, map, barrier, multicast mask.
Step tensorCopy(Warp &w, const Inst &i) {
  const TensorForm &f = *static_cast<const TensorForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    try {
      uint64_t mapAddress = addressOf(w, i.r[2], f.wideMap, f.offsetMap, l);
      if (mapAddress % 64)
        throw Fault("misaligned: a tensor map must be 64-byte aligned");
      const uint8_t *bytes = accessAt(w, i, Where::Generic, mapAddress, 128, 64, l, Access::Read);
      TensorMap map = decodeTensorMap(bytes);
      if (map.rank != f.rank)
        throw Fault("tma: the instruction names " + std::to_string(f.rank) + " dimensions, the tensor map has " + std::to_string(map.rank));
      BoxPosition at;
      at.fourRows = f.fourRows;
      if (f.fourRows) {
        at.coords[0] = int32_t(w.reg<uint32_t>(f.coords[0])[l]);
        for (int k = 0; k < 4; ++k)
          at.rows[k] = int32_t(w.reg<uint32_t>(f.coords[k + 1])[l]);
      } else {
        for (int k = 0; k < f.rank; ++k)
          at.coords[k] = int32_t(w.reg<uint32_t>(f.coords[k])[l]);
      }
      at.im2col = f.im2col;
      for (int k = 0; f.im2col && k < f.rank - 2; ++k)
        at.offsets[k] = w.reg<uint16_t>(f.offsets[k])[l];
      SharedPlace data = sharedPlace(w, Where::Shared, addressOf(w, i.r[1], f.wideShared, f.offsetShared, l), 1, l, "tensor copy");
      checkBox(map, at, data.offset, f.direction);
      if (f.direction == BoxDirection::Load) {
        uint32_t begin, end;
        boxRange(map, at, data.offset, uint32_t(data.cta->shared.size()), begin, end);
        if (end > data.cta->shared.size())
          throw Fault("out of bounds: a tensor load writes shared memory up to offset " + std::to_string(end) + ", the block has " + std::to_string(data.cta->shared.size()));
        auto op = std::make_unique<TensorLoad>();
        op->map = map;
        op->at = at;
        op->shared = data.offset;
        SharedPlace bar = sharedPlace(w, Where::Shared, addressOf(w, i.r[3], f.wideBar, f.offsetBar, l), 8, l, "mbarrier of a tensor copy");
        if (f.multicast) {
          for (auto &[cta, signalled] : multicastTargets(w, w.reg<uint16_t>(i.r[4])[l], *bar.cta, f.pair, l))
            op->to.push_back({cta, {signalled, bar.offset}});
        } else {
          bool samePair = (data.cta->rank ^ bar.cta->rank) <= 1;
          if (data.cta != bar.cta && !(f.pair && samePair))
            throw Fault("cluster: the mbarrier of a tensor load must be in the destination's block (or its pair, with .cta_group::2)");
          op->to.push_back({data.cta, bar});
        }
        issueAsync(w, i, l, std::move(op));
      } else {
        if (data.cta != w.cta)
          throw Fault("cluster: a tensor store reads the executing block's shared memory");
        auto op = std::make_unique<TensorStore>();
        op->form = &f;
        op->map = map;
        op->at = at;
        op->source = data;
        ThreadGroups &g = w.bulk[uint32_t(l)];
        op->group = g.open;
        ++g.open->reading;
        ++g.open->writing;
        issueAsync(w, i, l, std::move(op));
      }
    } catch (const LocatedFault &) {
      throw;
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
  });
  return Step::Next;
}

// ---- tensormap.* ---------------------------------------------------------------------------------------------------

struct ReplaceForm : Extra { MapField field; uint8_t ordinal; Where where; bool wide, wideValue; };
Step replace(Warp &w, const Inst &i) {
  const ReplaceForm &f = *static_cast<const ReplaceForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    uint8_t *p = accessAt(w, i, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), 128, 64, l, Access::Write);
    uint64_t v = f.wideValue ? w.reg<uint64_t>(i.r[2])[l] : w.reg<uint32_t>(i.r[2])[l];
    try {
      replaceField(p, f.field, f.ordinal, v);
    } catch (const Fault &fault) {
      faultAt(w, l, fault.what());
    }
  });
  return Step::Next;
}
struct CopyForm : Extra { bool wideTo, wideFrom; int64_t offsetTo, offsetFrom; };
Step copyFenceProxy(Warp &w, const Inst &i) {
  const CopyForm &f = *static_cast<const CopyForm *>(i.extra);
  requireConverged(w, "tensormap.cp_fenceproxy");
  int l = __builtin_ctz(w.active);
  uint8_t *to = accessAt(w, i, Where::Generic, addressOf(w, i.r[1], f.wideTo, f.offsetTo, l), 128, 128, l, Access::Write);
  uint64_t from = addressOf(w, i.r[2], f.wideFrom, f.offsetFrom, l);
  const uint8_t *p = accessAt(w, i, from < (uint64_t(1) << 32) ? Where::Shared : Where::Generic, from, 128, 128, l, Access::Read);
  std::memcpy(to, p, 128);
  if (Observer *o = w.cta->cluster->launch->config->observer)
    o->fence(w, i, Fence::ProxyTensormap);
  return Step::Next;
}

void tensormap(Decoder &d) {
  if (d.mods.take(".cp_fenceproxy")) {
    d.mods.oneOf({".global"});
    d.mods.oneOf({".shared::cta"});
    d.mods.take(".tensormap::generic");
    d.mods.oneOf({".release"});
    d.mods.oneOf({".cta", ".cluster", ".gpu", ".sys"});
    d.mods.take(".sync");
    d.mods.take(".aligned");
    d.count(3, 3);
    AddressOperand a = d.address(d.op(0)), b = d.address(d.op(1));
    if (d.immediate(d.op(2), "the size") != 128)
      d.fail("tensormap.cp_fenceproxy copies 128 bytes");
    CopyForm *f = d.extra<CopyForm>();
    f->wideTo = a.wide, f->wideFrom = b.wide, f->offsetTo = a.offset, f->offsetFrom = b.offset;
    Inst &i = d.emit(copyFenceProxy);
    i.r[1] = a.base, i.r[2] = b.base;
    i.extra = f;
    return;
  }
  if (!d.mods.take(".replace"))
    d.fail("expected tensormap.replace or tensormap.cp_fenceproxy");
  d.mods.take(".tile");
  int field = d.mods.oneOf({".global_address", ".rank", ".box_dim", ".global_dim", ".global_stride", ".element_stride", ".elemtype",
                            ".interleave_layout", ".swizzle_mode", ".swizzle_atomicity", ".fill_mode"});
  if (field < 0)
    d.fail("tensormap.replace needs a field");
  ReplaceForm *f = d.extra<ReplaceForm>();
  f->field = MapField(field);
  f->where = takeSpace(d);
  d.mods.take(".b1024");
  Type t = d.needType("a value");
  bool ordinal = f->field == MapField::BoxDim || f->field == MapField::GlobalDim || f->field == MapField::GlobalStride || f->field == MapField::ElementStride;
  d.count(ordinal ? 3 : 2, ordinal ? 3 : 2);
  f->ordinal = ordinal ? uint8_t(d.immediate(d.op(1), "the dimension")) : 0;
  if (f->ordinal > 4)
    d.fail("a tensor has at most 5 dimensions");
  AddressOperand a = d.address(d.op(0));
  f->wide = a.wide;
  f->wideValue = ptx::bytesOf(t) == 8;
  uint32_t v = d.src(d.op(ordinal ? 2 : 1), t);
  Inst &i = d.emit(replace);
  i.r[1] = a.base, i.r[2] = v;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

} // namespace

void decodeTensorCopy(Decoder &d, bool reduce) {
  TensorForm *f = d.extra<TensorForm>();
  std::string_view dims = d.mods.takeIf([](std::string_view m) { return m.size() == 3 && m[1] >= '1' && m[1] <= '5' && m[2] == 'd'; });
  if (dims.empty())
    d.fail("a tensor copy needs .1d to .5d");
  f->rank = uint8_t(dims[1] - '0');
  int where[2] = {-1, -1}, n = 0;
  for (std::string_view m : d.in->modifiers)
    if (n < 2 && (m == ".global" || m == ".shared::cta" || m == ".shared::cluster"))
      where[n++] = m == ".global" ? 0 : 1;
  for (int k = 0; k < n; ++k)
    d.mods.oneOf({".global", ".shared::cta", ".shared::cluster"});
  if (n != 2 || where[0] == where[1])
    d.fail("a tensor copy goes between .global and shared memory");
  bool load = where[0] == 1;
  int mode = d.mods.oneOf({".tile", ".tile::gather4", ".tile::scatter4", ".im2col", ".im2col::w", ".im2col::w::128", ".im2col_no_offs"});
  if (mode == 4 || mode == 5)
    d.fail("im2col::w tensor copies are not supported");
  if (mode == 6 || (mode == 3 && !load))
    d.fail("im2col stores and reductions (.im2col_no_offs) are not supported");
  f->im2col = mode == 3;
  if (f->im2col && f->rank < 3)
    d.fail("im2col copies have .3d, .4d or .5d");
  f->fourRows = mode == 1 || mode == 2;
  if (f->fourRows && (f->rank != 2 || (mode == 1) != load || reduce))
    d.fail("gather4 loads and scatter4 stores of .2d only");
  bool barrier = d.mods.take(".mbarrier::complete_tx::bytes"), group = d.mods.take(".bulk_group");
  f->multicast = d.mods.take(".multicast::cluster");
  f->pair = d.mods.oneOf({".cta_group::1", ".cta_group::2"}) == 1;
  bool hint = d.mods.take(".L2::cache_hint");
  if (load ? !barrier || reduce : !group)
    d.fail(load ? "a tensor load completes by .mbarrier::complete_tx::bytes" : "a tensor store completes by .bulk_group");
  f->direction = load ? BoxDirection::Load : reduce ? BoxDirection::Reduce : BoxDirection::Store;
  if (reduce) {
    int k = d.mods.oneOf({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"});
    if (k < 0)
      d.fail("a reduction needs an operation");
    f->op = ReduceOp(k);
  }
  size_t want = (load ? 3 : 2) + (f->im2col ? 1 : 0) + (f->multicast ? 1 : 0) + (hint ? 1 : 0);
  d.count(want, want);
  const Operand &tensor = d.op(load ? 1 : 0);
  if (tensor.kind != Operand::Address || tensor.parts.size() != 2)
    d.fail("expected [tensor map, {coordinates}]");
  AddressOperand map = d.addressPart(tensor.parts[0]), shared = d.address(d.op(load ? 0 : 1)), bar;
  if (map.entryParam) {
    // A parameter named directly: turn its offset into the generic address.
    uint32_t c = d.constant(d.constantBits(map.base) + kParamWindow, 8);
    map.base = c;
    map.wide = true;
  }
  const Operand &coords = tensor.parts[1];
  size_t expected = f->fourRows ? 5 : f->rank;
  std::vector<const Operand *> list;
  if (coords.kind == Operand::Vector)
    for (const Operand &c : coords.parts)
      list.push_back(&c);
  else
    list.push_back(&coords);
  if (list.size() != expected)
    d.fail("expected " + std::to_string(expected) + " coordinates, found " + std::to_string(list.size()));
  for (size_t k = 0; k < expected; ++k)
    f->coords[k] = d.src(*list[k], Type::S32);
  uint32_t mask = 0;
  if (load) {
    bar = d.address(d.op(2));
    if (f->multicast)
      mask = d.src(d.op(f->im2col ? 4 : 3), Type::U16);
  }
  if (f->im2col) {
    const Operand &offsets = d.op(3);
    if (offsets.kind != Operand::Vector || offsets.parts.size() != size_t(f->rank - 2))
      d.fail("im2col copies of ." + std::to_string(f->rank) + "d take " + std::to_string(f->rank - 2) + " offsets in { }");
    for (int k = 0; k < f->rank - 2; ++k)
      f->offsets[k] = d.src(offsets.parts[size_t(k)], Type::U16);
  }
  f->wideShared = shared.wide, f->offsetShared = shared.offset, f->wideMap = map.wide, f->offsetMap = map.offset;
  f->wideBar = bar.wide, f->offsetBar = bar.offset;
  Inst &i = d.emit(tensorCopy);
  i.r[1] = shared.base, i.r[2] = map.base, i.r[3] = bar.base, i.r[4] = mask;
  i.extra = f;
}

void addTensorCopy(OpcodeTable &t) { t.add({"tensormap"}, tensormap); }

} // namespace fovea::emulator
