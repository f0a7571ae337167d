// runtime/emulator/machine/Float.cpp - decoding of floating-point instructions.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cfenv>
#include <cmath>

namespace fovea::emulator {
namespace {

/// Directed rounding: the host's rounding mode around the handler in `imm`; r[5] is the mode.
Step rounded(Warp &w, const Inst &i) {
  int old = std::fegetround();
  std::fesetround(int(i.r[5]));
  Step s = reinterpret_cast<Handler>(i.imm)(w, i);
  std::fesetround(old);
  return s;
}

/// -1 none, 0 rn, 1 rz, 2 rm, 3 rp.
int rounding(Decoder &d) { return d.mods.oneOf({".rn", ".rz", ".rm", ".rp"}); }

void emitFloat(Decoder &d, FloatOp op, Type t, unsigned flags, int round, std::initializer_list<uint32_t> regs) {
  Handler h = FOVEA_LANE_CALL(floatHandler(op, t, flags));
  if (!h)
    d.fail("'" + std::string(d.in->opcode) + "' is not defined for this type and these modifiers");
  bool directed = round > 0;
  if (directed && t != Type::F32 && t != Type::F64 && t != Type::F32x2)
    d.fail("only .rn exists for 16-bit formats");
  Inst &i = d.emit(directed ? rounded : h);
  size_t k = 0;
  for (uint32_t r : regs)
    i.r[k++] = r;
  if (directed) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    i.r[5] = uint32_t(modes[round]);
    i.imm = reinterpret_cast<uint64_t>(h);
  }
}

Step widen16(Warp &w, const Inst &i) {
  const uint16_t *a = w.reg<uint16_t>(i.r[1]);
  forLanes(w, w.reg<float>(i.r[0]), [&](int l) { return i.imm ? bf16ToFloat(a[l]) : f16ToFloat(a[l]); });
  return Step::Next;
}

/// A source of type `have` in an instruction that computes in f32 (add.f32.bf16 and friends).
uint32_t mixedSource(Decoder &d, const Operand &o, Type have, Type compute) {
  if (have == compute)
    return d.src(o, compute);
  uint32_t raw = d.src(o, have), t = d.temporary(4);
  Inst &i = d.emit(widen16);
  i.r[0] = t;
  i.r[1] = raw;
  i.imm = have == Type::BF16;
  return t;
}

void unaryFunction(Decoder &d) {
  std::string_view o = d.in->opcode;
  bool approx = d.mods.take(".approx");
  int round = rounding(d);
  unsigned flags = d.mods.take(".ftz") ? Ftz : 0;
  Type t = d.needType("a floating-point");
  d.count(2, 2);
  FloatOp op;
  if (o == "sqrt")
    op = approx ? FloatOp::SqrtApprox : FloatOp::Sqrt;
  else if (o == "rcp")
    op = approx ? FloatOp::RcpApprox : FloatOp::Rcp;
  else if (o == "rsqrt")
    op = FloatOp::RsqrtApprox;
  else if (o == "ex2")
    op = FloatOp::Ex2;
  else if (o == "lg2")
    op = FloatOp::Lg2;
  else if (o == "sin")
    op = FloatOp::Sin;
  else if (o == "cos")
    op = FloatOp::Cos;
  else
    op = FloatOp::Tanh;
  if (!approx && op != FloatOp::Sqrt && op != FloatOp::Rcp)
    d.fail("'" + std::string(o) + "' needs .approx");
  if (t == Type::F64 && op != FloatOp::Sqrt && op != FloatOp::Rcp)
    flags = 0;
  uint32_t a = d.src(d.op(1), t), r = d.dst(d.op(0), ptx::bytesOf(t));
  emitFloat(d, op, t, flags, round, {r, a});
}

/// What a tensor copy with NaN fill puts where the tensor ends (measured on an H200; the same bits for f16 and bf16).
constexpr uint16_t kOobNan = 0x7FF7;

/// fma.oob: a half whose operands hold that NaN is +0. r: d, result, a, b, c.
template <class T> Step clearOob(Warp &w, const Inst &i) {
  const T *v = w.reg<T>(i.r[1]), *a = w.reg<T>(i.r[2]), *b = w.reg<T>(i.r[3]), *c = w.reg<T>(i.r[4]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    T r = v[l];
    for (unsigned s = 0; s < sizeof(T) * 8; s += 16)
      if (uint16_t(a[l] >> s) == kOobNan || uint16_t(b[l] >> s) == kOobNan || uint16_t(c[l] >> s) == kOobNan)
        r = T(r & ~(uint32_t(0xffff) << s));
    return r;
  });
  return Step::Next;
}

void fma(Decoder &d) {
  int round = rounding(d);
  unsigned flags = (d.mods.take(".ftz") ? Ftz : 0) | (d.mods.take(".sat") ? Sat : 0);
  bool relu = d.mods.take(".relu");
  bool oob = d.mods.take(".oob");
  Type t = d.needType("a floating-point"), ab = d.mods.type();
  if (round < 0)
    d.fail("'fma' needs a rounding modifier");
  d.count(4, 4);
  if (ab == Type::None)
    ab = t;
  else if (t != Type::F32 || (ab != Type::F16 && ab != Type::BF16))
    d.fail("mixed precision exists for .f32 with .f16 or .bf16 sources only");
  uint32_t a = mixedSource(d, d.op(1), ab, t), b = mixedSource(d, d.op(2), ab, t), c = d.src(d.op(3), t);
  uint32_t r = d.dst(d.op(0), ptx::bytesOf(t)), result = oob ? d.temporary(ptx::bytesOf(t)) : r;
  emitFloat(d, relu ? FloatOp::FmaRelu : FloatOp::Fma, t, flags, round, {result, a, b, c});
  if (oob) {
    if (ptx::bytesOf(t) > 4 || t == Type::F32)
      d.fail("fma.oob exists for .f16, .bf16 and their pairs");
    Inst &i = d.emit(ptx::bytesOf(t) == 2 ? clearOob<uint16_t> : clearOob<uint32_t>);
    i.r[0] = r, i.r[1] = result, i.r[2] = a, i.r[3] = b, i.r[4] = c;
  }
}

Step testp(Warp &w, const Inst &i) {
  uint32_t &r = w.pred(i.r[0]);
  unsigned what = unsigned(i.imm) & 7;
  bool wide = i.imm & 8;
  r = maskLanes(w, r, [&](int l) {
    int c;
    bool finite;
    if (wide) {
      double v = w.reg<double>(i.r[1])[l];
      c = std::fpclassify(v);
      finite = std::isfinite(v);
    } else {
      float v = w.reg<float>(i.r[1])[l];
      c = std::fpclassify(v);
      finite = std::isfinite(v);
    }
    switch (what) {
    case 0: return finite;
    case 1: return c == FP_INFINITE;
    case 2: return c != FP_NAN;
    case 3: return c == FP_NAN;
    case 4: return c == FP_NORMAL || c == FP_ZERO;  // the ISA counts zeros among the normal numbers
    default: return c == FP_SUBNORMAL;
    }
  });
  return Step::Next;
}

void decodeTestp(Decoder &d) {
  int what = d.mods.oneOf({".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"});
  Type t = d.needType("a floating-point");
  if (what < 0 || (t != Type::F32 && t != Type::F64))
    d.fail("malformed testp");
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), t), r = d.dstPred(d.op(0));
  Inst &i = d.emit(testp);
  i.r[0] = r, i.r[1] = a;
  i.imm = uint64_t(what) | (t == Type::F64 ? 8 : 0);
}

void copysign(Decoder &d) {
  Type t = d.needType("a floating-point");
  d.count(3, 3);
  uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t);
  emitFloat(d, FloatOp::Copysign, t, 0, 0, {d.dst(d.op(0), ptx::bytesOf(t)), a, b});
}

} // namespace

/// add sub mul mad div min max abs neg on floating-point types.
void decodeFloatArithmetic(Decoder &d) {
  std::string_view o = d.in->opcode;
  int round = rounding(d);
  unsigned flags = (d.mods.take(".ftz") ? Ftz : 0) | (d.mods.take(".sat") ? Sat : 0);
  bool nan = false, xorsign = false, magnitude = false;
  int division = -1;
  if (o == "min" || o == "max") {
    nan = d.mods.take(".NaN");
    if (d.mods.take(".xorsign")) {
      xorsign = true;
      d.mods.take(".abs");
    } else if (d.mods.take(".xorsign.abs")) {
      xorsign = true;
    } else {
      magnitude = d.mods.take(".abs");
    }
  }
  if (o == "add" || o == "sub" || o == "mul")
    d.mods.take(".noftz");  // spelled by some compilers; it is the default
  if (o == "div")
    division = d.mods.oneOf({".approx", ".full"});
  Type t = d.needType("a floating-point");
  int bytes = ptx::bytesOf(t);
  if (o == "abs" || o == "neg") {
    d.count(2, 2);
    uint32_t a = d.src(d.op(1), t);
    return emitFloat(d, o == "abs" ? FloatOp::Abs : FloatOp::Neg, t, flags, 0, {d.dst(d.op(0), bytes), a});
  }
  if (o == "mad") {
    d.count(4, 4);
    uint32_t a = d.src(d.op(1), t), b = d.src(d.op(2), t), c = d.src(d.op(3), t);
    return emitFloat(d, FloatOp::Fma, t, flags, round, {d.dst(d.op(0), bytes), a, b, c});
  }
  if ((o == "min" || o == "max") && d.operands() == 4) {
    if (t != Type::F32 || xorsign)
      d.fail("three operands exist for .f32 only");
    uint32_t s[3];
    for (size_t k = 0; k < 3; ++k) {
      s[k] = d.src(d.op(k + 1), t);
      if (magnitude) {
        uint32_t m = d.temporary(4);
        emitFloat(d, FloatOp::Abs, t, 0, 0, {m, s[k]});
        s[k] = m;
      }
    }
    return emitFloat(d, o == "min" ? (nan ? FloatOp::MinNan3 : FloatOp::Min3) : (nan ? FloatOp::MaxNan3 : FloatOp::Max3), t, flags, 0,
                     {d.dst(d.op(0), bytes), s[0], s[1], s[2]});
  }
  if (magnitude)
    d.fail("without .xorsign, .abs goes with three operands");
  d.count(3, 3);
  Type second = d.mods.type();  // add.f32.bf16: the first source is narrow
  uint32_t a, b;
  if (second != Type::None) {
    if (t != Type::F32 || (second != Type::F16 && second != Type::BF16) || (o != "add" && o != "sub"))
      d.fail("mixed precision exists for add, sub and fma of .f32 with .f16 or .bf16");
    a = mixedSource(d, d.op(1), second, t);
    b = d.src(d.op(2), t);
  } else {
    a = d.src(d.op(1), t);
    b = d.src(d.op(2), t);
  }
  FloatOp op = o == "add"   ? FloatOp::Add
               : o == "sub" ? FloatOp::Sub
               : o == "mul" ? FloatOp::Mul
               : o == "div" ? (division >= 0 ? FloatOp::DivApprox : FloatOp::Div)
               : o == "min" ? (xorsign ? (nan ? FloatOp::MinNanXorsign : FloatOp::MinXorsign) : nan ? FloatOp::MinNan : FloatOp::Min)
                            : (xorsign ? (nan ? FloatOp::MaxNanXorsign : FloatOp::MaxXorsign) : nan ? FloatOp::MaxNan : FloatOp::Max);
  emitFloat(d, op, t, flags, round, {d.dst(d.op(0), bytes), a, b});
}

void addFloat(OpcodeTable &t) {
  t.add({"sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"}, unaryFunction);
  t.add({"fma"}, fma);
  t.add({"testp"}, decodeTestp);
  t.add({"copysign"}, copysign);
}

} // namespace fovea::emulator
