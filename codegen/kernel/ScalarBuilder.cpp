// codegen/kernel/ScalarBuilder.cpp - integer arithmetic and branches, for the classes that write a kernel.
#include "codegen/kernel/ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea::codegen;

Value ScalarBuilder::add(Value x, Value y) { return LLVM::AddOp::create(b, loc, x, y); }
Value ScalarBuilder::sub(Value x, Value y) { return LLVM::SubOp::create(b, loc, x, y); }
Value ScalarBuilder::mul(Value x, Value y) { return LLVM::MulOp::create(b, loc, x, y); }
Value ScalarBuilder::div(Value x, Value y) { return LLVM::UDivOp::create(b, loc, x, y); }
Value ScalarBuilder::bitAnd(Value x, Value y) { return LLVM::AndOp::create(b, loc, x, y); }
Value ScalarBuilder::cmp(LLVM::ICmpPredicate predicate, Value x, Value y) {
  return LLVM::ICmpOp::create(b, loc, predicate, x, y);
}
Value ScalarBuilder::wide(Value v) { return LLVM::ZExtOp::create(b, loc, b.getI64Type(), v); }
Value ScalarBuilder::wideSigned(Value v) { return LLVM::SExtOp::create(b, loc, b.getI64Type(), v); }

void ScalarBuilder::ifThen(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getThenRegion().front());
  body();
}

void ScalarBuilder::forLoop(Value from, Value to, Value step, llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(b, loc, from, to, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}
