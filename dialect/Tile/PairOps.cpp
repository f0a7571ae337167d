// dialect/Tile/PairOps.cpp - checks of expressions on register tiles and of their tables.
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea::tile;

std::string fovea::tile::tableSymbol(StringRef name) { return "table." + name.str(); }

LogicalResult TableOp::verify() {
  if (getDims() < 1 || getDims() > 4)
    return emitOpError("expected 1 to 4 dimensions, found ") << getDims() << " [tile.table-C1]";
  if (!getElementType().isF32() && !getElementType().isInteger(32))
    return emitOpError("expected elements of f32 or i32, found ") << getElementType() << " [tile.table-C2]";
  return success();
}

// Constraint C4 of both ops.
static LogicalResult verifyExpression(Operation *op, Block &block, StringRef constraint) {
  for (Operation &inner : block.without_terminator())
    if (!isa<LookupOp>(inner) && !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(inner.getDialect()))
      return op->emitOpError("expected only arith and math ops and tile.lookup, found ")
             << inner.getName() << " [" << constraint << "]";
  return success();
}

LogicalResult MapPairsOp::verify() {
  if (getTiles().empty())
    return emitOpError("expected at least one tile [tile.map_pairs-C1]");
  for (Value each : getTiles()) {
    auto tile = cast<RankedTensorType>(each.getType());
    if (tile.getRank() != 2 || !tile.getElementType().isF32() || tile != getResult().getType())
      return emitOpError("expected f32 tiles of rows x keys of one type, found ") << tile << " and "
                                                                               << getResult().getType()
                                                                               << " [tile.map_pairs-C1]";
  }
  if (getWhen() && getTiles().size() != 1)
    return emitOpError("expected one tile beside 'when', the one that stays, found ") << getTiles().size()
                                                                                     << " [tile.map_pairs-C5]";
  Block &block = getBody().front();
  bool right = block.getNumArguments() == getTiles().size() + (getFirstHead() ? 3 : 2);
  for (auto [n, argument] : llvm::enumerate(block.getArguments()))
    right = right && (n < getTiles().size() ? argument.getType().isF32() : argument.getType().isInteger(32));
  if (!right)
    return emitOpError("expected the block arguments to be ") << getTiles().size()
                                                              << " f32, then i and j"
                                                              << (getFirstHead() ? " and the head" : "")
                                                              << " : i32 [tile.map_pairs-C2]";
  auto result = block.empty() ? ResultOp() : dyn_cast<ResultOp>(block.back());
  if (!result || (!result.getValue().getType().isF32() && getTiles().size() != 1))
    return emitOpError("expected the block to end in tile.result of an f32, or of an i1 for one tile "
                       "[tile.map_pairs-C3]");
  return verifyExpression(*this, block, "tile.map_pairs-C4");
}

LogicalResult MapElementsOp::verify() {
  if (getInputs().empty() || getOutputs().empty())
    return emitOpError("expected at least one input and one output [tile.map_elements-C1]");
  auto first = cast<SlotType>(getInputs().front().getType());
  for (Value slot : getOperands()) {
    auto type = cast<SlotType>(slot.getType());
    if (type.getShape() != first.getShape() || type.getCols() % 32)
      return emitOpError("expected slots of one shape, with a multiple of 32 columns, found ")
             << first << " and " << type << " [tile.map_elements-C1]";
  }
  for (Value slot : getOutputs())
    if (auto type = cast<SlotType>(slot.getType());
        type.getSpace() != Space::Smem || type.getElementType().getIntOrFloatBitWidth() != 16)
      return emitOpError("expected outputs of 16-bit elements in smem, found ") << type << " [tile.map_elements-C1]";
  Block &block = getBody().front();
  bool right = block.getNumArguments() == getInputs().size() + 2;
  for (auto [n, argument] : llvm::enumerate(block.getArguments()))
    right = right && (n < getInputs().size() ? argument.getType().isF32() : argument.getType().isInteger(32));
  if (!right)
    return emitOpError("expected the block arguments to be ")
           << getInputs().size() << " f32, then row and column : i32 [tile.map_elements-C2]";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getOutputs().size() ||
      llvm::any_of(yield.getValues(), [](Value v) { return !v.getType().isF32(); }))
    return emitOpError("expected the block to yield ") << getOutputs().size()
                                                       << " f32, one for each output [tile.map_elements-C3]";
  return verifyExpression(*this, block, "tile.map_elements-C4");
}

static LogicalResult verifyLookup(Operation *op, StringRef name, size_t indices, Type element, StringRef id) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto table = kernel ? kernel.lookupSymbol<TableOp>(name) : TableOp();
  if (!table)
    return op->emitOpError("expected a table of this kernel, found '") << name << "' [" << id << "]";
  if (table.getDims() != indices || table.getElementType() != element)
    return op->emitOpError("expected ") << table.getDims() << " indices and a result of " << table.getElementType()
                                        << ", those of '" << name << "' [" << id << "]";
  return success();
}

LogicalResult LookupOp::verify() {
  return verifyLookup(*this, getTable(), getIndices().size(), getValue().getType(), "tile.lookup-C1");
}

LogicalResult LookupRowsOp::verify() {
  auto rows = cast<RankedTensorType>(getResult().getType());
  if (rows.getRank() != 1 || !rows.getElementType().isF32())
    return emitOpError("expected an f32 for each row, found ") << rows << " [tile.lookup_rows-C2]";
  return verifyLookup(*this, getTable(), getIndices().size(), rows.getElementType(), "tile.lookup_rows-C1");
}
