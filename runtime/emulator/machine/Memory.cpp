// runtime/emulator/machine/Memory.cpp - ld, st, and the resolution of addresses.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/MemoryAccess.h"
#include <cstdio>
#include <cstring>

namespace fovea::emulator {

void reportPoison(const Warp &w, uint32_t line, int lane, const uint8_t *data, size_t bytes, const char *what) {
  for (size_t k = 0; k + 4 <= bytes; k += 4)
    if (!std::memcmp(data + k, &kPoison, 4)) {
      w.cta->cluster->report(&w, line, lane, false, std::string("uninitialised: ") + what + " writes a value that was never set (registers, shared and tensor memory start poisoned)");
      return;
    }
}

static std::string hex(uint64_t v) {
  char s[24];
  std::snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
  return s;
}

static const char *word(Access a) { return a == Access::Read || a == Access::StrongRead ? "read" : a == Access::Atomic ? "atomic" : "write"; }

uint8_t *sharedAt(Warp &w, uint32_t address, uint32_t bytes, const char *what, Cta **ownerOut, uint32_t *offsetOut) {
  Cluster &cluster = *w.cta->cluster;
  uint32_t rank = address >> 24, offset = address & 0xffffff;
  if (rank >= cluster.ctas.size())
    throw Fault(std::string("out of bounds: ") + what + " of shared address " + hex(address) + " names block rank " + std::to_string(rank) +
                ", the cluster has " + std::to_string(cluster.ctas.size()));
  Cta &owner = *cluster.ctas[rank];
  if (offset < kSharedReserved || offset + uint64_t(bytes) > owner.shared.size())
    throw Fault(std::string("out of bounds: ") + what + " of " + std::to_string(bytes) + " bytes at shared address " + hex(address) +
                "; the block has " + hex(kSharedReserved) + " to " + hex(owner.shared.size()));
  if (&owner != w.cta && !owner.liveThreads)
    throw Fault(std::string("cluster: ") + what + " of shared memory of block rank " + std::to_string(rank) + ", which has already exited");
  if (ownerOut)
    *ownerOut = &owner;
  if (offsetOut)
    *offsetOut = offset;
  return owner.shared.data() + offset;
}

uint32_t sharedAddress(Warp &w, Where where, uint64_t address, int lane, const char *what) {
  if (where == Where::Shared)
    return uint32_t(address);
  if ((address & kWindowMask) == kSharedWindow)
    return uint32_t(address);
  // A plain shared address where a generic one is asked for is what many kernels pass (its value is below 2^32).
  if (where == Where::Generic && address < (uint64_t(1) << 32))
    return uint32_t(address);
  faultAt(w, lane, std::string("out of bounds: ") + what + " needs a shared-memory address, found " + hex(address));
}

uint8_t *accessAt(Warp &w, const Inst &i, Where where, uint64_t address, uint32_t bytes, uint32_t align, int lane, Access access) {
  try {
    Observer *o = w.cta->cluster->launch->config->observer;
    if (address & (align - 1))
      throw Fault(std::string("misaligned: ") + word(access) + " of " + std::to_string(bytes) + " bytes at " + hex(address) +
                  ", which is not a multiple of " + std::to_string(align));
    if (where == Where::Generic) {
      uint64_t window = address & kWindowMask;
      where = window == 0 ? Where::Global : window == kSharedWindow ? Where::Shared : window == kLocalWindow ? Where::Local : Where::Param;
      if (window > kParamWindow)
        where = Where::Global;
    }
    switch (where) {
    case Where::Shared: {
      Cta *owner;
      uint32_t offset;
      uint8_t *p = sharedAt(w, uint32_t(address), bytes, word(access), &owner, &offset);
      if (o)
        o->shared(w, i, access, *owner, unsigned(lane), offset, bytes);
      return p;
    }
    case Where::Param:
      if (!(address & (1u << 30))) {
        const std::vector<uint8_t> &params = w.cta->cluster->launch->config->params;
        uint32_t at = uint32_t(address) & 0x3fffffff;
        if (access != Access::Read && access != Access::StrongRead)
          throw Fault("out of bounds: kernel parameters are read-only");
        if (uint64_t(at) + bytes > params.size())
          throw Fault("out of bounds: read of " + std::to_string(bytes) + " bytes at parameter offset " + std::to_string(at) + " of " + std::to_string(params.size()));
        return const_cast<uint8_t *>(params.data()) + at;
      }
      address &= 0x3fffffff;
      [[fallthrough]];
    case Where::Local: {
      uint32_t at = uint32_t(address);
      if (uint64_t(at) + bytes > w.code->localBytes)
        throw Fault(std::string("out of bounds: ") + word(access) + " of " + std::to_string(bytes) + " bytes at local address " + hex(at) + "; a thread has " + std::to_string(w.code->localBytes));
      return w.cta->local.get() + size_t(w.id * 32 + uint32_t(lane)) * w.code->localBytes + at;
    }
    default: {
      uint8_t *p = w.cta->cluster->launch->memory->at(address, bytes, word(access));
      if (o)
        o->global(w, i, access, unsigned(lane), address, bytes);
      return p;
    }
    }
  } catch (const Fault &f) {
    faultAt(w, lane, f.what());
  }
}

Where takeSpace(Decoder &d, bool allowParam) {
  int s = d.mods.oneOf({".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param", ".param::entry", ".param::func"});
  if (s >= 6 && !allowParam)
    d.fail("this instruction does not take .param");
  return s < 0 ? Where::Generic : s == 0 || s == 5 ? Where::Global : s <= 3 ? Where::Shared : s == 4 ? Where::Local : Where::Param;
}

void decodeStoreAsync(Decoder &d);    // AsyncCopy.cpp
void addAddressOps(OpcodeTable &t);  // AddressOps.cpp

namespace {

struct MemoryForm : Extra {
  Where where = Where::Generic;
  uint8_t element = 4;      ///< bytes in memory
  uint8_t count = 0;
  uint8_t registerBytes = 4;
  bool sign = false, wide = true, strong = false;
  uint32_t align = 4;
  uint32_t regs[32];
};

template <class M, class R> [[gnu::always_inline]] inline void moveIn(Warp &w, const MemoryForm &f, const uint8_t *p, int l) {
  for (int k = 0; k < f.count; ++k) {
    M v;
    std::memcpy(&v, p + k * int(sizeof(M)), sizeof(M));
    w.reg<R>(f.regs[k])[l] = R(v);
  }
}
template <class M, class R> [[gnu::always_inline]] inline void moveOut(Warp &w, const MemoryForm &f, uint8_t *p, int l) {
  for (int k = 0; k < f.count; ++k) {
    M v = M(w.reg<R>(f.regs[k])[l]);
    std::memcpy(p + k * int(sizeof(M)), &v, sizeof(M));
  }
}

/// Runs f(pointer, lane) for each active lane; the fast ways skip what accessAt() would check again.
template <Access A, class F> [[gnu::always_inline]] inline void eachAddress(Warp &w, const Inst &i, const MemoryForm &f, F body) {
  uint32_t bytes = uint32_t(f.element) * f.count;
  int64_t offset = int64_t(i.imm);
  Launch &launch = *w.cta->cluster->launch;
  bool watched = launch.config->observer;
  uint8_t *shared = w.cta->shared.data();
  uint32_t sharedSize = uint32_t(w.cta->shared.size()), window = w.cta->windowBase();
  if (watched && !f.strong && f.where == Where::Shared) {
    uint32_t at[32];
    bool plain = true;
    eachLane(w.active, [&](int l) {
      uint64_t a = addressOf(w, i.r[1], f.wide, offset, l);
      at[l] = uint32_t(a) - window;
      plain &= !(a & (f.align - 1)) && at[l] >= kSharedReserved && at[l] < sharedSize && bytes <= sharedSize - at[l];
    });
    if (plain) {
      launch.config->observer->sharedLanes(w, i, A, w.active, at, bytes);
      return eachLane(w.active, [&](int l) { body(shared + at[l], l); });
    }
  }
  if (watched && !f.strong && (f.where == Where::Global || f.where == Where::Generic)) {
    uint64_t at[32] = {}, low = ~uint64_t(0), high = 0, bits = 0;
    eachLane(w.active, [&](int l) {
      at[l] = addressOf(w, i.r[1], f.wide, offset, l);
      low = std::min(low, at[l]), high = std::max(high, at[l]), bits |= at[l];
    });
    Allocation *all = (bits & (f.align - 1)) || (f.where == Where::Generic && (high & kWindowMask)) ? nullptr : launch.memory->find(low, high - low + bytes);
    if (all && !(A == Access::Write && all->readOnly)) {
      launch.config->observer->globalLanes(w, i, A, w.active, at, bytes);
      return eachLane(w.active, [&](int l) { body(all->host + (at[l] - all->base), l); });
    }
  }
  Allocation *cached = nullptr;
  eachLane(w.active, [&](int l) {
    uint64_t a = addressOf(w, i.r[1], f.wide, offset, l);
    if (!watched && !(a & (f.align - 1))) {
      if (f.where == Where::Shared || (f.where == Where::Generic && (a & kWindowMask) == kSharedWindow)) {
        uint32_t at = uint32_t(a) - window;
        if (at >= kSharedReserved && at < sharedSize && bytes <= sharedSize - at)
          return body(shared + at, l);
      } else if (f.where == Where::Global || (f.where == Where::Generic && !(a & kWindowMask))) {
        if (cached && a - cached->base < cached->size && bytes <= cached->size - (a - cached->base))
          return body(cached->host + (a - cached->base), l);
        cached = launch.memory->find(a, bytes);
        if (cached && !(A == Access::Write && cached->readOnly))
          return body(cached->host + (a - cached->base), l);
      }
    }
    body(accessAt(w, i, f.where, a, bytes, f.align, l, !f.strong ? A : A == Access::Read ? Access::StrongRead : Access::StrongWrite), l);
    if (A == Access::Read && watched && f.strong && (f.where == Where::Global || (f.where == Where::Generic && !(a & kWindowMask))))
      launch.config->observer->globalSeen(w, unsigned(l), a);
  });
}

template <class M, class R> Step load(Warp &w, const Inst &i) {
  const MemoryForm &f = *static_cast<const MemoryForm *>(i.extra);
  if (f.strong && f.where != Where::Shared)
    ++w.cta->cluster->polls;
  eachAddress<Access::Read>(w, i, f, [&](const uint8_t *p, int l) { moveIn<M, R>(w, f, p, l); });
  return Step::Next;
}
template <class M, class R> Step store(Warp &w, const Inst &i) {
  const MemoryForm &f = *static_cast<const MemoryForm *>(i.extra);
  ++w.cta->cluster->progress;
  if (f.where != Where::Shared && f.where != Where::Local)
    w.cta->cluster->polls = 0;
  bool watched = w.cta->cluster->launch->config->observer;
  eachAddress<Access::Write>(w, i, f, [&](uint8_t *p, int l) {
    moveOut<M, R>(w, f, p, l);
    if (watched && f.where != Where::Shared && f.where != Where::Local && sizeof(M) >= 4)
      reportPoison(w, i.line, l, p, sizeof(M) * f.count, "a store");
  });
  return Step::Next;
}

/// A kernel parameter named directly: the same for all threads.
template <class M, class R> Step loadParam(Warp &w, const Inst &i) {
  const MemoryForm &f = *static_cast<const MemoryForm *>(i.extra);
  const std::vector<uint8_t> &params = w.cta->cluster->launch->config->params;
  for (int k = 0; k < f.count; ++k) {
    M v;
    std::memcpy(&v, params.data() + i.imm + size_t(k) * sizeof(M), sizeof(M));
    R r = R(v);
    forLanes(w, w.reg<R>(f.regs[k]), [=](int) { return r; });
  }
  return Step::Next;
}

template <class M, class Narrow> Handler pick(bool isLoad, bool param, int registerBytes) {
  // Registers wider than the memory element take its extension.
  switch (registerBytes) {
  case 2: return param ? loadParam<M, uint16_t> : isLoad ? load<M, uint16_t> : store<Narrow, uint16_t>;
  case 4: return param ? loadParam<M, uint32_t> : isLoad ? load<M, uint32_t> : store<Narrow, uint32_t>;
  default: return param ? loadParam<M, uint64_t> : isLoad ? load<M, uint64_t> : store<Narrow, uint64_t>;
  }
}

struct BulkStoreForm : Extra { Where where; bool wide; };
/// st.bulk: a run of zeros in shared memory. r: address, size.
Step storeBulk(Warp &w, const Inst &i) {
  const BulkStoreForm &f = *static_cast<const BulkStoreForm *>(i.extra);
  ++w.cta->cluster->progress;
  eachLane(w.active, [&](int l) {
    uint64_t bytes = w.reg<uint64_t>(i.r[2])[l];
    if (bytes % 8 || bytes > (1u << 24))
      faultAt(w, l, "misaligned: st.bulk needs a size that is a multiple of 8, found " + std::to_string(bytes));
    if (bytes)
      std::memset(accessAt(w, i, f.where, addressOf(w, i.r[1], f.wide, int64_t(i.imm), l), uint32_t(bytes), 8, l, Access::Write), 0, size_t(bytes));
  });
  return Step::Next;
}
void decodeStoreBulk(Decoder &d) {
  BulkStoreForm *f = d.extra<BulkStoreForm>();
  f->where = takeSpace(d);
  d.count(3, 3);
  AddressOperand a = d.address(d.op(0));
  f->wide = a.wide;
  uint32_t size = d.src(d.op(1), Type::U64);
  if (d.immediate(d.op(2), "the value") != 0)
    d.fail("st.bulk writes zeros only");
  Inst &i = d.emit(storeBulk);
  i.r[1] = a.base, i.r[2] = size;
  i.imm = uint64_t(a.offset);
  i.extra = f;
}

void loadStore(Decoder &d) {
  bool isLoad = d.in->opcode == "ld" || d.in->opcode == "ldu";
  bool mmio = d.mods.take(".mmio");
  bool async = d.mods.take(".async");
  int order = d.mods.oneOf({".weak", ".volatile", ".relaxed", ".acquire", ".release"});
  if ((order == 3 && !isLoad) || (order == 4 && isLoad))
    d.fail(isLoad ? "a load has no .release" : "a store has no .acquire");
  int scope = d.mods.oneOf({".cta", ".cluster", ".gpu", ".sys"});
  if (order >= 2 && scope < 0)
    d.fail("a scope (.cta .cluster .gpu .sys) is needed with this ordering");
  // st.async.mmio.release.global is ordered like a release store and tells nobody when it is done: done at once here.
  if (async && !mmio)
    return decodeStoreAsync(d);
  if (!isLoad && d.mods.take(".bulk"))
    return decodeStoreBulk(d);
  auto f = d.extra<MemoryForm>();
  f->where = takeSpace(d, true);
  f->strong = order >= 1;
  d.mods.oneOf({".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt"});
  d.mods.take(".nc");
  d.mods.take(".unified");
  d.mods.oneOf({".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate"});
  d.mods.oneOf({".L2::evict_normal", ".L2::evict_first", ".L2::evict_last"});
  bool hint = d.mods.take(".L2::cache_hint");
  d.mods.oneOf({".L2::64B", ".L2::128B", ".L2::256B"});
  int vec = d.mods.oneOf({".v2", ".v4", ".v8"});
  Type t = d.needType("a");
  d.count(hint ? 3 : 2, hint ? 3 : 2);
  const Operand &where = d.op(isLoad ? 1 : 0), &data = d.op(isLoad ? 0 : 1);
  size_t n = vec < 0 ? 1 : size_t(2) << vec;
  std::vector<const Operand *> parts;
  if (data.kind == Operand::Vector)
    for (const Operand &p : data.parts)
      parts.push_back(&p);
  else
    parts.push_back(&data);
  if (parts.size() != n)
    d.fail("expected " + std::to_string(n) + " data operands, found " + std::to_string(parts.size()));
  int bytes = ptx::bytesOf(t);
  f->sign = ptx::isSigned(t);
  f->align = uint32_t(bytes) * uint32_t(n);
  if (f->align > 32)
    d.fail("a vector access has at most 32 bytes");
  AddressOperand a = d.address(where);
  f->wide = a.wide;
  int width = 0;
  bool wide128 = bytes == 16;
  for (const Operand *p : parts) {
    int have = 0;
    uint32_t at;
    if (p->kind == Operand::Register) {
      at = d.anyRegister(*p, have);
      if (have < bytes || (have == 16) != wide128)
        d.fail("register '" + std::string(p->text) + "' does not hold the type");
    } else if (p->kind == Operand::Sink && isLoad) {
      at = d.sinkRegister();
    } else if (isLoad) {
      d.fail("the destination must be a register");
    } else {
      at = d.src(*p, t);
      have = bytes < 2 ? 2 : bytes;
    }
    if (have && width && have != width)
      d.fail("the registers of a vector must have one width");
    width = have ? have : width;
    f->regs[f->count++] = at;
  }
  if (!width)
    width = bytes < 2 ? 2 : bytes;
  if (wide128) {
    f->count = uint8_t(2 * n);
    if (n > 1)
      d.fail("vectors of .b128 are not supported");
    f->regs[1] = f->regs[0] + 256;
    width = bytes = 8;
  }
  f->element = uint8_t(bytes);
  f->registerBytes = uint8_t(width);
  bool param = isLoad && a.entryParam;
  if (a.localParam)
    f->where = Where::Param;
  else if (a.entryParam && !isLoad)
    d.fail("kernel parameters are read-only");
  Handler h = bytes == 1   ? (f->sign ? pick<int8_t, uint8_t>(isLoad, param, width) : pick<uint8_t, uint8_t>(isLoad, param, width))
              : bytes == 2 ? (f->sign ? pick<int16_t, uint16_t>(isLoad, param, width) : pick<uint16_t, uint16_t>(isLoad, param, width))
              : bytes == 4 ? (f->sign ? pick<int32_t, uint32_t>(isLoad, param, width) : pick<uint32_t, uint32_t>(isLoad, param, width))
                           : pick<uint64_t, uint64_t>(isLoad, param, width);
  uint64_t offset = uint64_t(a.offset);
  if (param) {
    // The address is a constant of the kernel: offset of the parameter plus the displacement.
    offset += d.constantBits(a.base);
    if (offset > d.output().paramBytes || f->align > d.output().paramBytes - offset)
      d.fail("the load reaches beyond the kernel's parameters");
  }
  Inst &i = d.emit(h);
  i.r[1] = a.base;
  i.imm = offset;
  i.extra = f;
}

} // namespace

void addMemory(OpcodeTable &t) {
  t.add({"ld", "ldu", "st"}, loadStore);
  addAddressOps(t);
}

} // namespace fovea::emulator
