// runtime/emulator/machine/ConvertLanes.cpp - cvt over 32 lanes; compiled once per host instruction set.
#include "runtime/emulator/machine/AluOps.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/tensor/NumberFormats.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fovea::emulator::FOVEA_LANES {
namespace {

using ptx::Type;

// Integer to integer: the source's low bits, extended by its signedness, truncated or saturated to the target.
template <class To, class From, class Source, class Target> Step intToInt(Warp &w, const Inst &i) {
  const Source *a = w.reg<Source>(i.r[1]);
  forLanes(w, w.reg<Target>(i.r[0]), [=](int l) { return Target(To(From(a[l]))); });
  return Step::Next;
}
template <class To, class From, class Source> Handler intTarget(int bytes) {
  using S = std::make_signed_t<To>;
  constexpr bool sign = std::is_signed<To>::value;
  (void)sizeof(S);
  switch (bytes) {
  case 2: return sizeof(To) <= 2 ? intToInt<To, From, Source, std::conditional_t<sign, int16_t, uint16_t>> : nullptr;
  case 4: return sizeof(To) <= 4 ? intToInt<To, From, Source, std::conditional_t<sign, int32_t, uint32_t>> : nullptr;
  default: return intToInt<To, From, Source, std::conditional_t<sign, int64_t, uint64_t>>;
  }
}
template <class To, class From> Handler intSource(const ConvertForm &f) {
  switch (f.sourceBytes) {
  case 2: return intTarget<To, From, uint16_t>(f.targetBytes);
  case 4: return intTarget<To, From, uint32_t>(f.targetBytes);
  default: return intTarget<To, From, uint64_t>(f.targetBytes);
  }
}
template <class To> Handler intFrom(const ConvertForm &f) {
  switch (f.from) {
  case Type::U8: return intSource<To, uint8_t>(f);
  case Type::S8: return intSource<To, int8_t>(f);
  case Type::U16: return intSource<To, uint16_t>(f);
  case Type::S16: return intSource<To, int16_t>(f);
  case Type::U32: return intSource<To, uint32_t>(f);
  case Type::S32: return intSource<To, int32_t>(f);
  case Type::U64: return intSource<To, uint64_t>(f);
  case Type::S64: return intSource<To, int64_t>(f);
  default: return nullptr;
  }
}
Handler intConvert(const ConvertForm &f) {
  switch (f.to) {
  case Type::U8: return intFrom<uint8_t>(f);
  case Type::S8: return intFrom<int8_t>(f);
  case Type::U16: return intFrom<uint16_t>(f);
  case Type::S16: return intFrom<int16_t>(f);
  case Type::U32: return intFrom<uint32_t>(f);
  case Type::S32: return intFrom<int32_t>(f);
  case Type::U64: return intFrom<uint64_t>(f);
  case Type::S64: return intFrom<int64_t>(f);
  default: return nullptr;
  }
}

inline float flush(float v) { return std::fabs(v) < 1.17549435e-38f ? std::copysign(0.0f, v) : v; }

uint64_t loadBits(Warp &w, uint32_t offset, int bytes, int l) {
  return bytes == 2 ? w.reg<uint16_t>(offset)[l] : bytes == 4 ? w.reg<uint32_t>(offset)[l] : w.reg<uint64_t>(offset)[l];
}
void storeBits(Warp &w, uint32_t offset, int bytes, int l, uint64_t v) {
  if (bytes == 2)
    w.reg<uint16_t>(offset)[l] = uint16_t(v);
  else if (bytes == 4)
    w.reg<uint32_t>(offset)[l] = uint32_t(v);
  else
    w.reg<uint64_t>(offset)[l] = v;
}
int64_t signedValue(Type t, uint64_t bits) {
  switch (t) {
  case Type::S8: return int8_t(bits);
  case Type::S16: return int16_t(bits);
  case Type::S32: return int32_t(bits);
  default: return int64_t(bits);
  }
}
uint64_t unsignedValue(Type t, uint64_t bits) {
  int n = ptx::bytesOf(t);
  return n >= 8 ? bits : bits & ((uint64_t(1) << (8 * n)) - 1);
}
struct Limits { double low, high; int64_t min; uint64_t max; };
Limits limits(Type t) {
  switch (t) {
  case Type::U8: return {0, 255, 0, 255};
  case Type::S8: return {-128, 127, -128, 127};
  case Type::U16: return {0, 65535, 0, 65535};
  case Type::S16: return {-32768, 32767, -32768, 32767};
  case Type::U32: return {0, 4294967295.0, 0, 4294967295u};
  case Type::S32: return {-2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX};
  case Type::U64: return {0, 18446744073709551616.0, 0, UINT64_MAX};
  default: return {-9223372036854775808.0, 9223372036854775808.0, INT64_MIN, INT64_MAX};
  }
}
double roundInteger(double v, ConvertForm::Round r) {
  switch (r) {
  case ConvertForm::Rzi: return std::trunc(v);
  case ConvertForm::Rmi: return std::floor(v);
  case ConvertForm::Rpi: return std::ceil(v);
  default: return std::nearbyint(v);
  }
}
double loadFloat(const ConvertForm &f, uint64_t bits) {
  switch (f.from) {
  case Type::F16: return f16ToFloat(uint16_t(bits));
  case Type::BF16: return bf16ToFloat(uint16_t(bits));
  case Type::F64: { double d; std::memcpy(&d, &bits, 8); return d; }
  default: {
    float v = bitsToFloat(uint32_t(bits));
    return f.ftz ? flush(v) : v;
  }
  }
}
uint64_t storeFloat(const ConvertForm &f, double v) {
  Conversion how;
  how.rounding = f.round == ConvertForm::Rz ? Rounding::TowardZero : f.round == ConvertForm::Rm ? Rounding::Down
                 : f.round == ConvertForm::Rp ? Rounding::Up : f.round == ConvertForm::Rna ? Rounding::NearestAway : Rounding::NearestEven;
  how.satfinite = f.satfinite;
  how.relu = f.relu;
  if (f.sat)
    v = v > 0 ? (v < 1 ? v : 1.0) : 0.0;
  switch (f.to) {
  case Type::F64: {
    uint64_t b;
    if (v != v)
      return 0x7fffffffffffffff;
    std::memcpy(&b, &v, 8);
    return b;
  }
  case Type::F16: return encode(Format::F16, v, how);
  case Type::BF16: return encode(Format::BF16, v, how);
  case Type::TF32: return encode(Format::TF32, v, how);
  default: {
    uint32_t b = encode(Format::F32, v, how);
    return f.ftz ? floatToBits(flush(bitsToFloat(b))) : b;
  }
  }
}

/// Everything that is not a hot path: one lane after the other.
Step general(Warp &w, const Inst &i) {
  const ConvertForm &f = static_cast<const ConvertExtra *>(i.extra)->form;
  bool fromFloat = ptx::isFloat(f.from), toFloat = ptx::isFloat(f.to) || f.to == Type::TF32;
  Limits lim = limits(f.to);
  eachLane(w.active, [&](int l) {
    uint64_t bits = loadBits(w, i.r[1], f.sourceBytes, l), r;
    if (fromFloat) {
      double v = loadFloat(f, bits);
      if (toFloat) {
        if (f.round >= ConvertForm::Rni)
          v = v != v ? v : std::copysign(roundInteger(v, f.round), v);
        r = storeFloat(f, v);
      } else {
        v = roundInteger(v, f.round);
        // Out of range saturates. NaN gives 0, or the highest bit where a 64-bit type is involved (PTX ISA, cvt).
        if (v != v)
          r = f.from == Type::F64 || ptx::bytesOf(f.to) == 8 ? uint64_t(1) << (8 * ptx::bytesOf(f.to) - 1) : 0;
        else if (v <= lim.low)
          r = uint64_t(lim.min);
        else if (v >= lim.high)
          r = lim.max;
        else
          r = v < 0 ? uint64_t(int64_t(v)) : uint64_t(v);
      }
    } else if (toFloat) {
      // 64-bit integers do not fit in f64: round once, directly.
      bool sign = ptx::isSigned(f.from);
      int64_t s = signedValue(f.from, bits);
      uint64_t u = unsignedValue(f.from, bits);
      if (ptx::bytesOf(f.from) < 8)
        r = storeFloat(f, sign ? double(s) : double(u));
      else if (f.to == Type::F64 || f.to == Type::F32) {
        long double x = sign ? (long double)s : (long double)u;  // 64-bit significand: exact
        if (f.to == Type::F64) {
          double d = double(x);
          if (f.round != ConvertForm::Rn && (long double)d != x) {
            bool up = f.round == ConvertForm::Rp || (f.round == ConvertForm::Rz && x < 0);
            if (up ? (long double)d < x : (long double)d > x)
              d = std::nextafter(d, up ? INFINITY : -INFINITY);
          }
          std::memcpy(&r, &d, 8);
        } else {
          float d = float(x);
          if (f.round != ConvertForm::Rn && (long double)d != x) {
            bool up = f.round == ConvertForm::Rp || (f.round == ConvertForm::Rz && x < 0);
            if (up ? (long double)d < x : (long double)d > x)
              d = std::nextafterf(d, up ? INFINITY : -INFINITY);
          }
          r = floatToBits(d);
        }
      } else
        r = storeFloat(f, sign ? double(s) : double(u));
    } else {
      bool sign = ptx::isSigned(f.from);
      int64_t s = signedValue(f.from, bits);
      uint64_t u = unsignedValue(f.from, bits);
      if (sign)
        r = s < 0 ? (s < lim.min ? uint64_t(lim.min) : uint64_t(s)) : (uint64_t(s) > lim.max ? lim.max : uint64_t(s));
      else
        r = u > lim.max ? lim.max : u;
    }
    storeBits(w, i.r[0], f.targetBytes, l, ptx::isSigned(f.to) ? uint64_t(signedValue(f.to, r)) : r);
  });
  return Step::Next;
}

Step packBf16x2(Warp &w, const Inst &i) {  // cvt.rn.bf16x2.f32 d, high, low
  const float *a = w.reg<float>(i.r[1]), *b = w.reg<float>(i.r[2]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) {
    auto round = [](float f) {
      uint32_t u;
      std::memcpy(&u, &f, 4);
      uint32_t r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
      return (u & 0x7fffffff) > 0x7f800000 ? 0x7fffu : r;
    };
    return round(a[l]) << 16 | round(b[l]);
  });
  return Step::Next;
}
Step bf16ToF32(Warp &w, const Inst &i) {
  const uint16_t *a = w.reg<uint16_t>(i.r[1]);
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int l) { return uint32_t(a[l]) << 16; });
  return Step::Next;
}
Step f32ToBf16(Warp &w, const Inst &i) {
  const float *a = w.reg<float>(i.r[1]);
  forLanes(w, w.reg<uint16_t>(i.r[0]), [=](int l) { return floatToBf16(a[l]); });
  return Step::Next;
}
template <class T> Step intToF32(Warp &w, const Inst &i) {
  const T *a = w.reg<T>(i.r[1]);
  forLanes(w, w.reg<float>(i.r[0]), [=](int l) { return float(a[l]); });
  return Step::Next;
}

// Packed small formats: r[1] high, r[2] low (two f32), or one packed source.
Format formatOf(Type t) {
  switch (t) {
  case Type::BF16x2: case Type::BF16: return Format::BF16;
  case Type::F16x2: case Type::F16: return Format::F16;
  case Type::E4M3x2: case Type::E4M3x4: return Format::E4M3;
  case Type::E5M2x2: case Type::E5M2x4: return Format::E5M2;
  case Type::E2M3x2: case Type::E2M3x4: return Format::E2M3;
  case Type::E3M2x2: case Type::E3M2x4: return Format::E3M2;
  case Type::E2M1x2: case Type::E2M1x4: return Format::E2M1;
  case Type::UE8M0x2: return Format::UE8M0;
  default: return Format::F32;
  }
}
Conversion conversionOf(const ConvertForm &f) {
  Conversion how;
  how.rounding = f.round == ConvertForm::Rz ? Rounding::TowardZero : f.round == ConvertForm::Rp ? Rounding::Up
                 : f.round == ConvertForm::Rna ? Rounding::NearestAway : Rounding::NearestEven;
  how.satfinite = f.satfinite;
  how.relu = f.relu;
  return how;
}
Step pack2(Warp &w, const Inst &i) {
  const ConvertForm &f = static_cast<const ConvertExtra *>(i.extra)->form;
  const float *a = w.reg<float>(i.r[1]), *b = w.reg<float>(i.r[2]);
  Conversion how = conversionOf(f);
  Format to = formatOf(f.to);
  eachLane(w.active, [&](int l) {
    float x = f.ftz ? flush(a[l]) : a[l], y = f.ftz ? flush(b[l]) : b[l];
    storeBits(w, i.r[0], f.targetBytes, l, encodePair(to, x, y, how));
  });
  return Step::Next;
}
Step repack2(Warp &w, const Inst &i) {  // one packed register to another
  const ConvertForm &f = static_cast<const ConvertExtra *>(i.extra)->form;
  Conversion how = conversionOf(f);
  Format from = formatOf(f.from), to = formatOf(f.to);
  eachLane(w.active, [&](int l) {
    float v[2];
    decodePair(from, uint32_t(loadBits(w, i.r[1], f.sourceBytes, l)), v);
    storeBits(w, i.r[0], f.targetBytes, l, encodePair(to, v[1], v[0], how));
  });
  return Step::Next;
}

} // namespace

Handler convertHandler(const ConvertForm &f) {
  bool fromFloat = ptx::isFloat(f.from), toFloat = ptx::isFloat(f.to) || f.to == Type::TF32;
  bool packedTo = formatOf(f.to) != Format::F32 && !ptx::isFloat(f.to);
  if (packedTo) {
    if (f.from == Type::F32)
      return f.to == Type::BF16x2 && f.round == ConvertForm::Rn && !f.relu && !f.satfinite && !f.ftz ? packBf16x2 : pack2;
    return formatOf(f.from) != Format::F32 && !ptx::isFloat(f.from) ? repack2 : nullptr;
  }
  if (!fromFloat && !toFloat)
    return f.sat ? general : intConvert(f);
  bool plain = !f.ftz && !f.sat && !f.relu && !f.satfinite;
  if (plain && f.from == Type::BF16 && f.to == Type::F32 && f.sourceBytes == 2 && f.targetBytes == 4)
    return bf16ToF32;
  if (plain && f.from == Type::F32 && f.to == Type::BF16 && f.round == ConvertForm::Rn)
    return f32ToBf16;
  if (plain && f.to == Type::F32 && f.round == ConvertForm::Rn && f.sourceBytes == 4 && f.from == Type::S32)
    return intToF32<int32_t>;
  if (plain && f.to == Type::F32 && f.round == ConvertForm::Rn && f.sourceBytes == 4 && f.from == Type::U32)
    return intToF32<uint32_t>;
  return general;
}

} // namespace fovea::emulator::FOVEA_LANES
