// runtime/emulator/machine/Atomic.cpp - atom, red, red.async.
#include "runtime/emulator/machine/CopyOps.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <algorithm>
#include <cstring>

namespace fovea::emulator {
namespace {

enum class AtomicOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, Cas };
struct AtomicForm : Extra {
  AtomicOp op;
  Type type;
  Where where;
  bool wide = true, result = false;
  uint8_t bytes = 4, count = 1;
  uint32_t d[8], a[8], b = 0;
};

template <class T> T integerOp(AtomicOp op, T old, T v) {
  switch (op) {
  case AtomicOp::Add: return T(old + v);
  case AtomicOp::Min: return std::min(old, v);
  case AtomicOp::Max: return std::max(old, v);
  case AtomicOp::Inc: return old >= v ? T(0) : T(old + 1);
  case AtomicOp::Dec: return old == 0 || old > v ? v : T(old - 1);
  case AtomicOp::And: return old & v;
  case AtomicOp::Or: return old | v;
  case AtomicOp::Xor: return old ^ v;
  default: return v;
  }
}
template <class T> T floatOp(AtomicOp op, T old, T v) {
  return op == AtomicOp::Add ? old + v : op == AtomicOp::Min ? (old != old ? v : v != v ? old : std::min(old, v)) : op == AtomicOp::Max ? (old != old ? v : v != v ? old : std::max(old, v)) : v;
}
uint16_t halfOp(AtomicOp op, bool bf, uint16_t old, uint16_t v) {
  float x = bf ? bf16ToFloat(old) : f16ToFloat(old), y = bf ? bf16ToFloat(v) : f16ToFloat(v), r = floatOp(op, x, y);
  return bf ? floatToBf16(r) : floatToF16(r);
}

uint64_t apply(const AtomicForm &f, uint64_t old, uint64_t v, uint64_t other) {
  if (f.op == AtomicOp::Cas)
    return old == v ? other : old;
  if (f.op == AtomicOp::Exch)
    return v;
  switch (f.type) {
  case Type::F32: {
    // f32 atomics in global memory keep subnormals; NaN is canonical.
    float r = floatOp(f.op, bitsToFloat(uint32_t(old)), bitsToFloat(uint32_t(v)));
    return r != r ? 0x7fffffff : floatToBits(r);
  }
  case Type::F64: {
    double x, y;
    std::memcpy(&x, &old, 8);
    std::memcpy(&y, &v, 8);
    x = floatOp(f.op, x, y);
    std::memcpy(&old, &x, 8);
    return old;
  }
  case Type::F16: case Type::BF16: return halfOp(f.op, f.type == Type::BF16, uint16_t(old), uint16_t(v));
  case Type::F16x2: case Type::BF16x2: {
    bool bf = f.type == Type::BF16x2;
    return halfOp(f.op, bf, uint16_t(old), uint16_t(v)) | uint32_t(halfOp(f.op, bf, uint16_t(old >> 16), uint16_t(v >> 16))) << 16;
  }
  case Type::S32: return uint32_t(integerOp<int32_t>(f.op, int32_t(old), int32_t(v)));
  case Type::S64: return uint64_t(integerOp<int64_t>(f.op, int64_t(old), int64_t(v)));
  case Type::U64: case Type::B64: return integerOp<uint64_t>(f.op, old, v);
  case Type::U16: case Type::B16: return integerOp<uint16_t>(f.op, uint16_t(old), uint16_t(v));
  default: return integerOp<uint32_t>(f.op, uint32_t(old), uint32_t(v));
  }
}

uint64_t get(const Warp &w, uint32_t r, int bytes, int l) {
  return bytes == 2 ? w.reg<uint16_t>(r)[l] : bytes == 4 ? w.reg<uint32_t>(r)[l] : w.reg<uint64_t>(r)[l];
}
void set(Warp &w, uint32_t r, int bytes, int l, uint64_t v) {
  if (bytes == 2)
    w.reg<uint16_t>(r)[l] = uint16_t(v);
  else if (bytes == 4)
    w.reg<uint32_t>(r)[l] = uint32_t(v);
  else
    w.reg<uint64_t>(r)[l] = v;
}

Step atomic(Warp &w, const Inst &i) {
  const AtomicForm &f = *static_cast<const AtomicForm *>(i.extra);
  Launch &launch = *w.cta->cluster->launch;
  uint32_t &polls = w.cta->cluster->polls;
  ++w.cta->cluster->progress;
  eachLane(w.active, [&](int l) {
    uint64_t address = addressOf(w, i.r[1], f.wide, int64_t(i.imm), l);
    uint32_t total = uint32_t(f.bytes) * f.count;
    uint8_t *p = accessAt(w, i, f.where, address, total, total, l, Access::Atomic);
    for (int k = 0; k < f.count; ++k) {
      bool same = false;
      auto change = [&](void *at) {
        if (f.bytes == 16) {
          uint64_t old[2], v[2] = {w.reg<uint64_t>(f.a[k])[l], w.reg<uint64_t>(f.a[k])[32 + l]};
          std::memcpy(old, at, 16);
          if (f.op == AtomicOp::Exch)
            std::memcpy(at, v, 16);
          else if (!std::memcmp(old, v, 16)) {
            uint64_t n[2] = {w.reg<uint64_t>(f.b)[l], w.reg<uint64_t>(f.b)[32 + l]};
            std::memcpy(at, n, 16);
          }
          if (f.result) {
            w.reg<uint64_t>(f.d[k])[l] = old[0];
            w.reg<uint64_t>(f.d[k])[32 + l] = old[1];
          }
          return;
        }
        uint64_t old = 0;
        std::memcpy(&old, at, f.bytes);
        uint64_t v = apply(f, old, get(w, f.a[k], f.bytes, l), f.op == AtomicOp::Cas ? get(w, f.b, f.bytes, l) : 0);
        std::memcpy(at, &v, f.bytes);
        same = v == old;
        if (f.result)
          set(w, f.d[k], f.bytes, l, old);
      };
      bool global = f.where == Where::Global || (f.where == Where::Generic && !(address & kWindowMask));
      if (global) {
        launch.memory->modify(address + uint64_t(k) * f.bytes, f.bytes, change);
        polls = same ? polls + 1 : 0;
        if (Observer *o = launch.config->observer)
          o->globalSeen(w, unsigned(l), address);
      } else {
        change(p + k * f.bytes);
      }
    }
  });
  return Step::Yield;
}

/// red.async: performed later at another block's shared memory, then counted on its mbarrier.
struct RedAsync : AsyncOp {
  const AtomicForm *form = nullptr;
  SharedPlace to, barrier;
  uint64_t value = 0;
  bool step(Cluster &c) override {
    uint64_t old = 0;
    uint8_t *p = to.cta->shared.data() + to.offset;
    std::memcpy(&old, p, form->bytes);
    uint64_t v = apply(*form, old, value, 0);
    std::memcpy(p, &v, form->bytes);
    if (Observer *o = c.launch->config->observer)
      o->asyncShared(c, *this, Proxy::Async, Access::Atomic, *to.cta, to.offset, form->bytes);
    signalBytes(c, *this, barrier, form->bytes);
    return true;
  }
};
Step redAsync(Warp &w, const Inst &i) {
  const AtomicForm &f = *static_cast<const AtomicForm *>(i.extra);
  eachLane(w.active, [&](int l) {
    auto op = std::make_unique<RedAsync>();
    op->form = &f;
    op->to = sharedPlace(w, Where::Shared, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), f.bytes, l, "red.async");
    op->barrier = sharedPlace(w, Where::Shared, addressOf(w, i.r[2], i.r[4], int64_t(int32_t(i.r[3])), l), 8, l, "mbarrier of red.async");
    op->value = get(w, f.a[0], f.bytes, l);
    issueAsync(w, i, l, std::move(op));
  });
  return Step::Next;
}

void decodeAtomic(Decoder &d) {
  AtomicForm *f = d.extra<AtomicForm>();
  bool isAtom = d.in->opcode == "atom";
  bool async = !isAtom && d.mods.take(".async");
  if (d.mods.take(".mmio"))
    async = false;  // red.async.mmio.release.global tells nobody when it is done: done at once here
  d.mods.oneOf({".relaxed", ".acquire", ".release", ".acq_rel"});
  d.mods.oneOf({".cta", ".cluster", ".gpu", ".sys"});
  f->where = takeSpace(d);
  bool barrier = d.mods.take(".mbarrier::complete_tx::bytes");
  int op = d.mods.oneOf({".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor", ".exch", ".cas"});
  if (op < 0)
    d.fail("'" + std::string(d.in->opcode) + "' needs an operation");
  d.mods.take(".noftz");
  bool hint = d.mods.take(".L2::cache_hint");
  int vec = d.mods.oneOf({".v2", ".v4", ".v8"});
  f->op = AtomicOp(op);
  f->type = d.needType("a");
  f->bytes = uint8_t(ptx::bytesOf(f->type));
  f->count = vec < 0 ? 1 : uint8_t(2 << vec);
  bool bitwise = op >= 5 && op <= 9, isFloat = ptx::isFloat(f->type) || f->type == Type::F16x2 || f->type == Type::BF16x2;
  if (f->bytes == 1 || (f->bytes == 16 && op < 8) || (isFloat && (bitwise || op == 3 || op == 4)) || (!isAtom && op >= 8))
    d.fail("this operation is not defined for this type");
  size_t at = isAtom ? 1 : 0;
  size_t want = at + 2 + (f->op == AtomicOp::Cas ? 1 : 0) + (hint ? 1 : 0) + (async ? 1 : 0);
  d.count(want, want);
  AddressOperand a = d.address(d.op(at));
  f->wide = a.wide;
  auto each = [&](const Operand &v, auto fn) {
    size_t n = v.kind == Operand::Vector ? v.parts.size() : 1;
    if (n != f->count)
      d.fail("expected " + std::to_string(f->count) + " registers");
    for (size_t k = 0; k < n; ++k)
      fn(k, v.kind == Operand::Vector ? v.parts[k] : v);
  };
  each(d.op(at + 1), [&](size_t k, const Operand &o) { f->a[k] = d.src(o, f->type); });
  if (f->op == AtomicOp::Cas)
    f->b = d.src(d.op(at + 2), f->type);
  if (isAtom && d.op(0).kind != Operand::Sink) {
    f->result = true;
    each(d.op(0), [&](size_t k, const Operand &o) { f->d[k] = d.dst(o, f->bytes); });
  }
  if (async) {
    if (!barrier)
      d.fail("red.async completes by .mbarrier::complete_tx::bytes");
    AddressOperand b = d.address(d.op(2));
    Inst &i = d.emit(redAsync);
    i.r[1] = a.base, i.r[2] = b.base, i.r[3] = uint32_t(b.offset), i.r[4] = b.wide;
    i.imm = uint64_t(a.offset);
    i.extra = f;
    return;
  }
  Inst &i = d.emit(atomic);
  i.r[1] = a.base;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

} // namespace

void addAtomic(OpcodeTable &t) { t.add({"atom", "red"}, decodeAtomic); }

} // namespace fovea::emulator
