// dialect/Tile/ListOps.cpp - checks of lists of key blocks.
#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace fovea::tile;

static LogicalResult verifyTable(Operation *op, FlatSymbolRefAttr name) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto table = kernel ? kernel.lookupSymbol<TableOp>(name) : TableOp();
  if (!table || !table.getElementType().isInteger(32) || table.getDims() < 3)
    return op->emitOpError("expected an i32 table of this kernel with 3 or 4 dimensions, found '")
           << name.getValue() << "' [tile.list-C1]";
  return success();
}

LogicalResult ListRowOp::verify() { return verifyTable(*this, getTableAttr()); }
LogicalResult ListTileOp::verify() { return verifyTable(*this, getTableAttr()); }
LogicalResult ListBelowOp::verify() {
  if (getLimits().size() != getPlaces().size())
    return emitOpError("expected a place for each limit, found ") << getPlaces().size() << " and " << getLimits().size()
                                                                  << " [tile.list-C2]";
  return verifyTable(*this, getTableAttr());
}
