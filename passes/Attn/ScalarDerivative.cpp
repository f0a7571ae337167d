// passes/Attn/ScalarDerivative.cpp - reverse-mode derivative of the scalar expressions in regions
#include "passes/Attn/ScalarDerivative.h"

#include "dialect/Attn/Scalars.h"

#include <cmath>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Matchers.h>

using namespace mlir;

namespace fovea {

namespace {
/// Arithmetic in short form; constants fold away.
struct Build {
  OpBuilder &b;
  Location loc;
  Value number(double value) const { return attn::constant(b, loc, value); }
  Value add(Value x, Value y) const { return b.createOrFold<arith::AddFOp>(loc, x, y); }
  Value sub(Value x, Value y) const { return b.createOrFold<arith::SubFOp>(loc, x, y); }
  Value mul(Value x, Value y) const { return b.createOrFold<arith::MulFOp>(loc, x, y); }
  Value div(Value x, Value y) const { return b.createOrFold<arith::DivFOp>(loc, x, y); }
  Value neg(Value x) const { return b.createOrFold<arith::NegFOp>(loc, x); }
  Value scale(Value x, double factor) const { return mul(x, number(factor)); }
  Value choose(Value condition, Value x, Value y) const {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
  Value greater(Value x, Value y) const {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  }
};
} // namespace

void Adjoints::add(Value value, Value adjoint) {
  // A constant's adjoint is never asked for.
  if (!value.getType().isF32() || matchPattern(value, m_Constant()))
    return;
  Value &sum = adjoints[value];
  sum = sum ? builder.createOrFold<arith::AddFOp>(value.getLoc(), sum, adjoint) : adjoint;
}

LogicalResult Adjoints::propagate(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops)) {
    if (op->getNumResults() != 1)
      continue;
    if (Value a = of(op->getResult(0)))
      if (failed(propagate(op, a)))
        return failure();
  }
  return success();
}

LogicalResult Adjoints::propagate(Operation *op, Value a) {
  Build f{builder, op->getLoc()};
  Value x = op->getNumOperands() > 0 ? op->getOperand(0) : Value();
  Value y = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  Value r = op->getResult(0);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      // Integers, and what is piecewise constant, end the chain.
      .Case<attn::LookupOp, arith::SIToFPOp, arith::UIToFPOp, math::FloorOp, math::CeilOp, arith::ConstantOp>(
          [&](Operation *) { return success(); })
      .Case([&](arith::AddFOp) { return add(x, a), add(y, a), success(); })
      .Case([&](arith::SubFOp) { return add(x, a), add(y, f.neg(a)), success(); })
      .Case([&](arith::MulFOp) { return add(x, f.mul(a, y)), add(y, f.mul(a, x)), success(); })
      .Case([&](arith::DivFOp) {
        Value quotient = f.div(a, y);
        return add(x, quotient), add(y, f.neg(f.mul(quotient, r))), success();
      })
      .Case([&](arith::NegFOp) { return add(x, f.neg(a)), success(); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](Operation *) {
        // Where both are equal the second one has it, so that max(x, 0) has derivative 0 at 0.
        Value first = f.greater(x, y), zero = f.number(0);
        return add(x, f.choose(first, a, zero)), add(y, f.choose(first, zero, a)), success();
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](Operation *) {
        Value first = f.greater(y, x), zero = f.number(0);
        return add(x, f.choose(first, a, zero)), add(y, f.choose(first, zero, a)), success();
      })
      .Case([&](arith::SelectOp select) {
        Value zero = f.number(0), condition = select.getCondition();
        add(select.getTrueValue(), f.choose(condition, a, zero));
        add(select.getFalseValue(), f.choose(condition, zero, a));
        return success();
      })
      .Case([&](math::ExpOp) { return add(x, f.mul(a, r)), success(); })
      .Case([&](math::Exp2Op) { return add(x, f.scale(f.mul(a, r), std::log(2.0))), success(); })
      .Case([&](math::ExpM1Op) { return add(x, f.mul(a, f.add(r, f.number(1)))), success(); })
      .Case([&](math::LogOp) { return add(x, f.div(a, x)), success(); })
      .Case([&](math::Log2Op) { return add(x, f.scale(f.div(a, x), 1 / std::log(2.0))), success(); })
      .Case([&](math::Log1pOp) { return add(x, f.div(a, f.add(x, f.number(1)))), success(); })
      .Case([&](math::TanhOp) { return add(x, f.mul(a, f.sub(f.number(1), f.mul(r, r)))), success(); })
      .Case([&](math::ErfOp) {
        Value bell = math::ExpOp::create(builder, op->getLoc(), f.neg(f.mul(x, x)));
        return add(x, f.mul(a, f.scale(bell, 2 / std::sqrt(M_PI)))), success();
      })
      .Case([&](math::SqrtOp) { return add(x, f.scale(f.div(a, r), 0.5)), success(); })
      .Case([&](math::RsqrtOp) { return add(x, f.scale(f.mul(a, f.div(r, x)), -0.5)), success(); })
      .Case([&](math::SinOp) { return add(x, f.mul(a, math::CosOp::create(builder, op->getLoc(), x))), success(); })
      .Case([&](math::CosOp) {
        return add(x, f.neg(f.mul(a, math::SinOp::create(builder, op->getLoc(), x)))), success();
      })
      .Case([&](math::PowFOp) {
        Value less = math::PowFOp::create(builder, op->getLoc(), x, f.sub(y, f.number(1)));
        add(x, f.mul(a, f.mul(y, less)));
        if (!matchPattern(y, m_Constant()))
          add(y, f.mul(a, f.mul(r, math::LogOp::create(builder, op->getLoc(), x))));
        return success();
      })
      .Case([&](math::FmaOp fma) {
        return add(x, f.mul(a, y)), add(y, f.mul(a, x)), add(fma.getC(), a), success();
      })
      .Case([&](math::AbsFOp) { return add(x, f.choose(f.greater(f.number(0), x), f.neg(a), a)), success(); })
      .Default([&](Operation *op) -> LogicalResult {
        return op->emitError() << "no gradient: " << op->getName() << " has no derivative here";
      });
}

} // namespace fovea
