// runtime/emulator/machine/FloatLanes.cpp - floating-point arithmetic over 32 lanes; once per host instruction set.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/tensor/Approximate.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>
#include <cstring>

namespace fovea::emulator::FOVEA_LANES {
namespace {

using ptx::Type;

inline float f32(uint32_t b) { float f; std::memcpy(&f, &b, 4); return f; }
inline double f64(uint64_t b) { double f; std::memcpy(&f, &b, 8); return f; }

// A NaN result is the canonical one (PTX ISA, "Floating-Point": NaN payloads are not kept in f32).
inline float canonical(float v) { return v == v ? v : f32(0x7fffffff); }
inline double canonical(double v) { return v == v ? v : f64(0x7fffffffffffffff); }
inline float flush(float v) { return std::fabs(v) < 1.17549435e-38f ? std::copysign(0.0f, v) : v; }
inline double flush(double v) { return v; }
template <bool Ftz, class T> T in(T v) { return Ftz ? flush(v) : v; }
template <unsigned Flags, class T> T out(T v) {
  if (Flags & Ftz)
    v = flush(v);
  if (Flags & Sat)
    return v > 0 ? (v < 1 ? v : T(1)) : T(0);  // NaN saturates to +0
  return canonical(v);
}

struct Add { template <class T> static T f(T a, T b) { return a + b; } };
struct Sub { template <class T> static T f(T a, T b) { return a - b; } };
struct Mul { template <class T> static T f(T a, T b) { return a * b; } };
struct Div { template <class T> static T f(T a, T b) { return a / b; } };
inline bool negative(float v) { return std::signbit(v); }
inline bool negative(double v) { return std::signbit(v); }
struct Min { template <class T> static T f(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b < a ? b : negative(a) ? a : b; } };
struct Max { template <class T> static T f(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b > a ? b : negative(a) ? b : a; } };
struct MinNan { template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : Min::f(a, b); } };
struct MaxNan { template <class T> static T f(T a, T b) { return a != a ? a : b != b ? b : Max::f(a, b); } };
template <class F> struct Xorsign {
  template <class T> static T f(T a, T b) {
    T m = F::f(T(std::fabs(a)), T(std::fabs(b)));
    return m != m ? m : negative(a) != negative(b) ? -m : m;
  }
};

template <class T, class F, unsigned Flags> Step binary(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return out<Flags>(T(F::f(in<(Flags & Ftz) != 0>(a[l]), in<(Flags & Ftz) != 0>(b[l])))); });
  return Step::Next;
}
template <class F, unsigned Flags> Handler floatBinary(Type t) {
  return t == Type::F32 ? binary<float, F, Flags> : t == Type::F64 && !(Flags & Ftz) ? binary<double, F, Flags> : nullptr;
}
inline float fusedMultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fusedMultiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class T, unsigned Flags, bool Relu = false> Step fma(Warp &w, const Inst &i) {
  constexpr bool z = (Flags & Ftz) != 0;
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]), *c = w.reg<T>(i.r[3]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    T v = fusedMultiplyAdd(in<z>(a[l]), in<z>(b[l]), in<z>(c[l]));
    return out<Flags>(Relu && v < 0 ? T(0) : v);
  });
  return Step::Next;
}
template <class F, unsigned Flags> Step three(Warp &w, const Inst &i) {
  constexpr bool z = (Flags & Ftz) != 0;
  const float *a = w.reg<float>(i.r[1]), *b = w.reg<float>(i.r[2]), *c = w.reg<float>(i.r[3]);
  forLanes(w, w.reg<float>(i.r[0]), [=](int l) { return out<Flags>(F::f(F::f(in<z>(a[l]), in<z>(b[l])), in<z>(c[l]))); });
  return Step::Next;
}

// Two f32 in a 64-bit register.
template <class F> Step pairOf(Warp &w, const Inst &i, F f) {
  const float *a = w.reg<float>(i.r[1]), *b = w.reg<float>(i.r[2]), *c = w.reg<float>(i.r[3]);
  float *d = w.reg<float>(i.r[0]);
  if (w.active == kAllLanes) {
    for (int l = 0; l < 64; ++l)
      d[l] = f(a[l], b[l], c[l]);
  } else {
    for (int l = 0; l < 64; ++l)
      if (w.active & kLaneBit[l >> 1])
        d[l] = f(a[l], b[l], c[l]);
  }
  return Step::Next;
}
template <class F, unsigned Flags> Step binaryX2(Warp &w, const Inst &i) {
  constexpr bool z = (Flags & Ftz) != 0;
  return pairOf(w, i, [](float a, float b, float) { return out<Flags>(F::f(in<z>(a), in<z>(b))); });
}
template <unsigned Flags> Step fmaX2(Warp &w, const Inst &i) {
  constexpr bool z = (Flags & Ftz) != 0;
  return pairOf(w, i, [](float a, float b, float c) { return out<Flags>(fusedMultiplyAdd(in<z>(a), in<z>(b), in<z>(c))); });
}

// 16-bit formats, computed in f32 (add, mul: one rounding is enough) or f64 (fma).
template <bool Bf> struct Small {
  static float load(uint16_t v) { return Bf ? bf16ToFloat(v) : f16ToFloat(v); }
  static uint16_t store(float v) { return Bf ? floatToBf16(v) : floatToF16(v); }
  static uint16_t storeExact(double v) { return uint16_t(encode(Bf ? Format::BF16 : Format::F16, v)); }
  static float flush16(float v) { return std::fabs(v) < (Bf ? 1.17549435e-38f : 6.103515625e-05f) ? std::copysign(0.0f, v) : v; }
};
template <bool Bf, class F, unsigned Flags> uint16_t small2(uint16_t a, uint16_t b) {
  using S = Small<Bf>;
  float x = S::load(a), y = S::load(b);
  if (Flags & Ftz)
    x = S::flush16(x), y = S::flush16(y);
  float v = F::f(x, y);
  if (Flags & Sat)
    v = v > 0 ? (v < 1 ? v : 1.0f) : 0.0f;
  if (Flags & Ftz)
    v = S::flush16(v);
  return S::store(v);
}
/// a + b in f64, a lost part kept as a set last bit (round to odd), so that a second rounding to 16 bits is the only one.
inline double sumToOdd(double a, double b) {
  double s = a + b, part = s - a, lost = (a - (s - part)) + (b - part);
  uint64_t bits;
  std::memcpy(&bits, &s, 8);
  if (std::isfinite(s) && lost != 0 && !(bits & 1))
    s = std::nextafter(s, lost > 0 ? INFINITY : -INFINITY);
  return s;
}
template <bool Bf, unsigned Flags, bool Relu> uint16_t smallFma(uint16_t a, uint16_t b, uint16_t c) {
  using S = Small<Bf>;
  float x = S::load(a), y = S::load(b), z = S::load(c);
  if (Flags & Ftz)
    x = S::flush16(x), y = S::flush16(y), z = S::flush16(z);
  double v = sumToOdd(double(x) * double(y), double(z));  // the product is exact
  if (Relu && v < 0)
    v = 0;
  if (Flags & Sat)
    v = v > 0 ? (v < 1 ? v : 1.0) : 0.0;
  uint16_t r = S::storeExact(v);
  return Flags & Ftz ? S::store(S::flush16(S::load(r))) : r;
}
template <bool Bf, class F, unsigned Flags> Step binary16(Warp &w, const Inst &i) {
  const uint16_t *a = w.reg<uint16_t>(i.r[1]), *b = w.reg<uint16_t>(i.r[2]);
  forLanes(w, w.reg<uint16_t>(i.r[0]), [=](int l) { return small2<Bf, F, Flags>(a[l], b[l]); });
  return Step::Next;
}
template <bool Bf, class F, unsigned Flags> Step binary16x2(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    return uint32_t(small2<Bf, F, Flags>(uint16_t(a[l]), uint16_t(b[l]))) | uint32_t(small2<Bf, F, Flags>(uint16_t(a[l] >> 16), uint16_t(b[l] >> 16))) << 16;
  });
  return Step::Next;
}
template <bool Bf, unsigned Flags, bool Relu> Step fma16(Warp &w, const Inst &i) {
  const uint16_t *a = w.reg<uint16_t>(i.r[1]), *b = w.reg<uint16_t>(i.r[2]), *c = w.reg<uint16_t>(i.r[3]);
  forLanes(w, w.reg<uint16_t>(i.r[0]), [=](int l) { return smallFma<Bf, Flags, Relu>(a[l], b[l], c[l]); });
  return Step::Next;
}
template <bool Bf, unsigned Flags, bool Relu> Step fma16x2(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    return uint32_t(smallFma<Bf, Flags, Relu>(uint16_t(a[l]), uint16_t(b[l]), uint16_t(c[l]))) |
           uint32_t(smallFma<Bf, Flags, Relu>(uint16_t(a[l] >> 16), uint16_t(b[l] >> 16), uint16_t(c[l] >> 16))) << 16;
  });
  return Step::Next;
}
template <class F> Handler small(Type t, unsigned flags) {
#define SMALL(FLAGS)                                                                                                   \
  if (flags == FLAGS) {                                                                                                \
    switch (t) {                                                                                                       \
    case Type::F16: return binary16<false, F, FLAGS>;                                                                  \
    case Type::BF16: return binary16<true, F, FLAGS>;                                                                  \
    case Type::F16x2: return binary16x2<false, F, FLAGS>;                                                              \
    case Type::BF16x2: return binary16x2<true, F, FLAGS>;                                                              \
    default: return nullptr;                                                                                           \
    }                                                                                                                  \
  }
  SMALL(0) SMALL(1) SMALL(2) SMALL(3)
#undef SMALL
  return nullptr;
}
template <bool Relu> Handler smallFmas(Type t, unsigned flags) {
#define SMALL(FLAGS)                                                                                                   \
  if (flags == FLAGS) {                                                                                                \
    switch (t) {                                                                                                       \
    case Type::F16: return fma16<false, FLAGS, Relu>;                                                                  \
    case Type::BF16: return fma16<true, FLAGS, Relu>;                                                                  \
    case Type::F16x2: return fma16x2<false, FLAGS, Relu>;                                                              \
    case Type::BF16x2: return fma16x2<true, FLAGS, Relu>;                                                              \
    default: return nullptr;                                                                                           \
    }                                                                                                                  \
  }
  SMALL(0) SMALL(1) SMALL(2) SMALL(3)
#undef SMALL
  return nullptr;
}
template <class F> Handler binaryAll(Type t, unsigned flags) {
  if (t == Type::F32x2)
    return flags == 0 ? binaryX2<F, 0> : flags == Ftz ? binaryX2<F, Ftz> : nullptr;
  if (t != Type::F32 && t != Type::F64)
    return small<F>(t, flags);
  switch (flags) {
  case 0: return floatBinary<F, 0>(t);
  case 1: return floatBinary<F, 1>(t);
  case 2: return t == Type::F32 ? floatBinary<F, 2>(t) : nullptr;
  default: return t == Type::F32 ? floatBinary<F, 3>(t) : nullptr;
  }
}

// The sign of a, all other bits of b: NaN payloads are kept.
template <class T, T SignBit> Step copySign(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return T((a[l] & SignBit) | (b[l] & T(~SignBit))); });
  return Step::Next;
}

// One operand. Bit operations keep NaN payloads.
template <class T, T SignBit, bool Negate> Step signOf(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return T(Negate ? a[l] ^ SignBit : a[l] & T(~SignBit)); });
  return Step::Next;
}
template <bool Negate> Step signFtz(Warp &w, const Inst &i) {
  const float *a = w.reg<float>(i.r[1]);
  forLanes(w, w.reg<float>(i.r[0]), [=](int l) { float v = flush(a[l]); return Negate ? -v : std::fabs(v); });
  return Step::Next;
}
template <bool Negate> Handler signs(Type t, unsigned flags) {
  switch (t) {
  case Type::F32: return flags & Ftz ? signFtz<Negate> : signOf<uint32_t, 0x80000000u, Negate>;
  case Type::F64: return signOf<uint64_t, uint64_t(1) << 63, Negate>;
  case Type::F16: case Type::BF16: return signOf<uint16_t, 0x8000, Negate>;
  case Type::F16x2: case Type::BF16x2: return signOf<uint32_t, 0x80008000u, Negate>;
  default: return nullptr;
  }
}
template <float (*F)(float, bool), bool Z> Step unaryApprox(Warp &w, const Inst &i) {
  const float *a = w.reg<float>(i.r[1]);
  float *d = w.reg<float>(i.r[0]);
  eachLane(w.active, [&](int l) { d[l] = F(a[l], Z); });
  return Step::Next;
}
template <float (*F)(float, bool)> Handler approx(unsigned flags) { return flags & Ftz ? unaryApprox<F, true> : unaryApprox<F, false>; }

/// 2^x by a degree-9 polynomial in f64, rounded once: good to an ulp of f32 and vectorisable.
inline float exp2Lane(float x, bool ftz) {
  float c = x < -200.0f ? -200.0f : x > 200.0f ? 200.0f : x;
  c = c == c ? c : 0.0f;
  double v = c, magic = v + 6755399441055744.0;  // 1.5 * 2^52: rounds to an integer in the low bits
  double f = v - (magic - 6755399441055744.0);
  double p = 1.0178086009239699e-07;
  p = p * f + 1.3215486790144307e-06;
  p = p * f + 1.5252733804059841e-05;
  p = p * f + 1.5403530393381606e-04;
  p = p * f + 1.3333558146428443e-03;
  p = p * f + 9.6181291076284772e-03;
  p = p * f + 5.5504108664821580e-02;
  p = p * f + 2.4022650695910071e-01;
  p = p * f + 6.9314718055994531e-01;
  p = p * f + 1.0;
  uint64_t n, bits;
  std::memcpy(&n, &magic, 8);
  std::memcpy(&bits, &p, 8);
  bits += n << 52;
  double r;
  std::memcpy(&r, &bits, 8);
  float y = float(r);
  if (ftz)
    y = y < 1.17549435e-38f ? 0.0f : y;
  return x == x ? y : f32(0x7fffffff);
}
template <bool Z> Step ex2(Warp &w, const Inst &i) {
  const float *a = w.reg<float>(i.r[1]);
  forLanes(w, w.reg<float>(i.r[0]), [=](int l) { return exp2Lane(Z ? flush(a[l]) : a[l], Z); });
  return Step::Next;
}
template <uint16_t (*F)(uint16_t)> Step unary16(Warp &w, const Inst &i) {
  const uint16_t *a = w.reg<uint16_t>(i.r[1]);
  uint16_t *d = w.reg<uint16_t>(i.r[0]);
  eachLane(w.active, [&](int l) { d[l] = F(a[l]); });
  return Step::Next;
}
template <uint16_t (*F)(uint16_t)> Step unary16x2(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]);
  uint32_t *d = w.reg<uint32_t>(i.r[0]);
  eachLane(w.active, [&](int l) { d[l] = uint32_t(F(uint16_t(a[l]))) | uint32_t(F(uint16_t(a[l] >> 16))) << 16; });
  return Step::Next;
}
float tanhLane(float x, bool) { return tanhApprox(x); }
template <class T, unsigned Flags, class F> Step unary(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return out<Flags>(T(F::f(in<(Flags & Ftz) != 0>(a[l])))); });
  return Step::Next;
}
struct Sqrt { template <class T> static T f(T a) { return std::sqrt(a); } };
struct Rcp { template <class T> static T f(T a) { return T(1) / a; } };
struct Rsqrt { static double f(double a) { return 1.0 / std::sqrt(a); } };
template <class F> Handler unaryRounded(Type t, unsigned flags) {
  return t == Type::F64 ? unary<double, 0, F> : t != Type::F32 ? nullptr : flags & Ftz ? unary<float, Ftz, F> : unary<float, 0, F>;
}
template <bool Z> Step divApproximate(Warp &w, const Inst &i) {
  const float *a = w.reg<float>(i.r[1]), *b = w.reg<float>(i.r[2]);
  float *d = w.reg<float>(i.r[0]);
  eachLane(w.active, [&](int l) { d[l] = divApprox(a[l], b[l], Z); });
  return Step::Next;
}

} // namespace

Handler floatHandler(FloatOp op, Type t, unsigned flags) {
  bool f = t == Type::F32, d = t == Type::F64;
  switch (op) {
  case FloatOp::Add: return binaryAll<Add>(t, flags);
  case FloatOp::Sub: return binaryAll<Sub>(t, flags);
  case FloatOp::Mul: return binaryAll<Mul>(t, flags);
  case FloatOp::Min: return binaryAll<Min>(t, flags);
  case FloatOp::Max: return binaryAll<Max>(t, flags);
  case FloatOp::MinNan: return d ? nullptr : binaryAll<MinNan>(t, flags);
  case FloatOp::MaxNan: return d ? nullptr : binaryAll<MaxNan>(t, flags);
  case FloatOp::MinXorsign: return d ? nullptr : binaryAll<Xorsign<Min>>(t, flags);
  case FloatOp::MaxXorsign: return d ? nullptr : binaryAll<Xorsign<Max>>(t, flags);
  case FloatOp::MinNanXorsign: return d ? nullptr : binaryAll<Xorsign<MinNan>>(t, flags);
  case FloatOp::MaxNanXorsign: return d ? nullptr : binaryAll<Xorsign<MaxNan>>(t, flags);
  case FloatOp::Min3: return !f ? nullptr : flags & Ftz ? three<Min, 1> : three<Min, 0>;
  case FloatOp::Max3: return !f ? nullptr : flags & Ftz ? three<Max, 1> : three<Max, 0>;
  case FloatOp::MinNan3: return !f ? nullptr : flags & Ftz ? three<MinNan, 1> : three<MinNan, 0>;
  case FloatOp::MaxNan3: return !f ? nullptr : flags & Ftz ? three<MaxNan, 1> : three<MaxNan, 0>;
  case FloatOp::Fma:
    if (t == Type::F32x2)
      return flags & Ftz ? fmaX2<1> : fmaX2<0>;
    if (f)
      return flags == 0 ? fma<float, 0> : flags == 1 ? fma<float, 1> : flags == 2 ? fma<float, 2> : fma<float, 3>;
    return d ? fma<double, 0> : smallFmas<false>(t, flags);
  case FloatOp::FmaRelu: return smallFmas<true>(t, flags);
  case FloatOp::Div: return f ? (flags & Ftz ? floatBinary<Div, 1>(t) : floatBinary<Div, 0>(t)) : d ? floatBinary<Div, 0>(t) : nullptr;
  case FloatOp::DivApprox: return !f ? nullptr : flags & Ftz ? divApproximate<true> : divApproximate<false>;
  case FloatOp::Abs: return signs<false>(t, flags);
  case FloatOp::Neg: return signs<true>(t, flags);
  case FloatOp::Sqrt: return unaryRounded<Sqrt>(t, flags);
  case FloatOp::Rcp: return unaryRounded<Rcp>(t, flags);
  case FloatOp::SqrtApprox: return f ? approx<sqrtApprox>(flags) : nullptr;
  case FloatOp::RcpApprox: return f ? approx<rcpApprox>(flags) : d ? unary<double, 0, Rcp> : nullptr;
  case FloatOp::RsqrtApprox: return f ? approx<rsqrtApprox>(flags) : d ? unary<double, 0, Rsqrt> : nullptr;
  case FloatOp::Ex2:
    return f ? (flags & Ftz ? ex2<true> : ex2<false>) : t == Type::F16 ? unary16<ex2ApproxF16> : t == Type::F16x2 ? unary16x2<ex2ApproxF16>
           : t == Type::BF16 ? unary16<ex2ApproxBf16Ftz> : t == Type::BF16x2 ? unary16x2<ex2ApproxBf16Ftz> : nullptr;
  case FloatOp::Lg2: return f ? approx<lg2Approx>(flags) : nullptr;
  case FloatOp::Sin: return f ? approx<sinApprox>(flags) : nullptr;
  case FloatOp::Cos: return f ? approx<cosApprox>(flags) : nullptr;
  case FloatOp::Tanh:
    return f ? unaryApprox<tanhLane, false> : t == Type::F16 ? unary16<tanhApproxF16> : t == Type::F16x2 ? unary16x2<tanhApproxF16>
           : t == Type::BF16 ? unary16<tanhApproxBf16> : t == Type::BF16x2 ? unary16x2<tanhApproxBf16> : nullptr;
  case FloatOp::Copysign: return f ? copySign<uint32_t, 0x80000000u> : d ? copySign<uint64_t, uint64_t(1) << 63> : nullptr;
  }
  return nullptr;
}

} // namespace fovea::emulator::FOVEA_LANES
