// dialect/Layout/Fragment.h - which thread and register holds which element of a tensor-core
// fragment.
#pragma once

#include "dialect/Layout/SmemTile.h"

#include <cstdint>

namespace fovea::layout {

/// A matrix element (row, column).
struct Element {
  uint32_t row, col;
  bool operator==(const Element &o) const { return row == o.row && col == o.col; }
};

/// Where an element lives: thread (of the warpgroup for wgmma, of the warp for mma.sync), 32-bit
/// register and, for 16-bit types, the half of it (0 low, 1 high).
struct RegisterSlot {
  uint32_t thread, reg, half;
  bool operator==(const RegisterSlot &o) const {
    return thread == o.thread && reg == o.reg && half == o.half;
  }
};

/// wgmma accumulator D, 64 x N of f32 in N/2 registers of 128 threads (PTX ISA, "Register fragments
/// for wgmma").
Element wgmmaAccumulatorElement(uint32_t thread, uint32_t reg);
RegisterSlot wgmmaAccumulatorSlot(uint32_t row, uint32_t col);

/// wgmma operand A in registers, 64 x 16 of 16-bit in 4 registers of 128 threads.
Element wgmmaOperandAElement(uint32_t thread, uint32_t reg, uint32_t half);
RegisterSlot wgmmaOperandASlot(uint32_t row, uint32_t k);

/// A K-step fragment of P made from the accumulator of S without a shuffle: register `reg` (0..3)
/// of K step `step` packs accumulator registers first (low half) and first + 1 (high half). This
/// returns `first`.
constexpr uint32_t accumulatorPairOf(uint32_t step, uint32_t reg) { return 8 * step + 2 * reg; }

/// mma.sync.m16n8k16, 16-bit operands, one warp: A (16 x 16, 4 registers, row-major), B (16 x 8 as
/// k x n, 2 registers, "col"), C/D (16 x 8 f32, 4 registers).
Element mmaOperandAElement(uint32_t lane, uint32_t reg, uint32_t half);
Element mmaOperandBElement(uint32_t lane, uint32_t reg, uint32_t half); ///< row = k, col = n
Element mmaAccumulatorElement(uint32_t lane, uint32_t reg);

/// How the four 8x8 matrices of ldmatrix/stmatrix .x4 tile a 16 x 16 block of a shared tile. Lane l
/// gives the address of row l%8 of matrix l/8; register j of the instruction belongs to matrix j.
/// RowsFirst: matrix j covers rows +8*(j%2), columns +8*(j/2). ColsFirst: rows +8*(j/2), columns
/// +8*(j%2).
///
/// Uses (f = fragment element, t = tile element, both 16 bit):
///  - stmatrix of a wgmma/mma accumulator packed in pairs, t = f:         RowsFirst, plain
///  - stmatrix of it transposed, t(row, col) = f(col, row):               ColsFirst, .trans
///  - ldmatrix of an A fragment from a K-major tile (rows = M):           RowsFirst, plain
///  - ldmatrix of an A fragment from an MN-major tile (rows = K):         ColsFirst, .trans
///  - ldmatrix of two B fragments (16 n x 16 k) from a K-major tile (rows = N): ColsFirst, plain
///  - ldmatrix of two B fragments (16 n x 16 k) from an MN-major tile (rows = K): RowsFirst, .trans
enum class MatrixOrder { RowsFirst, ColsFirst };

/// Element of the 16 x 16 block whose address lane `lane` (0..31) supplies: first of 8 contiguous
/// columns.
Element matrixRow(MatrixOrder order, uint32_t lane);

/// Byte offset of the block row that lane `lane` addresses, for the 16 x 16 block whose corner is
/// (row0, col0) of a 16-bit tile, split so that generated code computes one value per thread and
/// the rest is constants:
///   offset = (laneOffset ^ xorBytes(col0)) + addBytes(row0, col0)
/// row0 is a multiple of 8, col0 of 16. A row shift known at run time only (e.g. 16 * warp,
/// multiple of 8) is folded into laneOffset; a column shift (multiple of 16, below panelCols: the
/// transposed store, where warps lie side by side) is XORed into it as shift * 2.
struct MatrixAddress {
  static uint32_t laneOffset(const SmemTile &tile, MatrixOrder order, uint32_t lane,
                             uint32_t rowShift = 0);
  static uint32_t xorBytes(const SmemTile &tile, uint32_t col0);
  static uint32_t addBytes(const SmemTile &tile, uint32_t row0, uint32_t col0);
};

} // namespace fovea::layout
