// dialect/Attn/Analysis.cpp - small questions about a spec that later phases ask
#include "dialect/Attn/Analysis.h"

#include <cmath>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace fovea::attn {

SmallVector<Input> inputs(SpecOp spec) {
  SmallVector<Input> result;
  for (BlockArgument argument : spec.getBody().getArguments()) {
    auto type = cast<AttnTensorType>(argument.getType());
    result.push_back({spec.getInputName(argument.getArgNumber()), type, type.getRows(), type.getHeads(),
                      type.getFeatures()});
  }
  return result;
}

DotsOp scoreDots(SpecOp spec) {
  for (Operation &op : spec.getBody().front())
    if (auto dots = dyn_cast<DotsOp>(op))
      return dots;
  return {};
}

Value mask(SpecOp spec) {
  DotsOp dots = scoreDots(spec);
  return dots ? dots.getMask() : Value();
}

std::optional<int64_t> blockDiagonalSize(SpecOp spec) {
  Value value = mask(spec);
  auto pattern = value ? value.getDefiningOp<PatternOp>() : PatternOp();
  auto blocks = pattern ? dyn_cast<BlockDiagonalAttr>(pattern.getPattern()) : BlockDiagonalAttr();
  return blocks ? std::optional<int64_t>(blocks.getSize()) : std::nullopt;
}

/// c when the region of `map` yields c · x for its only operand x.
static std::optional<double> constantFactor(MapPairsOp map) {
  Block &body = map.getBody().front();
  Value yielded = cast<ResultOp>(body.back()).getValue();
  if (map.getInputs().size() != 1)
    return std::nullopt;
  if (yielded == body.getArgument(0))
    return 1.0;
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (auto [x, c] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
    FloatAttr factor;
    if (x == body.getArgument(0) && matchPattern(c, m_Constant(&factor)))
      return factor.getValueAsDouble();
  }
  return std::nullopt;
}

std::optional<double> scoreScale(SpecOp spec) {
  DotsOp dots = scoreDots(spec);
  if (!dots)
    return std::nullopt;
  for (Operation *user : dots.getResult().getUsers()) {
    if (isa<SoftmaxOp, SoftmaxGivenOp>(user))
      return 1.0;
    if (auto map = dyn_cast<MapPairsOp>(user))
      if (map.getInputs().size() == 1)
        return constantFactor(map);
  }
  return std::nullopt;
}

bool hasDefaultScore(SpecOp spec) {
  std::optional<double> scale = scoreScale(spec);
  if (!scale)
    return false;
  int64_t features = cast<AttnTensorType>(scoreDots(spec).getQueries().getType()).getFeatures();
  return !ShapedType::isDynamic(features) && float(*scale) == float(1.0 / std::sqrt(double(features)));
}

bool usesSoftmax(SpecOp spec) {
  for (Operation &op : spec.getBody().front())
    if (isa<SoftmaxOp, SoftmaxGivenOp>(op))
      return true;
  return false;
}

bool countsSequences(Value table, unsigned axis) {
  for (Operation *user : table.getUsers()) {
    auto lookup = dyn_cast<LookupOp>(user);
    if (!lookup || axis >= lookup.getIndices().size())
      continue;
    auto index = dyn_cast<BlockArgument>(lookup.getIndices()[axis]);
    Operation *map = lookup->getParentOp();
    // Indices follow the values of the operands: (i, j, h, b, ...) of a pair, (i, h, d, b, ...) of an element.
    const unsigned values = isa<MaskWhereOp>(map) ? 0 : map->getNumOperands() - (isa<ScatterAddOp>(map) ? 1 : 0);
    if (index && index.getOwner()->getParentOp() == map && index.getArgNumber() == values + 3)
      return true;
  }
  return false;
}

} // namespace fovea::attn
