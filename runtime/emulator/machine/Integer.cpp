// runtime/emulator/machine/Integer.cpp - decoding of integer and bit instructions.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {
namespace {

void emitInt(Decoder &d, IntOp op, Type t, std::initializer_list<uint32_t> regs, uint64_t imm = 0) {
  Handler h = FOVEA_LANE_CALL(integerHandler(op, t));
  if (!h)
    d.fail("'" + std::string(d.in->opcode) + "' is not defined for this type");
  Inst &i = d.emit(h);
  size_t k = 0;
  for (uint32_t r : regs)
    i.r[k++] = r;
  i.imm = imm;
}

void unary(Decoder &d, IntOp op, Type t) {
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), t), r = d.dst(d.op(0), ptx::bytesOf(t));
  emitInt(d, op, t, {r, a});
}
void binary(Decoder &d, IntOp op, Type t) {
  d.count(3, 3);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), r = d.dst(d.op(0), ptx::bytesOf(t));
  emitInt(d, op, t, {r, a, b});
}

/// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag is one bit a thread.
template <class T, bool Subtract> Step carryChain(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  T *r = w.reg<T>(i.r[0]);
  bool in = i.imm & 1, out = i.imm & 2;
  eachLane(w.active, [&](int l) {
    T y = Subtract ? T(~b[l]) : b[l];
    T c = in ? T(Subtract ? !w.carry[l] : w.carry[l]) : T(Subtract);
    unsigned __int128 s = (unsigned __int128)a[l] + y + c;
    r[l] = T(s);
    bool carry = (s >> (8 * sizeof(T))) & 1;
    if (out)
      w.carry[l] = Subtract ? !carry : carry;  // the borrow
  });
  return Step::Next;
}
template <class T> Step madCarry(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]), *c = w.reg<T>(i.r[3]);
  T *r = w.reg<T>(i.r[0]);
  bool in = i.imm & 1, out = i.imm & 2, hi = i.imm & 4, sign = i.imm & 8;
  eachLane(w.active, [&](int l) {
    unsigned __int128 p;
    if (sign)
      p = (unsigned __int128)((__int128)std::make_signed_t<T>(a[l]) * std::make_signed_t<T>(b[l]));
    else
      p = (unsigned __int128)a[l] * b[l];
    T v = T(hi ? p >> (8 * sizeof(T)) : p);
    unsigned __int128 s = (unsigned __int128)v + c[l] + (in && w.carry[l]);
    r[l] = T(s);
    if (out)
      w.carry[l] = (s >> (8 * sizeof(T))) & 1;
  });
  return Step::Next;
}

bool isFloatType(Decoder &d) {
  for (std::string_view m : d.in->modifiers) {
    Type t = ptx::typeNamed(m);
    if (ptx::isFloat(t) || t == Type::F16x2 || t == Type::BF16x2 || t == Type::F32x2)
      return true;
  }
  return false;
}

} // namespace

void decodeFloatArithmetic(Decoder &d);

namespace {

void arithmetic(Decoder &d) {  // add sub addc subc
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  bool subtract = d.in->opcode.substr(0, 3) == "sub";
  bool in = d.in->opcode.size() == 4, out = d.mods.take(".cc"), sat = d.mods.take(".sat");
  Type t = d.needType("an integer");
  if (in || out) {
    d.count(3, 3);
    uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), r = d.dst(d.op(0), ptx::bytesOf(t));
    int bytes = ptx::bytesOf(t);
    if (bytes < 4)
      d.fail("carries need 32- or 64-bit operands");
    Inst &i = d.emit(bytes == 4 ? (subtract ? carryChain<uint32_t, true> : carryChain<uint32_t, false>)
                                : (subtract ? carryChain<uint64_t, true> : carryChain<uint64_t, false>));
    i.r[0] = r, i.r[1] = a, i.r[2] = b;
    i.imm = (in ? 1 : 0) | (out ? 2 : 0);
    return;
  }
  if (!subtract && (t == Type::U16x2 || t == Type::S16x2))
    return binary(d, IntOp::AddPair, t);
  binary(d, sat ? (subtract ? IntOp::SubSat : IntOp::AddSat) : subtract ? IntOp::Sub : IntOp::Add, t);
}

void multiply(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  int part = d.mods.oneOf({".lo", ".hi", ".wide"});
  if (part < 0)
    d.fail("integer 'mul' needs .lo, .hi or .wide");
  Type t = d.needType("an integer");
  if (part < 2)
    return binary(d, part == 0 ? IntOp::MulLo : IntOp::MulHi, t);
  d.count(3, 3);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), r = d.dst(d.op(0), 2 * ptx::bytesOf(t));
  emitInt(d, IntOp::MulWide, t, {r, a, b});
}

void multiplyAdd(Decoder &d) {  // mad madc
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  int part = d.mods.oneOf({".lo", ".hi", ".wide"});
  bool in = d.in->opcode == "madc", out = d.mods.take(".cc"), sat = d.mods.take(".sat");
  if (part < 0)
    d.fail("integer 'mad' needs .lo, .hi or .wide");
  Type t = d.needType("an integer");
  d.count(4, 4);
  int bytes = ptx::bytesOf(t);
  Type wide = bytes == 2 ? Type::U32 : Type::U64;
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), part == 2 ? wide : t);
  uint32_t r = d.dst(d.op(0), part == 2 ? 2 * bytes : bytes);
  if (in || out) {
    if (part == 2 || bytes < 4)
      d.fail("carries need .lo or .hi and 32- or 64-bit operands");
    Inst &i = d.emit(bytes == 4 ? madCarry<uint32_t> : madCarry<uint64_t>);
    i.r[0] = r, i.r[1] = a, i.r[2] = b, i.r[3] = c;
    i.imm = (in ? 1 : 0) | (out ? 2 : 0) | (part == 1 ? 4 : 0) | (ptx::isSigned(t) ? 8 : 0);
    return;
  }
  emitInt(d, part == 2 ? IntOp::MadWide : part == 1 ? (sat ? IntOp::MadHiSat : IntOp::MadHi) : IntOp::MadLo, t, {r, a, b, c});
}

void mul24(Decoder &d) {
  int part = d.mods.oneOf({".lo", ".hi"});
  Type t = d.needType("an integer");
  if (d.in->opcode == "mul24")
    return binary(d, part == 1 ? IntOp::Mul24Hi : IntOp::Mul24Lo, t);
  bool sat = d.mods.take(".sat");
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), t), r = d.dst(d.op(0), 4);
  if (part != 1)
    return emitInt(d, IntOp::Mad24Lo, t, {r, a, b, c});
  uint32_t high = d.temporary(4);
  emitInt(d, IntOp::Mul24Hi, t, {high, a, b});
  emitInt(d, sat ? IntOp::AddSat : IntOp::Add, t, {r, high, c});
}

void divideRemainder(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  binary(d, d.in->opcode == "div" ? IntOp::Div : IntOp::Rem, d.needType("an integer"));
}

void minMax(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  bool relu = d.mods.take(".relu");
  Type t = d.needType("an integer");
  bool min = d.in->opcode == "min";
  if ((t == Type::U16x2 || t == Type::S16x2) && !relu)
    return binary(d, min ? IntOp::MinPair : IntOp::MaxPair, t);
  binary(d, relu ? (min ? IntOp::MinRelu : IntOp::MaxRelu) : min ? IntOp::Min : IntOp::Max, t);
}

void signs(Decoder &d) {
  if (isFloatType(d))
    return decodeFloatArithmetic(d);
  unary(d, d.in->opcode == "abs" ? IntOp::Abs : IntOp::Neg, d.needType("an integer"));
}

enum class PredOp { And, Or, Xor, Not };
template <PredOp P> Step predLogic(Warp &w, const Inst &i) {
  uint32_t a = w.pred(i.r[1]), b = w.pred(i.r[2]), &r = w.pred(i.r[0]);
  uint32_t v = P == PredOp::And ? a & b : P == PredOp::Or ? a | b : P == PredOp::Xor ? a ^ b : ~a;
  r = (v & w.active) | (r & ~w.active);
  return Step::Next;
}

void logic(Decoder &d) {
  Type t = d.needType("a");
  std::string_view o = d.in->opcode;
  if (t == Type::Pred) {
    d.count(o == "not" ? 2 : 3, o == "not" ? 2 : 3);
    uint32_t a = d.srcPred(d.op(1)), b = o == "not" ? a : d.srcPred(d.op(2)), r = d.dstPred(d.op(0));
    Inst &i = d.emit(o == "and" ? predLogic<PredOp::And> : o == "or" ? predLogic<PredOp::Or> : o == "xor" ? predLogic<PredOp::Xor> : predLogic<PredOp::Not>);
    i.r[0] = r, i.r[1] = a, i.r[2] = b;
    return;
  }
  if (o == "not" || o == "cnot")
    return unary(d, o == "not" ? IntOp::Not : IntOp::Cnot, t);
  binary(d, o == "and" ? IntOp::And : o == "or" ? IntOp::Or : IntOp::Xor, t);
}

void shift(Decoder &d) {
  Type t = d.needType("a");
  d.count(3, 3);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), Type::U32), r = d.dst(d.op(0), ptx::bytesOf(t));
  emitInt(d, d.in->opcode == "shl" ? IntOp::Shl : IntOp::Shr, t, {r, a, b});
}

void funnelShift(Decoder &d) {
  bool left = d.mods.oneOf({".l", ".r"}) == 0, clamp = d.mods.oneOf({".wrap", ".clamp"}) == 1;
  Type t = d.needType("the .b32");
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), Type::U32), r = d.dst(d.op(0), 4);
  emitInt(d, left ? (clamp ? IntOp::ShfLClamp : IntOp::ShfLWrap) : (clamp ? IntOp::ShfRClamp : IntOp::ShfRWrap), t, {r, a, b, c});
}

void bits(Decoder &d) {  // popc clz brev bfind bfe bfi
  std::string_view o = d.in->opcode;
  bool shiftAmount = o == "bfind" && d.mods.take(".shiftamt");
  Type t = d.needType("a");
  int bytes = ptx::bytesOf(t);
  if (o == "bfe") {
    d.count(4, 4);
    uint32_t a = d.src(d.op(1), t), p = d.src(d.op(2), Type::U32), n = d.src(d.op(3), Type::U32), r = d.dst(d.op(0), bytes);
    return emitInt(d, IntOp::Bfe, t, {r, a, p, n});
  }
  if (o == "bfi") {
    d.count(5, 5);
    uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), p = d.src(d.op(3), Type::U32), n = d.src(d.op(4), Type::U32);
    return emitInt(d, IntOp::Bfi, t, {d.dst(d.op(0), bytes), a, b, p, n});
  }
  if (o == "brev")
    return unary(d, IntOp::Brev, t);
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), t), r = d.dst(d.op(0), 4);
  emitInt(d, o == "popc" ? IntOp::Popc : o == "clz" ? IntOp::Clz : shiftAmount ? IntOp::BfindShift : IntOp::Bfind, t, {r, a});
}

void permute(Decoder &d) {
  Type t = d.needType("the .b32");
  int mode = d.mods.oneOf({".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"});
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), Type::U32), r = d.dst(d.op(0), 4);
  emitInt(d, IntOp::Prmt, t, {r, a, b, c}, uint64_t(mode + 1));
}

/// p = (result != 0) and/or q. r: p, result, q; imm 0 or, 1 and.
Step lop3Predicate(Warp &w, const Inst &i) {
  const uint32_t *v = w.reg<uint32_t>(i.r[1]);
  uint32_t &p = w.pred(i.r[0]), q = w.pred(i.r[2]);
  uint32_t set = maskLanes(w, 0, [=](int l) { return v[l] != 0; });
  p = ((i.imm ? set & q : set | q) & w.active) | (p & ~w.active);
  return Step::Next;
}
void lop3(Decoder &d) {
  int boolean = d.mods.oneOf({".or", ".and"});
  Type t = d.needType("the .b32");
  d.count(boolean < 0 ? 5 : 6, boolean < 0 ? 5 : 6);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), t);
  uint64_t table = uint64_t(d.immediate(d.op(4), "the truth table")) & 255;
  if (boolean < 0)
    return emitInt(d, IntOp::Lop3, t, {d.dst(d.op(0), 4), a, b, c}, table);
  if (d.op(0).kind != Operand::Pair)
    d.fail("lop3.and and lop3.or write d|p");
  uint32_t q = d.srcPred(d.op(5)), result = d.temporary(4);
  emitInt(d, IntOp::Lop3, t, {result, a, b, c}, table);
  uint32_t p = d.dstPred(d.op(0).parts[1]);
  Inst &i = d.emit(lop3Predicate);
  i.r[0] = p, i.r[1] = result, i.r[2] = q;
  i.imm = uint64_t(boolean);
  if (d.op(0).parts[0].kind != Operand::Sink)
    emitInt(d, IntOp::Or, t, {d.dst(d.op(0).parts[0], 4), result, result});
}

/// fns.b32 d, mask, base, n: the n-th set bit of mask from base on (n < 0: downwards; 0: base itself if set), else ~0.
Step findNthSet(Warp &w, const Inst &i) {
  const uint32_t *mask = w.reg<uint32_t>(i.r[1]), *base = w.reg<uint32_t>(i.r[2]);
  const int32_t *n = w.reg<int32_t>(i.r[3]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint32_t result = ~0u;
    if (base[l] > 31)
      return result;
    if (n[l] == 0)
      return mask[l] >> base[l] & 1 ? base[l] : result;
    int64_t wanted = n[l] < 0 ? -int64_t(n[l]) : n[l], step = n[l] < 0 ? -1 : 1;
    for (int64_t at = base[l]; at >= 0 && at < 32; at += step)
      if (mask[l] >> at & 1 && --wanted == 0)
        return uint32_t(at);
    return result;
  });
  return Step::Next;
}
void decodeFindNthSet(Decoder &d) {
  Type t = d.needType("the .b32");
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), Type::U32), n = d.src(d.op(3), Type::S32), r = d.dst(d.op(0), 4);
  Inst &i = d.emit(findNthSet);
  i.r[0] = r, i.r[1] = a, i.r[2] = b, i.r[3] = n;
}

void sad(Decoder &d) {
  Type t = d.needType("an integer");
  d.count(4, 4);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), t), r = d.dst(d.op(0), ptx::bytesOf(t));
  emitInt(d, IntOp::Sad, t, {r, a, b, c});
}

void dp4a(Decoder &d) {  // and dp2a, whose B gives its low or its high two bytes
  int half = d.in->opcode == "dp2a" ? d.mods.oneOf({".lo", ".hi"}) : -1;
  if (half < 0 && d.in->opcode == "dp2a")
    d.fail("dp2a needs .lo or .hi");
  Type a = d.needType("an A"), b = d.needType("a B");
  Type t = a == b ? a : a == Type::U32 ? Type::U16 : Type::S16;
  d.count(4, 4);
  uint32_t x = d.src(d.op(1), a), y = d.src(d.op(2), b), z = d.src(d.op(3), Type::S32), r = d.dst(d.op(0), 4);
  emitInt(d, half < 0 ? IntOp::Dp4a : half == 0 ? IntOp::Dp2aLo : IntOp::Dp2aHi, t, {r, x, y, z});
}

void masks(Decoder &d) {  // bmsk szext
  bool wrap = d.mods.oneOf({".clamp", ".wrap"}) == 1, isMask = d.in->opcode == "bmsk";
  Type t = d.needType("a");
  d.count(3, 3);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), Type::U32), r = d.dst(d.op(0), 4);
  emitInt(d, isMask ? (wrap ? IntOp::BmskWrap : IntOp::Bmsk) : (wrap ? IntOp::SzextWrap : IntOp::Szext), t, {r, a, b});
}

} // namespace

Step runNotPred(Warp &w, const Inst &i) { return predLogic<PredOp::Not>(w, i); }

void addInteger(OpcodeTable &t) {
  t.add({"add", "sub", "addc", "subc"}, arithmetic);
  t.add({"mul"}, multiply);
  t.add({"mad", "madc"}, multiplyAdd);
  t.add({"mul24", "mad24"}, mul24);
  t.add({"div", "rem"}, divideRemainder);
  t.add({"min", "max"}, minMax);
  t.add({"abs", "neg"}, signs);
  t.add({"and", "or", "xor", "not", "cnot"}, logic);
  t.add({"shl", "shr"}, shift);
  t.add({"shf"}, funnelShift);
  t.add({"popc", "clz", "brev", "bfind", "bfe", "bfi"}, bits);
  t.add({"prmt"}, permute);
  t.add({"lop3"}, lop3);
  t.add({"fns"}, decodeFindNthSet);
  t.add({"sad"}, sad);
  t.add({"dp4a", "dp2a"}, dp4a);
  t.add({"bmsk", "szext"}, masks);
}

} // namespace fovea::emulator
