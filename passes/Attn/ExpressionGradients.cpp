// passes/Attn/ExpressionGradients.cpp - the gradient of ops that hold scalar expressions
#include "passes/Attn/GradientRules.h"
#include "passes/Attn/ScalarDerivative.h"

#include "dialect/Attn/Expressions.h"
#include "dialect/Attn/Shapes.h"

#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

using namespace mlir;

namespace fovea {

using namespace attn;

namespace {
/// The expression of `op` once more, in a new block that has the gradient of its result as one more value, followed by
/// the adjoints of everything in it.
template <typename Map> class DerivativeBlock {
public:
  DerivativeBlock(OpBuilder &builder, Map op, Region &region, Domain domain)
      : op(op), block(addExpressionBlock(region, domain, op.getInputs().size() + 1, op.getLoc())), adjoints(builder) {
    Block &forward = op.getBody().front();
    unsigned values = op.getInputs().size();
    for (BlockArgument argument : forward.getArguments())
      mapping.map(argument, block->getArgument(argument.getArgNumber() + (argument.getArgNumber() >= values)));
    builder.setInsertionPointToEnd(block);
    SmallVector<Operation *> ops;
    for (Operation &inner : forward.without_terminator())
      ops.push_back(builder.clone(inner, mapping));
    Value yielded = mapping.lookup(cast<ResultOp>(forward.back()).getValue());
    adjoints.seed(yielded, gradient());
    status = adjoints.propagate(ops);
  }

  BlockArgument gradient() { return block->getArgument(op.getInputs().size()); }
  /// How much the result changes with `value` of the forward's expression, times the gradient; null when it does not.
  Value adjointOf(Value value) const { return adjoints.of(mapping.lookup(value)); }
  Value mapped(Value value) const { return mapping.lookup(value); }
  LogicalResult getStatus() const { return status; }

private:
  Map op;
  Block *block;
  IRMapping mapping;
  Adjoints adjoints;
  LogicalResult status = success();
};
} // namespace

/// Erases what nothing uses: first in the block, then the operands (but one) that no longer have a use in it.
static void prune(Operation *op, unsigned inputs) {
  Block &block = op->getRegion(0).front();
  SmallVector<Operation *> ops;
  for (Operation &dead : block.without_terminator())
    ops.push_back(&dead);
  for (Operation *dead : llvm::reverse(ops))
    if (isOpTriviallyDead(dead))
      dead->erase();
  for (unsigned n = inputs; n-- > 0;)
    if (inputs > 1 && block.getArgument(n).use_empty()) {
      block.eraseArgument(n);
      op->eraseOperand(n);
      --inputs;
    }
}

/// True for table[i, h, d] of a table with the shape of the elements: then the look-up is elementwise.
static bool isElementwise(LookupOp lookup, MapElementsOp op) {
  if (tensorType(lookup.getTable()).getAxes() != tensorType(op.getResult()).getAxes())
    return false;
  unsigned values = op.getInputs().size();
  for (auto [n, index] : llvm::enumerate(lookup.getIndices()))
    if (index != op.getBody().getArgument(values + n))
      return false;
  return true;
}
static bool isElementwise(LookupOp, MapPairsOp) { return false; }

static Type gradientType(Type type) {
  if (auto pairs = dyn_cast<PairsType>(type))
    return PairsType::get(type.getContext(), pairs.getQueries(), pairs.getKeys(), pairs.getHeads(),
                          Float32Type::get(type.getContext()));
  return cast<AttnTensorType>(type).withElementType(Float32Type::get(type.getContext()));
}

template <typename Map> LogicalResult Gradients::map(Map op, Value gradient) {
  constexpr Domain domain = std::is_same_v<Map, MapPairsOp> ? Domain::Pair : Domain::Element;
  Location loc = op.getLoc();
  SmallVector<Value> inputs(op.getInputs());
  inputs.push_back(gradient);

  // The gradient of `value` of the expression, one for each pair or element; null when it is 0.
  auto elementwise = [&](Value value, Type type) -> FailureOr<Value> {
    OpBuilder::InsertionGuard guard(builder);
    OperationState state(loc, Map::getOperationName());
    state.addOperands(inputs);
    state.addTypes(gradientType(type));
    state.addRegion();
    auto result = cast<Map>(builder.create(state));
    DerivativeBlock<Map> derivative(builder, op, result.getBody(), domain);
    if (failed(derivative.getStatus()))
      return failure();
    Value adjoint = derivative.adjointOf(value);
    if (!adjoint || adjoint == derivative.gradient()) {
      result.erase();
      return adjoint ? gradient : Value();
    }
    ResultOp::create(builder, loc, adjoint);
    prune(result, inputs.size());
    return result.getResult();
  };

  // The same, summed into the table that was looked up.
  auto scattered = [&](LookupOp lookup) -> FailureOr<Value> {
    OpBuilder::InsertionGuard guard(builder);
    OperationState state(loc, ScatterAddOp::getOperationName());
    state.addOperands(inputs);
    state.addOperands(lookup.getTable());
    state.addTypes(gradientType(lookup.getTable().getType()));
    state.addRegion();
    auto result = cast<ScatterAddOp>(builder.create(state));
    DerivativeBlock<Map> derivative(builder, op, result.getBody(), domain);
    if (failed(derivative.getStatus()))
      return failure();
    Value adjoint = derivative.adjointOf(lookup.getResult());
    if (!adjoint) {
      result.erase();
      return Value();
    }
    SmallVector<Value> indices;
    for (Value index : lookup.getIndices())
      indices.push_back(derivative.mapped(index));
    ContributeOp::create(builder, loc, adjoint, indices);
    prune(result, inputs.size());
    return result.getResult();
  };

  auto accumulate = [&](Value value, FailureOr<Value> part) {
    if (succeeded(part) && *part)
      add(value, *part);
    return success(succeeded(part));
  };
  for (auto [n, input] : llvm::enumerate(op.getInputs()))
    if (isActive(input) && failed(accumulate(input, elementwise(op.getBody().getArgument(n), input.getType()))))
      return failure();
  for (LookupOp lookup : op.getBody().template getOps<LookupOp>()) {
    if (!isActive(lookup.getTable()))
      continue;
    FailureOr<Value> part = isElementwise(lookup, op)
                                ? elementwise(lookup.getResult(), lookup.getTable().getType())
                                : scattered(lookup);
    if (failed(accumulate(lookup.getTable(), part)))
      return failure();
  }
  return success();
}

template LogicalResult Gradients::map(MapPairsOp op, Value gradient);
template LogicalResult Gradients::map(MapElementsOp op, Value gradient);

} // namespace fovea
