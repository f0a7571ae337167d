// codegen/kernel/Expressions.cpp - scalar expressions of tile.map_pairs and tile.map_elements, element by element.
#include "codegen/kernel/Expressions.h"
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Registers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;

// --- functions ----------------------------------------------------------------------------------------------------

namespace {
/// math ops on f32 by the approximate units.
struct Functions {
  OpBuilder &b;
  Location loc;

  Value c(float v) { return constF32(b, loc, v); }
  Value intrinsic(const char *name, Value x) {
    return LLVM::CallIntrinsicOp::create(b, loc, x.getType(), b.getStringAttr(name), x).getResult(0);
  }
  Value exp(Value x) { return ex2(b, loc, mulF(b, loc, x, c(llvm::numbers::log2ef))); }
  // 1 - 2 / (1 + e^2x): within a few 2^-24 of the range [-1, 1], where tanh.approx has 2^-11 only.
  Value tanh(Value x) {
    // Near 0 it would cancel, and softcap multiplies what is left by its cap: there the series, to 2^-25 of the value.
    Value square = mulF(b, loc, x, x), series = c(62.0f / 2835);
    for (float coefficient : {-17.0f / 315, 2.0f / 15, -1.0f / 3, 1.0f})
      series = codegen::fma(b, loc, series, square, c(coefficient));
    Value near = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate::olt, square, c(0.0625f));
    Value e = ex2(b, loc, mulF(b, loc, x, c(2 * llvm::numbers::log2ef)));
    Value far = codegen::fma(b, loc, c(-2), rcp(b, loc, addF(b, loc, e, c(1))), c(1));
    return codegen::select(b, loc, near, mulF(b, loc, x, series), far);
  }
  // Abramowitz and Stegun 7.1.26: |error| <= 1.5e-7.
  Value erf(Value x) {
    Value magnitude = LLVM::FAbsOp::create(b, loc, x);
    Value t = rcp(b, loc, codegen::fma(b, loc, c(0.3275911f), magnitude, c(1)));
    Value sum = c(1.061405429f);
    for (float coefficient : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f})
      sum = codegen::fma(b, loc, sum, t, c(coefficient));
    Value decay = exp(LLVM::FNegOp::create(b, loc, mulF(b, loc, x, x)));
    Value positive = subF(b, loc, c(1), mulF(b, loc, mulF(b, loc, sum, t), decay));
    return LLVM::CopySignOp::create(b, loc, positive, x);
  }
  // sin.approx and cos.approx are good in [-pi, pi]: whole turns are taken off first, 2 pi in two parts.
  Value turned(Value x) {
    Value turns = LLVM::RoundEvenOp::create(b, loc, mulF(b, loc, x, c(0.159154943f)));
    Value rest = codegen::fma(b, loc, turns, c(-6.28125f), x); // exact while turns < 2^15
    return codegen::fma(b, loc, turns, c(-1.93530718e-3f), rest);
  }

  /// Null when there is no instruction for it.
  Value operator()(Operation &op, ValueRange x) {
    return llvm::TypeSwitch<Operation *, Value>(&op)
        .Case([&](math::ExpOp) { return exp(x[0]); })
        .Case([&](math::Exp2Op) { return ex2(b, loc, x[0]); })
        .Case([&](math::LogOp) { return mulF(b, loc, lg2(b, loc, x[0]), c(llvm::numbers::ln2f)); })
        .Case([&](math::Log2Op) { return lg2(b, loc, x[0]); })
        .Case([&](math::TanhOp) { return tanh(x[0]); })
        .Case([&](math::ErfOp) { return erf(x[0]); })
        .Case([&](math::SqrtOp) { return intrinsic("llvm.nvvm.sqrt.approx.ftz.f", x[0]); })
        .Case([&](math::RsqrtOp) { return intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", x[0]); })
        .Case([&](math::SinOp) { return intrinsic("llvm.nvvm.sin.approx.ftz.f", turned(x[0])); })
        .Case([&](math::CosOp) { return intrinsic("llvm.nvvm.cos.approx.ftz.f", turned(x[0])); })
        .Case([&](math::FmaOp) { return codegen::fma(b, loc, x[0], x[1], x[2]); })
        .Case([&](math::AbsFOp) { return LLVM::FAbsOp::create(b, loc, x[0]); })
        .Case([&](math::FloorOp) { return LLVM::FFloorOp::create(b, loc, x[0]); })
        .Case([&](math::CeilOp) { return LLVM::FCeilOp::create(b, loc, x[0]); })
        .Case([&](arith::DivFOp div) {
          FloatAttr divisor;
          if (matchPattern(div.getRhs(), m_Constant(&divisor)) && divisor.getValueAsDouble() != 0)
            return mulF(b, loc, x[0], c(float(1 / divisor.getValueAsDouble())));
          return mulF(b, loc, x[0], rcp(b, loc, x[1]));
        })
        .Default([](Operation *) { return Value(); });
  }
};

/// What a value of the region depends on.
enum Dependence : unsigned { None = 0, Row = 1, Column = 2, Pair = 3 };

class Evaluation {
public:
  /// `firstRow`, `firstColumn`: what the row and the column of `elements` are counted from in the region.
  Evaluation(OpBuilder &b, Location loc, Block &body, Value firstRow, Value firstColumn, const TileElements &elements,
             ArrayRef<SmallVector<Value>> tiles, const ExpressionScope &scope)
      : b(b), loc(loc), body(body), elements(elements), tiles(tiles), scope(scope), firstRow(firstRow) {
    j0 = !elements.firstColumn ? firstColumn
         : !firstColumn        ? elements.firstColumn
                               : LLVM::AddOp::create(b, loc, firstColumn, elements.firstColumn).getResult();
    const size_t count = tiles.size();
    for (size_t t = 0; t < count; ++t)
      dependence[body.getArgument(t)] = Pair;
    dependence[body.getArgument(count)] = Row;
    dependence[body.getArgument(count + 1)] = Column;
    if (body.getNumArguments() > count + 2)
      dependence[body.getArgument(count + 2)] = Row;
    for (Operation &inner : body.without_terminator()) {
      unsigned all = None;
      for (Value operand : inner.getOperands())
        all |= dependence.lookup(operand);
      for (Value result : inner.getResults())
        dependence[result] = all;
    }
  }

  /// The registers of a value of the region.
  FailureOr<SmallVector<Value>> registers(Value value) {
    SmallVector<Value> result;
    for (size_t n = 0; n < elements.registers(); ++n) {
      result.push_back(at(value, n));
      if (!result.back())
        return failure();
    }
    return result;
  }

private:
  /// `value` for register n; null after a diagnostic.
  Value at(Value value, size_t n) {
    if (value.getParentBlock() != &body)
      return scope.scalar(value);
    unsigned depends = dependence.lookup(value);
    // Registers with equal keys share the value.
    int64_t row = depends & Row ? int64_t(elements.rowIndex(n)) : -1;
    int64_t column = depends & Column ? elements.columnOffset(n) : -1;
    auto key = std::make_tuple(value.getAsOpaquePointer(), row, column);
    auto found = known.find(key);
    if (found != known.end())
      return found->second;
    Value result = make(value, n);
    known[key] = result;
    return result;
  }

  /// Adds `value` for register n to an index, in terms; false after a diagnostic.
  bool addIndex(TableIndex &index, Value value, size_t n) {
    Operation *inner = value.getParentBlock() == &body ? value.getDefiningOp() : nullptr;
    APInt constant;
    if (auto guarded = dyn_cast_or_null<arith::SelectOp>(inner); guarded && index.terms.empty() && !index.guard &&
        matchPattern(guarded.getFalseValue(), m_ConstantInt(&constant)) && constant.isAllOnes()) {
      index.guard = at(guarded.getCondition(), n);
      return index.guard && addIndex(index, guarded.getTrueValue(), n);
    }
    if (auto sum = dyn_cast_or_null<arith::AddIOp>(inner)) // see BoundedIntegers: in 32 bits where these suffice
      return addIndex(index, sum.getLhs(), n) && addIndex(index, sum.getRhs(), n);
    if (value == body.getArgument(unsigned(tiles.size()) + 1)) {
      index.terms.push_back(j0);
      index.constant += elements.columnOffset(n);
      return true;
    }
    index.terms.push_back(at(value, n));
    return bool(index.terms.back());
  }

  Value make(Value value, size_t n) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      size_t which = argument.getArgNumber();
      if (which < tiles.size())
        return tiles[which][n];
      const size_t row = elements.rowIndex(n);
      if (which == tiles.size() + 2)
        return elements.head(b, loc, scope.firstHead, row);
      if (which == tiles.size() + 1)
        return addI32(b, loc, j0, uint32_t(elements.columnOffset(n)));
      return firstRow ? elements.query(b, loc, firstRow, row)
                      : addI32(b, loc, elements.firstRow, uint32_t(elements.rowOffset(row)));
    }
    Operation *inner = value.getDefiningOp();
    if (auto lookup = dyn_cast<tile::LookupOp>(inner)) {
      SmallVector<TableIndex> indices;
      for (Value index : lookup.getIndices())
        if (indices.emplace_back(); !addIndex(indices.back(), index, n))
          return {};
      return scope.lookUp(lookup, indices);
    }
    SmallVector<Value> operands;
    for (Value operand : inner->getOperands()) {
      operands.push_back(at(operand, n));
      if (!operands.back())
        return {};
    }
    if (Value v = Functions{b, loc}(*inner, operands))
      return v;
    // What arith can say to LLVM directly.
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, arith::MaxSIOp,
            arith::MinSIOp, arith::CmpIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::ConstantOp,
            arith::SelectOp, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::MaximumFOp,
            arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::FPToSIOp>(inner)) {
      IRMapping map;
      map.map(inner->getOperands(), operands);
      return b.clone(*inner, map)->getResult(0);
    }
    inner->emitOpError("has no lowering in an expression of elements");
    return {};
  }

  OpBuilder &b;
  Location loc;
  Block &body;
  const TileElements &elements;
  ArrayRef<SmallVector<Value>> tiles;
  const ExpressionScope &scope;
  Value firstRow, j0;
  llvm::DenseMap<Value, unsigned> dependence;
  std::map<std::tuple<const void *, int64_t, int64_t>, Value> known;
};
} // namespace

static FailureOr<SmallVector<Value>> evaluatePairs(OpBuilder &b, Location loc, tile::MapPairsOp op,
                                                   const TileElements &elements, ArrayRef<SmallVector<Value>> tiles,
                                                   const ExpressionScope &scope) {
  Block &body = op.getBody().front();
  Evaluation evaluation(b, loc, body, scope.firstQuery, scope.firstKey, elements, tiles, scope);
  Value yielded = cast<tile::ResultOp>(body.back()).getValue();
  auto result = evaluation.registers(yielded);
  if (failed(result) || !yielded.getType().isInteger(1))
    return result;
  Value minusInf = constF32(b, loc, -std::numeric_limits<float>::infinity());
  for (auto [n, v] : llvm::enumerate(*result))
    v = codegen::select(b, loc, v, tiles[0][n], minusInf);
  return result;
}

FailureOr<SmallVector<Value>> fovea::codegen::mapPairs(OpBuilder &b, Location loc, tile::MapPairsOp op,
                                                       const TileElements &elements,
                                                       ArrayRef<SmallVector<Value>> tiles,
                                                       const ExpressionScope &scope) {
  if (!op.getWhen())
    return evaluatePairs(b, loc, op, elements, tiles, scope);
  SmallVector<Type> types(tiles[0].size(), b.getF32Type());
  auto branch = scf::IfOp::create(b, loc, types, scope.scalar(op.getWhen()), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  auto changed = evaluatePairs(b, loc, op, elements, tiles, scope);
  if (failed(changed))
    return failure();
  scf::YieldOp::create(b, loc, *changed);
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b, loc, tiles[0]);
  return SmallVector<Value>(branch.getResults());
}

FailureOr<SmallVector<SmallVector<Value>>> fovea::codegen::mapElements(OpBuilder &b, Location loc, tile::MapElementsOp op,
                                                                       const TileElements &elements,
                                                                       ArrayRef<SmallVector<Value>> inputs,
                                                                       const ExpressionScope &scope) {
  Block &body = op.getBody().front();
  Evaluation evaluation(b, loc, body, {}, {}, elements, inputs, scope);
  SmallVector<SmallVector<Value>> outputs;
  for (Value yielded : body.back().getOperands()) {
    auto registers = evaluation.registers(yielded);
    if (failed(registers))
      return failure();
    outputs.push_back(*registers);
  }
  return outputs;
}

// --- tables -------------------------------------------------------------------------------------------------------

// `made`, or its equal that stands in this block already. What LLVM would find equal it first compares pair by pair, which
// takes seconds where each element of a row is looked up.
static Value shared(Value made) {
  Operation *op = made.getDefiningOp();
  for (Operation *user : op->getOperand(0).getUsers())
    if (user != op && user->getBlock() == op->getBlock() &&
        OperationEquivalence::isEquivalentTo(user, op, OperationEquivalence::exactValueMatch, nullptr,
                                             OperationEquivalence::IgnoreLocations)) {
      op->erase();
      return user->getResult(0);
    }
  return made;
}

Value fovea::codegen::lookUp(OpBuilder &b, Location loc, Type type, const TableAddress &table, ArrayRef<TableIndex> indices) {
  Value inside, element;
  auto demand = [&](Value condition) {
    inside = inside ? LLVM::AndOp::create(b, loc, inside, condition).getResult() : condition;
  };
  for (auto [n, index] : llvm::enumerate(indices)) {
    if (index.guard)
      demand(index.guard);
    auto extended = [&](Value v) { return shared(LLVM::SExtOp::create(b, loc, b.getI64Type(), v)); };
    Value narrow = index.terms.front(), wide = extended(narrow);
    for (Value term : llvm::drop_begin(index.terms)) {
      narrow = shared(LLVM::AddOp::create(b, loc, narrow, term));
      wide = shared(LLVM::AddOp::create(b, loc, wide, extended(term)));
    }
    demand(LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, addI32(b, loc, narrow, uint32_t(index.constant)),
                                table.sizes[n]));
    if (n + 1 < indices.size())
      wide = shared(LLVM::MulOp::create(b, loc, addI64(b, loc, wide, uint64_t(index.constant)), table.strides[n]));
    element = element ? shared(LLVM::AddOp::create(b, loc, element, wide)) : wide;
  }
  Value address = shared(globalElement(b, loc, table.pointer, b.getI32Type(), element));
  if (int64_t beyond = indices.back().constant)
    address = globalByte(b, loc, address, constI64(b, loc, uint64_t(4 * beyond)));
  Value bits = loadGlobalNc4If(b, loc, inside, address);
  return type.isF32() ? floatOf(b, loc, bits) : bits;
}
