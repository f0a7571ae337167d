// dialect/Layout/SmemTile.h - a matrix tile in shared memory, stored as swizzled panels.
#pragma once

#include "dialect/Layout/Swizzle.h"

#include <cstdint>
#include <vector>

namespace fovea::layout {

/// One TMA box of a tile. Dimensions and coordinates are innermost (column) first, in elements.
struct TmaBox {
  std::vector<uint32_t> dims;   ///< {panelCols, rows} or {panelCols, rows, panels}
  std::vector<uint32_t> origin; ///< tile-relative start coordinate, same rank as dims
  uint32_t smemOffset = 0;      ///< bytes from the tile base; a multiple of 128
  uint32_t bytes = 0;           ///< what complete_tx will count for this box
};

/// A tile of `rows` x `cols` elements of `elemBytes` bytes (1, 2 or 4), row-major in global memory.
///
/// In shared memory it is cut into panels of panelCols() columns, each `rows` rows of one swizzle
/// span, so that one TMA box writes one panel and every panel is a canonical matrix-descriptor
/// layout, K-major and MN-major alike. The swizzle is the widest span that divides a row: head dims
/// 64, 128, 192, 256 (16 bit) give 1..4 panels of 64 columns with 128B swizzle; 32 and 96 give 1
/// and 3 panels of 32 columns with 64B swizzle; 16, 48 and 80 panels of 16 columns with 32B
/// swizzle.
///
/// The tile base must be aligned to alignment(). `rows` must be a multiple of 8 and cols *
/// elemBytes a multiple of 32; isValid() tells, every other member requires it.
class SmemTile {
public:
  SmemTile(uint32_t rows, uint32_t cols, uint32_t elemBytes);

  /// Why (rows, cols, elemBytes) is no tile; empty when it is one.
  static const char *whyInvalid(uint32_t rows, uint32_t cols, uint32_t elemBytes);
  bool isValid() const { return !*whyInvalid(rows_, cols_, elemBytes_); }

  uint32_t rows() const { return rows_; }
  uint32_t cols() const { return cols_; }
  uint32_t elemBytes() const { return elemBytes_; }
  SwizzleMode swizzle() const { return swizzle_; }

  uint32_t rowBytes() const { return spanBytes(swizzle_); } ///< bytes of one panel row
  uint32_t panelCols() const { return rowBytes() / elemBytes_; }
  uint32_t panelCount() const { return cols_ / panelCols(); }
  uint32_t panelBytes() const { return rows_ * rowBytes(); }
  uint32_t bytes() const { return panelCount() * panelBytes(); }
  /// Distance of two tiles in a ring: every swizzle's pattern starts anew at 1024 bytes.
  uint32_t slotBytes() const { return (bytes() + 1023) / 1024 * 1024; }
  uint32_t alignment() const { return patternBytes(swizzle_); }

  /// Byte offset of element (row, col) before and after the swizzle, from the tile base.
  uint32_t linearOffset(uint32_t row, uint32_t col) const;
  uint32_t offset(uint32_t row, uint32_t col) const {
    return apply(swizzle_, linearOffset(row, col));
  }

  /// One 2-D box per panel for `rows` rows from `row0` (multiple of 8, so that any sub-tile keeps
  /// its phase).
  std::vector<TmaBox> panelBoxes(uint32_t row0, uint32_t rows) const;

  /// The whole tile as one 3-D box {panelCols, rows, panels} over the tensor-map view whose third
  /// dimension steps by one panel (dims {panelCols, T, panels * H}, strides {row stride,
  /// rowBytes()}; usable when the head stride in global memory is cols * elemBytes). origin[2] is
  /// 0: add head * panelCount().
  TmaBox wholeBox() const;

private:
  uint32_t rows_, cols_, elemBytes_;
  SwizzleMode swizzle_;
};

} // namespace fovea::layout
