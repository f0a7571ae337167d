// passes/Lower/MapPairs.cpp - score expressions and what is left of a mask, as tile.map_pairs on register tiles.
#include "passes/Lower/MapPairs.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Lower/BoundedIntegers.h"
#include "passes/Lower/KeyBlocks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

namespace {

/// A value of the tile's region; the interval counts for integers only.
using Scalar = BoundedInteger;

class Translation {
public:
  Translation(OpBuilder &b, Location loc, const PairScalars &scalars)
      : b(b), loc(loc), integers(b, loc), scalars(scalars) {}

  /// The mask's or pairs' rows, which decide where a table's row of a position is.
  attn::RowsAttr queries, keys;

  /// (i, j, h, b, n_queries, n_keys) for the arguments of an expression.
  void bindIndices(ArrayRef<BlockArgument> arguments, Value i, Value j) {
    const int64_t positions = (int64_t(1) << 30) - 1; // rows and columns past a sequence's end included
    Value values[] = {i, j, scalars.head, scalars.sequence, scalars.nQueries, scalars.nKeys};
    for (auto [n, argument] : llvm::enumerate(arguments))
      known[argument] = {values[n], 0, n == 2 || n == 3 ? BoundedIntegers::kGreatest32 : positions};
    position[0] = i, position[1] = j;
  }
  void bind(Value from, Value to) { known[from] = {to}; }
  /// The indices of an expression of elements: `row` in the tensor, where the tables of positions have theirs, too.
  void bindElement(BlockArgument i, Value position, BlockArgument h, Value head, BlockArgument d, Value column, Value row) {
    const int64_t positions = (int64_t(1) << 30) - 1;
    if (position)
      known[i] = {position, 0, positions};
    known[h] = {head, 0, BoundedIntegers::kGreatest32}, known[d] = {column, 0, 255};
    elementIndex = i, elementRow = row;
  }

  /// A value of an expression region, or of type !attn.mask (then an i1).
  llvm::Expected<Value> translate(Value value) {
    llvm::Expected<Scalar> result = get(value);
    return result ? llvm::Expected<Value>(result->value) : result.takeError();
  }
  llvm::Expected<Value> negated(Value value) {
    llvm::Expected<Value> v = translate(value);
    if (!v)
      return v;
    return arith::XOrIOp::create(b, loc, *v, arith::ConstantOp::create(b, loc, b.getBoolAttr(true))).getResult();
  }

private:
  llvm::Error refuse(Operation *op, const llvm::Twine &why) {
    return llvm::createStringError((op->getName().getStringRef() + ": " + why).str());
  }

  // --- values -----------------------------------------------------------------------------------------------------

  llvm::Expected<Scalar> get(Value value) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    Operation *op = value.getDefiningOp();
    if (!op)
      return llvm::createStringError("expected a value of the expression, found an argument of something else");
    llvm::Expected<Scalar> made = isa<attn::MaskType>(value.getType()) ? mask(op) : make(op);
    if (made)
      known[value] = *made;
    return made;
  }

  llvm::Expected<Scalar> make(Operation *op) {
    SmallVector<Scalar, 3> x;
    for (Value operand : op->getOperands()) {
      const bool isRow = isa<attn::LookupOp>(op) && elementIndex && operand == elementIndex;
      if (isRow || isa<attn::AttnTensorType>(operand.getType())) {
        x.emplace_back();
        continue;
      }
      llvm::Expected<Scalar> scalar = get(operand);
      if (!scalar)
        return scalar.takeError();
      x.push_back(*scalar);
    }
    Type type = op->getResult(0).getType();
    if (auto lookup = dyn_cast<attn::LookupOp>(op))
      return look(lookup, ArrayRef(x).drop_front());
    if (auto compare = dyn_cast<arith::CmpIOp>(op); compare && compare.getLhs().getType().isInteger(64))
      return Scalar{integers.compare(compare.getPredicate(), x[0], x[1])};
    if (type.isInteger(64))
      return makeInteger(op, x);
    if (auto cast = dyn_cast<arith::SIToFPOp>(op); cast && type.isF32())
      return Scalar{arith::SIToFPOp::create(b, loc, type, x[0].value)};
    if (!type.isF32() && !type.isInteger(1))
      return refuse(op, "expected f32, i64 or i1 in an expression, found a type without a lowering");
    // Operations on f32 and i1 stay what they are.
    if (!isa<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::CmpIOp,
             arith::SelectOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::UIToFPOp, math::ExpOp, math::Exp2Op,
             math::LogOp, math::Log2Op, math::TanhOp, math::ErfOp, math::SqrtOp, math::RsqrtOp, math::SinOp, math::CosOp,
             math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp>(op))
      return refuse(op, "expected an operation that kernels compute per element, found one without a lowering");
    IRMapping map;
    for (auto [operand, scalar] : llvm::zip(op->getOperands(), x))
      map.map(operand, scalar.value);
    Operation *copy = b.clone(*op, map);
    copy->setLoc(loc);
    return Scalar{copy->getResult(0), 0, 1};
  }

  llvm::Expected<Scalar> makeInteger(Operation *op, ArrayRef<Scalar> x) {
    using Result = llvm::Expected<Scalar>;
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](arith::ConstantOp c) { return integers.constant(cast<IntegerAttr>(c.getValue()).getInt()); })
        .Case([&](arith::AddIOp) { return integers.sum(x[0], x[1]); })
        .Case([&](arith::SubIOp) { return integers.difference(x[0], x[1]); })
        .Case([&](arith::MulIOp) { return integers.product(x[0], x[1]); })
        .Case([&](arith::FloorDivSIOp) { return integers.floorQuotient(x[0], x[1]); })
        .Case([&](arith::DivSIOp) { return integers.quotient(x[0], x[1]); })
        .Case([&](arith::RemSIOp) { return integers.remainder(x[0], x[1]); })
        .Case([&](arith::MaxSIOp) { return integers.max(x[0], x[1]); })
        .Case([&](arith::MinSIOp) { return integers.min(x[0], x[1]); })
        .Case([&](math::AbsIOp) { return integers.abs(x[0]); })
        .Case([&](arith::SelectOp) { return integers.select(x[0].value, x[1], x[2]); })
        .Case([&](arith::ExtUIOp cast) -> Result {
          if (!cast.getIn().getType().isInteger(1))
            return refuse(cast, "expected an i1 to become an integer");
          return Scalar{arith::ExtUIOp::create(b, loc, b.getI32Type(), x[0].value), 0, 1};
        })
        .Default([&](Operation *other) -> Result {
          return refuse(other, "expected an operation on integers that kernels compute, found one without a lowering");
        });
  }

  // --- look-ups ---------------------------------------------------------------------------------------------------

  llvm::Expected<Scalar> look(attn::LookupOp op, ArrayRef<Scalar> x) {
    auto argument = dyn_cast<BlockArgument>(op.getTable());
    auto spec = argument ? dyn_cast<attn::SpecOp>(argument.getOwner()->getParentOp()) : attn::SpecOp();
    if (!spec)
      return refuse(op, "expected an input of the spec as table");
    auto type = cast<attn::AttnTensorType>(argument.getType());
    SmallVector<Value> indices;
    for (auto [axis, at, index] : llvm::zip(type.getAxes(), x, op.getIndices())) {
      attn::RowsAttr rows = axis.getKind() == attn::AxisKind::Rows ? axis.getRows() : attn::RowsAttr();
      if (elementIndex && (rows || index == elementIndex)) {
        // Without the sequence's end at hand only a row's own entry is known to be the sequence's.
        if (!rows || rows.getKind() != attn::RowsKind::Jagged || index != elementIndex)
          return refuse(op, "expected an epilogue's table of rows to be looked up at i itself");
        indices.push_back(elementRow);
        continue;
      }
      if (!rows) {
        indices.push_back(integers.saturated(at));
        continue;
      }
      bool ofQueries = rows.perSequence() == queries;
      if (!ofQueries && rows.perSequence() != keys)
        return refuse(op, "expected a table with the rows of the queries or of the keys");
      if (rows.getKind() == attn::RowsKind::Dense || rows.getKind() == attn::RowsKind::Fixed)
        indices.push_back(scalars.sequence);
      if (rows.getKind() != attn::RowsKind::Jagged) {
        indices.push_back(integers.saturated(at));
        continue;
      }
      // Positions outside the sequence are another's rows.
      Value p = integers.saturated(at), n = ofQueries ? scalars.nQueries : scalars.nKeys;
      Value row = arith::AddIOp::create(b, loc, ofQueries ? scalars.queryRow : scalars.keyRow, p);
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, p, n);
      indices.push_back(arith::SelectOp::create(b, loc, inside, row, integers.constant(-1).value));
    }
    StringRef name = spec.getInputName(argument.getArgNumber());
    return Scalar{tile::LookupOp::create(b, loc, type.getElementType(), name, indices),
                  BoundedIntegers::kLeast32, BoundedIntegers::kGreatest32};
  }

  // --- masks ------------------------------------------------------------------------------------------------------

  llvm::Expected<Scalar> mask(Operation *op) {
    using Result = llvm::Expected<Scalar>;
    auto both = [&](auto combine) -> Result {
      llvm::Expected<Value> x = translate(op->getOperand(0));
      if (!x)
        return x.takeError();
      llvm::Expected<Value> y = translate(op->getOperand(1));
      if (!y)
        return y.takeError();
      return Scalar{combine(*x, *y)};
    };
    return llvm::TypeSwitch<Operation *, Result>(op)
        .Case([&](attn::MaskAndOp) {
          return both([&](Value x, Value y) { return arith::AndIOp::create(b, loc, x, y).getResult(); });
        })
        .Case([&](attn::MaskOrOp) {
          return both([&](Value x, Value y) { return arith::OrIOp::create(b, loc, x, y).getResult(); });
        })
        .Case([&](attn::MaskNotOp inverse) -> Result {
          llvm::Expected<Value> v = negated(inverse.getOperand());
          return v ? Result(Scalar{*v}) : v.takeError();
        })
        .Case([&](attn::MaskWhereOp where) -> Result {
          Block &body = where.getBody().front();
          SmallVector<BlockArgument> arguments(body.args_begin(), body.args_end());
          bindIndices(arguments, position[0], position[1]);
          return get(cast<attn::ResultOp>(body.back()).getValue());
        })
        .Case([&](attn::PatternOp pattern) -> Result { return interval(pattern); })
        .Default([&](Operation *other) -> Result {
          return refuse(other, "expected a mask that each pair can be asked for");
        });
  }

  // A named pattern, pair by pair: every limit of its key range.
  llvm::Expected<Scalar> interval(attn::PatternOp pattern) {
    llvm::Expected<KeyRange> range = analyseMask(pattern.getMask());
    if (!range)
      return range.takeError();
    Value all = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    for (bool upper : {false, true})
      for (const Clause &clause : upper ? range->upper : range->lower) { // of a pattern: one bound each
        const Bound &bound = clause.front();
        Value limit = integers.constant(bound.constant).value;
        auto add = [&](Value v) { limit = arith::AddIOp::create(b, loc, limit, v); };
        if (bound.keys)
          add(scalars.nKeys);
        if (bound.queries)
          limit = arith::SubIOp::create(b, loc, limit, scalars.nQueries);
        if (bound.block == 1)
          add(position[0]);
        else if (bound.block) {
          Value size = integers.constant(bound.block).value;
          add(arith::MulIOp::create(b, loc, arith::DivUIOp::create(b, loc, position[0], size), size));
        }
        auto predicate = upper ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge;
        Value holds = arith::CmpIOp::create(b, loc, predicate, position[1], limit);
        all = arith::AndIOp::create(b, loc, all, holds);
      }
    return Scalar{all};
  }

  OpBuilder &b;
  Location loc;
  BoundedIntegers integers;
  const PairScalars &scalars;
  Value position[2]; ///< i and j
  Value elementIndex, elementRow; ///< of expressions of elements: i, and the row in the tensor that it stands for
  llvm::DenseMap<Value, Scalar> known;
};

/// Builds the op and its block, lets `body` say what it yields, and removes it again after an error.
llvm::Expected<Value> build(OpBuilder &b, Location loc, ValueRange tiles, const PairScalars &scalars, Value when,
                            llvm::function_ref<llvm::Expected<Value>(Translation &, Block &)> body) {
  auto op = tile::MapPairsOp::create(b, loc, tiles[0].getType(), tiles, scalars.firstQuery, scalars.firstKey,
                                    when);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(tiles.size(), b.getF32Type());
  types.append(2, b.getI32Type());
  Block *block = b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  Translation translation(b, loc, scalars);
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
  Value height = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(type.getDimSize(0))));
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

bool fovea::asksForPosition(attn::MapElementsOp op) {
  BlockArgument i = op.getBody().front().getArgument(op.getInputs().size());
  return llvm::any_of(i.getUsers(), [](Operation *user) { return !isa<attn::LookupOp>(user); });
}

// The value of `map`'s expression for one element, from those of its operands; maps behind operands are computed, too.
static llvm::Expected<Value> translateElements(OpBuilder &b, attn::MapElementsOp map, const ElementScalars &scalars,
                                               const llvm::DenseMap<Value, Value> &elements, Value row, Value column) {
  PairScalars none;
  Translation translation(b, map.getLoc(), none);
  Block &source = map.getBody().front();
  const size_t n = map.getInputs().size();
  for (auto [t, operand] : llvm::enumerate(map.getInputs())) {
    Value element = elements.lookup(operand);
    if (auto inner = operand.getDefiningOp<attn::MapElementsOp>(); !element && inner) {
      llvm::Expected<Value> value = translateElements(b, inner, scalars, elements, row, column);
      if (!value)
        return value;
      element = *value;
    }
    if (!element)
      return llvm::createStringError("attn.map_elements: expected an epilogue of o and of tensors like it");
    translation.bind(source.getArgument(t), element);
  }
  for (unsigned index : {3, 4}) // b, n
    if (!source.getArgument(n + index).use_empty())
      return llvm::createStringError("attn.map_elements: expected an epilogue that asks for i, h and d alone: the sequence "
                                     "and its length are not at hand where a tile holds its keys");
  auto sum = [&](Value x, Value y) { return arith::AddIOp::create(b, map.getLoc(), x, y).getResult(); };
  translation.bindElement(source.getArgument(n), scalars.position ? sum(scalars.position, row) : Value(),
                          source.getArgument(n + 1), scalars.head, source.getArgument(n + 2), column,
                          sum(scalars.row, row));
  return translation.translate(cast<attn::ResultOp>(source.back()).getValue());
}

llvm::Error fovea::emitMapElements(OpBuilder &b, Location loc, ArrayRef<std::pair<Value, Value>> operands,
                                   ArrayRef<ElementOutput> outputs, const ElementScalars &scalars) {
  SmallVector<Value> in, out;
  for (auto &[tensor, slot] : operands)
    in.push_back(slot);
  for (const ElementOutput &output : outputs)
    out.push_back(output.slot);
  auto op = tile::MapElementsOp::create(b, loc, in, out);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(in.size(), b.getF32Type());
  types.append(2, b.getI32Type());
  Block *block = b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  llvm::DenseMap<Value, Value> elements;
  for (auto [n, operand] : llvm::enumerate(operands))
    elements[operand.first] = block->getArgument(n);
  SmallVector<Value> values;
  for (const ElementOutput &output : outputs) {
    llvm::Expected<Value> value =
        translateElements(b, output.value, scalars, elements, block->getArgument(in.size()), block->getArgument(in.size() + 1));
    if (!value) {
      op.erase();
      return value.takeError();
    }
    values.push_back(*value);
  }
  tile::YieldOp::create(b, loc, values);
  return llvm::Error::success();
}

llvm::Error fovea::declareTables(OpBuilder &b, attn::SpecOp spec) {
  llvm::SmallSetVector<Value, 4> used;
  for (Operation &op : spec.getBody().front())
    if (isa<attn::MapPairsOp, attn::MaskWhereOp, attn::MapElementsOp>(op))
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
    tile::TableOp::create(b, spec.getLoc(), name, dims, type.getElementType());
  }
  return llvm::Error::success();
}
