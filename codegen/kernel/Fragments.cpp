// codegen/kernel/Fragments.cpp - accumulator fragments into swizzled shared tiles.
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
