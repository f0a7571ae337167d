// codegen/kernel/KeyMask.cpp - the limits of tile.mask_keys, applied to a thread's registers.
#include "codegen/kernel/KeyMask.h"
#include "codegen/common/Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using LLVM::ICmpPredicate;

TileElements::TileElements(OpBuilder &b, Location loc, tile::RegisterLayout layout, int64_t columns, Value warpRow,
                           Value lane, int64_t packed)
    : layout(layout), columns(columns), packed(packed) {
  auto c = [&](uint32_t v) { return constI32(b, loc, v); };
  if (!isFragment()) {
    firstRow = LLVM::AddOp::create(b, loc, warpRow, lane);
    return;
  }
  firstRow = LLVM::AddOp::create(b, loc, warpRow, LLVM::LShrOp::create(b, loc, lane, c(2)));
  firstColumn = LLVM::ShlOp::create(b, loc, LLVM::AndOp::create(b, loc, lane, c(3)), c(1));
}

Value TileElements::query(OpBuilder &b, Location loc, Value firstQuery, size_t index) const {
  if (packed == 1)
    return addI32(b, loc, LLVM::AddOp::create(b, loc, firstQuery, firstRow), uint32_t(rowOffset(index)));
  Value row = addI32(b, loc, firstRow, uint32_t(rowOffset(index)));
  return LLVM::AddOp::create(b, loc, firstQuery, rowPlace(b, loc, row, packed).query);
}

Value TileElements::head(OpBuilder &b, Location loc, Value firstHead, size_t index) const {
  Value row = addI32(b, loc, firstRow, uint32_t(rowOffset(index)));
  return LLVM::AddOp::create(b, loc, firstHead, rowPlace(b, loc, row, packed).head);
}

RowPlace fovea::codegen::rowPlace(OpBuilder &b, Location loc, Value row, int64_t packed) {
  Value shift = constI32(b, loc, uint32_t(llvm::Log2_64(uint64_t(packed)))), mask = constI32(b, loc, uint32_t(packed - 1));
  return {LLVM::LShrOp::create(b, loc, row, shift), LLVM::AndOp::create(b, loc, row, mask)};
}

namespace {
class Limits {
public:
  Limits(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  /// The limit of query i, at least 0, so that its distance to a key fits in 32 bits.
  Value of(const KeyLimit &limit, Value i, bool upper) {
    Value result;
    size_t next = 0;
    for (int64_t size : limit.clauses) {
      Value clause;
      for (int64_t k = 0; k < size; ++k, ++next)
        clause = combine(clause, term(limit.terms[next], limit.blocks[next], i), /*max=*/upper);
      result = combine(result, clause, /*max=*/!upper);
    }
    return combine(result, constI32(b, loc, 0), /*max=*/true);
  }

private:
  Value term(Value base, int64_t block, Value i) {
    if (block == 0)
      return base;
    if (block > 1 && llvm::isPowerOf2_64(uint64_t(block)))
      i = LLVM::AndOp::create(b, loc, i, constI32(b, loc, uint32_t(-block)));
    else if (block > 1)
      i = LLVM::MulOp::create(b, loc, LLVM::UDivOp::create(b, loc, i, constI32(b, loc, uint32_t(block))),
                              constI32(b, loc, uint32_t(block)));
    return LLVM::AddOp::create(b, loc, i, base);
  }
  Value combine(Value x, Value y, bool max) {
    if (!x)
      return y;
    return max ? LLVM::SMaxOp::create(b, loc, x, y).getResult() : LLVM::SMinOp::create(b, loc, x, y).getResult();
  }

  OpBuilder &b;
  Location loc;
};
} // namespace

SmallVector<Value> fovea::codegen::maskKeys(OpBuilder &b, Location loc, const TileElements &elements,
                                            ValueRange registers, Value firstKey, Value firstQuery,
                                            const KeyLimit &lower, const KeyLimit &upper) {
  Limits limits(b, loc);
  auto cmp = [&](ICmpPredicate predicate, Value x, Value y) -> Value {
    return LLVM::ICmpOp::create(b, loc, predicate, x, y);
  };
  Value minusInf = constF32(b, loc, -std::numeric_limits<float>::infinity());
  SmallVector<Value> result(registers.begin(), registers.end());
  for (bool isUpper : {true, false}) {
    const KeyLimit &limit = isUpper ? upper : lower;
    if (limit.terms.empty())
      continue;
    // In columns of the tile, for each of the thread's rows; whether any lane has a column beyond them.
    SmallVector<Value> columns;
    Value some;
    for (size_t k = 0; k < elements.rows(); ++k) {
      Value i = elements.query(b, loc, firstQuery, k);
      Value column = LLVM::SubOp::create(b, loc, limits.of(limit, i, isUpper), firstKey);
      Value beyond = isUpper ? cmp(ICmpPredicate::slt, column, constI32(b, loc, uint32_t(elements.columns)))
                             : cmp(ICmpPredicate::sgt, column, constI32(b, loc, 0));
      some = some ? LLVM::OrOp::create(b, loc, some, beyond).getResult() : beyond;
      columns.push_back(elements.firstColumn ? LLVM::SubOp::create(b, loc, column, elements.firstColumn).getResult()
                                             : column);
    }
    SmallVector<Type> types(result.size(), b.getF32Type());
    auto branch = scf::IfOp::create(b, loc, types, voteAny(b, loc, some), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    SmallVector<Value> masked;
    for (auto [n, v] : llvm::enumerate(result)) {
      Value keep = cmp(isUpper ? ICmpPredicate::sgt : ICmpPredicate::sle, columns[elements.rowIndex(n)],
                       constI32(b, loc, uint32_t(elements.columnOffset(n))));
      masked.push_back(codegen::select(b, loc, keep, v, minusInf));
    }
    scf::YieldOp::create(b, loc, masked);
    b.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(b, loc, result);
    result.assign(branch.getResults().begin(), branch.getResults().end());
  }
  return result;
}
