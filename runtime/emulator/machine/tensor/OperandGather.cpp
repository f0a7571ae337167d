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

/// bf16, the type that long runs are made of: straight into place.
static bool gatherBf16(SharedSpan smem, const SharedOperand &o, float *out, unsigned strideI, unsigned strideK) {
  if (o.element != MmaElement::BF16 || o.packing != Packing::Plain || o.k % 8 || o.count % 8)
    return false;
  const unsigned step = o.major == Major::K ? strideK : strideI;
  bool inside = true;
  forEachUnit(o, [&](uint32_t address, unsigned i, unsigned k) {
    if (address + 16 > smem.size) {
      inside = false;
      return;
    }
    uint16_t bits[8];
    std::memcpy(bits, smem.data + address, 16);
    float *to = out + size_t(i) * strideI + size_t(k) * strideK;
    if (step == 1)
      for (unsigned e = 0; e != 8; ++e)
        to[e] = bf16ToFloat(bits[e]);
    else
      for (unsigned e = 0; e != 8; ++e)
        to[size_t(e) * step] = bf16ToFloat(bits[e]);
  });
  return inside;  // else the general way says what is wrong
}

void gather(SharedSpan smem, const SharedOperand &o, float *out, unsigned strideI, unsigned strideK) {
  if (gatherBf16(smem, o, out, strideI, strideK))
    return;
  unsigned per = unitElements(o.element, o.packing);
  // The innermost direction of a unit: k of a K-major operand, i of an MN-major one. A last unit may be cut.
  unsigned step = o.major == Major::K ? strideK : strideI, limit = o.major == Major::K ? o.k : o.count;
  forEachUnit(o, [&](uint32_t address, unsigned i, unsigned k) {
    if (address + 16 > smem.size)
      throw Fault("a matrix operand reads shared memory at offset " + std::to_string(address) + ", beyond the CTA's " +
                  std::to_string(smem.size) + " bytes");
    float *to = out + size_t(i) * strideI + size_t(k) * strideK;
    unsigned n = std::min(per, limit - (o.major == Major::K ? k : i));
    if (step == 1 && n == per)
      return decodeUnit(o.element, o.packing, smem.data + address, to);
    float values[32];
    decodeUnit(o.element, o.packing, smem.data + address, values);
    for (unsigned e = 0; e != n; ++e)
      to[size_t(e) * step] = values[e];
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
