// codegen/kernel/Splits.cpp - what items leave in scratch memory for a kernel behind theirs: parts of a tile's keys, and
// gradients of turned tensors.
#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Sync.h"
#include "codegen/kernel/Emitter.h"
#include "codegen/kernel/TileElements.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;
using LLVM::ICmpPredicate;

void Emitter::unlessSplit(llvm::function_ref<void()> body) {
  if (!kernel->hasAttr("splits"))
    return body();
  ifThen(cmp(ICmpPredicate::eq, itemParts, i32(1)), body);
}

// (part * pairs + pair) * rows + row, as i64, over pairs of a sequence and a head whose tiles have parts (Combine.cpp): a row of
// f32 columns, or a pair of a maximum and a sum.
Value Emitter::partialRow(StorePartialOp op, Value row) {
  const auto [rows, query, head] = placeOf(row, scalars[op.getRows()], scalars[op.getHead()]);
  Value pair = op.getBatch() ? add(mul(scalars[op.getBatch()], argument(params.scalar("heads"))), head) : head;
  pair = sub(pair, argument(params.scalar("first_pair")));
  Value pairs = add(mul(wide(scalars[op.getPart()]), wide(argument(params.scalar("partial_pairs")))), wide(pair));
  return add(mul(pairs, wide(argument(params.scalar("partial_rows")))), wide(add(scalars[op.getRow()], query)));
}

void Emitter::emitStorePartial(StorePartialOp op) {
  ifThen(cmp(ICmpPredicate::sgt, itemParts, i32(1)), [&] {
    const uint32_t columns = uint32_t(cast<SlotType>(op.getSlot().getType()).getCols()), atOnce = 32;
    auto type = cast<RankedTensorType>(op.getTop().getType());
    const RegisterLayout layout = cast<RegsAttr>(type.getEncoding()).getLayout();
    for (uint32_t column = 0; column < columns; column += atOnce) {
      SmallVector<Value> registers = lowering.accumulator(*this, op.getSlot(), column, atOnce);
      storeColumns(argument(params.scalar("partial")), columns, [&](Value row) { return partialRow(op, row); },
                   [&](Value row) { return placeOf(row, scalars[op.getRows()], scalars[op.getHead()]).rows; }, layout == RegisterLayout::Rows, registers, column);
    }
    TileElements elements(b, loc, layout, 1, warpRow(), lane);
    for (auto [k, top, sum] : llvm::enumerate(registers(op.getTop()), registers(op.getSum()))) {
      // The four lanes that share a row of a fragment hold the same.
      Value row = addI32(b, loc, elements.firstRow, uint32_t(elements.rowOffset(k)));
      Value mine = cmp(ICmpPredicate::slt, row, placeOf(row, scalars[op.getRows()], scalars[op.getHead()]).rows);
      if (elements.firstColumn)
        mine = bitAnd(mine, cmp(ICmpPredicate::eq, elements.firstColumn, i32(0)));
      Value pair = packVector(b, loc, {top, sum});
      ifThen(mine, [&] {
        storeGlobal(b, loc, pair, globalElement(b, loc, argument(params.scalar("partial_stats")), pair.getType(), partialRow(op, row)));
      });
    }
    warpSync(b, loc);
  });
}

// (row of all sequences * heads + head) * cols, as f32: each element by the thread that holds it.
void Emitter::emitStoreScratch(StoreScratchOp op) {
  auto slot = cast<SlotType>(op.getSlot().getType());
  const int64_t columns = slot.getCols(), atOnce = 32;
  auto rowOf = [&](Value row) {
    return add(mul(wide(add(scalars[op.getRow()], row)), wide(argument(params.scalar("heads")))), wide(scalars[op.getHead()]));
  };
  for (int64_t column = 0; column < columns; column += atOnce)
    storeColumns(argument(params.scalar(op.getScratch())), columns, rowOf, [&](Value) { return scalars[op.getRows()]; }, holdsRows(),
                 lowering.accumulator(*this, op.getSlot(), uint32_t(column), uint32_t(atOnce)), column);
}

void Emitter::storeColumns(Value scratch, int64_t cols, llvm::function_ref<Value(Value)> rowOf, llvm::function_ref<Value(Value)> rowsOf, bool holdsRows,
                           ArrayRef<Value> registers, int64_t column) {
  const bool fragment = !holdsRows;
  const int64_t columns = fragment ? 2 * int64_t(registers.size()) : int64_t(registers.size()), width = fragment ? 2 : 4;
  TileElements elements(b, loc, fragment ? RegisterLayout::Fragment : RegisterLayout::Rows, columns, warpRow(), lane);
  Type f32 = b.getF32Type();
  for (size_t k = 0; k < elements.rows(); ++k) {
    Value row = addI32(b, loc, elements.firstRow, uint32_t(elements.rowOffset(k)));
    ifThen(cmp(ICmpPredicate::slt, row, rowsOf(row)), [&] {
      Value first = mul(rowOf(row), constI64(b, loc, uint64_t(cols)));
      if (elements.firstColumn)
        first = add(first, wide(elements.firstColumn));
      Value line = globalElement(b, loc, scratch, f32, first);
      // Neighbouring columns in one store.
      for (size_t n = 0; n < registers.size(); n += size_t(width))
        if (elements.rowIndex(n) == k)
          storeGlobal(b, loc, packVector(b, loc, registers.slice(n, size_t(width))),
                      globalElement(b, loc, line, f32, constI64(b, loc, uint64_t(column + elements.columnOffset(n)))));
    });
  }
  warpSync(b, loc);
}
