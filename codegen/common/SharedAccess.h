// codegen/common/SharedAccess.h - generic-proxy loads and stores of shared memory, matrix loads and
// stores. PTX ISA, "ld", "st", "ldmatrix", "stmatrix".
#pragma once

#include "codegen/common/Values.h"
#include "dialect/Layout/Fragment.h"

namespace fovea::codegen {

/// ld.shared of `type` (scalar, or vector of up to 16 bytes); the address is aligned to the size.
/// `isVolatile` for words that the hardware writes behind LLVM's back (the tcgen05.alloc slot).
Value loadShared(OpBuilder &b, Location loc, Type type, Value address, bool isVolatile = false);
/// st.shared of a scalar or a vector of up to 16 bytes, naturally aligned.
void storeShared(OpBuilder &b, Location loc, Value value, Value address);
/// 16 zero bytes.
void zeroShared16(OpBuilder &b, Location loc, Value address);

/// ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16: whole warp; lane l gives the 16-byte
/// aligned address of row l%8 of matrix l/8. Returns `count` i32 registers.
SmallVector<Value> loadMatrix(OpBuilder &b, Location loc, Value address, uint32_t count,
                              bool trans);
/// stmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16 of 1, 2 or 4 i32 registers.
void storeMatrix(OpBuilder &b, Location loc, Value address, ValueRange registers, bool trans);

/// The thread part of layout::MatrixAddress (i32) from `lane` (i32, 0..31) and `rowShift` (i32,
/// multiple of 8; null for 0): compute once per tile shape, then use matrixAddress for each 16 x 16
/// block.
Value matrixLaneOffset(OpBuilder &b, Location loc, const layout::SmemTile &tile,
                       layout::MatrixOrder order, Value lane, Value rowShift = {});
/// Thread part with columns shifted by the runtime value `colShift` (i32, multiple of 16, below
/// tile.panelCols()).
Value matrixShiftCols(OpBuilder &b, Location loc, Value laneOffset, Value colShift);
/// Address (i32) for the 16 x 16 block at (row0, col0) of the tile at `base`; base aligned to
/// tile.alignment().
Value matrixAddress(OpBuilder &b, Location loc, const layout::SmemTile &tile, Value base,
                    Value laneOffset, uint32_t row0, uint32_t col0);

/// Byte offset (i32) of element (row, col) of the tile for runtime row and col (i32). For 16-byte
/// accesses col * elemBytes is a multiple of 16. General and slower than the functions above.
Value tileOffset(OpBuilder &b, Location loc, const layout::SmemTile &tile, Value row, Value col);

/// tileOffset(row, col) for a runtime lane part and constants: base + the offset of element (row + row0, col + col0), where
/// `laneOffset` is tileOffset of (row, col). row0 is a multiple of 8; col0 * elemBytes has no bit in common with col *
/// elemBytes, and col lies in the first panel.
Value tileAddress(OpBuilder &b, Location loc, const layout::SmemTile &tile, Value base, Value laneOffset, uint32_t row0,
                  uint32_t col0);

} // namespace fovea::codegen
