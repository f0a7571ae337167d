// runtime/emulator/machine/Convert.cpp - decoding of cvt, cvt.pack and cvta.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {
namespace {

bool packed(Type t) {
  switch (t) {
  case Type::F16x2: case Type::BF16x2: case Type::E4M3x2: case Type::E5M2x2: case Type::E2M3x2: case Type::E3M2x2:
  case Type::E2M1x2: case Type::UE8M0x2:
    return true;
  default:
    return false;
  }
}

/// cvt.pack.sat.to.from.b32 d, a, b, c: a and b saturated to `to`, c shifted in from below (PTX ISA, cvt.pack).
Step pack(Warp &w, const Inst &i) {
  const int32_t *a = w.reg<int32_t>(i.r[1]), *b = w.reg<int32_t>(i.r[2]);
  const uint32_t *c = w.reg<uint32_t>(i.r[3]);
  Type to = Type(i.imm);
  int bits = int(i.r[4]);
  bool sign = to == Type::S16 || to == Type::S8 || to == Type::S4 || to == Type::S2;
  int64_t low = sign ? -(int64_t(1) << (bits - 1)) : 0, high = sign ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
  auto sat = [&](int32_t v) { return uint32_t(v < low ? low : v > high ? high : v) & ((1u << bits) - 1); };
  forLanes(w, w.reg<uint32_t>(i.r[0]), [&](int l) {
    uint32_t both = sat(a[l]) << bits | sat(b[l]);
    return bits == 16 ? both : c[l] << (2 * bits) | both;
  });
  return Step::Next;
}

void convert(Decoder &d) {
  if (d.mods.take(".pack")) {
    d.mods.take(".sat");
    Type to = d.needType("a target"), from = d.needType("a source");
    int bits = to == Type::U16 || to == Type::S16 ? 16 : to == Type::U8 || to == Type::S8 ? 8 : to == Type::U4 || to == Type::S4 ? 4 : to == Type::U2 || to == Type::S2 ? 2 : 0;
    if (from != Type::S32 || !bits)
      d.fail("cvt.pack converts .s32 to an integer of 16, 8, 4 or 2 bits");
    bool four = d.mods.type() == Type::B32;
    d.count(four ? 4 : 3, four ? 4 : 3);
    uint32_t a = d.src(d.op(1), from), b = d.src(d.op(2), from), c = four ? d.src(d.op(3), Type::B32) : d.constant(0, 4);
    uint32_t r = d.dst(d.op(0), 4);
    Inst &i = d.emit(pack);
    i.r[0] = r, i.r[1] = a, i.r[2] = b, i.r[3] = c;
    i.r[4] = uint32_t(bits);
    i.imm = uint64_t(to);
    return;
  }
  ConvertForm f;
  static const ConvertForm::Round rounds[] = {ConvertForm::Rn, ConvertForm::Rz, ConvertForm::Rm, ConvertForm::Rp, ConvertForm::Rna,
                                              ConvertForm::Rni, ConvertForm::Rzi, ConvertForm::Rmi, ConvertForm::Rpi};
  int r = d.mods.oneOf({".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi"});
  if (r >= 0)
    f.round = rounds[r];
  if (d.mods.take(".rs"))
    d.fail("stochastic rounding (.rs) is not supported: which random bits go to which element is known as a figure only; use .rn");
  f.ftz = d.mods.take(".ftz");
  f.sat = d.mods.take(".sat");
  f.satfinite = d.mods.take(".satfinite");
  f.relu = d.mods.take(".relu");
  f.to = d.needType("a target");
  f.from = d.needType("a source");
  // cvt.rn.satfinite.relu.e4m3x2.f32 may carry the saturation after the types; a third type scales (ue8m0x2).
  if (d.mods.type() != Type::None || f.to == Type::Pred || f.from == Type::Pred)
    d.fail("this form of cvt is not supported");
  bool two = packed(f.to) && f.from == Type::F32;
  d.count(two ? 3 : 2, two ? 3 : 2);
  auto target = [&]() {
    int have = 0;
    uint32_t at = d.anyRegister(d.op(0), have);
    if (d.op(0).kind == Operand::Sink)
      have = ptx::bytesOf(f.to) < 2 ? 2 : ptx::bytesOf(f.to);
    if (have < ptx::bytesOf(f.to) || have == 16)
      d.fail("the destination register is narrower than the type");
    f.targetBytes = have;
    return at;
  };
  uint32_t a, b = 0;
  if (two) {
    a = d.src(d.op(1), Type::F32);
    b = d.src(d.op(2), Type::F32);
  } else if (d.op(1).kind == Operand::Register) {
    a = d.anyRegister(d.op(1), f.sourceBytes);
    if (f.sourceBytes < ptx::bytesOf(f.from) || f.sourceBytes == 16)
      d.fail("the source register is narrower than the type");
    if ((ptx::isFloat(f.from)) && f.sourceBytes != ptx::bytesOf(f.from))
      d.fail("a floating-point source needs a register of its own width");
  } else {
    a = d.src(d.op(1), f.from);
    f.sourceBytes = ptx::bytesOf(f.from) < 2 ? 2 : ptx::bytesOf(f.from);
  }
  uint32_t at = target();
  Handler h = FOVEA_LANE_CALL(convertHandler(f));
  if (!h)
    d.fail("this conversion is not supported");
  ConvertExtra *x = d.extra<ConvertExtra>();
  x->form = f;
  Inst &i = d.emit(h);
  i.r[0] = at, i.r[1] = a, i.r[2] = b;
  i.extra = x;
}

template <class T> Step addConstant(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  T k = T(i.imm);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return T(a[l] + k); });
  return Step::Next;
}

/// Generic address = window + state-space address; global and constant memory have none.
void convertAddress(Decoder &d) {
  bool toSpace = d.mods.take(".to");
  int space = d.mods.oneOf({".global", ".const", ".shared", ".shared::cta", ".shared::cluster", ".local", ".param", ".param::entry"});
  if (space < 0)
    d.fail("'cvta' needs a state space");
  Type t = d.needType("the .u64");
  if (t != Type::U64 && t != Type::U32)
    d.fail("'cvta' takes .u64 (or .u32)");
  d.count(2, 2);
  uint64_t window = space < 2 ? 0 : space < 5 ? kSharedWindow : space == 5 ? kLocalWindow : kParamWindow;
  Operand source = d.op(1);
  uint32_t a = d.src(source, t), r = d.dst(d.op(0), ptx::bytesOf(t));
  Inst &i = d.emit(t == Type::U64 ? addConstant<uint64_t> : addConstant<uint32_t>);
  i.r[0] = r, i.r[1] = a;
  i.imm = toSpace ? 0 - window : window;
}

Step isSpace(Warp &w, const Inst &i) {
  const uint64_t *a = w.reg<uint64_t>(i.r[1]);
  uint32_t &r = w.pred(i.r[0]);
  r = maskLanes(w, r, [&](int l) { return (a[l] & kWindowMask) == i.imm; });
  return Step::Next;
}
void decodeIsSpace(Decoder &d) {
  int space = d.mods.oneOf({".global", ".const", ".shared", ".shared::cta", ".shared::cluster", ".local", ".param", ".param::entry"});
  if (space < 0)
    d.fail("'isspacep' needs a state space");
  d.count(2, 2);
  uint32_t a = d.src(d.op(1), Type::U64), r = d.dstPred(d.op(0));
  Inst &i = d.emit(isSpace);
  i.r[0] = r, i.r[1] = a;
  i.imm = space < 2 ? 0 : space < 5 ? kSharedWindow : space == 5 ? kLocalWindow : kParamWindow;
}

} // namespace

void addConvert(OpcodeTable &t) {
  t.add({"cvt"}, convert);
  t.add({"cvta"}, convertAddress);
  t.add({"isspacep"}, decodeIsSpace);
}

} // namespace fovea::emulator
