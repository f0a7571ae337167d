// runtime/emulator/machine/tensor/OperandGather.cpp - matrix operands as dense floats
#include "runtime/emulator/machine/tensor/OperandGather.h"
#include "runtime/emulator/machine/tensor/Fault.h"
#include <algorithm>
#include <array>

namespace fovea::emulator {
namespace {

std::array<float, 256> byteTable(MmaElement element) {
  std::array<float, 256> table{};
  for (unsigned i = 0; i != 256; ++i)
    switch (element) {
    case MmaElement::E4M3:
      table[i] = decode(Format::E4M3, i);
      break;
    case MmaElement::E5M2:
      table[i] = decode(Format::E5M2, i);
      break;
    case MmaElement::E2M3:
      table[i] = decode(Format::E2M3, i & 63);
      break;
    case MmaElement::E3M2:
      table[i] = decode(Format::E3M2, i & 63);
      break;
    case MmaElement::E2M1:
      table[i] = decode(Format::E2M1, i & 15);
      break;
    case MmaElement::S8:
      table[i] = float(int8_t(i));
      break;
    default:
      table[i] = float(i);
      break;
    }
  return table;
}

/// One table per byte-sized element type, indexed by code (low bits).
const std::array<float, 256> &tableOf(MmaElement element) {
  static const std::array<std::array<float, 256>, 7> tables = {
      byteTable(MmaElement::E4M3), byteTable(MmaElement::E5M2), byteTable(MmaElement::E2M3), byteTable(MmaElement::E3M2),
      byteTable(MmaElement::E2M1), byteTable(MmaElement::U8),   byteTable(MmaElement::S8)};
  return tables[unsigned(element) - unsigned(MmaElement::E4M3)];
}

/// Calls fn(address of the unit, i, k) for every unit; (i, k) is its first element.
template <typename Fn> void forEachUnit(const SharedOperand &o, Fn &&fn) {
  unsigned per = unitElements(o.element, o.packing);
  if (o.major == Major::K) {
    for (unsigned i = 0; i != o.count; ++i)
      for (unsigned k = 0; k < o.k; k += per)
        fn(elementAddress(o.descriptor, Major::K, 1, i, k / per * 16), i, k);
    return;
  }
  unsigned bytes = elementBits(o.element) / 8;
  for (unsigned k = 0; k != o.k; ++k)
    for (unsigned i = 0; i < o.count; i += per)
      fn(elementAddress(o.descriptor, Major::MN, bytes, i, k), i, k);
}

} // namespace

unsigned unitElements(MmaElement element, Packing packing) {
  return packing == Packing::Plain ? 128 / elementBits(element) : 16;
}

void decodeUnit(MmaElement element, Packing packing, const uint8_t unit[16], float *out) {
  switch (element) {
  case MmaElement::BF16: {
    uint16_t bits[8];
    std::memcpy(bits, unit, 16);
    for (unsigned i = 0; i != 8; ++i)
      out[i] = bf16ToFloat(bits[i]);
    return;
  }
  case MmaElement::F16: {
    uint16_t bits[8];
    std::memcpy(bits, unit, 16);
    for (unsigned i = 0; i != 8; ++i)
      out[i] = f16ToFloat(bits[i]);
    return;
  }
  case MmaElement::TF32: {
    uint32_t bits[4];
    std::memcpy(bits, unit, 16);
    for (unsigned i = 0; i != 4; ++i)
      out[i] = decode(Format::TF32, bits[i]);
    return;
  }
  default:
    break;
  }
  const auto &table = tableOf(element);
  unsigned width = elementBits(element);
  if (width == 4 && packing == Packing::Plain) {
    for (unsigned i = 0; i != 32; ++i)
      out[i] = table[unit[i / 2] >> 4 * (i % 2) & 15];
  } else if (width < 8 && packing == Packing::Padded) {
    for (unsigned i = 0; i != 16; ++i) {
      unsigned bit = i * width;
      unsigned pair = unit[bit / 8] | (bit / 8 < 15 ? unit[bit / 8 + 1] << 8 : 0);
      out[i] = table[pair >> bit % 8 & ((1u << width) - 1)];
    }
  } else {
    unsigned shift = width == 4 ? 2 : 0;
    for (unsigned i = 0; i != 16; ++i)
      out[i] = table[unit[i] >> shift];
  }
}

namespace {
typedef uint16_t Eight __attribute__((vector_size(16)));

void expand(Eight bits, float *to) {
  typedef uint32_t Wide __attribute__((vector_size(32)));
  Wide values = __builtin_convertvector(bits, Wide) << 16;
  std::memcpy(to, &values, 32);
}

/// Rows to columns.
inline void transpose(Eight r[8]) {
  Eight t[8], u[8];
  for (int k = 0; k != 4; ++k) {
    t[2 * k] = __builtin_shufflevector(r[2 * k], r[2 * k + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    t[2 * k + 1] = __builtin_shufflevector(r[2 * k], r[2 * k + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int h = 0; h != 8; h += 4)
    for (int k = 0; k != 2; ++k) {
      u[h + 2 * k] = __builtin_shufflevector(t[h + k], t[h + k + 2], 0, 1, 8, 9, 2, 3, 10, 11);
      u[h + 2 * k + 1] = __builtin_shufflevector(t[h + k], t[h + k + 2], 4, 5, 12, 13, 6, 7, 14, 15);
    }
  for (int k = 0; k != 4; ++k) {
    r[2 * k] = __builtin_shufflevector(u[k], u[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[2 * k + 1] = __builtin_shufflevector(u[k], u[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

/// bf16, the type that long runs are made of, eight units at a time. The swizzle is known to the compiler, which then folds the
/// address of an element.
template <Swizzle S, Major M> bool gatherBf16(SharedSpan smem, const SharedOperand &o, float *out, unsigned strideI, unsigned strideK, bool evensFirst) {
  MatrixDescriptor d = o.descriptor;
  d.swizzle = S;
  const bool kMajor = M == Major::K;
  const unsigned outerCount = kMajor ? o.count : o.k, innerCount = kMajor ? o.k : o.count;  // units lie along `inner`
  const unsigned strideOuter = kMajor ? strideI : strideK, strideInner = kMajor ? strideK : strideI;
  for (unsigned outer = 0; outer != outerCount; outer += 8)
    for (unsigned inner = 0; inner != innerCount; inner += 8) {
      Eight rows[8];
      for (unsigned r = 0; r != 8; ++r) {
        unsigned from = outer + (kMajor && evensFirst ? 2 * (r % 4) + r / 4 : r);
        uint32_t address = kMajor ? elementAddress(d, M, 2, from, inner) : elementAddress(d, M, 2, inner, from);
        if (address + 16 > smem.size)
          return false;  // the general way says what is wrong
        std::memcpy(&rows[r], smem.data + address, 16);
      }
      if (strideInner == 1) {
        for (unsigned r = 0; r != 8; ++r)
          expand(!kMajor && evensFirst ? __builtin_shufflevector(rows[r], rows[r], 0, 2, 4, 6, 1, 3, 5, 7) : rows[r], out + size_t(outer + r) * strideOuter + inner);
        continue;
      }
      transpose(rows);
      for (unsigned r = 0; r != 8; ++r)
        expand(rows[r], out + size_t(inner + r) * strideInner + outer);
    }
  return true;
}

bool gatherBf16(SharedSpan smem, const SharedOperand &o, float *out, unsigned strideI, unsigned strideK, bool evensFirst) {
  if (o.element != MmaElement::BF16 || o.packing != Packing::Plain || o.k % 8 || o.count % 8)
    return false;
  const bool k = o.major == Major::K;
#define FOVEA_SWIZZLE(S)                                                                                                                    \
  case Swizzle::S:                                                                                                                          \
    return k ? gatherBf16<Swizzle::S, Major::K>(smem, o, out, strideI, strideK, evensFirst)                                                 \
             : gatherBf16<Swizzle::S, Major::MN>(smem, o, out, strideI, strideK, evensFirst);
  switch (o.descriptor.swizzle) {
    FOVEA_SWIZZLE(None)
    FOVEA_SWIZZLE(B32)
    FOVEA_SWIZZLE(B64)
    FOVEA_SWIZZLE(B128)
  default:
    return false;
  }
#undef FOVEA_SWIZZLE
}

} // namespace

void gather(SharedSpan smem, const SharedOperand &o, float *out, unsigned strideI, unsigned strideK, bool evensFirst) {
  if (gatherBf16(smem, o, out, strideI, strideK, evensFirst))
    return;
  auto place = [&](unsigned i) { return evensFirst ? (i & ~7u) | (i & 1) << 2 | (i & 7) >> 1 : i; };
  unsigned per = unitElements(o.element, o.packing);
  // The innermost direction of a unit: k of a K-major operand, i of an MN-major one. A last unit may be cut.
  unsigned step = o.major == Major::K ? strideK : strideI, limit = o.major == Major::K ? o.k : o.count;
  forEachUnit(o, [&](uint32_t address, unsigned i, unsigned k) {
    if (address + 16 > smem.size)
      throw Fault("a matrix operand reads shared memory at offset " + std::to_string(address) + ", beyond the CTA's " +
                  std::to_string(smem.size) + " bytes");
    unsigned n = std::min(per, limit - (o.major == Major::K ? k : i));
    if (step == 1 && n == per && !evensFirst)
      return decodeUnit(o.element, o.packing, smem.data + address, out + size_t(i) * strideI + size_t(k) * strideK);
    float values[32];
    decodeUnit(o.element, o.packing, smem.data + address, values);
    for (unsigned e = 0; e != n; ++e)
      if (o.major == Major::K)
        out[size_t(place(i)) * strideI + size_t(k + e) * strideK] = values[e];
      else
        out[size_t(place(i + e)) * strideI + size_t(k) * strideK] = values[e];
  });
}

namespace {
struct Pages {
  SharedOperand of;
  bool known = false;
  std::vector<std::pair<uint32_t, uint64_t>> blocks;  ///< page, its blocks
};

bool same(const SharedOperand &a, const SharedOperand &b) {
  const MatrixDescriptor &x = a.descriptor, &y = b.descriptor;
  return x.start == y.start && x.leading == y.leading && x.stride == y.stride && x.baseOffset == y.baseOffset && x.swizzle == y.swizzle && a.element == b.element &&
         a.packing == b.packing && a.major == b.major && a.count == b.count && a.k == b.k;
}

/// Which blocks an operand covers. A kernel comes back to the same few descriptors again and again.
const Pages &pagesOf(const SharedOperand &o) {
  static thread_local std::array<Pages, 256> cache;
  Pages &p = cache[(o.descriptor.start / 16 * 0x9E3779B1u + o.count * 0x85EBCA6Bu) >> 24];
  if (p.known && same(p.of, o))
    return p;
  static thread_local std::array<uint64_t, 257> masks;  // descriptors address 18 bits
  p.of = o;
  p.known = true;
  p.blocks.clear();
  auto mark = [&](uint32_t address) {
    uint64_t &mask = masks[address >> 10];
    if (!mask)
      p.blocks.push_back({address >> 10, 0});
    mask |= uint64_t(1) << (address >> 4 & 63);
  };
  forEachUnit(o, [&](uint32_t address, unsigned, unsigned) {
    mark(address);
    if (address % 16)
      mark(address + 15);
  });
  for (auto &[page, blocks] : p.blocks) {
    blocks = masks[page];
    masks[page] = 0;
  }
  return p;
}
} // namespace

void touched(const SharedOperand &o, uint8_t cta, const TouchedFn &fn) {
  for (auto [page, blocks] : pagesOf(o).blocks)
    fn({Touched::Shared, false, cta, page * 1024, uint32_t(__builtin_popcountll(blocks)) * 16, blocks});
}

} // namespace fovea::emulator
