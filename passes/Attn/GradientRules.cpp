// passes/Attn/GradientRules.cpp - the gradient of each op of `attn`, except of those that hold expressions
#include "passes/Attn/GradientRules.h"

#include "dialect/Attn/Shapes.h"

#include <llvm/ADT/TypeSwitch.h>

using namespace mlir;

namespace fovea {

using namespace attn;

static AttnTensorType inF32(AttnTensorType type) { return type.withElementType(Float32Type::get(type.getContext())); }

void Gradients::add(Value value, Value gradient) {
  if (!isActive(value))
    return;
  Value &sum = gradients[value];
  sum = sum ? AddOp::create(builder, value.getLoc(), gradient.getType(), sum, gradient).getResult() : gradient;
}

Value Gradients::shared(Location loc, RowsAttr rows, Value gradient) {
  if (!rows.isBroadcast())
    return gradient;
  AttnTensorType each = tensorType(gradient);
  AttnTensorType type = AttnTensorType::rowsHeadsFeatures(rows, each.getHeads(), each.getFeatures(),
                                                          each.getElementType());
  return SumSequencesOp::create(builder, loc, type, gradient);
}

LogicalResult Gradients::propagate(Operation *op) {
  Value gradient;
  for (Value result : op->getResults())
    if (Value found = of(result))
      gradient = found;
  if (!gradient || llvm::none_of(op->getResults(), [&](Value result) { return isActive(result); }))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](DotsOp op) { return dots(op, gradient); })
      .Case([&](CombineOp op) { return combine(op, gradient); })
      .Case([&](SoftmaxOp op) { return softmaxScores(op, op.getScores(), op.getP(), op.getSink(), op.getLse(), gradient); })
      .Case([&](SoftmaxGivenOp op) { return softmaxScores(op, op.getScores(), op.getP(), {}, {}, gradient); })
      .Case([&](MapPairsOp op) { return map(op, gradient); })
      .Case([&](MapElementsOp op) { return map(op, gradient); })
      .Case([&](RotaryOp op) { return rotary(op, gradient); })
      .Case([&](AddOp op) {
        add(op.getLhs(), gradient);
        add(op.getRhs(), gradient);
        return success();
      })
      .Case<DequantOp, QuantizeOp>([&](Operation *op) {
        return op->emitError() << "no gradient: " << op->getName() << " makes quantised values, whose derivative is 0 "
                               << "almost everywhere; use bf16 or f16 inputs for a backward";
      })
      .Default([&](Operation *op) {
        return op->emitError() << "no gradient: no rule for " << op->getName();
      });
}

/// The mask that decided which pairs are present.
static Value rootMask(Value pairs) {
  while (Operation *op = pairs.getDefiningOp()) {
    if (auto dots = dyn_cast<DotsOp>(op))
      return dots.getMask();
    pairs = op->getOperand(0); // every op that makes pairs takes pairs first
  }
  llvm_unreachable("pairs come from attn.dots");
}

LogicalResult Gradients::dots(DotsOp op, Value gradient) {
  AttnTensorType queries = tensorType(op.getQueries()), keys = tensorType(op.getKeys());
  Location loc = op.getLoc();
  if (isActive(op.getQueries())) {
    auto type = AttnTensorType::rowsHeadsFeatures(queries.getRows().perSequence(), queries.getHeads(),
                                                  queries.getFeatures(), builder.getF32Type());
    Value dq = CombineOp::create(builder, loc, type, gradient, op.getKeys());
    add(op.getQueries(), shared(loc, queries.getRows(), dq));
  }
  if (isActive(op.getKeys())) {
    auto type = AttnTensorType::rowsHeadsFeatures(keys.getRows().perSequence(), keys.getHeads(), keys.getFeatures(),
                                                  builder.getF32Type());
    Value dk = CombineQueriesOp::create(builder, loc, type, gradient, op.getQueries());
    add(op.getKeys(), shared(loc, keys.getRows(), dk));
  }
  return success();
}

LogicalResult Gradients::combine(CombineOp op, Value gradient) {
  Location loc = op.getLoc();
  if (isActive(op.getPairs())) {
    Value dp = DotsOp::create(builder, loc, op.getPairs().getType(), gradient, op.getValues(),
                              rootMask(op.getPairs()));
    add(op.getPairs(), dp);
  }
  if (isActive(op.getValues())) {
    AttnTensorType values = tensorType(op.getValues());
    auto type = AttnTensorType::rowsHeadsFeatures(values.getRows().perSequence(), values.getHeads(),
                                                  values.getFeatures(), builder.getF32Type());
    Value dv = CombineQueriesOp::create(builder, loc, type, op.getPairs(), gradient);
    add(op.getValues(), shared(loc, values.getRows(), dv));
  }
  return success();
}

/// The only attn.combine that p enters; null when p is used otherwise, too.
static CombineOp onlyCombine(Value p, function_ref<bool(Value)> isForward) {
  CombineOp found;
  for (Operation *user : p.getUsers()) {
    if (user->getNumResults() != 1 || !isForward(user->getResult(0)))
      continue; // part of the gradient itself
    auto combine = dyn_cast<CombineOp>(user);
    if (!combine || found)
      return {};
    found = combine;
  }
  return found;
}

LogicalResult Gradients::softmaxScores(Operation *op, Value scores, Value p, Value sink, Value lse, Value gradient) {
  Location loc = op->getLoc();
  AttnTensorType type = rowStatisticType(pairsType(p));
  Value d;
  CombineOp combine = onlyCombine(p, [&](Value value) { return isActive(value); });
  if (statistic == RowStatistic::FromOutput && combine && of(combine.getResult())) {
    // Σ_j P_ij dP_ij = Σ_j P_ij Σ_d dO_id V_jd = Σ_d dO_id O_id.
    Value o = savedValues.lookup(combine.getResult());
    d = RowDotOp::create(builder, loc, type, of(combine.getResult()), o ? o : combine.getResult());
  } else {
    d = RowDotOp::create(builder, loc, type, p, gradient);
  }
  add(scores, SoftmaxGradOp::create(builder, loc, scores.getType(), p, gradient, d));
  if (sink && isActive(sink)) // one more key of value 0: its dP is 0
    add(sink, SinkGradOp::create(builder, loc, sink.getType(), sink, lse, d));
  return success();
}

LogicalResult Gradients::rotary(RotaryOp op, Value gradient) {
  if (isActive(op.getTable())) {
    if (op.getApplied())
      return op.emitError() << "no gradient: the caller has applied this rotary table, and the tensor as it was before is "
                            << "not here; leave the table out of wrt, or rotate on load";
    // A rotation by the opposite angle is the same with x and the gradient exchanged.
    Value x = op.getTranspose() ? gradient : op.getX(), g = op.getTranspose() ? op.getX() : gradient;
    add(op.getTable(), RotaryTableGradOp::create(builder, op.getLoc(), inF32(tensorType(op.getTable())), x, g,
                                                 op.getTable(), op.getStyle()));
  }
  if (!isActive(op.getX()))
    return success();
  // The transpose of a rotation by an angle is the rotation by its opposite.
  Value dx = RotaryOp::create(builder, op.getLoc(), inF32(tensorType(op.getX())), gradient, op.getTable(),
                              op.getStyle(), /*applied=*/false, /*transpose=*/!op.getTranspose());
  add(op.getX(), dx);
  return success();
}

} // namespace fovea
