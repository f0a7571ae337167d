// dialect/Layout/Fragment.cpp - fragment maps and the addresses of ldmatrix/stmatrix.
#include "dialect/Layout/Fragment.h"

#include <cassert>

namespace fovea::layout {

// One warp's 16 x 8 accumulator is the brick of both wgmma (4 warps stacked, N/8 side by side) and
// mma.sync.
Element mmaAccumulatorElement(uint32_t lane, uint32_t reg) {
  return {lane / 4 + 8 * ((reg / 2) % 2), 8 * (reg / 4) + 2 * (lane % 4) + reg % 2};
}

Element wgmmaAccumulatorElement(uint32_t thread, uint32_t reg) {
  Element e = mmaAccumulatorElement(thread % 32, reg);
  return {16 * (thread / 32) + e.row, e.col};
}

RegisterSlot wgmmaAccumulatorSlot(uint32_t row, uint32_t col) {
  return {(row / 16) * 32 + (row % 8) * 4 + (col % 8) / 2,
          4 * (col / 8) + 2 * ((row % 16) / 8) + col % 2, 0};
}

Element mmaOperandAElement(uint32_t lane, uint32_t reg, uint32_t half) {
  return {lane / 4 + 8 * (reg % 2), 2 * (lane % 4) + half + 8 * (reg / 2)};
}

Element mmaOperandBElement(uint32_t lane, uint32_t reg, uint32_t half) {
  return {2 * (lane % 4) + half + 8 * reg, lane / 4};
}

Element wgmmaOperandAElement(uint32_t thread, uint32_t reg, uint32_t half) {
  Element e = mmaOperandAElement(thread % 32, reg, half);
  return {16 * (thread / 32) + e.row, e.col};
}

RegisterSlot wgmmaOperandASlot(uint32_t row, uint32_t k) {
  return {(row / 16) * 32 + (row % 8) * 4 + (k % 8) / 2, (row % 16) / 8 + 2 * (k / 8), k % 2};
}

Element matrixRow(MatrixOrder order, uint32_t lane) {
  uint32_t row = lane % 8, low = 8 * ((lane / 8) % 2), high = 8 * (lane / 16);
  return order == MatrixOrder::RowsFirst ? Element{row + low, high} : Element{row + high, low};
}

uint32_t MatrixAddress::laneOffset(const SmemTile &tile, MatrixOrder order, uint32_t lane,
                                   uint32_t rowShift) {
  assert(tile.elemBytes() == 2 && rowShift % 8 == 0 && "16-bit tiles, whole swizzle patterns");
  Element e = matrixRow(order, lane);
  return apply(tile.swizzle(), (e.row + rowShift) * tile.rowBytes() + e.col * 2);
}

uint32_t MatrixAddress::xorBytes(const SmemTile &tile, uint32_t col0) {
  assert(col0 % 16 == 0 && "blocks of 16 columns");
  return (col0 % tile.panelCols()) * 2;
}

uint32_t MatrixAddress::addBytes(const SmemTile &tile, uint32_t row0, uint32_t col0) {
  assert(row0 % 8 == 0 && "whole swizzle patterns");
  return (col0 / tile.panelCols()) * tile.panelBytes() + row0 * tile.rowBytes();
}

} // namespace fovea::layout
