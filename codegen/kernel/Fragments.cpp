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

void fovea::codegen::storeFragment(Emitter &e, tile::SlotType type, Value base, ValueRange registers, uint32_t col0) {
  layout::SmemTile tile = e.smemTile(type);
  Value laneOffset = matrixLaneOffset(e.b, e.loc, tile, layout::MatrixOrder::RowsFirst, e.lane, e.warpRow(16));
  SmallVector<Value> packed = packPairs(e, e.half(type.getElementType()), registers);
  for (size_t block = 0; block * 4 < packed.size(); ++block) {
    Value address = matrixAddress(e.b, e.loc, tile, base, laneOffset, 0, col0 + uint32_t(16 * block));
    storeMatrix(e.b, e.loc, address, ValueRange(packed).slice(4 * block, 4), /*trans=*/false);
  }
}
