// dialect/Attn/Reference/Expression.cpp - evaluates an expression region for many pairs or elements at a time
#include "dialect/Attn/Reference/Expression.h"

#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace fovea::attn::reference {

static std::optional<double> constantValue(Operation *op) {
  Attribute value;
  if (!matchPattern(op, m_Constant(&value)))
    return std::nullopt;
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getType().isInteger(1) ? double(integer.getValue().getZExtValue()) : double(integer.getInt());
  return std::nullopt;
}

llvm::Expected<Expression> Expression::prepare(Region &region, const TensorLookup &tensors) {
  Expression expression;
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) { return numbers.try_emplace(value, numbers.size()).first->second; };
  Block &block = region.front();
  for (BlockArgument argument : block.getArguments())
    number(argument);
  for (Operation &op : block.without_terminator()) {
    Step step;
    step.op = &op;
    std::optional<double> constant = constantValue(&op);
    if (auto lookup = dyn_cast<LookupOp>(op)) {
      step.table = &tensors(lookup.getTable());
      for (Value index : lookup.getIndices())
        step.operands.push_back(number(index));
    } else if (!constant) {
      step.function = scalarFunction(&op);
      if (!step.function || op.getNumResults() != 1)
        return llvm::createStringError("evaluator: no meaning for " + op.getName().getStringRef() +
                                       " in an expression");
      for (Value operand : op.getOperands())
        step.operands.push_back(number(operand));
    }
    step.result = number(op.getResult(0));
    expression.columns.resize(numbers.size());
    if (constant)
      expression.columns[step.result] = Column::uniform(*constant);
    else
      expression.steps.push_back(std::move(step));
  }
  for (Value operand : block.getTerminator()->getOperands())
    expression.terminator.push_back(number(operand));
  expression.columns.resize(numbers.size());
  return expression;
}

static std::string nameOf(Value table) {
  auto argument = dyn_cast<BlockArgument>(table);
  auto spec = argument ? dyn_cast<SpecOp>(argument.getOwner()->getParentOp()) : SpecOp();
  return spec ? "table '" + spec.getInputName(argument.getArgNumber()).str() + "'" : "look-up";
}

llvm::Error Expression::lookUp(const Step &step, const Batch &batch, int64_t b, size_t points) {
  const TensorValue &table = *step.table;
  ArrayRef<AxisAttr> axes = table.type.getAxes();
  bool uniform = true;
  for (unsigned operand : step.operands)
    uniform = uniform && columns[operand].isUniform();
  Column &result = columns[step.result];
  result.values.resize(uniform ? 1 : points);
  for (size_t point = 0; point < result.values.size(); ++point) {
    int64_t address = 0;
    for (auto [n, axis] : llvm::enumerate(axes)) {
      int64_t index = int64_t(columns[step.operands[n]][point]);
      std::optional<int64_t> place = index;
      if (axis.getRows())
        place = batch.locate(axis, b, index);
      if (!place || *place < 0 || *place >= table.sizes[n])
        return llvm::createStringError(llvm::formatv(
            "{0}: expected an index from 0 and below {1} in dimension {2}, found {3} in sequence {4}; give the table an entry for "
            "each index, or bound the index by max and min", nameOf(cast<LookupOp>(step.op).getTable()),
            axis.getRows() ? std::min(batch.length(axis.getRows(), b), table.sizes[n]) : table.sizes[n], n, index, b).str());
      address = address * table.sizes[n] + *place;
    }
    result.values[point] = (*table.data)[address];
  }
  return llvm::Error::success();
}

llvm::Error Expression::run(const Batch &batch, int64_t b, size_t points, std::vector<Column> arguments) {
  if (points == 0)
    return llvm::Error::success();
  for (size_t n = 0; n < arguments.size(); ++n)
    columns[n] = std::move(arguments[n]);
  for (const Step &step : steps) {
    if (step.table) {
      if (llvm::Error error = lookUp(step, batch, b, points))
        return error;
      continue;
    }
    static const Column unused = Column::uniform(0);
    const Column *in[3] = {&unused, &unused, &unused};
    bool uniform = true;
    for (auto [n, operand] : llvm::enumerate(step.operands)) {
      in[n] = &columns[operand];
      uniform = uniform && in[n]->isUniform();
    }
    std::vector<double> out(uniform ? 1 : points);
    for (size_t point = 0; point < out.size(); ++point)
      out[point] = step.function((*in[0])[point], (*in[1])[point], (*in[2])[point]);
    columns[step.result].values = std::move(out);
  }
  return llvm::Error::success();
}

} // namespace fovea::attn::reference
