// codegen/kernel/TileElements.h - which elements of a register tile a thread holds (#tile.regs).
#pragma once

#include "codegen/common/Values.h"
#include "dialect/Tile/Tile.h"

namespace fovea::codegen {

/// Where row `row` (i32) of a tile lies in which `packed` heads, a power of two, share the rows (tile.kernel): both counted
/// from the item's.
struct RowPlace {
  Value query, head;
};
RowPlace rowPlace(OpBuilder &b, Location loc, Value row, int64_t packed);

/// Register n of a thread holds row `firstRow` + rowOffset(rowIndex(n)) and column `firstColumn` + columnOffset(n).
struct TileElements {
  tile::RegisterLayout layout;
  int64_t columns;
  Value firstRow;    ///< i32, in the tile
  Value firstColumn; ///< i32; null: 0
  int64_t packed;    ///< heads whose rows share the tile (tile.kernel)

  /// `warpRow` (i32): the first row of the thread's warp.
  TileElements(OpBuilder &b, Location loc, tile::RegisterLayout layout, int64_t columns, Value warpRow, Value lane,
               int64_t packed = 1);

  /// Rows of a thread, registers of a tile.
  size_t rows() const { return isFragment() ? 2 : 1; }
  size_t registers() const { return size_t(isFragment() ? columns / 2 : columns); }
  size_t rowIndex(size_t n) const { return isFragment() ? n / 2 % 2 : 0; }
  int64_t rowOffset(size_t index) const { return 8 * int64_t(index); }
  /// The query of row `index` of the thread, counted from `firstQuery` (i32), and its head, counted from `firstHead`.
  Value query(OpBuilder &b, Location loc, Value firstQuery, size_t index) const;
  Value head(OpBuilder &b, Location loc, Value firstHead, size_t index) const;
  int64_t columnOffset(size_t n) const { return isFragment() ? int64_t(8 * (n / 4) + n % 2) : int64_t(n); }

private:
  bool isFragment() const { return layout == tile::RegisterLayout::Fragment; }
};

} // namespace fovea::codegen
