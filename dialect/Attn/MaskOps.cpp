// dialect/Attn/MaskOps.cpp - checks of the mask ops
#include "dialect/Attn/Expressions.h"

using namespace mlir;

namespace fovea::attn {

LogicalResult BlocksOp::verify() {
  if (int64_t(getQueryBlock()) <= 0 || int64_t(getKeyBlock()) <= 0)
    return emitOpError() << "expected positive block sizes, found " << int64_t(getQueryBlock()) << " and "
                         << int64_t(getKeyBlock()) << " (attn.blocks-C1)";
  auto type = cast<AttnTensorType>(getList().getType());
  RowsAttr queries = cast<MaskType>(getMask().getType()).getQueries();
  ArrayRef<AxisAttr> axes = type.getAxes();
  bool right = isa<IntegerType>(type.getElementType()) && axes.size() == 3 &&
               axes[0] == AxisAttr::blocks(queries, getQueryBlock()) && axes[1].getKind() == AxisKind::Heads &&
               axes[2].getKind() == AxisKind::Extent;
  if (!right)
    return emitOpError() << "expected the list to be i32 or i64, blocks(query_block, rows of the queries) x heads x "
                         << "extent, found " << type << " (attn.blocks-C2)";
  return success();
}

void MaskWhereOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameExpressionArguments(region, Domain::Pair, 0, setName);
}

LogicalResult MaskWhereOp::verify() {
  return verifyExpression(*this, getBody(), Domain::Pair, 0, IntegerType::get(getContext(), 1), "attn.mask_where-C1",
                          "attn.mask_where-C2", "attn.mask_where-C3");
}

} // namespace fovea::attn
