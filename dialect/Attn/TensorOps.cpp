// dialect/Attn/TensorOps.cpp - checks of the ops on tensors and of the look-up
#include "dialect/Attn/Expressions.h"
#include "dialect/Attn/Shapes.h"

using namespace mlir;

namespace fovea::attn {

//===-- prologues -------------------------------------------------------------------------------------------===//

/// A row of angles for each row of x, or for each position.
static bool isTableOf(AttnTensorType x, AttnTensorType table) {
  ArrayRef<AxisAttr> axes = table.getAxes();
  return axes.size() == 2 && axes[1] == AxisAttr::extent(x.getContext(), x.getFeatures()) &&
         (axes[0].getKind() == AxisKind::Extent || axes[0] == AxisAttr::rows(x.getRows())) &&
         isa<BFloat16Type, Float16Type, Float32Type>(table.getElementType());
}

LogicalResult RotaryOp::verify() {
  AttnTensorType x = tensorType(getX()), result = tensorType(getResult()), table = tensorType(getTable());
  if (!isFloatRowsHeadsFeatures(x) || !isFloatRowsHeadsFeatures(result) || x.getAxes() != result.getAxes())
    return emitOpError() << "expected floating rows x heads x features and a result of that shape, found " << x
                         << " and " << result << " (attn.rotary-C1)";
  int64_t features = x.getFeatures();
  if (features % 2 != 0)
    return emitOpError() << "expected an even number of features, which rotate in pairs, found " << features
                         << " (attn.rotary-C2)";
  if (!isTableOf(x, table))
    return emitOpError() << "expected the table to be bf16, f16 or f32, rows of x (or ?) x " << features << ", found "
                         << table << " (attn.rotary-C3)";
  if (getApplied() && getTranspose())
    return emitOpError() << "expected one of applied and transpose, found both (attn.rotary-C4)";
  return success();
}

LogicalResult RotaryTableGradOp::verify() {
  AttnTensorType x = tensorType(getX()), gradient = tensorType(getGradient()), like = tensorType(getLike());
  if (!isFloatRowsHeadsFeatures(x) || !isFloatRowsHeadsFeatures(gradient) || x.getAxes() != gradient.getAxes() ||
      x.getFeatures() % 2 != 0 || !isTableOf(x, like))
    return emitOpError() << "expected two floating rows x heads x features of one shape and a table that rotates such, found "
                         << x << ", " << gradient << " and " << like << " (attn.rotary_table_grad-C1)";
  if (tensorType(getResult()).getAxes() != like.getAxes())
    return emitOpError() << "expected a result shaped like the table " << like << ", found " << getResult().getType()
                         << " (attn.rotary_table_grad-C2)";
  return success();
}

bool DequantOp::isAlongRows() { return tensorType(getScales()).getAxes().front().getKind() == AxisKind::Blocks; }

LogicalResult DequantOp::verify() {
  AttnTensorType data = tensorType(getData()), scales = tensorType(getScales()), result = tensorType(getResult());
  if (!isFloatRowsHeadsFeatures(data) || !isa<Float8E4M3FNType>(data.getElementType()) ||
      !isa<Float8E8M0FNUType>(scales.getElementType()))
    return emitOpError() << "expected rows x heads x features of f8E4M3FN and scales of f8E8M0FNU, found " << data
                         << " and " << scales << " (attn.dequant-C1)";
  RowsAttr rows = data.getRows();
  AxisAttr heads = data.getAxes()[1];
  int64_t features = data.getFeatures();
  SmallVector<AxisAttr> alongRows = {AxisAttr::blocks(rows, kBlock), heads, data.getAxes()[2]};
  SmallVector<AxisAttr> alongFeatures;
  if (features % kBlock == 0)
    alongFeatures = {AxisAttr::rows(rows), heads, AxisAttr::extent(getContext(), features / kBlock)};
  if (scales.getAxes() != ArrayRef<AxisAttr>(alongRows) &&
      (alongFeatures.empty() || scales.getAxes() != ArrayRef<AxisAttr>(alongFeatures)))
    return emitOpError() << "expected one scale per 32 features (features a multiple of 32) or per 32 rows, found "
                         << scales << " for " << data << " (attn.dequant-C2)";
  if (result != data.withElementType(Float32Type::get(getContext())))
    return emitOpError() << "expected the result to be "
                         << data.withElementType(Float32Type::get(getContext())) << ", found " << result
                         << " (attn.dequant-C3)";
  return success();
}

//===-- epilogues and reductions ----------------------------------------------------------------------------===//

void MapElementsOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameExpressionArguments(region, Domain::Element, getInputs().size(), setName);
}

LogicalResult MapElementsOp::verify() {
  AttnTensorType result = tensorType(getResult());
  bool right = !getInputs().empty() && isFloatRowsHeadsFeatures(result);
  for (Value input : getInputs())
    right = right && isFloatRowsHeadsFeatures(tensorType(input)) && tensorType(input).getAxes() == result.getAxes();
  if (!right)
    return emitOpError() << "expected at least one operand, and floating rows x heads x features of one shape, found "
                         << getInputs().getTypes() << " and " << result << " (attn.map_elements-C1)";
  return verifyExpression(*this, getBody(), Domain::Element, getInputs().size(), Float32Type::get(getContext()),
                          "attn.map_elements-C2", "attn.map_elements-C3", "attn.map_elements-C4");
}

static Domain scatterDomain(ScatterAddOp op) {
  return !op.getInputs().empty() && isa<PairsType>(op.getInputs()[0].getType()) ? Domain::Pair : Domain::Element;
}

void ScatterAddOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameExpressionArguments(region, scatterDomain(*this), getInputs().size(), setName);
}

LogicalResult ScatterAddOp::verify() {
  bool right = !getInputs().empty();
  for (Value input : getInputs()) {
    if (auto pairs = dyn_cast<PairsType>(input.getType())) {
      auto first = dyn_cast<PairsType>(getInputs()[0].getType());
      right = right && first && haveSameShape(pairs, first);
    } else {
      auto first = dyn_cast<AttnTensorType>(getInputs()[0].getType());
      AttnTensorType type = tensorType(input);
      right = right && first && isFloatRowsHeadsFeatures(type) && type.getAxes() == first.getAxes();
    }
  }
  if (!right)
    return emitOpError() << "expected at least one operand, and all pairs or all rows x heads x features of one shape, "
                         << "found " << getInputs().getTypes() << " (attn.scatter_add-C1)";
  if (tensorType(getResult()).getAxes() != tensorType(getLike()).getAxes())
    return emitOpError() << "expected the result to have the axes of " << getLike().getType() << ", found "
                         << getResult().getType() << " (attn.scatter_add-C1)";
  if (failed(verifyExpression(*this, getBody(), scatterDomain(*this), getInputs().size(), Type(),
                              "attn.scatter_add-C2", "attn.scatter_add-C3", "attn.scatter_add-C4")))
    return failure();
  size_t indices = cast<ContributeOp>(getBody().front().back()).getIndices().size();
  size_t axes = tensorType(getResult()).getAxes().size();
  if (indices != axes)
    return emitOpError() << "expected one index per axis of the result, found " << indices << " for "
                         << getResult().getType() << " (attn.scatter_add-C3)";
  return success();
}

LogicalResult SumSequencesOp::verify() {
  AttnTensorType input = tensorType(getInput()), result = tensorType(getResult());
  bool right = input.isRowsHeadsFeatures() && result.isRowsHeadsFeatures() && result.getRows().isBroadcast() &&
               result.getRows().perSequence() == input.getRows() &&
               result.getAxes().drop_front() == input.getAxes().drop_front();
  if (!right)
    return emitOpError() << "expected fixed(N) rows to become broadcast(N) with the same heads and features, found "
                         << input << " and " << result << " (attn.sum_sequences-C1)";
  return success();
}

LogicalResult PackOp::verify() {
  int64_t columns = 0;
  RowsAttr rows;
  for (Value input : getInputs()) {
    AttnTensorType type = tensorType(input);
    if (!isFloatRowsHeadsFeatures(type) || (rows && rows != type.getRows()) ||
        ShapedType::isDynamic(type.getHeads()))
      return emitOpError() << "expected rows x heads x features with equal rows and known heads, found " << type
                           << " (attn.pack-C1)";
    rows = type.getRows();
    columns += type.getHeads() * type.getFeatures();
  }
  if (!rows)
    return emitOpError() << "expected at least one operand (attn.pack-C1)";
  AttnTensorType result = tensorType(getResult());
  SmallVector<AxisAttr> expected = {AxisAttr::rows(rows), AxisAttr::extent(getContext(), columns)};
  if (result.getAxes() != ArrayRef<AxisAttr>(expected))
    return emitOpError() << "expected the result to be the operands' rows x " << columns << ", found " << result
                         << " (attn.pack-C2)";
  return success();
}

LogicalResult AddOp::verify() {
  auto matches = [&](Type type) {
    auto pairs = dyn_cast<PairsType>(type), result = dyn_cast<PairsType>(getResult().getType());
    if (pairs || result)
      return pairs && result && haveSameShape(pairs, result);
    return cast<AttnTensorType>(type).getAxes() == tensorType(getResult()).getAxes();
  };
  if (!matches(getLhs().getType()) || !matches(getRhs().getType()))
    return emitOpError() << "expected operands and result of one shape, found " << getLhs().getType() << ", "
                         << getRhs().getType() << " and " << getResult().getType() << " (attn.add-C1)";
  return success();
}

//===-- inside regions --------------------------------------------------------------------------------------===//

LogicalResult LookupOp::verify() {
  AttnTensorType table = tensorType(getTable());
  if (getIndices().size() != table.getAxes().size())
    return emitOpError() << "expected one index per axis, found " << getIndices().size() << " for " << table
                         << " (attn.lookup-C1)";
  bool isFloat = isa<FloatType>(table.getElementType());
  if (isFloat != isa<FloatType>(getResult().getType()))
    return emitOpError() << "expected " << (isFloat ? "f32" : "i64") << " from " << table << ", found "
                         << getResult().getType() << " (attn.lookup-C2)";
  if (!isa<MaskWhereOp, MapPairsOp, MapElementsOp, ScatterAddOp>((*this)->getParentOp()))
    return emitOpError() << "expected to stand in the region of attn.mask_where, map_pairs, map_elements or "
                         << "scatter_add (attn.lookup-C3)";
  return success();
}

} // namespace fovea::attn
