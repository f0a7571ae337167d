// runtime/emulator/machine/tensor/TmemCopy.cpp - tcgen05.cp from shared memory, tcgen05.shift
#include "runtime/emulator/machine/tensor/MatrixDescriptor.h"
#include "runtime/emulator/machine/tensor/TmemMove.h"
#include <algorithm>

namespace fovea::emulator {
namespace {

struct CpGeometry {
  unsigned rows, units; ///< rows, and 16-byte units of *destination* per row
};
CpGeometry geometryOf(CpShape shape) {
  switch (shape) {
  case CpShape::S128x256b:
    return {128, 2};
  case CpShape::S128x128b:
    return {128, 1};
  case CpShape::S4x256b:
    return {4, 2};
  case CpShape::S64x128b:
    return {64, 1};
  case CpShape::S32x128b:
    return {32, 1};
  }
  return {0, 0};
}

void checkForm(const TmemCopy &op) {
  CpMulticast m = op.multicast;
  bool fits = op.shape == CpShape::S64x128b   ? m == CpMulticast::Warpx2_01_23 || m == CpMulticast::Warpx2_02_13
              : op.shape == CpShape::S32x128b ? m == CpMulticast::Warpx4
                                              : m == CpMulticast::None;
  if (!fits)
    throw Fault("tcgen05.cp: .64x128b needs .warpx2::02_13 or ::01_23, .32x128b needs .warpx4, other shapes take none");
}

/// Destination lanes of source row r.
unsigned lanesOf(const TmemCopy &op, unsigned r, unsigned out[4]) {
  switch (op.shape) {
  case CpShape::S4x256b:
    out[0] = 32 * r;
    return 1;
  case CpShape::S32x128b:
    for (unsigned q = 0; q != 4; ++q)
      out[q] = r + 32 * q;
    return 4;
  case CpShape::S64x128b:
    if (op.multicast == CpMulticast::Warpx2_02_13) {
      out[0] = r;
      out[1] = r + 64;
    } else {
      out[0] = r % 32 + 64 * (r / 32);
      out[1] = out[0] + 32;
    }
    return 2;
  default:
    out[0] = r;
    return 1;
  }
}

/// 16 elements of 4 or 6 bits, packed low first, spread to one byte each: e2m1 in bits 5:2, 6-bit types in 5:0.
void expand(CpFormat format, const uint8_t *from, uint8_t to[16]) {
  unsigned width = format == CpFormat::B4x16P64 ? 4 : 6;
  for (unsigned e = 0; e != 16; ++e) {
    unsigned bit = e * width;
    uint16_t pair = uint16_t(from[bit / 8] | (bit / 8 + 1 < 12 ? from[bit / 8 + 1] << 8 : 0));
    uint8_t value = uint8_t(pair >> bit % 8 & ((1 << width) - 1));
    to[e] = width == 4 ? uint8_t(value << 2) : value;
  }
}

} // namespace

void copy(Tmem &tmem, SharedSpan smem, const TmemCopy &op, uint32_t address, uint64_t descriptor) {
  checkForm(op);
  MatrixDescriptor desc = decodeTcgen05Descriptor(descriptor);
  CpGeometry g = geometryOf(op.shape);
  if (tmemLane(address))
    throw Fault("tcgen05.cp needs a tensor memory address with lane 0, found lane " + std::to_string(tmemLane(address)));
  uint32_t column = tmemColumn(address);
  tmem.checkRange(0, column, 4 * g.units, "tcgen05.cp");
  for (unsigned r = 0; r != g.rows; ++r)
    for (unsigned u = 0; u != g.units; ++u) {
      uint32_t from = elementAddress(desc, Major::K, 1, r, 16 * u);
      if (uint64_t(from) + 16 > smem.size)
        throw Fault("tcgen05.cp reads shared memory at offset " + std::to_string(from) + ", beyond the CTA's " +
                    std::to_string(smem.size) + " bytes");
      uint8_t bytes[16];
      if (op.format == CpFormat::Plain)
        std::memcpy(bytes, smem.data + from, 16);
      else
        expand(op.format, smem.data + from, bytes);
      unsigned lanes[4];
      for (unsigned i = 0, n = lanesOf(op, r, lanes); i != n; ++i) {
        std::memcpy(tmem.row(lanes[i]) + column + 4 * u, bytes, 16);
        tmem.markWritten(lanes[i], column + 4 * u, 4);
      }
    }
}

void touched(const TmemCopy &op, uint32_t address, uint64_t descriptor, const TouchedFn &fn) {
  MatrixDescriptor desc = decodeTcgen05Descriptor(descriptor);
  CpGeometry g = geometryOf(op.shape);
  for (unsigned r = 0; r != g.rows; ++r) {
    for (unsigned u = 0; u != g.units; ++u)
      fn({Touched::Shared, false, 0, elementAddress(desc, Major::K, 1, r, 16 * u), 16});
    unsigned lanes[4];
    for (unsigned i = 0, n = lanesOf(op, r, lanes); i != n; ++i)
      fn({Touched::Tensor, true, 0, address + tmemAddress(lanes[i], 0), 4 * g.units});
  }
}

void shiftDown(Tmem &tmem, uint32_t address) {
  uint32_t lane = tmemLane(address), column = tmemColumn(address);
  if (lane % 32)
    throw Fault("tcgen05.shift needs a lane that is a multiple of 32, found " + std::to_string(lane));
  tmem.checkRange(lane, column, 8, "tcgen05.shift");
  // Row r takes row r + 1; the last one keeps its own (the ISA's "all rows except the last are shifted down by one row").
  for (unsigned r = 0; r != 31; ++r) {
    tmem.noteRead(lane + r + 1, column, 8);
    std::copy_n(tmem.row(lane + r + 1) + column, 8, tmem.row(lane + r) + column);
    tmem.markWritten(lane + r, column, 8);
  }
}

} // namespace fovea::emulator
