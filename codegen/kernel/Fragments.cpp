// codegen/kernel/Fragments.cpp - register tiles from and to swizzled shared tiles.
#include "codegen/kernel/Fragments.h"
#include "codegen/common/SharedAccess.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;

SmallVector<Value> fovea::codegen::packPairs(Emitter &e, Half type, ValueRange registers) {
  SmallVector<Value> packed;
  for (size_t r = 0; r < registers.size(); r += 2)
    packed.push_back(packHalf2(e.b, e.loc, type, registers[r], registers[r + 1]));
  return packed;
}

void fovea::codegen::storeFragment(Emitter &e, tile::SlotType type, Value base, ValueRange registers, uint32_t col0,
                                   int64_t block) {
  layout::SmemTile tile = e.smemTile(type);
  Value laneOffset = matrixLaneOffset(e.b, e.loc, tile, layout::MatrixOrder::RowsFirst, e.lane, e.warpRow());
  if (block) {
    // From the first column of the warp's own block: a panel, and a column inside it.
    Value start = LLVM::AndOp::create(e.b, e.loc, e.warpRow(), e.i32(~(block - 1)));
    uint32_t panelCols = tile.panelCols();
    laneOffset = matrixShiftCols(e.b, e.loc, laneOffset, LLVM::AndOp::create(e.b, e.loc, start, e.i32(panelCols - 1)));
    if (tile.panelCount() > 1)
      base = e.add(base, e.mul(LLVM::UDivOp::create(e.b, e.loc, start, e.i32(panelCols)), e.i32(tile.panelBytes())));
  }
  SmallVector<Value> packed = packPairs(e, e.half(type.getElementType()), registers);
  for (size_t i = 0; i * 4 < packed.size(); ++i) {
    Value address = matrixAddress(e.b, e.loc, tile, base, laneOffset, 0, col0 + uint32_t(16 * i));
    storeMatrix(e.b, e.loc, address, ValueRange(packed).slice(4 * i, 4), /*trans=*/false);
  }
}

void fovea::codegen::storeElements(Emitter &e, tile::SlotType type, Value base, ValueRange registers, uint32_t col0,
                                   int64_t block) {
  if (!e.holdsRows())
    return storeFragment(e, type, base, registers, col0, block);
  layout::SmemTile tile = e.smemTile(type);
  SmallVector<Value> packed = packPairs(e, e.half(type.getElementType()), registers);
  Value row = e.add(e.warpRow(), e.lane);
  Value start = block ? Value(LLVM::AndOp::create(e.b, e.loc, row, e.i32(~(block - 1)))) : e.i32(0);
  for (size_t i = 0; i < packed.size(); i += 4) {
    Value offset = tileOffset(e.b, e.loc, tile, row, e.add(start, e.i32(col0 + 2 * i)));
    storeShared(e.b, e.loc, packVector(e.b, e.loc, ValueRange(packed).slice(i, 4)), e.add(base, offset));
  }
}

SmallVector<Value> fovea::codegen::loadElements(Emitter &e, tile::SlotType type, Value base, uint32_t col0,
                                                uint32_t count) {
  layout::SmemTile tile = e.smemTile(type);
  const Half half = e.half(type.getElementType());
  SmallVector<Value> words;
  if (e.holdsRows()) {
    Value row = e.add(e.warpRow(), e.lane);
    for (uint32_t i = 0; i < count; i += 8) {
      Value at = e.add(base, tileOffset(e.b, e.loc, tile, row, e.i32(col0 + i)));
      llvm::append_range(words, unpackVector(e.b, e.loc, loadShared(e.b, e.loc, VectorType::get({4}, e.b.getI32Type()), at)));
    }
  } else {
    Value laneOffset = matrixLaneOffset(e.b, e.loc, tile, layout::MatrixOrder::RowsFirst, e.lane, e.warpRow());
    for (uint32_t i = 0; i < count; i += 16)
      llvm::append_range(words, loadMatrix(e.b, e.loc, matrixAddress(e.b, e.loc, tile, base, laneOffset, 0, col0 + i), 4,
                                           /*trans=*/false));
  }
  SmallVector<Value> values;
  for (Value word : words) {
    auto [low, high] = unpackHalf2(e.b, e.loc, half, word);
    values.push_back(low), values.push_back(high);
  }
  return values;
}
