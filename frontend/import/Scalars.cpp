// frontend/import/Scalars.cpp - typed expressions to arith and math ops
#include "frontend/import/Scalars.h"

#include "dialect/Attn/Scalars.h"
#include "frontend/sema/Constants.h"

using namespace mlir;

namespace fovea {

using ast::Op;
using sema::Function;
using sema::Type;

Location locationOf(MLIRContext *context, StringRef filename, sema::Range range) {
  return FileLineColLoc::get(context, filename, range.begin.line, range.begin.col);
}

static Value integer(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value ScalarImporter::emitReal(const sema::Expr &e) {
  Location loc = locationOf(builder.getContext(), filename, e.range);
  if (auto value = sema::constantValue(e); value && e.type != Type::Bool)
    return attn::constant(builder, loc, *value);
  Value value = emit(e);
  return e.type == Type::Int ? arith::SIToFPOp::create(builder, loc, builder.getF32Type(), value) : value;
}

Value ScalarImporter::emit(const sema::Expr &e) {
  Location loc = locationOf(builder.getContext(), filename, e.range);
  if (auto value = sema::constantValue(e); value && e.type != Type::Bool)
    return e.type == Type::Int ? integer(builder, loc, int64_t(*value)) : attn::constant(builder, loc, *value);
  switch (e.kind) {
  case sema::Expr::Kind::Variable:
    if (e.variable == sema::Variable::Scale)
      return attn::constant(builder, loc, spec.scale);
    return variables.at(e.variable);
  case sema::Expr::Kind::Element: return elements.at(e.table);
  case sema::Expr::Kind::Lookup: {
    SmallVector<Value> indices;
    for (const sema::Expr &arg : e.args)
      indices.push_back(emit(arg));
    mlir::Type type = e.type == Type::Int ? mlir::Type(builder.getI64Type()) : builder.getF32Type();
    return attn::LookupOp::create(builder, loc, type, tables[e.table], indices);
  }
  case sema::Expr::Kind::Call: return emitCall(e, loc);
  case sema::Expr::Kind::Operator: return emitOperator(e, loc);
  case sema::Expr::Kind::Number:
  case sema::Expr::Kind::Pattern: break;
  }
  llvm_unreachable("sema keeps named patterns out of expressions");
}

Value ScalarImporter::emitOperator(const sema::Expr &e, Location loc) {
  OpBuilder &b = builder;
  if (ast::isComparison(e.op))
    return emitComparison(e, loc);
  if (e.op == Op::Not)
    return arith::XOrIOp::create(b, loc, emit(e.args[0]), arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  if (e.op == Op::And || e.op == Op::Or) {
    Value lhs = emit(e.args[0]), rhs = emit(e.args[1]);
    return e.op == Op::And ? arith::AndIOp::create(b, loc, lhs, rhs).getResult()
                           : arith::OrIOp::create(b, loc, lhs, rhs).getResult();
  }
  if (e.type == Type::Int) {
    Value lhs = emit(e.args[0]);
    if (e.op == Op::Neg)
      return arith::SubIOp::create(b, loc, integer(b, loc, 0), lhs);
    Value rhs = emit(e.args[1]);
    switch (e.op) {
    case Op::Add: return arith::AddIOp::create(b, loc, lhs, rhs);
    case Op::Sub: return arith::SubIOp::create(b, loc, lhs, rhs);
    case Op::Mul: return arith::MulIOp::create(b, loc, lhs, rhs);
    case Op::Mod: { // of the sign of the divisor, as with positions before the first one expects it
      Value quotient = arith::FloorDivSIOp::create(b, loc, lhs, rhs);
      return arith::SubIOp::create(b, loc, lhs, arith::MulIOp::create(b, loc, quotient, rhs));
    }
    default: llvm_unreachable("sema makes '/' real");
    }
  }
  Value lhs = emitReal(e.args[0]);
  if (e.op == Op::Neg)
    return arith::NegFOp::create(b, loc, lhs);
  Value rhs = emitReal(e.args[1]);
  switch (e.op) {
  case Op::Add: return arith::AddFOp::create(b, loc, lhs, rhs);
  case Op::Sub: return arith::SubFOp::create(b, loc, lhs, rhs);
  case Op::Mul: return arith::MulFOp::create(b, loc, lhs, rhs);
  case Op::Div: return arith::DivFOp::create(b, loc, lhs, rhs);
  default: llvm_unreachable("sema keeps '%' to integers");
  }
}

Value ScalarImporter::emitComparison(const sema::Expr &e, Location loc) {
  bool ints = e.args[0].type == Type::Int && e.args[1].type == Type::Int;
  if (ints) {
    using P = arith::CmpIPredicate;
    P predicate = e.op == Op::Lt ? P::slt : e.op == Op::Le ? P::sle : e.op == Op::Gt ? P::sgt
                : e.op == Op::Ge ? P::sge : e.op == Op::Eq ? P::eq : P::ne;
    Value lhs = emit(e.args[0]), rhs = emit(e.args[1]);
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  using P = arith::CmpFPredicate;
  P predicate = e.op == Op::Lt ? P::OLT : e.op == Op::Le ? P::OLE : e.op == Op::Gt ? P::OGT
              : e.op == Op::Ge ? P::OGE : e.op == Op::Eq ? P::OEQ : P::UNE;
  Value lhs = emitReal(e.args[0]), rhs = emitReal(e.args[1]);
  return arith::CmpFOp::create(builder, loc, predicate, lhs, rhs);
}

Value ScalarImporter::emitCall(const sema::Expr &e, Location loc) {
  OpBuilder &b = builder;
  auto arg = [&](unsigned n) { return e.type == Type::Int ? emit(e.args[n]) : emitReal(e.args[n]); };
  if (e.function == Function::Where) {
    Value condition = emit(e.args[0]), x = arg(1), y = arg(2);
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value x = arg(0);
  Value y = e.args.size() > 1 ? arg(1) : Value();
  bool isInt = e.type == Type::Int;
  switch (e.function) {
  case Function::Abs:
    return isInt ? math::AbsIOp::create(b, loc, x).getResult() : math::AbsFOp::create(b, loc, x).getResult();
  case Function::Max:
    return isInt ? arith::MaxSIOp::create(b, loc, x, y).getResult() : arith::MaximumFOp::create(b, loc, x, y).getResult();
  case Function::Min:
    return isInt ? arith::MinSIOp::create(b, loc, x, y).getResult() : arith::MinimumFOp::create(b, loc, x, y).getResult();
  case Function::FloorDiv: return arith::FloorDivSIOp::create(b, loc, x, y);
  case Function::Cos: return math::CosOp::create(b, loc, x);
  case Function::Exp: return math::ExpOp::create(b, loc, x);
  case Function::Exp2: return math::Exp2Op::create(b, loc, x);
  case Function::Floor: return math::FloorOp::create(b, loc, x);
  case Function::Log: return math::LogOp::create(b, loc, x);
  case Function::Log2: return math::Log2Op::create(b, loc, x);
  case Function::Rsqrt: return math::RsqrtOp::create(b, loc, x);
  case Function::Sin: return math::SinOp::create(b, loc, x);
  case Function::Sqrt: return math::SqrtOp::create(b, loc, x);
  case Function::Tanh: return math::TanhOp::create(b, loc, x);
  case Function::Gelu: return attn::gelu(b, loc, x);
  case Function::Relu: return attn::relu(b, loc, x);
  case Function::Sigmoid: return attn::sigmoid(b, loc, x);
  case Function::Silu: return attn::silu(b, loc, x);
  case Function::Softcap: return attn::softcap(b, loc, x, y);
  case Function::Where: break;
  }
  llvm_unreachable("a function");
}

} // namespace fovea
