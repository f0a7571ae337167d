// dialect/Attn/PairOps.cpp - checks of the ops on pairs
#include "dialect/Attn/Expressions.h"
#include "dialect/Attn/Shapes.h"

using namespace mlir;

namespace fovea::attn {

//===-- products --------------------------------------------------------------------------------------------===//

LogicalResult DotsOp::verify() {
  AttnTensorType queries = tensorType(getQueries()), keys = tensorType(getKeys());
  if (!isFloatRowsHeadsFeatures(queries) || !isFloatRowsHeadsFeatures(keys) ||
      queries.getFeatures() != keys.getFeatures())
    return emitOpError() << "expected floating rows x heads x features with equal features, found " << queries
                         << " and " << keys << " (attn.dots-C1)";
  if (!headsDivide(queries.getHeads(), keys.getHeads()))
    return emitOpError() << "expected the keys' heads to divide the queries', found " << keys.getHeads() << " and "
                         << queries.getHeads() << " (attn.dots-C2)";
  RowsAttr queryRows = queries.getRows().perSequence(), keyRows = keys.getRows().perSequence();
  PairsType result = pairsType(getResult());
  if (cast<MaskType>(getMask().getType()) != MaskType::get(getContext(), queryRows, keyRows) ||
      result != PairsType::get(getContext(), queryRows, keyRows, queries.getHeads(), Float32Type::get(getContext())))
    return emitOpError() << "expected mask and f32 result over the operands' rows and the queries' heads, found "
                         << getMask().getType() << " and " << result << " (attn.dots-C3)";
  return success();
}

LogicalResult CombineOp::verify() {
  PairsType pairs = pairsType(getPairs());
  AttnTensorType values = tensorType(getValues());
  if (!isFloatRowsHeadsFeatures(values) || values.getRows().perSequence() != pairs.getKeys())
    return emitOpError() << "expected floating values, rows of the keys x heads x features, found " << values
                         << " for " << pairs << " (attn.combine-C1)";
  if (!headsDivide(pairs.getHeads(), values.getHeads()))
    return emitOpError() << "expected the values' heads to divide the pairs', found " << values.getHeads() << " and "
                         << pairs.getHeads() << " (attn.combine-C2)";
  AttnTensorType result = tensorType(getResult());
  AttnTensorType expected = AttnTensorType::rowsHeadsFeatures(pairs.getQueries(), pairs.getHeads(),
                                                              values.getFeatures(), result.getElementType());
  if (result != expected || !isFloatRowsHeadsFeatures(result))
    return emitOpError() << "expected the result to be " << expected << ", found " << result << " (attn.combine-C3)";
  return success();
}

LogicalResult CombineQueriesOp::verify() {
  PairsType pairs = pairsType(getPairs());
  AttnTensorType x = tensorType(getX());
  if (!isFloatRowsHeadsFeatures(x) || x.getRows().perSequence() != pairs.getQueries() ||
      x.getHeads() != pairs.getHeads())
    return emitOpError() << "expected floating x, rows of the queries x the pairs' heads x features, found " << x
                         << " for " << pairs << " (attn.combine_queries-C1)";
  AttnTensorType result = tensorType(getResult());
  if (!headsDivide(pairs.getHeads(), result.getHeads()))
    return emitOpError() << "expected the result's heads to divide the pairs', found " << result.getHeads() << " and "
                         << pairs.getHeads() << " (attn.combine_queries-C2)";
  AttnTensorType expected = AttnTensorType::rowsHeadsFeatures(pairs.getKeys(), result.getHeads(), x.getFeatures(),
                                                              result.getElementType());
  if (result != expected || !isFloatRowsHeadsFeatures(result))
    return emitOpError() << "expected the result to be " << expected << ", found " << result
                         << " (attn.combine_queries-C3)";
  return success();
}

//===-- elementwise on pairs --------------------------------------------------------------------------------===//

void MapPairsOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameExpressionArguments(region, Domain::Pair, getInputs().size(), setName);
}

LogicalResult MapPairsOp::verify() {
  PairsType result = pairsType(getResult());
  for (Value input : getInputs())
    if (!haveSameShape(pairsType(input), result))
      return emitOpError() << "expected operands and result over the same rows and heads, found " << input.getType()
                           << " and " << result << " (attn.map_pairs-C1)";
  if (!result.getElementType().isF32())
    return emitOpError() << "expected an f32 result, found " << result << " (attn.map_pairs-C1)";
  if (getInputs().empty())
    return emitOpError() << "expected at least one operand, which says the pairs that are present (attn.map_pairs-C1)";
  return verifyExpression(*this, getBody(), Domain::Pair, getInputs().size(), Float32Type::get(getContext()),
                          "attn.map_pairs-C2", "attn.map_pairs-C3", "attn.map_pairs-C4");
}

LogicalResult QuantizeOp::verify() {
  PairsType input = pairsType(getInput()), result = pairsType(getResult());
  if (!input.getElementType().isF32() || !isa<Float8E4M3FNType>(result.getElementType()) ||
      !haveSameShape(input, result))
    return emitOpError() << "expected f32 pairs to become f8E4M3FN pairs of the same rows and heads, found " << input
                         << " and " << result << " (attn.quantize-C1)";
  return success();
}

//===-- softmax and its gradient ----------------------------------------------------------------------------===//

static LogicalResult verifySoftmax(Operation *op, Value scores, Value p, Value lse, StringRef id) {
  PairsType pairs = pairsType(scores);
  if (p.getType() != pairs || tensorType(lse) != rowStatisticType(pairs))
    return op->emitOpError() << "expected p to be " << pairs << " and lse " << rowStatisticType(pairs) << ", found "
                             << p.getType() << " and " << lse.getType() << " (" << id << ")";
  return success();
}

LogicalResult SoftmaxOp::verify() {
  AttnTensorType sink = getSink() ? tensorType(getSink()) : AttnTensorType();
  AttnTensorType expected = perHeadType(pairsType(getScores()).getHeads(), getContext());
  if (sink && sink != expected)
    return emitOpError() << "expected the sink to be " << expected << ", found " << sink << " (attn.softmax-C2)";
  return verifySoftmax(*this, getScores(), getP(), getLse(), "attn.softmax-C1");
}
LogicalResult SoftmaxGivenOp::verify() {
  return verifySoftmax(*this, getScores(), getP(), getLse(), "attn.softmax_given-C1");
}

LogicalResult SinkGradOp::verify() {
  AttnTensorType lse = tensorType(getLse()), d = tensorType(getD());
  AttnTensorType expected = perHeadType(lse.getHeads(), getContext());
  bool rows = lse.getRows() && lse == AttnTensorType::rowsHeads(lse.getRows(), lse.getHeads(), expected.getElementType());
  if (!rows || d != lse || tensorType(getSink()) != expected || tensorType(getResult()) != expected)
    return emitOpError() << "expected lse and d of f32 rows x heads, and sink and result " << expected << ", found "
                         << lse << ", " << d << ", " << getSink().getType() << " and " << getResult().getType()
                         << " (attn.sink_grad-C1)";
  return success();
}

LogicalResult RowDotOp::verify() {
  AttnTensorType expected;
  auto lhsPairs = dyn_cast<PairsType>(getLhs().getType()), rhsPairs = dyn_cast<PairsType>(getRhs().getType());
  if (lhsPairs && rhsPairs && haveSameShape(lhsPairs, rhsPairs)) {
    expected = rowStatisticType(lhsPairs);
  } else if (!lhsPairs && !rhsPairs) {
    AttnTensorType lhs = tensorType(getLhs());
    if (isFloatRowsHeadsFeatures(lhs) && lhs.getAxes() == tensorType(getRhs()).getAxes())
      expected = AttnTensorType::rowsHeads(lhs.getRows(), lhs.getHeads(), Float32Type::get(getContext()));
  }
  if (!expected)
    return emitOpError() << "expected two pairs or two floating rows x heads x features of one shape, found "
                         << getLhs().getType() << " and " << getRhs().getType() << " (attn.row_dot-C1)";
  if (getResult().getType() != expected)
    return emitOpError() << "expected the result to be " << expected << ", found " << getResult().getType()
                         << " (attn.row_dot-C2)";
  return success();
}

LogicalResult SoftmaxGradOp::verify() {
  PairsType p = pairsType(getP());
  if (getDp().getType() != p || getResult().getType() != p || tensorType(getD()) != rowStatisticType(p))
    return emitOpError() << "expected dp and the result to be " << p << " and d " << rowStatisticType(p) << ", found "
                         << getDp().getType() << ", " << getResult().getType() << " and " << getD().getType()
                         << " (attn.softmax_grad-C1)";
  return success();
}

} // namespace fovea::attn
