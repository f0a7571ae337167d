// passes/Lower/FlashOutput.cpp - how flash forward's rows leave an item: sums, sinks and factors; corrections; parts; stores.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/FlashNetwork.h"
#include "passes/Lower/Softmax.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

void FlashNetwork::finish(Item item, Value top, Value partialTotal) {
  Value total = n.reduce(Reduction::Add, partialTotal);
  const Value ofKeys[] = {top, total};
  // A row without a key has the sum 0 and an accumulator of 0: any finite factor will do.
  Value least = n.splat(1e-30, total.getType()), numerator, atLeast;
  if (p.sink.empty()) {
    atLeast = arith::MaximumFOp::create(n.b, loc, total, least);
    numerator = n.splat(1.0, total.getType());
  } else {
    RowSum with = addSink(n, p.sink, item.head, top, total, loc);
    top = with.top, total = with.total, numerator = with.shrink;
    atLeast = online.sum(total, least); // a sink may be NaN
  }
  Value inverse = arith::DivFOp::create(n.b, loc, numerator, atLeast);
  if (corrects()) {
    tell("Factor", inverse);
    if (s.splits != 1) // parts are added up without the sink, which counts once
      tell("Top", ofKeys[0]), tell("Sum", ofKeys[1]);
  } else {
    bringOut(item, inverse, ofKeys[0], ofKeys[1]);
  }
  if (!p.lse)
    return;
  StoreRowsOp::create(n.b, loc, "lse", item.row, item.rows, item.head, batchOf(p.queries, item, true),
                      online.logSumExp(top, total));
}

void FlashNetwork::bringOut(Item item, Value factor, Value top, Value total) {
  Value result = n.take(own("Result"), 1, Unit::Threads);
  Value out = s.outInQ ? n.take(own("Q"), 2, Unit::Threads) : n.take(own("Out"), 0, Unit::Threads);
  if (!s.outHalves)
    CopyOp::create(n.b, loc, result, out, Value(), factor, PairingAttr(), IntegerAttr());
  if (s.splits != 1) {
    auto split = SplitOp::create(n.b, loc, n.b.getI32Type(), n.b.getI32Type());
    StorePartialOp::create(n.b, loc, item.row, item.rows, item.head, batchOf(p.queries, item, true), split.getPart(),
                           result, top, total);
  }
  if (s.outHalves) { // parts leave the sums as they are
    ScaleOp::create(n.b, loc, result, factor);
    copyHalf(result, out, 0);
  }
  n.pass(result), n.pass(out);
}

void FlashNetwork::copyHalf(Value result, Value out, int64_t half) {
  CopyOp::create(n.b, loc, result, out, Value(), Value(), PairingAttr(), n.b.getI64IntegerAttr(half * p.valueDim / 2));
}

void FlashNetwork::addSecondHalf() {
  n.role(own("second"), [&](Item) {
    Value result = n.take(own("Result"), 2, Unit::Threads), out = n.take(own("Out"), 2, Unit::Threads);
    copyHalf(result, out, 1);
    n.pass(result), n.pass(out);
  });
}

void FlashNetwork::addStore(const char *role, int64_t half) {
  n.role(own(role), [&](Item item) {
    item = part(item);
    Value out = s.outInQ ? n.take(own("Q"), 3, Unit::Tma) : n.take(own("Out"), 2 * half + 1, Unit::Tma);
    StoreOp::create(n.b, loc, p.o, item.row, item.rows, item.head, batchOf(p.queries, item, /*output=*/true), out, half * p.valueDim / 2);
    n.pass(out);
  });
}

// One value a row from softmax to the correction.
void FlashNetwork::tell(const char *channel, Value values) {
  Value slot = n.take(own(channel), 0, Unit::Threads);
  WriteOp::create(n.b, loc, values, slot);
  n.pass(slot);
}
Value FlashNetwork::told(const char *channel) {
  Value slot = n.take(own(channel), 1, Unit::Threads), values = n.read(slot);
  n.pass(slot);
  return values;
}

void FlashNetwork::addCorrection() {
  n.role(own("correct"), [&](Item item) {
    if (!s.maxFree)
      n.blocks(
          keyBlocks(item).count, {},
          [&](Value) -> Values {
            // Nothing is in them yet.
            n.pass(n.take(own("Growth"), 1, Unit::Threads)), n.pass(n.take(own("O"), 0, Unit::Threads));
            return {};
          },
          [&](Value, Values) -> Values {
            rescale(told("Growth"));
            return {};
          });
    Value factor = told("Factor"), top, total;
    if (s.splits != 1)
      top = told("Top"), total = told("Sum");
    bringOut(part(item), factor, top, total);
  });
}

// Between two products of a tile; then hands on `scores`, a slot or null.
void FlashNetwork::rescale(Value growth, Value scores) {
  Value o = n.take(own("O"), 0, Unit::Threads);
  auto rare = RareOp::create(n.b, loc, TypeRange(), growth, n.b.getF64FloatAttr(0), ValueRange());
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.createBlock(&rare.getBody());
    ScaleOp::create(n.b, loc, o, online.decay(growth));
    YieldOp::create(n.b, loc, ValueRange());
  }
  if (scores)
    n.pass(scores);
  n.pass(o);
}
