// codegen/kernel/Elements.cpp - expressions of elements (tile.map_elements), from slot to slot.
#include "codegen/kernel/Expressions.h"
#include "codegen/kernel/Emitter.h"
#include "codegen/kernel/Fragments.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

LogicalResult Emitter::emitMapElements(MapElementsOp op) {
  const RegisterLayout layout = holdsRows() ? RegisterLayout::Rows : RegisterLayout::Fragment;
  const uint32_t columns = uint32_t(cast<SlotType>(op.getInputs().front().getType()).getCols());
  const uint32_t step = holdsRows() ? 16 : 32; // columns in registers at a time: 16 registers a thread
  auto scalar = [&](Value v) { return scalars.lookup(v); };
  auto lookup = [&](LookupOp at, ArrayRef<TableIndex> indices) {
    return emitLookup(at.getTable(), at.getValue().getType(), indices);
  };
  for (uint32_t col = 0; col < columns; col += step) {
    TileElements elements(b, loc, layout, step, warpRow(), lane);
    elements.firstColumn = elements.firstColumn ? addI32(b, loc, elements.firstColumn, col) : i32(col);
    SmallVector<SmallVector<Value>> in;
    for (Value slot : op.getInputs()) {
      auto type = cast<SlotType>(slot.getType());
      in.push_back(type.getElementType().isF32() ? lowering.accumulator(*this, slot, col, step)
                                                 : loadElements(*this, type, address(slot), col, step));
    }
    auto out = mapElements(b, loc, op, elements, in, {{}, {}, scalar, lookup});
    if (failed(out))
      return failure();
    for (auto [slot, registers] : llvm::zip(op.getOutputs(), *out))
      storeElements(*this, cast<SlotType>(slot.getType()), address(slot), registers, col);
  }
  return success();
}
