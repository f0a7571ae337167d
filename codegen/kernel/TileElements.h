// codegen/kernel/TileElements.h - which elements of a register tile a thread holds (#tile.regs).
#pragma once

#include "codegen/common/Values.h"
#include "dialect/Tile/Tile.h"

namespace fovea::codegen {

/// Register n of a thread holds row `firstRow` + rowOffset(rowIndex(n)) and column `firstColumn` + columnOffset(n).
struct TileElements {
  tile::RegisterLayout layout;
  int64_t columns;
  Value firstRow;    ///< i32, in the tile
  Value firstColumn; ///< i32; null: 0

  /// `warpRow` (i32): the first row of the thread's warp.
  TileElements(OpBuilder &b, Location loc, tile::RegisterLayout layout, int64_t columns, Value warpRow, Value lane);

  /// Rows of a thread, registers of a tile.
  size_t rows() const { return isFragment() ? 2 : 1; }
  size_t registers() const { return size_t(isFragment() ? columns / 2 : columns); }
  size_t rowIndex(size_t n) const { return isFragment() ? n / 2 % 2 : 0; }
  int64_t rowOffset(size_t index) const { return 8 * int64_t(index); }
  int64_t columnOffset(size_t n) const { return isFragment() ? int64_t(8 * (n / 4) + n % 2) : int64_t(n); }

private:
  bool isFragment() const { return layout == tile::RegisterLayout::Fragment; }
};

} // namespace fovea::codegen
