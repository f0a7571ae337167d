// passes/Lower/Translation.cpp - scalar expressions and masks of attn, value by value, in a region of the tile program.
#include "passes/Lower/Translation.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

void Translation::bindIndices(ArrayRef<BlockArgument> arguments, Value i, Value j) {
  const int64_t positions = (int64_t(1) << 30) - 1; // rows and columns past a sequence's end included
  Value values[] = {i, j, scalars.head, scalars.sequence, scalars.nQueries, scalars.nKeys};
  for (auto [n, argument] : llvm::enumerate(arguments))
    known[argument] = {values[n], 0, n == 2 || n == 3 ? BoundedIntegers::kGreatest32 : positions};
  position[0] = i, position[1] = j;
}

void Translation::bindElement(BlockArgument i, Value position, BlockArgument h, Value head, BlockArgument d, Value column, Value row) {
  const int64_t positions = (int64_t(1) << 30) - 1;
  if (position)
    known[i] = {position, 0, positions};
  known[h] = {head, 0, BoundedIntegers::kGreatest32}, known[d] = {column, 0, 255};
  elementIndex = i, elementRow = row;
}

llvm::Expected<Value> Translation::translate(Value value) {
  llvm::Expected<Scalar> result = get(value);
  return result ? llvm::Expected<Value>(result->value) : result.takeError();
}

llvm::Expected<Value> Translation::negated(Value value) {
  llvm::Expected<Value> v = translate(value);
  if (!v)
    return v;
  return arith::XOrIOp::create(b, loc, *v, arith::ConstantOp::create(b, loc, b.getBoolAttr(true))).getResult();
}

llvm::Error Translation::refuse(Operation *op, const llvm::Twine &why) {
  return llvm::createStringError((op->getName().getStringRef() + ": " + why).str());
}

llvm::Expected<BoundedInteger> Translation::get(Value value) {
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

llvm::Expected<BoundedInteger> Translation::make(Operation *op) {
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

llvm::Expected<BoundedInteger> Translation::makeInteger(Operation *op, ArrayRef<Scalar> x) {
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

llvm::Expected<BoundedInteger> Translation::look(attn::LookupOp op, ArrayRef<Scalar> x) {
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
  std::string name = tile::tableSymbol(spec.getInputName(argument.getArgNumber()));
  return Scalar{tile::LookupOp::create(b, loc, type.getElementType(), name, indices),
                BoundedIntegers::kLeast32, BoundedIntegers::kGreatest32};
}

llvm::Expected<BoundedInteger> Translation::mask(Operation *op) {
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

llvm::Expected<BoundedInteger> Translation::interval(attn::PatternOp pattern) {
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
