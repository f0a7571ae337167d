// dialect/Attn/Expressions.cpp - the regions that hold scalar expressions: their arguments and their checks
#include "dialect/Attn/Expressions.h"

using namespace mlir;

namespace fovea::attn {

ArrayRef<StringRef> indexNames(Domain domain) {
  static const StringRef pair[] = {"i", "j", "h", "b", "n_queries", "n_keys"};
  static const StringRef element[] = {"i", "h", "d", "b", "n"};
  return domain == Domain::Pair ? ArrayRef<StringRef>(pair) : ArrayRef<StringRef>(element);
}

Block *addExpressionBlock(Region &region, Domain domain, unsigned values, Location loc) {
  Block *block = new Block;
  region.push_back(block);
  Builder builder(region.getContext());
  for (unsigned n = 0; n < values; ++n)
    block->addArgument(builder.getF32Type(), loc);
  for (size_t n = 0; n < indexNames(domain).size(); ++n)
    block->addArgument(builder.getI64Type(), loc);
  return block;
}

void nameExpressionArguments(Region &region, Domain domain, unsigned values, OpAsmSetValueNameFn setName) {
  if (region.empty() || region.getNumArguments() != values + indexNames(domain).size())
    return;
  for (unsigned n = 0; n < values; ++n)
    setName(region.getArgument(n), values == 1 ? "x" : "x" + std::to_string(n));
  for (auto [n, name] : llvm::enumerate(indexNames(domain)))
    setName(region.getArgument(values + n), name);
}

LogicalResult verifyExpression(Operation *op, Region &region, Domain domain, unsigned values, Type yielded,
                               StringRef argumentsId, StringRef terminatorId, StringRef opsId) {
  Block &block = region.front();
  ArrayRef<StringRef> indices = indexNames(domain);
  bool right = block.getNumArguments() == values + indices.size();
  for (auto [n, argument] : llvm::enumerate(block.getArguments()))
    right = right && (n < values ? argument.getType().isF32() : argument.getType().isSignlessInteger(64));
  if (!right)
    return op->emitOpError() << "expected the block arguments to be " << values << " f32 (one per operand), then i64 "
                             << llvm::join(indices, ", ") << " (" << argumentsId << ")";
  Operation *last = block.empty() ? nullptr : &block.back();
  if (yielded) {
    auto result = dyn_cast_or_null<ResultOp>(last);
    if (!result || result.getValue().getType() != yielded)
      return op->emitOpError() << "expected the block to end in attn.result of one " << yielded << " ("
                               << terminatorId << ")";
  } else if (!isa_and_nonnull<ContributeOp>(last)) {
    return op->emitOpError() << "expected the block to end in attn.contribute (" << terminatorId << ")";
  }
  for (Operation &inner : block.without_terminator()) {
    Dialect *dialect = inner.getDialect();
    if (isa<LookupOp>(inner) || isa_and_nonnull<arith::ArithDialect, math::MathDialect>(dialect))
      continue;
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << "expected only arith and math ops and attn.lookup in the expression ("
                                    << opsId << ")";
    diagnostic.attachNote(inner.getLoc()) << "found " << inner.getName();
    return diagnostic;
  }
  return success();
}

} // namespace fovea::attn
