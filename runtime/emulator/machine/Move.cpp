// runtime/emulator/machine/Move.cpp - decoding of mov, setp, set, selp, slct.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"
#include <array>
#include <map>

namespace fovea::emulator {
namespace {

Step movePred(Warp &w, const Inst &i) {
  uint32_t &r = w.pred(i.r[0]);
  r = (w.pred(i.r[1]) & w.active) | (r & ~w.active);
  return Step::Next;
}
Step move128(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[1]);
  uint64_t *r = w.reg<uint64_t>(i.r[0]);
  eachLane(w.active, [&](int l) {
    r[l] = a[l];
    r[32 + l] = a[32 + l];
  });
  return Step::Next;
}

/// A vector operand of a mov: parts low to high.
struct Pieces : Extra {
  uint32_t at[16];
  uint8_t bytes = 0;  ///< of a piece; 0: sink
  uint8_t count = 0;
  uint8_t wholeBytes = 0;
};
uint64_t piece(const Warp &w, uint32_t at, int bytes, int l) {
  return bytes == 2 ? w.reg<uint16_t>(at)[l] : bytes == 4 ? w.reg<uint32_t>(at)[l] : w.reg<uint64_t>(at)[l];
}
void setPiece(Warp &w, uint32_t at, int bytes, int l, uint64_t v) {
  if (bytes == 2)
    w.reg<uint16_t>(at)[l] = uint16_t(v);
  else if (bytes == 4)
    w.reg<uint32_t>(at)[l] = uint32_t(v);
  else
    w.reg<uint64_t>(at)[l] = v;
}
Step packWhole(Warp &w, const Inst &i) {
  const Pieces &p = *static_cast<const Pieces *>(i.extra);
  int width = p.wholeBytes / p.count;
  eachLane(w.active, [&](int l) {
    uint64_t v[2] = {0, 0};
    for (int k = 0; k < p.count; ++k) {
      int bit = k * width * 8;
      uint64_t x = piece(w, p.at[k], p.bytes, l);
      if (width < 8)
        x &= (uint64_t(1) << (8 * width)) - 1;
      v[bit / 64] |= x << (bit % 64);
    }
    if (p.wholeBytes == 16) {
      w.reg<uint64_t>(i.r[0])[l] = v[0];
      w.reg<uint64_t>(i.r[0])[32 + l] = v[1];
    } else {
      setPiece(w, i.r[0], p.wholeBytes, l, v[0]);
    }
  });
  return Step::Next;
}
Step unpackWhole(Warp &w, const Inst &i) {
  const Pieces &p = *static_cast<const Pieces *>(i.extra);
  int width = p.wholeBytes / p.count;
  eachLane(w.active, [&](int l) {
    uint64_t v[2];
    if (p.wholeBytes == 16) {
      v[0] = w.reg<uint64_t>(i.r[1])[l];
      v[1] = w.reg<uint64_t>(i.r[1])[32 + l];
    } else {
      v[0] = piece(w, i.r[1], p.wholeBytes, l);
    }
    for (int k = 0; k < p.count; ++k) {
      int bit = k * width * 8;
      uint64_t x = v[bit / 64] >> (bit % 64);
      if (width < 8)
        x &= (uint64_t(1) << (8 * width)) - 1;
      setPiece(w, p.at[k], p.bytes, l, x);
    }
  });
  return Step::Next;
}

Type pieceType(int bytes) { return bytes == 1 ? Type::B8 : bytes == 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B64; }

/// mov.v4.u32 {x, y, z, w}, %tid: the vector special registers, which PTX 1 introduced.
void moveSpecialVector(Decoder &d, size_t n) {
  static const std::map<std::string_view, std::array<std::string_view, 3>> vectors = {
      {"%tid", {"%tid.x", "%tid.y", "%tid.z"}}, {"%ntid", {"%ntid.x", "%ntid.y", "%ntid.z"}},
      {"%ctaid", {"%ctaid.x", "%ctaid.y", "%ctaid.z"}}, {"%nctaid", {"%nctaid.x", "%nctaid.y", "%nctaid.z"}}};
  const Operand &to = d.op(0);
  auto it = vectors.find(d.op(1).text);
  if (d.op(1).kind != Operand::Special || it == vectors.end() || to.kind != Operand::Vector || to.parts.size() != n)
    d.fail("a vector mov reads %tid, %ntid, %ctaid or %nctaid into as many registers");
  for (size_t k = 0; k < n; ++k) {
    Operand part = d.op(1);
    if (k < 3)
      part.text = it->second[k];
    uint32_t a = k < 3 ? d.src(part, Type::U32) : d.constant(0, 4), r = d.dst(to.parts[k], 4);
    Inst &i = d.emit(FOVEA_LANE_CALL(moveHandler(4)));
    i.r[0] = r, i.r[1] = a;
  }
}

void move(Decoder &d) {
  int vector = d.mods.oneOf({".v2", ".v4"});
  Type t = d.needType("a");
  if (t == Type::U16 || t == Type::S16) t = Type::B16;
  d.count(2, 2);
  if (vector >= 0)
    return moveSpecialVector(d, vector ? 4 : 2);
  const Operand &to = d.op(0), &from = d.op(1);
  if (t == Type::Pred) {
    uint32_t a = d.srcPred(from), r = d.dstPred(to);
    Inst &i = d.emit(movePred);
    i.r[0] = r, i.r[1] = a;
    return;
  }
  int bytes = ptx::bytesOf(t);
  if (to.kind == Operand::Vector || from.kind == Operand::Vector) {
    bool packs = from.kind == Operand::Vector;
    const Operand &v = packs ? from : to, &whole = packs ? to : from;
    if (v.parts.empty() || v.parts.size() > 16 || bytes % int(v.parts.size()) || whole.kind == Operand::Vector)
      d.fail("the vector does not split the type evenly");
    Pieces *p = d.extra<Pieces>();
    p->count = uint8_t(v.parts.size());
    p->wholeBytes = uint8_t(bytes);
    int width = bytes / p->count;
    p->bytes = uint8_t(width < 2 ? 2 : width);
    for (size_t k = 0; k < v.parts.size(); ++k)
      p->at[k] = packs ? d.src(v.parts[k], pieceType(width)) : d.dst(v.parts[k], width);
    uint32_t one = packs ? d.dst(whole, bytes) : d.src(whole, t);
    Inst &i = d.emit(packs ? packWhole : unpackWhole);
    i.r[packs ? 0 : 1] = one;
    i.extra = p;
    return;
  }
  uint32_t a = d.src(from, t), r = d.dst(to, bytes);
  Handler h = bytes == 16 ? move128 : FOVEA_LANE_CALL(moveHandler(bytes < 2 ? 2 : bytes));
  Inst &i = d.emit(h);
  i.r[0] = r, i.r[1] = a;
}

/// After the comparison: d = (compare op c), q = (!compare op c). r: d, q, compare, c; imm: 0 none, 1 and, 2 or, 3 xor.
Step combine(Warp &w, const Inst &i) {
  uint32_t t = w.pred(i.r[2]), c = w.pred(i.r[3]), n = ~t;
  auto op = [&](uint32_t a) { return i.imm == 1 ? a & c : i.imm == 2 ? a | c : i.imm == 3 ? a ^ c : a; };
  uint32_t &p = w.pred(i.r[0]);
  uint32_t first = op(t), second = op(n);
  p = (first & w.active) | (p & ~w.active);
  uint32_t &q = w.pred(i.r[1]);
  q = (second & w.active) | (q & ~w.active);
  return Step::Next;
}

int comparison(Decoder &d) {
  return d.mods.oneOf({".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs", ".equ", ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"});
}

/// Compares the halves of operands 1 and 2: two temporary predicates, low half first.
void compareHalves(Decoder &d, Cmp c, Type t, bool ftz, uint32_t out[2]) {
  Type half = t == Type::F16x2 ? Type::F16 : Type::BF16;
  Handler h = FOVEA_LANE_CALL(compareHandler(c, half, ftz));
  if (!h)
    d.fail("this comparison is not defined for this type");
  uint32_t whole[2] = {d.src(d.op(1), t), d.src(d.op(2), t)}, halves[2][2];
  for (int s = 0; s < 2; ++s) {
    Pieces *p = d.extra<Pieces>();
    p->count = 2, p->bytes = 2, p->wholeBytes = 4;
    for (int k = 0; k < 2; ++k)
      p->at[k] = halves[s][k] = d.temporary(2);
    Inst &i = d.emit(unpackWhole);
    i.r[1] = whole[s];
    i.extra = p;
  }
  for (int k = 0; k < 2; ++k) {
    out[k] = d.temporaryPred();
    Inst &i = d.emit(h);
    i.r[0] = out[k], i.r[1] = halves[0][k], i.r[2] = halves[1][k];
  }
}

void setPredicate(Decoder &d) {
  int c = comparison(d);
  if (c < 0)
    d.fail("'setp' needs a comparison");
  int boolean = d.mods.oneOf({".and", ".or", ".xor"});
  bool ftz = d.mods.take(".ftz");
  Type t = d.needType("a");
  d.count(boolean >= 0 ? 4 : 3, boolean >= 0 ? 4 : 3);
  const Operand &to = d.op(0);
  bool pair = to.kind == Operand::Pair;
  if (t == Type::F16x2 || t == Type::BF16x2) {
    // p from the low halves, q from the high ones: two comparisons on unpacked halves.
    if (!pair)
      d.fail("packed setp writes p|q");
    uint32_t both[2], third = boolean >= 0 ? d.srcPred(d.op(3)) : Decoder::kTrue;
    compareHalves(d, Cmp(c), t, ftz, both);
    for (size_t k = 0; k < 2; ++k) {
      uint32_t p = d.dstPred(to.parts[k]);
      Inst &i = d.emit(combine);
      i.r[0] = p, i.r[1] = d.sinkRegister(), i.r[2] = both[k], i.r[3] = third;
      i.imm = uint64_t(boolean + 1);
    }
    return;
  }
  Handler h = FOVEA_LANE_CALL(compareHandler(Cmp(c), t, ftz));
  if (!h)
    d.fail("this comparison is not defined for this type");
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t);
  if (!pair && boolean < 0) {
    uint32_t r = d.dstPred(to);
    Inst &i = d.emit(h);
    i.r[0] = r, i.r[1] = a, i.r[2] = b;
    return;
  }
  uint32_t third = boolean >= 0 ? d.srcPred(d.op(3)) : Decoder::kTrue;
  uint32_t p = d.dstPred(pair ? to.parts[0] : to), q = pair ? d.dstPred(to.parts[1]) : d.sinkRegister();
  uint32_t t0 = d.temporaryPred();
  Inst &i = d.emit(h);
  i.r[0] = t0, i.r[1] = a, i.r[2] = b;
  Inst &j = d.emit(combine);
  j.r[0] = p, j.r[1] = q, j.r[2] = t0, j.r[3] = third;
  j.imm = uint64_t(boolean + 1);
}

/// set.cmp.dtype.stype: all ones or 1.0 when it holds.
Step setValue(Warp &w, const Inst &i) {
  uint32_t p = w.pred(i.r[1]);
  eachLane(w.active, [&](int l) { setPiece(w, i.r[0], int(i.r[2]), l, p & kLaneBit[l] ? i.imm : 0); });
  return Step::Next;
}
/// set of f16x2 or bf16x2: each half of d is 1.0 (all ones for .u32 and .s32) or 0.
void setHalves(Decoder &d, Cmp c, Type to, Type t, bool ftz, int boolean) {
  uint64_t one = to == t ? (t == Type::F16x2 ? 0x3c00 : 0x3f80) : to == Type::U32 || to == Type::S32 ? 0xffff : 0;
  if (!one)
    d.fail("a packed set writes its own type, .u32 or .s32");
  uint32_t both[2], third = boolean >= 0 ? d.srcPred(d.op(3)) : Decoder::kTrue;
  compareHalves(d, c, t, ftz, both);
  Pieces *p = d.extra<Pieces>();
  p->count = 2, p->bytes = 2, p->wholeBytes = 4;
  for (int k = 0; k < 2; ++k) {
    Inst &i = d.emit(combine);
    i.r[0] = both[k], i.r[1] = d.sinkRegister(), i.r[2] = both[k], i.r[3] = third;
    i.imm = uint64_t(boolean + 1);
    p->at[k] = d.temporary(2);
    Inst &j = d.emit(setValue);
    j.r[0] = p->at[k], j.r[1] = both[k], j.r[2] = 2;
    j.imm = one;
  }
  uint32_t r = d.dst(d.op(0), 4);
  Inst &i = d.emit(packWhole);
  i.r[0] = r;
  i.extra = p;
}

void setRegister(Decoder &d) {
  int c = comparison(d), boolean = d.mods.oneOf({".and", ".or", ".xor"});
  bool ftz = d.mods.take(".ftz");
  Type to = d.needType("a destination"), t = d.needType("a source");
  if (c < 0)
    d.fail("'set' needs a comparison");
  d.count(boolean >= 0 ? 4 : 3, boolean >= 0 ? 4 : 3);
  if (t == Type::F16x2 || t == Type::BF16x2)
    return setHalves(d, Cmp(c), to, t, ftz, boolean);
  Handler h = FOVEA_LANE_CALL(compareHandler(Cmp(c), t, ftz));
  if (!h)
    d.fail("this comparison is not defined for this type");
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), p = d.temporaryPred();
  uint32_t third = boolean >= 0 ? d.srcPred(d.op(3)) : Decoder::kTrue;
  uint32_t r = d.dst(d.op(0), ptx::bytesOf(to));
  Inst &i = d.emit(h);
  i.r[0] = p, i.r[1] = a, i.r[2] = b;
  Inst &j = d.emit(combine);
  j.r[0] = p, j.r[1] = d.sinkRegister(), j.r[2] = p, j.r[3] = third;
  j.imm = uint64_t(boolean + 1);
  Inst &k = d.emit(setValue);
  k.r[0] = r, k.r[1] = p, k.r[2] = uint32_t(ptx::bytesOf(to));
  k.imm = to == Type::F32 ? 0x3f800000 : to == Type::F16 ? 0x3c00 : to == Type::BF16 ? 0x3f80 : ~uint64_t(0);
}

Step select128(Warp &w, const Inst &i) {
  uint32_t p = w.pred(i.r[3]);
  eachLane(w.active, [&](int l) {
    const uint64_t *from = w.reg<uint64_t>(p & kLaneBit[l] ? i.r[1] : i.r[2]);
    w.reg<uint64_t>(i.r[0])[l] = from[l];
    w.reg<uint64_t>(i.r[0])[32 + l] = from[32 + l];
  });
  return Step::Next;
}
void select(Decoder &d) {
  Type t = d.needType("a");
  d.count(4, 4);
  int bytes = ptx::bytesOf(t);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), p = d.srcPred(d.op(3)), r = d.dst(d.op(0), bytes);
  Inst &i = d.emit(bytes == 16 ? select128 : FOVEA_LANE_CALL(selectHandler(bytes < 2 ? 2 : bytes)));
  i.r[0] = r, i.r[1] = a, i.r[2] = b, i.r[3] = p;
}

void selectSign(Decoder &d) {  // slct.dtype.{s32,f32} d, a, b, c: c >= 0 ? a : b
  bool ftz = d.mods.take(".ftz");
  Type t = d.needType("a"), ct = d.needType("the .s32 or .f32");
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), ct), zero = d.constant(0, 4), p = d.temporaryPred();
  int bytes = ptx::bytesOf(t);
  uint32_t r = d.dst(d.op(0), bytes);
  Inst &i = d.emit(FOVEA_LANE_CALL(compareHandler(Cmp::Ge, ct == Type::F32 ? Type::F32 : Type::S32, ftz)));
  i.r[0] = p, i.r[1] = c, i.r[2] = zero;
  Inst &j = d.emit(FOVEA_LANE_CALL(selectHandler(bytes)));
  j.r[0] = r, j.r[1] = a, j.r[2] = b, j.r[3] = p;
}

} // namespace

void addMove(OpcodeTable &t) {
  t.add({"mov"}, move);
  t.add({"setp"}, setPredicate);
  t.add({"set"}, setRegister);
  t.add({"selp"}, select);
  t.add({"slct"}, selectSign);
}

} // namespace fovea::emulator
