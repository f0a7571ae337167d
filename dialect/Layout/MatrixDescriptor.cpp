// dialect/Layout/MatrixDescriptor.cpp - encoding of descriptors and placement of K steps.
#include "dialect/Layout/MatrixDescriptor.h"

#include <cassert>

namespace fovea::layout {

uint64_t MatrixDescriptor::encode(TensorCore core) const {
  assert(lboBytes % 16 == 0 && sboBytes % 16 == 0 && "offsets are multiples of 16 bytes");
  // Codes of wgmma (bits 62..63): none 0, 128B 1, 64B 2, 32B 3. tcgen05's (bits 61..63) are twice
  // those.
  uint64_t code = swizzle == SwizzleMode::None ? 0 : 4 - static_cast<uint64_t>(swizzle);
  uint64_t bits = encodeAddress(lboBytes) << 16 | encodeAddress(sboBytes) << 32 | code << 62;
  return core == TensorCore::Tcgen05 ? bits | uint64_t(1) << 46 : bits;
}

MatrixOperand describeOperand(const SmemTile &tile, Major major, SubTile part) {
  uint32_t span = tile.rowBytes();
  uint32_t rows = part.rows ? part.rows : tile.rows() - part.row0;
  uint32_t cols = part.cols ? part.cols : tile.cols() - part.col0;
  assert(part.row0 + rows <= tile.rows() && part.col0 + cols <= tile.cols() &&
         "part outside the tile");
  assert(part.row0 % 8 == 0 && rows % 8 == 0 && "rows off the 8-row swizzle pattern");

  MatrixOperand op;
  op.major = major;
  op.kStep = 32 / tile.elemBytes();
  op.descriptor.swizzle = tile.swizzle();
  op.descriptor.sboBytes = 8 * span;
  if (major == Major::K) {
    // Rows are M/N, 8 of them SBO apart; K runs along a panel row, then jumps to the next panel.
    assert(part.col0 % op.kStep == 0 && cols % op.kStep == 0 && "columns off the K step");
    op.mn = rows;
    op.k = cols;
    for (uint32_t k = part.col0; k < part.col0 + cols; k += op.kStep)
      op.stepOffsets.push_back(tile.linearOffset(part.row0, k));
  } else {
    // Columns are M/N, one panel of them LBO apart; K runs down the rows, 8 of them SBO apart.
    assert(part.col0 % tile.panelCols() == 0 && "columns off the panel");
    assert(part.row0 % op.kStep == 0 && rows % op.kStep == 0 && "rows off the K step");
    op.mn = cols;
    op.k = rows;
    if (cols > tile.panelCols())
      op.descriptor.lboBytes = tile.panelBytes();
    for (uint32_t k = part.row0; k < part.row0 + rows; k += op.kStep)
      op.stepOffsets.push_back(tile.linearOffset(k, part.col0));
  }
  return op;
}

uint32_t canonicalOffset(const MatrixDescriptor &d, Major major, uint32_t elemBytes, uint32_t i,
                         uint32_t k) {
  uint32_t span = spanBytes(d.swizzle), unit = 16 / elemBytes;
  if (d.swizzle == SwizzleMode::None)
    return major == Major::K ? (i / 8) * d.sboBytes + (i % 8) * 16 + (k / unit) * d.lboBytes +
                                   (k % unit) * elemBytes
                             : (i % unit) * elemBytes + (i / unit) * d.sboBytes + (k % 8) * 16 +
                                   (k / 8) * d.lboBytes;
  uint32_t wide = span / elemBytes;
  return major == Major::K ? (i / 8) * d.sboBytes + (i % 8) * span + k * elemBytes
                           : (i % wide) * elemBytes + (i / wide) * d.lboBytes + (k % 8) * span +
                                 (k / 8) * d.sboBytes;
}

} // namespace fovea::layout
