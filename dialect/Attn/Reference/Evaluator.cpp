// dialect/Attn/Reference/Evaluator.cpp - evaluates a spec op by op
#include "dialect/Attn/Reference/Evaluator.h"
#include "dialect/Attn/Reference/Elements.h"
#include "dialect/Attn/Reference/Products.h"

#include <cmath>
#include <llvm/ADT/TypeSwitch.h>

using namespace mlir;

namespace fovea::attn::reference {

namespace {
/// The values computed so far. Ops are pure, so each is evaluated once, in order.
class Run {
public:
  Run(const Batch &batch, Precision precision) : batch(batch), arithmetic{precision} {}

  void bind(Value value, TensorValue tensor) { tensors[value] = std::make_unique<TensorValue>(std::move(tensor)); }
  const TensorValue &tensor(Value value) const { return *tensors.at(value); }
  llvm::Error evaluate(Operation *op);
  /// Forgets the pairs, the largest values by far, whose last user `op` is.
  void release(Operation *op);

private:
  const PairsValue &pairs(Value value) const { return *pairValues.at(value); }
  const MaskValue &mask(Value value) const { return *masks.at(value); }
  void define(Value value, TensorValue tensor) {
    arithmetic.round(tensor);
    bind(value, std::move(tensor));
  }
  void define(Value value, PairsValue result) {
    arithmetic.round(result);
    pairValues[value] = std::make_unique<PairsValue>(std::move(result));
  }
  TensorValue newTensor(Value value, int64_t heads, int64_t extent = 0) {
    return makeTensor(batch, cast<AttnTensorType>(value.getType()), NAN, heads, extent);
  }
  llvm::Expected<std::shared_ptr<const PairSet>> pairSet(Value mask, int64_t heads);
  /// Ops on several pairs need them over one mask.
  llvm::Error checkOneMask(Operation *op) const;
  llvm::Error checkHeads(Operation *op) const;

  llvm::Error evaluateMaskOp(Operation *op);
  llvm::Error evaluateDots(DotsOp op);
  llvm::Error evaluateMapPairs(MapPairsOp op);
  llvm::Error evaluateScatterAdd(ScatterAddOp op);
  llvm::Error evaluateMapElements(MapElementsOp op);
  llvm::Error evaluateRowDot(RowDotOp op);

  const Batch &batch;
  Arithmetic arithmetic;
  llvm::DenseMap<Value, std::unique_ptr<TensorValue>> tensors;
  llvm::DenseMap<Value, std::unique_ptr<PairsValue>> pairValues;
  llvm::DenseMap<Value, std::unique_ptr<MaskValue>> masks;
  llvm::DenseMap<Value, std::shared_ptr<const PairSet>> pairSets; ///< by mask
};
} // namespace

llvm::Expected<std::shared_ptr<const PairSet>> Run::pairSet(Value value, int64_t heads) {
  std::shared_ptr<const PairSet> &set = pairSets[value];
  if (set && set->heads == heads)
    return set;
  llvm::Expected<std::shared_ptr<const PairSet>> made =
      makePairSet(batch, cast<MaskType>(value.getType()), mask(value), heads);
  if (!made)
    return made.takeError();
  return set = *made;
}

llvm::Error Run::checkOneMask(Operation *op) const {
  const PairSet *set = nullptr;
  for (Value operand : op->getOperands()) {
    if (!isa<PairsType>(operand.getType()))
      continue;
    const PairSet *other = pairs(operand).set.get();
    if (set && set != other)
      return llvm::createStringError("evaluator: expected the pairs of " + op->getName().getStringRef() +
                                     " to come from one mask");
    set = other;
  }
  return llvm::Error::success();
}

llvm::Error Run::evaluateMaskOp(Operation *op) {
  llvm::Expected<MaskValue> value = evaluateMask(
      op, batch, [&](Value operand) -> const MaskValue & { return mask(operand); },
      [&](Value operand) -> const TensorValue & { return tensor(operand); });
  if (!value)
    return value.takeError();
  masks[op->getResult(0)] = std::make_unique<MaskValue>(std::move(*value));
  return llvm::Error::success();
}

llvm::Error Run::evaluateDots(DotsOp op) {
  llvm::Expected<std::shared_ptr<const PairSet>> set = pairSet(op.getMask(), tensor(op.getQueries()).heads());
  if (!set)
    return set.takeError();
  define(op.getResult(), dots(batch, arithmetic, op, tensor(op.getQueries()), tensor(op.getKeys()), *set));
  return llvm::Error::success();
}

llvm::Error Run::evaluateMapPairs(MapPairsOp op) {
  auto lookup = [&](Value value) -> const TensorValue & { return tensor(value); };
  llvm::Expected<Expression> expression = Expression::prepare(op.getBody(), lookup);
  if (!expression)
    return expression.takeError();
  std::vector<const PairsValue *> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(&pairs(input));
  PairsValue result(cast<PairsType>(op.getResult().getType()), inputs[0]->set);
  llvm::Error error = runOnPairs(batch, *expression, inputs, [&](int64_t b, int64_t h, int64_t i, size_t points) {
    for (size_t n = 0; n < points; ++n)
      result.row(b, h, i)[n] = expression->operand(0)[n];
    return llvm::Error::success();
  });
  if (error)
    return error;
  define(op.getResult(), std::move(result));
  return llvm::Error::success();
}

llvm::Error Run::evaluateScatterAdd(ScatterAddOp op) {
  auto lookup = [&](Value value) -> const TensorValue & { return tensor(value); };
  llvm::Expected<Expression> expression = Expression::prepare(op.getBody(), lookup);
  if (!expression)
    return expression.takeError();
  const TensorValue &like = tensor(op.getLike());
  TensorValue result{cast<AttnTensorType>(op.getResult().getType()), like.sizes,
                     std::make_shared<std::vector<double>>(like.data->size())};
  llvm::Error error = llvm::Error::success();
  if (isa<PairsType>(op.getInputs()[0].getType())) {
    std::vector<const PairsValue *> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(&pairs(input));
    error = runOnPairs(batch, *expression, inputs, [&](int64_t b, int64_t, int64_t, size_t points) {
      return scatterColumns(batch, b, points, *expression, result);
    });
  } else {
    std::vector<const TensorValue *> inputs;
    for (Value input : op.getInputs())
      inputs.push_back(&tensor(input));
    error = runOnElements(batch, *expression, inputs, [&](int64_t b, int64_t, int64_t, size_t points) {
      return scatterColumns(batch, b, points, *expression, result);
    });
  }
  if (error)
    return error;
  define(op.getResult(), std::move(result));
  return llvm::Error::success();
}

llvm::Error Run::evaluateMapElements(MapElementsOp op) {
  auto lookup = [&](Value value) -> const TensorValue & { return tensor(value); };
  llvm::Expected<Expression> expression = Expression::prepare(op.getBody(), lookup);
  if (!expression)
    return expression.takeError();
  std::vector<const TensorValue *> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(&tensor(input));
  TensorValue result = newTensor(op.getResult(), inputs[0]->heads(), inputs[0]->features());
  llvm::Error error =
      runOnElements(batch, *expression, inputs, [&](int64_t, int64_t flat, int64_t h, size_t points) {
        for (size_t n = 0; n < points; ++n)
          result.row(flat, h)[n] = expression->operand(0)[n];
        return llvm::Error::success();
      });
  if (error)
    return error;
  define(op.getResult(), std::move(result));
  return llvm::Error::success();
}

llvm::Error Run::evaluateRowDot(RowDotOp op) {
  if (isa<PairsType>(op.getLhs().getType())) {
    const PairsValue &lhs = pairs(op.getLhs());
    TensorValue result = newTensor(op.getResult(), lhs.set->heads);
    rowDot(batch, lhs, pairs(op.getRhs()), result);
    define(op.getResult(), std::move(result));
  } else {
    TensorValue result = newTensor(op.getResult(), tensor(op.getLhs()).heads());
    rowDotOfElements(batch, tensor(op.getLhs()), tensor(op.getRhs()), result);
    define(op.getResult(), std::move(result));
  }
  return llvm::Error::success();
}

/// Where one side's heads are known at launch, the op could not check that they group.
llvm::Error Run::checkHeads(Operation *op) const {
  int64_t heads = 1, grouped = 1;
  if (auto dots = dyn_cast<DotsOp>(op)) {
    heads = tensor(dots.getQueries()).heads();
    grouped = tensor(dots.getKeys()).heads();
  } else if (auto combine = dyn_cast<CombineOp>(op)) {
    heads = pairs(combine.getPairs()).set->heads;
    grouped = tensor(combine.getValues()).heads();
  } else if (auto combine = dyn_cast<CombineQueriesOp>(op)) {
    heads = pairs(combine.getPairs()).set->heads;
    int64_t known = cast<AttnTensorType>(combine.getResult().getType()).getHeads();
    grouped = ShapedType::isDynamic(known) ? batch.launchHeads() : known;
  }
  if (heads % grouped != 0)
    return llvm::createStringError(llvm::formatv("{0}: expected {1} heads to be a multiple of the {2} that they share",
                                                 op->getName().getStringRef(), heads, grouped).str());
  return llvm::Error::success();
}

void Run::release(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<PairsType>(operand.getType()) && llvm::all_of(operand.getUsers(), [&](Operation *user) {
          return user == op || user->isBeforeInBlock(op);
        }))
      pairValues.erase(operand);
}

llvm::Error Run::evaluate(Operation *op) {
  if (llvm::Error error = checkOneMask(op))
    return error;
  if (llvm::Error error = checkHeads(op))
    return error;
  auto done = [] { return llvm::Error::success(); };
  return llvm::TypeSwitch<Operation *, llvm::Error>(op)
      .Case<PatternOp, BlocksOp, MaskAndOp, MaskOrOp, MaskNotOp, MaskWhereOp>(
          [&](Operation *op) { return evaluateMaskOp(op); })
      .Case([&](DotsOp op) { return evaluateDots(op); })
      .Case([&](CombineOp op) {
        define(op.getResult(), combine(batch, arithmetic, op, pairs(op.getPairs()), tensor(op.getValues())));
        return done();
      })
      .Case([&](CombineQueriesOp op) {
        define(op.getResult(), combineQueries(batch, arithmetic, op, pairs(op.getPairs()), tensor(op.getX())));
        return done();
      })
      .Case([&](MapPairsOp op) { return evaluateMapPairs(op); })
      .Case([&](QuantizeOp op) {
        define(op.getResult(), quantize(op, arithmetic, pairs(op.getInput())));
        return done();
      })
      .Case([&](SoftmaxOp op) {
        const PairsValue &scores = pairs(op.getScores());
        PairsValue p(scores.type, scores.set);
        TensorValue lse = newTensor(op.getLse(), scores.set->heads);
        softmax(batch, scores, op.getSink() ? &tensor(op.getSink()) : nullptr, p, lse);
        define(op.getP(), std::move(p));
        define(op.getLse(), std::move(lse));
        return done();
      })
      .Case([&](SoftmaxGivenOp op) {
        define(op.getP(), softmaxGiven(batch, pairs(op.getScores()), tensor(op.getLse())));
        return done();
      })
      .Case([&](SoftmaxGradOp op) {
        define(op.getResult(), softmaxGrad(batch, pairs(op.getP()), pairs(op.getDp()), tensor(op.getD())));
        return done();
      })
      .Case([&](SinkGradOp op) {
        const TensorValue &sink = tensor(op.getSink());
        TensorValue result = newTensor(op.getResult(), sink.sizes[0]);
        sinkGrad(batch, sink, tensor(op.getLse()), tensor(op.getD()), result);
        define(op.getResult(), std::move(result));
        return done();
      })
      .Case([&](RowDotOp op) { return evaluateRowDot(op); })
      .Case([&](MapElementsOp op) { return evaluateMapElements(op); })
      .Case([&](ScatterAddOp op) { return evaluateScatterAdd(op); })
      .Case([&](RotaryOp op) -> llvm::Error {
        llvm::Expected<TensorValue> rotated = rotary(batch, op, tensor(op.getX()), tensor(op.getTable()));
        if (!rotated)
          return rotated.takeError();
        define(op.getResult(), std::move(*rotated));
        return done();
      })
      .Case([&](RotaryTableGradOp op) -> llvm::Error {
        llvm::Expected<TensorValue> sums =
            rotaryTableGrad(batch, op, tensor(op.getX()), tensor(op.getGradient()), tensor(op.getLike()));
        if (!sums)
          return sums.takeError();
        define(op.getResult(), std::move(*sums));
        return done();
      })
      .Case([&](DequantOp op) {
        define(op.getResult(), dequant(batch, op, tensor(op.getData()), tensor(op.getScales())));
        return done();
      })
      .Case([&](SumSequencesOp op) {
        define(op.getResult(), sumSequences(batch, op, tensor(op.getInput())));
        return done();
      })
      .Case([&](AddOp op) {
        if (isa<PairsType>(op.getLhs().getType())) {
          PairsValue sum(pairs(op.getLhs()).type, pairs(op.getLhs()).set);
          for (size_t b = 0; b < sum.data.size(); ++b)
            for (size_t n = 0; n < sum.data[b].size(); ++n)
              sum.data[b][n] = pairs(op.getLhs()).data[b][n] + pairs(op.getRhs()).data[b][n];
          define(op.getResult(), std::move(sum));
        } else {
          const TensorValue &lhs = tensor(op.getLhs());
          TensorValue sum{cast<AttnTensorType>(op.getResult().getType()), lhs.sizes,
                          std::make_shared<std::vector<double>>(*lhs.data)};
          for (size_t n = 0; n < sum.data->size(); ++n)
            (*sum.data)[n] += (*tensor(op.getRhs()).data)[n];
          define(op.getResult(), std::move(sum));
        }
        return done();
      })
      .Case([&](PackOp op) {
        std::vector<const TensorValue *> inputs;
        for (Value input : op.getInputs())
          inputs.push_back(&tensor(input));
        define(op.getResult(), pack(batch, op, inputs));
        return done();
      })
      .Default([](Operation *op) {
        return llvm::createStringError("evaluator: no meaning for " + op->getName().getStringRef());
      });
}

llvm::Error checkBlockLists(SpecOp spec, const NamedTensors &inputs) {
  llvm::Expected<Batch> batch = Batch::bind(spec, inputs);
  if (!batch)
    return batch.takeError();
  for (BlocksOp op : spec.getBody().getOps<BlocksOp>()) {
    auto argument = dyn_cast<BlockArgument>(op.getList());
    if (!argument)
      continue;
    StringRef name = spec.getInputName(argument.getArgNumber());
    llvm::Expected<TensorValue> list =
        bindInput(*batch, name, cast<AttnTensorType>(argument.getType()), inputs.tensors.at(name.str()));
    if (!list)
      return list.takeError();
    if (llvm::Error error = checkBlockList(op, *batch, *list))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<Evaluation> evaluate(SpecOp spec, const NamedTensors &inputs, Precision precision) {
  llvm::Expected<Batch> batch = Batch::bind(spec, inputs);
  if (!batch)
    return batch.takeError();
  Run run(*batch, precision);
  for (BlockArgument argument : spec.getBody().getArguments()) {
    StringRef name = spec.getInputName(argument.getArgNumber());
    llvm::Expected<TensorValue> value =
        bindInput(*batch, name, cast<AttnTensorType>(argument.getType()), inputs.tensors.at(name.str()));
    if (!value)
      return value.takeError();
    run.bind(argument, std::move(*value));
  }
  for (Operation &op : spec.getBody().front().without_terminator()) {
    if (llvm::Error error = run.evaluate(&op))
      return std::move(error);
    run.release(&op);
  }
  Evaluation evaluation;
  YieldOp yield = spec.getYield();
  for (auto [name, value] : llvm::zip(yield.getResultNames(), yield.getValues()))
    evaluation.tensors[cast<StringAttr>(name).getValue().str()] = toHost(*batch, run.tensor(value));
  return evaluation;
}

} // namespace fovea::attn::reference
