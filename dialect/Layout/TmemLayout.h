// dialect/Layout/TmemLayout.h - addresses and data-path layouts of tensor memory (sm_100a).
#pragma once

#include <cstdint>

namespace fovea::layout {

/// Tensor memory of one CTA: 128 lanes x 512 columns of 32-bit cells.
constexpr uint32_t tmemLanes = 128;
constexpr uint32_t tmemColumns = 512;

/// Address of a cell: lane in bits 31..16, column in bits 15..0. Fields add independently.
constexpr uint32_t tmemAddress(uint32_t lane, uint32_t column) { return lane << 16 | column; }
constexpr uint32_t tmemLane(uint32_t address) { return address >> 16; }
constexpr uint32_t tmemColumn(uint32_t address) { return address & 0xFFFF; }

struct TmemCell {
  uint32_t lane, column;
  bool operator==(const TmemCell &o) const { return lane == o.lane && column == o.column; }
};

/// Number of columns tcgen05.alloc accepts that holds `columns`: 32, 64, 128, 256 or 512; 0 when
/// too many.
constexpr uint32_t tmemAllocation(uint32_t columns) {
  for (uint32_t n = 32; n <= tmemColumns; n *= 2)
    if (columns <= n)
      return n;
  return 0;
}

/// Data-path layouts of a 32-bit accumulator with one CTA (PTX ISA, "Data path layout
/// organization"). D: M = 128, row i in lane i. F: M = 64, row i in lane 32*(i/16) + i%16; the same
/// lanes + 16 hold a second accumulator when the address starts at lane 16.
enum class DataPath { D, F };
constexpr DataPath dataPathOf(uint32_t m) { return m == 64 ? DataPath::F : DataPath::D; }

/// Cell of accumulator element (row, col), relative to the accumulator's address.
constexpr TmemCell accumulatorCell(DataPath path, uint32_t row, uint32_t col) {
  return {path == DataPath::D ? row : 32 * (row / 16) + row % 16, col};
}

/// Cell of element (row, k) of a 16-bit A operand in tensor memory, and the bit where it starts (0
/// or 16): two elements a cell, 8 columns a K step of 16.
constexpr TmemCell operandACell(DataPath path, uint32_t row, uint32_t k) {
  return {accumulatorCell(path, row, 0).lane, k / 2};
}
constexpr uint32_t operandABit(uint32_t k) { return 16 * (k % 2); }
constexpr uint32_t operandAColumnsPerStep = 8;

/// Shapes of tcgen05.ld / tcgen05.st used here (PTX ISA, "Data movement shape").
enum class TmemShape { S32x32b, S16x64b, S16x128b, S16x256b };

/// 32-bit registers a thread holds for `.xNUM` of a shape: num, num, 2*num, 4*num. At most 128.
constexpr uint32_t registersOf(TmemShape shape, uint32_t num) {
  return shape == TmemShape::S16x256b ? 4 * num : shape == TmemShape::S16x128b ? 2 * num : num;
}

/// Columns covered by `.xNUM` of a shape: num, 2*num, 4*num, 8*num.
constexpr uint32_t columnsOf(TmemShape shape, uint32_t num) {
  return num << static_cast<uint32_t>(shape);
}

/// Cell of register `reg` of thread lane `lane` (0..31), relative to the address in the
/// instruction. A warp of rank w reaches lanes 32*(w%4) .. +31 only; the 16-lane shapes start at
/// lane offset 0 or 16 of that quarter.
TmemCell loadCell(TmemShape shape, uint32_t lane, uint32_t reg);

} // namespace fovea::layout
