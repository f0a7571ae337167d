// runtime/emulator/machine/Wmma.cpp - wmma.load, wmma.store, wmma.mma: matrices in fragments whose layout is nobody's business.
#include "runtime/emulator/machine/MemoryAccess.h"
#include "runtime/emulator/machine/tensor/DotKernel.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace fovea::emulator {
namespace {

/// One matrix in the registers of a warp. The ISA leaves the layout open; here element e (row-major) lies in lane e % 32 at
/// place e / 32, and what registers remain hold it again, so that work on each element of a fragment does no harm.
struct Fragment {
  Type type = Type::F16;
  unsigned rows = 16, columns = 16, bits = 16;
  std::vector<uint32_t> regs;
  unsigned count() const { return rows * columns; }
  unsigned registerBits() const { return bits == 64 ? 64 : 32; }
  uint64_t get(const Warp &w, unsigned e) const {
    unsigned at = e / 32 * bits, l = e % 32;
    if (bits == 64)
      return w.reg<uint64_t>(regs[at / 64])[l];
    return w.reg<uint32_t>(regs[at / 32])[l] >> at % 32 & uint32_t((uint64_t(1) << bits) - 1);
  }
  void set(Warp &w, unsigned e, uint64_t v) const {
    unsigned each = count() / 32 * bits, l = e % 32;
    for (unsigned at = e / 32 * bits; at < regs.size() * registerBits(); at += each) {
      if (bits == 64) {
        w.reg<uint64_t>(regs[at / 64])[l] = v;
        continue;
      }
      uint32_t &r = w.reg<uint32_t>(regs[at / 32])[l], mask = uint32_t((uint64_t(1) << bits) - 1) << at % 32;
      r = (r & ~mask) | (uint32_t(v) << at % 32 & mask);
    }
  }
};

struct Form : Extra {
  unsigned m = 16, n = 16, k = 16;
  Fragment d, a, b, c;
  // wmma.load and wmma.store: the matrix `d`
  bool rowMajor = true, store = false, wide = true, hasStride = false;
  Where where = Where::Generic;
  // wmma.mma
  bool satfinite = false, exclusive = false;
};

unsigned bitsOf(Type t) {
  return t == Type::F64 ? 64 : t == Type::F16 || t == Type::BF16 ? 16 : t == Type::S8 || t == Type::U8 ? 8 : t == Type::S4 || t == Type::U4 ? 4 : t == Type::B1 ? 1 : 32;
}

/// wmma.load and wmma.store. r[1]: address, r[2]: stride in elements.
Step transfer(Warp &w, const Inst &i) {
  const Form &f = *static_cast<const Form *>(i.extra);
  requireConverged(w, f.store ? "wmma.store" : "wmma.load");
  if (f.store)
    ++w.cta->cluster->progress;
  const Fragment &m = f.d;
  uint64_t base = addressOf(w, i.r[1], f.wide, int64_t(i.imm), 0);
  uint64_t stride = f.hasStride ? w.reg<uint32_t>(i.r[2])[0] : f.rowMajor ? m.columns : m.rows;
  for (unsigned l = 1; l < 32; ++l)
    if (w.live & kLaneBit[l] && addressOf(w, i.r[1], f.wide, int64_t(i.imm), int(l)) != base)
      faultAt(w, int(l), "warp: all threads must give wmma the same address");
  unsigned bytes = m.bits < 8 ? 1 : m.bits / 8;
  for (unsigned e = 0; e < m.count(); ++e) {
    uint64_t row = e / m.columns, column = e % m.columns, at = (f.rowMajor ? row * stride + column : column * stride + row) * m.bits;
    uint8_t *p = accessAt(w, i, f.where, base + at / 8, bytes, bytes, int(e % 32), f.store ? Access::Write : Access::Read);
    uint64_t v = 0;
    if (f.store) {
      v = m.get(w, e);
      if (m.bits == 32 && f.where != Where::Shared && w.cta->cluster->launch->config->observer)
        reportPoison(w, i.line, int(e % 32), reinterpret_cast<const uint8_t *>(&v), 4, "wmma.store");
      std::memcpy(p, &v, bytes);
    } else {
      std::memcpy(&v, p, bytes);
      m.set(w, e, v >> at % 8);
    }
  }
  return Step::Next;
}

double value(Type t, uint64_t bits) {
  switch (t) {
  case Type::F16: return f16ToFloat(uint16_t(bits));
  case Type::BF16: return bf16ToFloat(uint16_t(bits));
  case Type::TF32: return decode(Format::TF32, uint32_t(bits));
  case Type::F32: return bitsToFloat(uint32_t(bits));
  case Type::F64: { double d; std::memcpy(&d, &bits, 8); return d; }
  case Type::S8: return int8_t(bits);
  case Type::S4: return int8_t(uint8_t(bits << 4)) >> 4;
  case Type::S32: return int32_t(bits);
  default: return double(bits);
  }
}

Step product(Warp &w, const Inst &i) {
  const Form &f = *static_cast<const Form *>(i.extra);
  requireConverged(w, "wmma.mma");
  std::vector<float> a(f.a.count()), b(f.b.count()), c(f.c.count());
  bool wide = f.a.type == Type::F64;
  if (!wide) {
    for (unsigned e = 0; e < a.size(); ++e)
      a[e] = float(value(f.a.type, f.a.get(w, e)));
    for (unsigned e = 0; e < b.size(); ++e)
      b[e] = float(value(f.b.type, f.b.get(w, e)));
    multiply(a.data(), b.data(), c.data(), f.m, f.n, f.k);
  }
  for (unsigned e = 0; e < f.c.count(); ++e) {
    unsigned row = e / f.n, column = e % f.n;
    uint64_t old = f.c.get(w, e);
    if (wide) {
      double sum = value(Type::F64, old);
      for (unsigned k = 0; k < f.k; ++k)
        sum = std::fma(value(Type::F64, f.a.get(w, row * f.k + k)), value(Type::F64, f.b.get(w, k * f.n + column)), sum);
      uint64_t bits;
      std::memcpy(&bits, &sum, 8);
      f.d.set(w, e, bits);
      continue;
    }
    float p = c[e];
    if (f.exclusive) {  // popc(a ^ b) = popc(a) + popc(b) - 2 popc(a & b)
      float ones = 0;
      for (unsigned k = 0; k < f.k; ++k)
        ones += a[row * f.k + k] + b[k * f.n + column];
      p = ones - 2 * p;
    }
    if (f.d.type == Type::S32) {
      int64_t sum = int64_t(p) + int32_t(old);
      f.d.set(w, e, uint32_t(f.satfinite ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum));
      continue;
    }
    float sum = p + float(value(f.c.type, old));
    if (f.d.type == Type::F32) {
      f.d.set(w, e, floatToBits(sum));
      continue;
    }
    Conversion how;
    how.satfinite = f.satfinite;
    f.d.set(w, e, f.satfinite && sum != sum ? 0 : encode(Format::F16, sum, how));
  }
  return Step::Next;
}

void shapeOf(Decoder &d, Form &f) {
  std::string_view shape = d.mods.takeIf([](std::string_view m) { return m.size() > 5 && m[1] == 'm' && m[2] >= '0' && m[2] <= '9'; });
  if (shape.empty() || std::sscanf(std::string(shape).c_str(), ".m%un%uk%u", &f.m, &f.n, &f.k) != 3)
    d.fail("wmma needs a shape");
}

/// Whether the ISA lists the shape for the type of A and B.
bool shapeExists(const Form &f, Type t) {
  auto is = [&](unsigned m, unsigned n, unsigned k) { return f.m == m && f.n == n && f.k == k; };
  switch (t) {
  case Type::F16: case Type::BF16: case Type::S8: case Type::U8: return is(16, 16, 16) || is(8, 32, 16) || is(32, 8, 16);
  case Type::TF32: return is(16, 16, 8);
  case Type::F64: return is(8, 8, 4);
  case Type::S4: case Type::U4: return is(8, 8, 32);
  case Type::B1: return is(8, 8, 128);
  default: return false;
  }
}

/// Rows, columns and registers of an operand ('a', 'b', 'c' for C and D).
void describe(Decoder &d, Fragment &m, const Form &f, char which, Type t, const Operand &regs, bool written) {
  m.type = t;
  m.bits = bitsOf(t);
  m.rows = which == 'b' ? f.k : f.m;
  m.columns = which == 'a' ? f.k : f.n;
  unsigned need = std::max(1u, m.rows * m.columns * m.bits / 32 / m.registerBits());
  if (t == Type::F16 && which != 'c')
    need = 8;  // whatever the shape
  size_t n = regs.kind == Operand::Vector ? regs.parts.size() : 1;
  if (n != need)
    d.fail("this wmma fragment has " + std::to_string(need) + " registers, found " + std::to_string(n));
  for (size_t k = 0; k < n; ++k) {
    const Operand &r = regs.kind == Operand::Vector ? regs.parts[k] : regs;
    m.regs.push_back(written ? d.dst(r, m.bits == 64 ? 8 : 4) : d.src(r, m.bits == 64 ? Type::B64 : Type::B32));
  }
}

void wmma(Decoder &d) {
  Form *f = d.extra<Form>();
  int what = d.mods.oneOf({".load", ".store", ".mma"});
  if (what < 0)
    d.fail("expected wmma.load, wmma.store or wmma.mma");
  int bits = what == 2 ? d.mods.oneOf({".xor", ".and"}) : -1;
  f->exclusive = bits == 0;
  d.mods.take(".popc");
  int matrix = what == 2 ? 3 : d.mods.oneOf({".a", ".b", ".c", ".d"});
  if (!d.mods.take(".sync"))
    d.fail("wmma needs .sync");
  d.mods.take(".aligned");
  int order = d.mods.oneOf({".row", ".col"}), second = what == 2 ? d.mods.oneOf({".row", ".col"}) : 0;
  shapeOf(d, *f);
  if (order < 0 || second < 0 || matrix < 0)
    d.fail("malformed wmma: expected .load.a, .load.b, .load.c, .store.d or .mma, and .row or .col");
  if (what < 2) {
    f->store = what == 1;
    f->rowMajor = order == 0;
    f->where = takeSpace(d);
    Type t = d.needType("an element");
    bool result = matrix >= 2;
    if (result ? t != Type::F16 && t != Type::F32 && t != Type::S32 && t != Type::F64 : !shapeExists(*f, t))
      d.fail("this shape and type of wmma do not exist");
    f->hasStride = d.operands() == 3;
    d.count(2, 3);
    describe(d, f->d, *f, matrix == 0 ? 'a' : matrix == 1 ? 'b' : 'c', t, d.op(f->store ? 1 : 0), !f->store);
    AddressOperand a = d.address(d.op(f->store ? 0 : 1));
    f->wide = a.wide;
    uint32_t stride = f->hasStride ? d.src(d.op(2), Type::U32) : 0;
    Inst &i = d.emit(transfer);
    i.r[1] = a.base, i.r[2] = stride;
    i.imm = uint64_t(a.offset);
    i.extra = f;
    return;
  }
  // The fragments do not depend on the order of A and B in memory: wmma.load has seen to it.
  Type t[4] = {d.needType("a"), d.mods.type(), d.mods.type(), d.mods.type()};
  if (t[1] == Type::None)
    d.fail("wmma.mma needs the types of its operands");
  if (t[2] == Type::None)
    t[3] = t[1], t[1] = t[2] = Type::F16;  // .dtype.ctype: A and B are .f16
  d.mods.oneOf({".rn", ".rz", ".rm", ".rp"});
  f->satfinite = d.mods.take(".satfinite");
  bool integer = t[0] == Type::S32, half = t[1] == Type::F16;
  bool results = half ? (t[0] == Type::F16 || t[0] == Type::F32) && (t[3] == Type::F16 || t[3] == Type::F32)
                      : t[0] == t[3] && (t[1] == Type::F64 ? t[0] == Type::F64 : t[1] == Type::BF16 || t[1] == Type::TF32 ? t[0] == Type::F32 : integer);
  bool pair = t[1] == t[2] || (bitsOf(t[1]) == bitsOf(t[2]) && integer && bitsOf(t[1]) <= 8);
  if (!shapeExists(*f, t[1]) || !results || !pair || (t[1] == Type::B1) != (bits >= 0))
    d.fail("this shape and these types of wmma.mma do not exist");
  d.count(4, 4);
  describe(d, f->a, *f, 'a', t[1], d.op(1), false);
  describe(d, f->b, *f, 'b', t[2], d.op(2), false);
  describe(d, f->c, *f, 'c', t[3], d.op(3), false);
  describe(d, f->d, *f, 'c', t[0], d.op(0), true);
  d.emit(product).extra = f;
}

} // namespace

void addWmma(OpcodeTable &t) { t.add({"wmma"}, wmma); }

} // namespace fovea::emulator
