// runtime/emulator/machine/CompareLanes.cpp - setp, selp, mov over 32 lanes; compiled once per host instruction set.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>

namespace fovea::emulator::FOVEA_LANES {
namespace {

using ptx::Type;

// Values as numbers: integers themselves, small floats through f32.
template <class T> struct Plain {
  using Stored = T;
  static T load(T v) { return v; }
};
struct F32Ftz {
  using Stored = float;
  static float load(float v) { return std::fabs(v) < 1.17549435e-38f ? 0.0f * v : v; }
};
struct Half {
  using Stored = uint16_t;
  static float load(uint16_t v) { return f16ToFloat(v); }
};
struct Bfloat {
  using Stored = uint16_t;
  static float load(uint16_t v) { return bf16ToFloat(v); }
};

template <class L, Cmp C> Step setp(Warp &w, const Inst &i) {
  using T = typename L::Stored;
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  uint32_t &d = w.pred(i.r[0]);
  d = maskLanes(w, d, [=](int l) {
    auto x = L::load(a[l]), y = L::load(b[l]);
    switch (C) {
    case Cmp::Eq: return x == y;
    case Cmp::Ne: return x < y || x > y;
    case Cmp::Lt: case Cmp::Lo: return x < y;
    case Cmp::Le: case Cmp::Ls: return x <= y;
    case Cmp::Gt: case Cmp::Hi: return x > y;
    case Cmp::Ge: case Cmp::Hs: return x >= y;
    case Cmp::Equ: return !(x < y || x > y);
    case Cmp::Neu: return !(x == y);
    case Cmp::Ltu: return !(x >= y);
    case Cmp::Leu: return !(x > y);
    case Cmp::Gtu: return !(x <= y);
    case Cmp::Geu: return !(x < y);
    case Cmp::Num: return x == x && y == y;
    default: return !(x == x && y == y);
    }
  });
  return Step::Next;
}

template <class L> Handler integerCompare(Cmp c) {
  switch (c) {
  case Cmp::Eq: return setp<L, Cmp::Eq>;
  case Cmp::Ne: return setp<L, Cmp::Ne>;
  case Cmp::Lt: case Cmp::Lo: return setp<L, Cmp::Lt>;
  case Cmp::Le: case Cmp::Ls: return setp<L, Cmp::Le>;
  case Cmp::Gt: case Cmp::Hi: return setp<L, Cmp::Gt>;
  case Cmp::Ge: case Cmp::Hs: return setp<L, Cmp::Ge>;
  default: return nullptr;
  }
}
template <class L> Handler floatCompare(Cmp c) {
  switch (c) {
  case Cmp::Eq: return setp<L, Cmp::Eq>;
  case Cmp::Ne: return setp<L, Cmp::Ne>;
  case Cmp::Lt: return setp<L, Cmp::Lt>;
  case Cmp::Le: return setp<L, Cmp::Le>;
  case Cmp::Gt: return setp<L, Cmp::Gt>;
  case Cmp::Ge: return setp<L, Cmp::Ge>;
  case Cmp::Equ: return setp<L, Cmp::Equ>;
  case Cmp::Neu: return setp<L, Cmp::Neu>;
  case Cmp::Ltu: return setp<L, Cmp::Ltu>;
  case Cmp::Leu: return setp<L, Cmp::Leu>;
  case Cmp::Gtu: return setp<L, Cmp::Gtu>;
  case Cmp::Geu: return setp<L, Cmp::Geu>;
  case Cmp::Num: return setp<L, Cmp::Num>;
  case Cmp::Nan: return setp<L, Cmp::Nan>;
  default: return nullptr;
  }
}

template <class T> Step selp(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]), *b = w.reg<T>(i.r[2]);
  uint32_t p = w.pred(i.r[3]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return p & kLaneBit[l] ? a[l] : b[l]; });
  return Step::Next;
}
template <class T> Step mov(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<T>(i.r[0]), [=](int l) { return a[l]; });
  return Step::Next;
}

} // namespace

Handler compareHandler(Cmp c, Type t, bool ftz) {
  bool sameness = c == Cmp::Eq || c == Cmp::Ne;
  switch (t) {
  case Type::B16: return sameness ? integerCompare<Plain<uint16_t>>(c) : nullptr;
  case Type::B32: return sameness ? integerCompare<Plain<uint32_t>>(c) : nullptr;
  case Type::B64: return sameness ? integerCompare<Plain<uint64_t>>(c) : nullptr;
  case Type::U16: return integerCompare<Plain<uint16_t>>(c);
  case Type::S16: return integerCompare<Plain<int16_t>>(c);
  case Type::U32: return integerCompare<Plain<uint32_t>>(c);
  case Type::S32: return integerCompare<Plain<int32_t>>(c);
  case Type::U64: return integerCompare<Plain<uint64_t>>(c);
  case Type::S64: return integerCompare<Plain<int64_t>>(c);
  case Type::F32: return ftz ? floatCompare<F32Ftz>(c) : floatCompare<Plain<float>>(c);
  case Type::F64: return floatCompare<Plain<double>>(c);
  case Type::F16: return floatCompare<Half>(c);
  case Type::BF16: return floatCompare<Bfloat>(c);
  default: return nullptr;
  }
}

Handler selectHandler(int bytes) {
  return bytes == 2 ? selp<uint16_t> : bytes == 4 ? selp<uint32_t> : bytes == 8 ? selp<uint64_t> : nullptr;
}
Handler moveHandler(int bytes) {
  return bytes == 2 ? mov<uint16_t> : bytes == 4 ? mov<uint32_t> : bytes == 8 ? mov<uint64_t> : nullptr;
}

} // namespace fovea::emulator::FOVEA_LANES
