// codegen/kernel/Mathematics.cpp - register tiles: elementwise arithmetic, masks, reductions.
#include "codegen/kernel/Emitter.h"
#include "codegen/kernel/Exponential.h"
#include "codegen/kernel/Expressions.h"
#include "codegen/kernel/KeyMask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

static RegisterLayout layoutOf(Type type) {
  return cast<RegsAttr>(cast<RankedTensorType>(type).getEncoding()).getLayout();
}

// Fragment: 16 rows a warp over 32 lanes, half of the columns each; two rows a thread. Rows: a row a thread.
size_t Emitter::registerCount(RankedTensorType type) const {
  bool fragment = layoutOf(type) == RegisterLayout::Fragment;
  if (type.getRank() == 1)
    return fragment ? 2 : 1;
  return fragment ? size_t(type.getDimSize(1)) / 2 : size_t(type.getDimSize(1));
}

// Which of a thread's rows register r of a fragment belongs to.
static size_t fragmentRow(size_t r) { return r / 2 % 2; }

// Scalars of a program are arith on i1 and i32, which lower like any other.
LogicalResult Emitter::emitScalar(Operation &op) {
  if (op.getNumRegions() || op.getDialect() != b.getContext()->getLoadedDialect<arith::ArithDialect>())
    return op.emitOpError("has no lowering in a tile program");
  IRMapping map;
  for (Value operand : op.getOperands())
    map.map(operand, scalars.lookup(operand));
  Value result = b.clone(op, map)->getResult(0);
  if (Value further = isa<arith::ConstantOp>(op) ? moved(&op) : Value())
    result = add(result, further);
  scalars[op.getResult(0)] = result;
  return success();
}

// Arithmetic of whole tiles in loops over key blocks, where the issue slots are what it costs.
bool Emitter::isPacked(Operation &op) const {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return target.tcgen05 && schedule.keyRows && type.getRank() == 2 && registerCount(type) % 2 == 0 &&
         isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(op);
}

LogicalResult Emitter::emitMath(Operation &op) {
  if (op.getNumResults() != 1)
    return op.emitOpError("has no lowering in a tile program");
  Value result = op.getResult(0);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type)
    return op.emitOpError("has no lowering in a tile program");
  SmallVector<Value> out;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op.emitOpError("expected a splat constant");
    out.assign(registerCount(type), constF32(b, loc, splat.getSplatValue<APFloat>().convertToFloat()));
    tiles[result] = out;
    return success();
  }
  SmallVector<SmallVector<Value>> in;
  for (Value operand : op.getOperands())
    in.push_back(tiles[operand]);
  if (auto polynomial = op.getAttrOfType<IntegerAttr>("tile.polynomial"); polynomial && isa<math::Exp2Op>(op)) {
    tiles[result] = exponentials(b, loc, in[0], polynomial.getInt());
    return success();
  }
  const size_t count = registerCount(type);
  if (isPacked(op)) {
    // Two elements an instruction (sm_100, .f32x2).
    for (size_t r = 0; r < count; r += 2) {
      auto x = [&](unsigned i) { return packVector(b, loc, {in[i][r], in[i][r + 1]}); };
      Value v = isa<arith::AddFOp>(op)   ? addF(b, loc, x(0), x(1))
                : isa<arith::SubFOp>(op) ? subF(b, loc, x(0), x(1))
                : isa<arith::MulFOp>(op) ? mulF(b, loc, x(0), x(1))
                                         : codegen::fma(b, loc, x(0), x(1), x(2));
      llvm::append_range(out, unpackVector(b, loc, v));
    }
    tiles[result] = out;
    return success();
  }
  for (size_t r = 0; r < count; ++r) {
    auto x = [&](unsigned i) { return in[i][r]; };
    Value v;
    if (isa<arith::AddFOp>(op))
      v = addF(b, loc, x(0), x(1));
    else if (isa<arith::SubFOp>(op))
      v = subF(b, loc, x(0), x(1));
    else if (isa<arith::MulFOp>(op))
      v = mulF(b, loc, x(0), x(1));
    else if (isa<arith::DivFOp>(op)) // x / y as x (1 / y): rcp.approx, 1 ulp
      v = mulF(b, loc, x(0), rcp(b, loc, x(1)));
    else if (isa<arith::NegFOp>(op))
      v = LLVM::FNegOp::create(b, loc, x(0));
    else if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
      v = maxF(b, loc, x(0), x(1));
    else if (isa<math::FmaOp>(op))
      v = codegen::fma(b, loc, x(0), x(1), x(2));
    else if (isa<math::Exp2Op>(op))
      v = ex2(b, loc, x(0));
    else if (isa<math::Log2Op>(op))
      v = lg2(b, loc, x(0));
    else if (auto compare = dyn_cast<arith::CmpFOp>(op)) // predicates are numbered alike
      v = LLVM::FCmpOp::create(b, loc, LLVM::FCmpPredicate(compare.getPredicate()), x(0), x(1));
    else if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<RankedTensorType>(select.getCondition().getType()))
      v = codegen::select(b, loc, x(0), x(1), x(2));
    else if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<IntegerType>(select.getCondition().getType()))
      v = codegen::select(b, loc, scalars[select.getCondition()], x(1), x(2));
    else if (isa<math::TanhOp>(op))
      v = tanhApprox(b, loc, x(0));
    else
      return op.emitOpError("has no lowering in a tile program");
    out.push_back(v);
  }
  tiles[result] = out;
  return success();
}

void Emitter::emitMaskTail(MaskTailOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<Value> in = tiles[op.getTile()];
  Value rows = scalars[op.getRows()];
  bool fragment = layoutOf(type) == RegisterLayout::Fragment;
  int64_t block = op.getBlock();
  SmallVector<Type> types(in.size(), b.getF32Type());
  // Only the last tile of a sequence pays.
  auto branch = scf::IfOp::create(b, loc, types, cmp(ICmpPredicate::slt, rows, i32(type.getDimSize(0))), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  // Keys of a row's block start at the block; blocks hold at least the 16 rows of a fragment's warp.
  Value row = fragment ? warpRow() : add(warpRow(), lane);
  Value start = LLVM::AndOp::create(b, loc, row, i32(~(block - 1)));
  Value limit = sub(rows, start); // columns >= limit are beyond the sequence
  if (fragment)
    limit = sub(limit, LLVM::ShlOp::create(b, loc, LLVM::AndOp::create(b, loc, lane, i32(3)), i32(1)));
  Value minusInf = constF32(b, loc, -std::numeric_limits<float>::infinity());
  SmallVector<Value> masked;
  for (auto [r, v] : llvm::enumerate(in)) {
    int64_t col = fragment ? 8 * (r / 4) + r % 2 : r;
    masked.push_back(codegen::select(b, loc, cmp(ICmpPredicate::sgt, limit, i32(col)), v, minusInf));
  }
  scf::YieldOp::create(b, loc, masked);
  b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(b, loc, in);
  tiles[op.getResult()] = SmallVector<Value>(branch.getResults());
}

void Emitter::emitMaskKeys(MaskKeysOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  TileElements elements(b, loc, layoutOf(type), type.getDimSize(1), warpRow(), lane, schedule.packed);
  auto limit = [&](OperandRange terms, ArrayRef<int64_t> blocks, ArrayRef<int64_t> clauses) {
    KeyLimit limit{{}, blocks, clauses};
    for (Value term : terms)
      limit.terms.push_back(scalars[term]);
    return limit;
  };
  const SmallVector<Value> in = tiles[op.getTile()];
  tiles[op.getResult()] = maskKeys(b, loc, elements, in, scalars[op.getFirstKey()], scalars[op.getFirstQuery()],
                                   limit(op.getLower(), op.getLowerBlocks(), op.getLowerClauses()),
                                   limit(op.getUpper(), op.getUpperBlocks(), op.getUpperClauses()));
}

Value Emitter::emitLookup(StringRef name, Type type, ArrayRef<TableIndex> indices) {
  TableAddress table{argument(params.pointer(name)), {}, {}};
  for (size_t n = 0; n < indices.size(); ++n) {
    table.sizes.push_back(argument(params.size(name, n)));
    if (n + 1 < indices.size())
      table.strides.push_back(argument(params.stride(name, n)));
  }
  return lookUp(b, loc, type, table, indices);
}

void Emitter::emitLookupRows(LookupRowsOp op) {
  SmallVector<TableIndex> indices;
  for (Value index : op.getIndices())
    indices.push_back({{scalars[index]}});
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!op.getOfHeads()) {
    Value element = emitLookup(op.getTable(), b.getF32Type(), indices);
    tiles[op.getResult()].assign(registerCount(type), element);
    return;
  }
  TileElements elements(b, loc, layoutOf(type), 1, warpRow(), lane, schedule.packed);
  const Value first = indices.back().terms.front();
  SmallVector<Value> values;
  for (size_t row = 0; row < elements.rows(); ++row) {
    indices.back() = {{elements.head(b, loc, first, row)}};
    values.push_back(emitLookup(op.getTable(), b.getF32Type(), indices));
  }
  tiles[op.getResult()] = values;
}

LogicalResult Emitter::emitMapPairs(MapPairsOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  TileElements elements(b, loc, layoutOf(type), type.getDimSize(1), warpRow(), lane, schedule.packed);
  SmallVector<SmallVector<Value>> in;
  for (Value tile : op.getTiles())
    in.push_back(tiles[tile]);
  auto scalar = [&](Value v) { return scalars.lookup(v); };
  auto lookup = [&](LookupOp at, ArrayRef<TableIndex> indices) {
    return emitLookup(at.getTable(), at.getValue().getType(), indices);
  };
  Value head = op.getFirstHead() ? scalars[op.getFirstHead()] : Value();
  auto out = mapPairs(b, loc, op, elements, in, {scalars[op.getFirstQuery()], scalars[op.getFirstKey()], scalar, lookup, head});
  if (failed(out))
    return failure();
  tiles[op.getResult()] = *out;
  return success();
}

void Emitter::emitRowReduce(RowReduceOp op) {
  const SmallVector<Value> in = tiles[op.getTile()];
  bool max = op.getKind() == Reduction::Max;
  auto tree = [&](ArrayRef<Value> values) { return max ? maxTree(b, loc, values) : addTree(b, loc, values); };
  SmallVector<Value> out;
  auto acrossQuad = [&](Value v) { return max ? quadMax(b, loc, v) : quadAdd(b, loc, v); };
  if (layoutOf(op.getTile().getType()) == RegisterLayout::Rows && !max && schedule.keyRows && in.size() % 2 == 0) {
    // Halves of the row side by side, two sums an instruction.
    SmallVector<Value> pairs;
    for (size_t r = 0; r < in.size(); r += 2)
      pairs.push_back(packVector(b, loc, {in[r], in[r + 1]}));
    SmallVector<Value> halves = unpackVector(b, loc, addTree(b, loc, pairs));
    out.push_back(addF(b, loc, halves[0], halves[1]));
  } else if (layoutOf(op.getTile().getType()) == RegisterLayout::Rows) {
    out.push_back(tree(in));
  } else if (cast<RankedTensorType>(op.getTile().getType()).getRank() == 1) {
    for (Value v : in)
      out.push_back(acrossQuad(v));
  } else {
    for (size_t half : {0, 1}) {
      SmallVector<Value> row;
      for (auto [r, v] : llvm::enumerate(in))
        if (fragmentRow(r) == half)
          row.push_back(v);
      Value v = tree(row);
      out.push_back(op.getPartial() ? v : acrossQuad(v));
    }
  }
  tiles[op.getResult()] = out;
}

void Emitter::emitBroadcast(BroadcastOp op) {
  const SmallVector<Value> in = tiles[op.getValue()];
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<Value> out;
  for (size_t r = 0, n = registerCount(type); r < n; ++r)
    out.push_back(in.size() == 2 ? in[fragmentRow(r)] : in[0]);
  tiles[op.getResult()] = out;
}

void Emitter::emitColumns(ColumnsOp op) {
  const int64_t count = cast<RankedTensorType>(op.getResult().getType()).getDimSize(1);
  tiles[op.getResult()] = llvm::to_vector(ArrayRef(tiles[op.getTile()]).slice(size_t(op.getFrom()), size_t(count)));
}
