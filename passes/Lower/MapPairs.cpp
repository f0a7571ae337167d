// passes/Lower/MapPairs.cpp - score expressions and what is left of a mask, as tile.map_pairs on register tiles.
#include "passes/Lower/MapPairs.h"
#include "dialect/Tile/Tile.h"
#include "passes/Lower/KeyBlocks.h"
#include "passes/Lower/Translation.h"

using namespace mlir;
using namespace fovea;

namespace {

/// Builds the op and its block, lets `body` say what it yields, and removes it again after an error.
llvm::Expected<Value> build(OpBuilder &b, Location loc, ValueRange tiles, const PairScalars &scalars, Value when,
                            llvm::function_ref<llvm::Expected<Value>(Translation &, Block &)> body) {
  auto op = tile::MapPairsOp::create(b, loc, tiles[0].getType(), tiles, scalars.firstQuery, scalars.firstKey,
                                    when, scalars.packed == 1 ? Value() : scalars.head);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(tiles.size(), b.getF32Type());
  types.append(scalars.packed == 1 ? 2 : 3, b.getI32Type());
  Block *block = b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  PairScalars inside = scalars;
  if (scalars.packed != 1)
    inside.head = block->getArguments().back();
  Translation translation(b, loc, inside);
  llvm::Expected<Value> value = body(translation, *block);
  if (!value) {
    op.erase();
    return value.takeError();
  }
  tile::ResultOp::create(b, loc, *value);
  return op.getResult();
}

} // namespace

llvm::Expected<Value> fovea::emitMapPairs(OpBuilder &b, attn::MapPairsOp op, ValueRange tiles,
                                          const PairScalars &scalars) {
  return build(b, op.getLoc(), tiles, scalars, /*when=*/{}, [&](Translation &translation, Block &block) {
    auto type = cast<attn::PairsType>(op.getResult().getType());
    translation.queries = type.getQueries(), translation.keys = type.getKeys();
    Block &source = op.getBody().front();
    const size_t n = tiles.size();
    for (size_t t = 0; t < n; ++t)
      translation.bind(source.getArgument(t), block.getArgument(t));
    SmallVector<BlockArgument> indices(source.args_begin() + n, source.args_end());
    translation.bindIndices(indices, block.getArgument(n), block.getArgument(n + 1));
    return translation.translate(cast<attn::ResultOp>(source.back()).getValue());
  });
}

llvm::Expected<Value> fovea::emitResidualMask(OpBuilder &b, Location loc, const KeyRange &range, Value scores,
                                              const PairScalars &scalars) {
  if (range.residual.empty())
    return scores;
  // Blocks that the predicates' intervals leave whole are not asked element by element.
  auto type = cast<RankedTensorType>(scores.getType());
  Value left = arith::SubIOp::create(b, loc, scalars.nQueries, scalars.firstQuery);
  Value height = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(type.getDimSize(0) / scalars.packed)));
  QueryTile tile{scalars.firstQuery, arith::MinSIOp::create(b, loc, left, height), scalars.nQueries, scalars.nKeys};
  Value whole = arith::ConstantOp::create(b, loc, b.getBoolAttr(true)), when;
  for (const KeyRange::Predicate &predicate : range.residual) {
    Value all = emitHoldsThroughout(b, loc, predicate, tile, scalars.firstKey, type.getDimSize(1));
    whole = whole && all ? arith::AndIOp::create(b, loc, whole, all).getResult() : Value();
  }
  if (whole)
    when = arith::XOrIOp::create(b, loc, whole, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  return build(b, loc, scores, scalars, when, [&](Translation &translation, Block &block) -> llvm::Expected<Value> {
    Value all;
    for (const KeyRange::Predicate &predicate : range.residual) {
      // Of a region's value, the mask_where around it says which rows its look-ups have.
      auto where = dyn_cast<attn::MaskWhereOp>(predicate.value.getDefiningOp()->getParentOp());
      auto type = cast<attn::MaskType>(where ? where.getMask().getType() : predicate.value.getType());
      translation.queries = type.getQueries(), translation.keys = type.getKeys();
      SmallVector<BlockArgument> arguments;
      if (where)
        arguments.assign(where.getBody().args_begin(), where.getBody().args_end());
      translation.bindIndices(arguments, block.getArgument(1), block.getArgument(2));
      llvm::Expected<Value> holds = predicate.negated ? translation.negated(predicate.value)
                                                      : translation.translate(predicate.value);
      if (!holds)
        return holds;
      all = all ? arith::AndIOp::create(b, loc, all, *holds).getResult() : *holds;
    }
    return all;
  });
}

llvm::Error fovea::declareTables(OpBuilder &b, attn::SpecOp spec) {
  llvm::SmallSetVector<Value, 4> used;
  for (Operation &op : spec.getBody().front())
    if (auto softmax = dyn_cast<attn::SoftmaxOp>(op); softmax && softmax.getSink())
      used.insert(softmax.getSink());
    else if (isa<attn::MapPairsOp, attn::MaskWhereOp, attn::MapElementsOp>(op))
      op.walk([&](attn::LookupOp lookup) { used.insert(lookup.getTable()); });
  for (BlockArgument argument : spec.getBody().getArguments()) {
    if (!used.contains(argument))
      continue;
    auto type = cast<attn::AttnTensorType>(argument.getType());
    StringRef name = spec.getInputName(argument.getArgNumber());
    if (!type.getElementType().isF32() && !type.getElementType().isInteger(32))
      return llvm::createStringError("table '" + name + "': expected elements of f32 or i32, the ones with a lowering");
    int64_t dims = 0;
    for (attn::AxisAttr axis : type.getAxes()) {
      attn::RowsAttr rows = axis.getRows();
      if (axis.getKind() == attn::AxisKind::Blocks)
        return llvm::createStringError("table '" + name + "': expected rows, heads or positions as axes, found blocks");
      dims += rows && (rows.getKind() == attn::RowsKind::Dense || rows.getKind() == attn::RowsKind::Fixed) ? 2 : 1;
    }
    if (dims > 4)
      return llvm::createStringError("table '" + name + "': expected at most 4 dimensions, found " + llvm::Twine(dims));
    tile::TableOp::create(b, spec.getLoc(), tile::tableSymbol(name), dims, type.getElementType());
  }
  return llvm::Error::success();
}
