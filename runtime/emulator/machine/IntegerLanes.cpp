// runtime/emulator/machine/IntegerLanes.cpp - integer arithmetic over 32 lanes; compiled once per host instruction set.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Machine.h"
#include <type_traits>

namespace fovea::emulator::FOVEA_LANES {
namespace {

using ptx::Type;

template <class T> struct Wider;
template <> struct Wider<uint16_t> { using type = uint32_t; };
template <> struct Wider<int16_t> { using type = int32_t; };
template <> struct Wider<uint32_t> { using type = uint64_t; };
template <> struct Wider<int32_t> { using type = int64_t; };
template <> struct Wider<uint64_t> { using type = unsigned __int128; };
template <> struct Wider<int64_t> { using type = __int128; };
template <class T> using Wide = typename Wider<T>::type;
template <class T> using U = std::make_unsigned_t<T>;
template <class T> constexpr int bitsOf = int(sizeof(T) * 8);

#define UNARY(NAME, EXPR) struct NAME { template <class T> static T f(T a) { return T(EXPR); } };
#define BINARY(NAME, EXPR) struct NAME { template <class T> static T f(T a, T b) { return T(EXPR); } };
UNARY(Abs, a < 0 ? U<T>(0) - U<T>(a) : U<T>(a))
UNARY(Neg, U<T>(0) - U<T>(a))
UNARY(Not, ~a)
UNARY(Cnot, a == 0)
BINARY(Add, U<T>(a) + U<T>(b))
BINARY(Sub, U<T>(a) - U<T>(b))
BINARY(MulLo, uint64_t(a) * uint64_t(b))
BINARY(MulHi, (Wide<T>(a) * Wide<T>(b)) >> bitsOf<T>)
// Division by zero gives all ones, as the machine does; the most negative number by -1 wraps.
BINARY(Div, b == 0 ? T(-1) : (std::is_signed<T>::value && b == T(-1)) ? T(U<T>(0) - U<T>(a)) : T(a / (b == 0 ? T(1) : b)))
BINARY(Rem, b == 0 ? a : (std::is_signed<T>::value && b == T(-1)) ? T(0) : T(a % (b == 0 ? T(1) : b)))
BINARY(Min, a < b ? a : b)
BINARY(Max, a > b ? a : b)
BINARY(MinRelu, (a < b ? a : b) < 0 ? T(0) : (a < b ? a : b))
BINARY(MaxRelu, (a > b ? a : b) < 0 ? T(0) : (a > b ? a : b))
BINARY(And, a & b)
BINARY(Or, a | b)
BINARY(Xor, a ^ b)

template <class T> T saturate(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : T(v); }
BINARY(AddSat, saturate<T>(int64_t(a) + int64_t(b)))
BINARY(SubSat, saturate<T>(int64_t(a) - int64_t(b)))
template <class T> int64_t low24(T a) { return std::is_signed<T>::value ? int64_t(int32_t(uint32_t(a) << 8) >> 8) : int64_t(uint32_t(a) & 0xffffff); }
BINARY(Mul24Lo, low24(a) * low24(b))
BINARY(Mul24Hi, (low24(a) * low24(b)) >> 16)

template <class T, class F> Step unary(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return F::f(a[l]); });
  return Step::Next;
}
template <class T, class F> Step binary(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return F::f(a[l], b[l]); });
  return Step::Next;
}
template <class T> Step mulWide(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  forLanes(w, w.reg<Wide<T>>(i.r[0]), [=](int l) { return Wide<T>(Wide<T>(a[l]) * Wide<T>(b[l])); });
  return Step::Next;
}
template <class T> Step madWide(Warp &w, const Inst &i) {
  using V = U<Wide<T>>;
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  const V *c = w.reg<V>(i.r[3]);
  forLanes(w, w.reg<V>(i.r[0]), [=](int l) { return V(V(Wide<T>(a[l]) * Wide<T>(b[l])) + c[l]); });
  return Step::Next;
}
template <class T, class F> Step mad(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]), *c = w.reg<T>(i.r[3]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return T(U<T>(F::f(a[l], b[l])) + U<T>(c[l])); });
  return Step::Next;
}
struct MadHiSat {
  static Step run(Warp &w, const Inst &i) {
    const int32_t *a = w.reg<int32_t>(i.r[1]), *b = w.reg<int32_t>(i.r[2]), *c = w.reg<int32_t>(i.r[3]);
    forLanes(w, w.reg<int32_t>(i.r[0]), [=](int l) { return saturate<int32_t>(int64_t(MulHi::f(a[l], b[l])) + c[l]); });
    return Step::Next;
  }
};
template <class T> Step sad(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]), *c = w.reg<T>(i.r[3]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return T(U<T>(c[l]) + (a[l] < b[l] ? U<T>(b[l]) - U<T>(a[l]) : U<T>(a[l]) - U<T>(b[l]))); });
  return Step::Next;
}
template <class T> Step shl(Warp &w, const Inst &i) {
  const U<T> *a = w.reg<U<T>>(i.r[1]);
  const uint32_t *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<U<T>>(i.r[0]), [=](int l) { return b[l] >= bitsOf<T> ? U<T>(0) : U<T>(a[l] << (b[l] & (bitsOf<T> - 1))); });
  return Step::Next;
}
template <class T> Step shr(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  const uint32_t *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    return b[l] >= bitsOf<T> ? T(a[l] < 0 ? -1 : 0) : T(a[l] >> (b[l] & (bitsOf<T> - 1)));
  });
  return Step::Next;
}

template <class T, class F> Step toU32(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) { return F::f(a[l]); });
  return Step::Next;
}
struct Popc { template <class T> static uint32_t f(T a) { return uint32_t(__builtin_popcountll(uint64_t(a))); } };
struct Clz { template <class T> static uint32_t f(T a) { return a ? uint32_t(__builtin_clzll(uint64_t(a))) - (64 - bitsOf<T>) : bitsOf<T>; } };
template <bool Shift> struct Bfind {
  template <class T> static uint32_t f(T a) {
    uint64_t v = std::is_signed<T>::value && a < 0 ? uint64_t(U<T>(~a)) : uint64_t(U<T>(a));
    if (!v)
      return ~0u;
    uint32_t p = 63 - uint32_t(__builtin_clzll(v));
    return Shift ? uint32_t(bitsOf<T>) - 1 - p : p;
  }
};
struct Brev {
  template <class T> static T f(T a) {
    uint64_t v = uint64_t(a), r = 0;
    for (int k = 0; k < bitsOf<T>; ++k)
      r |= ((v >> k) & 1) << (bitsOf<T> - 1 - k);
    return T(r);
  }
};
template <class T> Step bfe(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  const uint32_t *p = w.reg<uint32_t>(i.r[2]), *n = w.reg<uint32_t>(i.r[3]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    // PTX ISA, bfe: positions and lengths are 8-bit; bits beyond the top are the sign (signed) or zero.
    unsigned pos = p[l] & 0xff, len = n[l] & 0xff;
    if (!len)
      return T(0);
    T v = pos >= unsigned(bitsOf<T>) ? T(a[l] < 0 ? -1 : 0) : T(a[l] >> pos);
    if (len >= unsigned(bitsOf<T>))
      return v;
    if (std::is_signed<T>::value) {
      unsigned top = pos + len - 1 < unsigned(bitsOf<T>) ? pos + len - 1 : unsigned(bitsOf<T>) - 1;
      bool sign = (U<T>(a[l]) >> top) & 1;
      U<T> m = (U<T>(1) << len) - 1;
      return T(sign ? U<T>(v) | ~m : U<T>(v) & m);
    }
    return T(U<T>(v) & ((U<T>(1) << len) - 1));
  });
  return Step::Next;
}
template <class T> Step bfi(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  const uint32_t *p = w.reg<uint32_t>(i.r[3]), *n = w.reg<uint32_t>(i.r[4]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    unsigned pos = p[l] & 0xff, len = n[l] & 0xff;
    if (!len || pos >= unsigned(bitsOf<T>))
      return b[l];
    T m = len >= unsigned(bitsOf<T>) ? T(~T(0)) : T((T(1) << len) - 1);
    m = T(m << pos);
    return T((b[l] & ~m) | (T(a[l] << pos) & m));
  });
  return Step::Next;
}
Step prmt(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  unsigned mode = unsigned(i.imm);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint64_t v = uint64_t(b[l]) << 32 | a[l];
    uint32_t r = 0, s = c[l];
    for (unsigned k = 0; k < 4; ++k) {
      unsigned pick;
      bool sign = false;
      switch (mode) {
      case 0: pick = (s >> (4 * k)) & 7; sign = (s >> (4 * k)) & 8; break;
      case 1: pick = ((s & 3) + k) & 7; break;                       // f4e
      case 2: pick = ((s & 3) - k) & 7; break;                       // b4e
      case 3: pick = s & 3; break;                                   // rc8
      case 4: pick = k > (s & 3) ? k : (s & 3); break;               // ecl
      case 5: pick = k < (s & 3) ? k : (s & 3); break;               // ecr
      default: pick = ((s & 1) << 1) + (k & 1); break;               // rc16
      }
      uint32_t byte = uint32_t(v >> (8 * pick)) & 0xff;
      if (sign)
        byte = byte & 0x80 ? 0xff : 0;
      r |= byte << (8 * k);
    }
    return r;
  });
  return Step::Next;
}
Step lop3(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  uint32_t m[8];
  for (int k = 0; k < 8; ++k)
    m[k] = (i.imm >> k) & 1 ? ~0u : 0;
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint32_t x = a[l], y = b[l], z = c[l];
    return (m[0] & ~x & ~y & ~z) | (m[1] & ~x & ~y & z) | (m[2] & ~x & y & ~z) | (m[3] & ~x & y & z) |
           (m[4] & x & ~y & ~z) | (m[5] & x & ~y & z) | (m[6] & x & y & ~z) | (m[7] & x & y & z);
  });
  return Step::Next;
}
template <bool Left, bool Clamp> Step shf(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint64_t v = uint64_t(b[l]) << 32 | a[l];
    uint32_t n = Clamp ? (c[l] > 32 ? 32 : c[l]) : c[l] & 31;
    return Left ? uint32_t((v << n) >> 32) : uint32_t(v >> n);
  });
  return Step::Next;
}
template <bool ASigned, bool BSigned> Step dp4a(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint32_t s = c[l];
    for (int k = 0; k < 32; k += 8) {
      int32_t x = ASigned ? int8_t(a[l] >> k) : uint8_t(a[l] >> k), y = BSigned ? int8_t(b[l] >> k) : uint8_t(b[l] >> k);
      s += uint32_t(x * y);
    }
    return s;
  });
  return Step::Next;
}
template <bool ASigned, bool BSigned, bool High> Step dp2a(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint32_t s = c[l], bytes = High ? b[l] >> 16 : b[l];
    for (int k = 0; k < 2; ++k) {
      int32_t x = ASigned ? int16_t(a[l] >> 16 * k) : uint16_t(a[l] >> 16 * k);
      int32_t y = BSigned ? int8_t(bytes >> 8 * k) : uint8_t(bytes >> 8 * k);
      s += uint32_t(x * y);
    }
    return s;
  });
  return Step::Next;
}
template <bool High> Handler dp2as(Type t) {
  return t == Type::U32 ? dp2a<false, false, High> : t == Type::S32 ? dp2a<true, true, High>
         : t == Type::U16 ? dp2a<false, true, High> : t == Type::S16 ? dp2a<true, false, High> : nullptr;
}
template <class F, class H> Step pairs(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    return uint32_t(uint16_t(F::f(H(a[l]), H(b[l])))) | uint32_t(uint16_t(F::f(H(a[l] >> 16), H(b[l] >> 16)))) << 16;
  });
  return Step::Next;
}
template <bool Wrap> Step bmsk(Warp &w, const Inst &i) {
  const uint32_t *a = w.reg<uint32_t>(i.r[1]), *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    uint32_t p = Wrap ? a[l] & 31 : a[l], n = Wrap ? b[l] & 31 : b[l];
    if (p >= 32 || !n)
      return 0u;
    return uint32_t((n >= 32 ? ~0u : (1u << n) - 1) << p);
  });
  return Step::Next;
}
template <class T, bool Wrap> Step szext(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  const uint32_t *b = w.reg<uint32_t>(i.r[2]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) {
    uint32_t n = Wrap ? b[l] & 31 : b[l];
    if (n >= 32)
      return a[l];
    if (!n)
      return T(0);
    return T(T(U<T>(a[l]) << (32 - n)) >> (32 - n));
  });
  return Step::Next;
}

template <class F> Handler byType(Type t, bool small = true) {
  switch (t) {
  case Type::U16: case Type::B16: return small ? binary<uint16_t, F> : nullptr;
  case Type::S16: return small ? binary<int16_t, F> : nullptr;
  case Type::U32: case Type::B32: return binary<uint32_t, F>;
  case Type::S32: return binary<int32_t, F>;
  case Type::U64: case Type::B64: return binary<uint64_t, F>;
  case Type::S64: return binary<int64_t, F>;
  default: return nullptr;
  }
}
#define BY_TYPE(FN)                                                                                                    \
  switch (t) {                                                                                                         \
  case Type::U16: return FN<uint16_t>;                                                                                 \
  case Type::S16: return FN<int16_t>;                                                                                  \
  case Type::U32: return FN<uint32_t>;                                                                                 \
  case Type::S32: return FN<int32_t>;                                                                                  \
  case Type::U64: return FN<uint64_t>;                                                                                 \
  case Type::S64: return FN<int64_t>;                                                                                  \
  default: return nullptr;                                                                                             \
  }
#define BY_TYPE_SMALL(FN)                                                                                              \
  switch (t) {                                                                                                         \
  case Type::U16: return FN<uint16_t>;                                                                                 \
  case Type::S16: return FN<int16_t>;                                                                                  \
  case Type::U32: return FN<uint32_t>;                                                                                 \
  case Type::S32: return FN<int32_t>;                                                                                  \
  default: return nullptr;                                                                                             \
  }
#define BY_TYPE_BITS(FN)                                                                                               \
  switch (t) {                                                                                                         \
  case Type::U16: case Type::B16: return FN<uint16_t>;                                                                 \
  case Type::S16: return FN<int16_t>;                                                                                  \
  case Type::U32: case Type::B32: return FN<uint32_t>;                                                                 \
  case Type::S32: return FN<int32_t>;                                                                                  \
  case Type::U64: case Type::B64: return FN<uint64_t>;                                                                 \
  case Type::S64: return FN<int64_t>;                                                                                  \
  default: return nullptr;                                                                                             \
  }
#define BY_TYPE_WIDE(FN)                                                                                               \
  switch (t) {                                                                                                         \
  case Type::U32: return FN<uint32_t>;                                                                                 \
  case Type::S32: return FN<int32_t>;                                                                                  \
  case Type::U64: return FN<uint64_t>;                                                                                 \
  case Type::S64: return FN<int64_t>;                                                                                  \
  default: return nullptr;                                                                                             \
  }
template <class T> constexpr Handler madLo = mad<T, MulLo>;
template <class T> constexpr Handler madHi = mad<T, MulHi>;
template <class T> constexpr Handler absT = unary<T, Abs>;
template <class T> constexpr Handler negT = unary<T, Neg>;
template <class T> constexpr Handler notT = unary<T, Not>;
template <class T> constexpr Handler cnotT = unary<T, Cnot>;

} // namespace

Handler integerHandler(IntOp op, Type t) {
  bool b32 = t == Type::B32 || t == Type::U32, b64 = t == Type::B64 || t == Type::U64;
  switch (op) {
  case IntOp::Add: return byType<Add>(t);
  case IntOp::Sub: return byType<Sub>(t);
  case IntOp::MulLo: return byType<MulLo>(t);
  case IntOp::MulHi: return byType<MulHi>(t);
  case IntOp::MulWide: BY_TYPE_SMALL(mulWide)
  case IntOp::MadWide: BY_TYPE_SMALL(madWide)
  case IntOp::MadLo: BY_TYPE(madLo)
  case IntOp::MadHi: BY_TYPE(madHi)
  case IntOp::MadHiSat: return t == Type::S32 ? MadHiSat::run : nullptr;
  case IntOp::Div: return byType<Div>(t);
  case IntOp::Rem: return byType<Rem>(t);
  case IntOp::Min: return byType<Min>(t);
  case IntOp::Max: return byType<Max>(t);
  case IntOp::MinRelu: return t == Type::S32 ? binary<int32_t, MinRelu> : t == Type::S16x2 ? pairs<MinRelu, int16_t> : nullptr;
  case IntOp::MaxRelu: return t == Type::S32 ? binary<int32_t, MaxRelu> : t == Type::S16x2 ? pairs<MaxRelu, int16_t> : nullptr;
  case IntOp::Abs: BY_TYPE(absT)
  case IntOp::Neg: BY_TYPE(negT)
  case IntOp::And: return byType<And>(t);
  case IntOp::Or: return byType<Or>(t);
  case IntOp::Xor: return byType<Xor>(t);
  case IntOp::Not: BY_TYPE_BITS(notT)
  case IntOp::Cnot: BY_TYPE_BITS(cnotT)
  case IntOp::Shl: BY_TYPE_BITS(shl)
  case IntOp::Shr: BY_TYPE_BITS(shr)
  case IntOp::Sad: BY_TYPE(sad)
  case IntOp::AddSat: return t == Type::S32 ? binary<int32_t, AddSat> : nullptr;
  case IntOp::SubSat: return t == Type::S32 ? binary<int32_t, SubSat> : nullptr;
  case IntOp::Mul24Lo: return t == Type::S32 ? binary<int32_t, Mul24Lo> : t == Type::U32 ? binary<uint32_t, Mul24Lo> : nullptr;
  case IntOp::Mul24Hi: return t == Type::S32 ? binary<int32_t, Mul24Hi> : t == Type::U32 ? binary<uint32_t, Mul24Hi> : nullptr;
  case IntOp::Mad24Lo: return t == Type::S32 ? mad<int32_t, Mul24Lo> : t == Type::U32 ? mad<uint32_t, Mul24Lo> : nullptr;
  case IntOp::Popc: return b32 ? toU32<uint32_t, Popc> : b64 ? toU32<uint64_t, Popc> : nullptr;
  case IntOp::Clz: return b32 ? toU32<uint32_t, Clz> : b64 ? toU32<uint64_t, Clz> : nullptr;
  case IntOp::Bfind:
    return t == Type::S32 ? toU32<int32_t, Bfind<false>> : t == Type::S64 ? toU32<int64_t, Bfind<false>>
           : b32 ? toU32<uint32_t, Bfind<false>> : b64 ? toU32<uint64_t, Bfind<false>> : nullptr;
  case IntOp::BfindShift:
    return t == Type::S32 ? toU32<int32_t, Bfind<true>> : t == Type::S64 ? toU32<int64_t, Bfind<true>>
           : b32 ? toU32<uint32_t, Bfind<true>> : b64 ? toU32<uint64_t, Bfind<true>> : nullptr;
  case IntOp::Brev: return b32 ? unary<uint32_t, Brev> : b64 ? unary<uint64_t, Brev> : nullptr;
  case IntOp::Bfe: BY_TYPE_WIDE(bfe)
  case IntOp::Bfi: return b32 ? bfi<uint32_t> : b64 ? bfi<uint64_t> : nullptr;
  case IntOp::Prmt: return b32 ? prmt : nullptr;
  case IntOp::Lop3: return b32 ? lop3 : nullptr;
  case IntOp::ShfLWrap: return b32 ? shf<true, false> : nullptr;
  case IntOp::ShfLClamp: return b32 ? shf<true, true> : nullptr;
  case IntOp::ShfRWrap: return b32 ? shf<false, false> : nullptr;
  case IntOp::ShfRClamp: return b32 ? shf<false, true> : nullptr;
  // dp4a, dp2a: the type is A's; U16/S16 here mean that B is signed/unsigned the other way round (see Integer.cpp).
  case IntOp::Dp4a:
    return t == Type::U32 ? dp4a<false, false> : t == Type::S32 ? dp4a<true, true> : t == Type::U16 ? dp4a<false, true>
           : t == Type::S16 ? dp4a<true, false> : nullptr;
  case IntOp::Dp2aLo: return dp2as<false>(t);
  case IntOp::Dp2aHi: return dp2as<true>(t);
  case IntOp::AddPair: return pairs<Add, uint16_t>;
  case IntOp::MinPair: return t == Type::U16x2 ? pairs<Min, uint16_t> : pairs<Min, int16_t>;
  case IntOp::MaxPair: return t == Type::U16x2 ? pairs<Max, uint16_t> : pairs<Max, int16_t>;
  case IntOp::Bmsk: return bmsk<false>;
  case IntOp::BmskWrap: return bmsk<true>;
  case IntOp::Szext: return t == Type::S32 ? szext<int32_t, false> : szext<uint32_t, false>;
  case IntOp::SzextWrap: return t == Type::S32 ? szext<int32_t, true> : szext<uint32_t, true>;
  default: return nullptr;
  }
}

} // namespace fovea::emulator::FOVEA_LANES
