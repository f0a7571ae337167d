// passes/Attn/DeriveBackward.cpp - derives the backward spec of a forward one
#include "passes/Attn/DeriveBackward.h"

#include "dialect/Attn/Analysis.h"
#include "dialect/Attn/Expressions.h"
#include "dialect/Attn/Shapes.h"
#include "passes/Attn/GradientRules.h"
#include "passes/Attn/Passes.h"

#include <mlir/IR/IRMapping.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

using namespace mlir;

namespace fovea {

#define GEN_PASS_DEF_ATTNDERIVEBACKWARD
#include "passes/Attn/Passes.h.inc"

using namespace attn;

/// The inputs to differentiate by, each checked: those of `wrt`, or those of rows x heads x features and the rotary tables
/// that the spec names.
static FailureOr<SmallVector<StringRef>> inputsToDifferentiate(SpecOp forward, ArrayRef<std::string> wrt) {
  SmallVector<StringRef> names;
  for (const Input &input : inputs(forward))
    if (wrt.empty() && input.type.isRowsHeadsFeatures() && isa<FloatType>(input.type.getElementType()) &&
        !isa<Float8E8M0FNUType>(input.type.getElementType()))
      names.push_back(input.name);
  SmallVector<std::string> asked(wrt.begin(), wrt.end());
  if (EmitAttr emit = forward.getEmitAttr(); wrt.empty() && emit && emit.getTables())
    for (StringRef table : emit.getTables().getAsValueRange<StringAttr>())
      asked.push_back(table.str());
  for (const std::string &name : asked) {
    BlockArgument argument = forward.getInput(name);
    if (!argument)
      return forward.emitError() << "no gradient by '" << name << "': expected one of the inputs";
    names.push_back(forward.getInputName(argument.getArgNumber()));
  }
  for (StringRef name : names) {
    Type type = tensorType(forward.getInput(name)).getElementType();
    if (!isa<BFloat16Type, Float16Type, Float32Type>(type))
      return forward.emitError() << "no gradient by '" << name << "': expected bf16, f16 or f32 elements, found " << type
                                 << ", whose derivative by what was quantised is 0 almost everywhere";
  }
  return names;
}

/// Marks every value that depends on an active one.
static void activate(Block &block, Gradients &gradients) {
  for (Operation &op : block) {
    bool active = llvm::any_of(op.getOperands(), [&](Value operand) { return gradients.isActive(operand); });
    op.walk([&](LookupOp lookup) { active = active || gradients.isActive(lookup.getTable()); });
    if (active)
      for (Value result : op.getResults())
        gradients.activate(result);
  }
}

/// Gives a finished gradient the input's element type: its one rounding. `unshared`: it is the gradient of one input.
static Value roundedTo(OpBuilder &builder, Value gradient, Type elementType, bool unshared) {
  AttnTensorType type = tensorType(gradient), rounded = type.withElementType(elementType);
  if (type == rounded)
    return gradient;
  if (gradient.getDefiningOp() && gradient.use_empty() && unshared) {
    gradient.setType(rounded);
    return gradient;
  }
  // Something else needs it as it is: a copy, rounded.
  OpBuilder::InsertionGuard guard(builder);
  auto map = MapElementsOp::create(builder, gradient.getLoc(), rounded, gradient);
  Block *block = addExpressionBlock(map.getBody(), Domain::Element, 1, gradient.getLoc());
  builder.setInsertionPointToEnd(block);
  ResultOp::create(builder, gradient.getLoc(), block->getArgument(0));
  return map.getResult();
}

/// Erases ops and inputs that no result needs.
static void dropUnused(SpecOp spec) {
  Block &block = spec.getBody().front();
  // The value of an applied rotary is its operand; only its gradient said more, and that is there now.
  for (RotaryOp rotary : block.getOps<RotaryOp>())
    if (rotary.getApplied() && rotary.getX().getType() == rotary.getResult().getType())
      rotary.getResult().replaceAllUsesWith(rotary.getX());
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  SmallVector<Attribute> names;
  for (unsigned n = block.getNumArguments(); n-- > 0;) {
    if (block.getArgument(n).use_empty())
      block.eraseArgument(n);
    else
      names.push_back(spec.getInputNames()[n]);
  }
  spec.setInputNamesAttr(ArrayAttr::get(spec.getContext(), llvm::to_vector(llvm::reverse(names))));
}

FailureOr<SpecOp> deriveBackward(SpecOp forward, const BackwardOptions &options) {
  MLIRContext *context = forward.getContext();
  Location loc = forward.getLoc();
  FailureOr<SmallVector<StringRef>> wrt = inputsToDifferentiate(forward, options.wrt);
  if (failed(wrt))
    return failure();
  Value o = forward.getResultNamed("o"), lse = forward.getResultNamed("lse");
  if (!o)
    return forward.emitError() << "no gradient: expected a result 'o'";
  for (StringRef name : {"dout", "o", "lse"})
    for (const Input &input : inputs(forward))
      if (input.name == name || (input.rows && input.rows.getName().getValue() == name))
        return forward.emitError() << "no gradient: expected no input or offsets named '" << name
                                   << "', which the backward needs for itself";

  EmitAttr emit = forward.getEmitAttr();
  bool saved = options.saved.value_or(lse && emit && emit.getLse() && !blockDiagonalSize(forward));
  RowStatistic statistic = options.rowStatistic.value_or(saved ? RowStatistic::FromOutput : RowStatistic::FromPairs);

  OpBuilder builder(context);
  builder.setInsertionPointAfter(forward);
  SmallVector<std::pair<StringRef, Type>> arguments;
  for (const Input &input : inputs(forward))
    arguments.push_back({input.name, input.type});
  arguments.push_back({"dout", o.getType()});
  if (saved) {
    arguments.push_back({"o", o.getType()});
    if (lse)
      arguments.push_back({"lse", lse.getType()});
  }
  std::string name = (forward.getSymName() + "_backward").str();
  SpecOp backward = SpecOp::create(builder, loc, name, arguments);
  backward.setGradientOfAttr(FlatSymbolRefAttr::get(context, forward.getSymName()));
  if (forward.getScheduleAttr())
    backward.setScheduleAttr(forward.getScheduleAttr());

  // The forward once more; its ops are dropped again where no gradient needs them.
  Block &block = backward.getBody().front();
  builder.setInsertionPointToEnd(&block);
  IRMapping mapping;
  for (BlockArgument argument : forward.getBody().getArguments())
    mapping.map(argument, block.getArgument(argument.getArgNumber()));
  Gradients gradients(builder, statistic);
  for (Operation &op : forward.getBody().front().without_terminator()) {
    auto softmax = dyn_cast<SoftmaxOp>(op);
    // What is given does not depend on the sink.
    bool bySink = softmax && softmax.getSink() &&
                  llvm::any_of(*wrt, [&](StringRef input) { return forward.getInput(input) == softmax.getSink(); });
    if (saved && softmax && softmax.getLse() == lse && !bySink) {
      Value p = SoftmaxGivenOp::create(builder, op.getLoc(), softmax.getP().getType(),
                                       mapping.lookup(softmax.getScores()), backward.getInput("lse"));
      mapping.map(softmax.getP(), p);
    } else {
      builder.clone(op, mapping);
    }
  }
  for (StringRef input : *wrt)
    gradients.activate(backward.getInput(input));
  activate(block, gradients);
  if (saved && isa_and_nonnull<CombineOp>(o.getDefiningOp()))
    gradients.replaceBySaved(mapping.lookup(o), backward.getInput("o"));

  gradients.add(mapping.lookup(o), backward.getInput("dout"));
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (failed(gradients.propagate(op))) {
      backward.erase();
      return failure();
    }

  SmallVector<Attribute> resultNames;
  SmallVector<Value> results, packed;
  for (StringRef input : *wrt) {
    BlockArgument argument = backward.getInput(input);
    Value gradient = gradients.of(argument);
    if (!gradient) {
      InFlightDiagnostic diagnostic = forward.emitError()
                                      << "no gradient by '" << input << "': the output does not depend on it";
      backward.erase();
      return diagnostic;
    }
    int sharers = llvm::count_if(*wrt, [&](StringRef other) {
      return gradients.of(backward.getInput(other)) == gradient;
    });
    gradient = roundedTo(builder, gradient, tensorType(argument).getElementType(), sharers == 1);
    if (emit && emit.getPacked() && (input == "q" || input == "k" || input == "v")) {
      packed.push_back(gradient);
      continue;
    }
    resultNames.push_back(builder.getStringAttr("d" + input));
    results.push_back(gradient);
  }
  if (!packed.empty()) {
    AttnTensorType first = tensorType(packed[0]);
    int64_t columns = 0;
    for (Value part : packed)
      columns += tensorType(part).getHeads() * tensorType(part).getFeatures();
    auto type = AttnTensorType::get(
        context, {AxisAttr::rows(first.getRows()), AxisAttr::extent(context, columns)}, first.getElementType());
    resultNames.insert(resultNames.begin(), emit.getPacked());
    results.insert(results.begin(), PackOp::create(builder, loc, type, packed));
  }
  YieldOp::create(builder, loc, builder.getArrayAttr(resultNames), results);
  dropUnused(backward);
  return backward;
}

namespace {
struct DeriveBackwardPass : impl::AttnDeriveBackwardBase<DeriveBackwardPass> {
  using AttnDeriveBackwardBase::AttnDeriveBackwardBase;

  LogicalResult readOptions(BackwardOptions &options) {
    options.wrt.assign(wrt.begin(), wrt.end());
    if (saved == "always" || saved == "never")
      options.saved = saved == "always";
    else if (saved != "auto")
      return getOperation().emitError() << "saved: expected auto, always or never, found '" << saved << "'";
    if (rowStatistic == "p-dp" || rowStatistic == "do-o")
      options.rowStatistic = rowStatistic == "p-dp" ? RowStatistic::FromPairs : RowStatistic::FromOutput;
    else if (rowStatistic != "auto")
      return getOperation().emitError() << "row-statistic: expected auto, p-dp or do-o, found '" << rowStatistic
                                        << "'";
    return success();
  }

  void runOnOperation() override {
    BackwardOptions options;
    if (failed(readOptions(options)))
      return signalPassFailure();
    for (SpecOp spec : llvm::to_vector(getOperation().getOps<SpecOp>())) {
      if (spec.getGradientOf() || (!all && !(spec.getEmitAttr() && spec.getEmitAttr().getBackward())))
        continue;
      if (failed(deriveBackward(spec, options)))
        signalPassFailure();
    }
  }
};
} // namespace

} // namespace fovea
