// dialect/Attn/Reference/ScalarFunctions.cpp - the scalar meaning of arith and math ops, in f64
#include "dialect/Attn/Reference/Expression.h"

#include <cmath>
#include <llvm/ADT/TypeSwitch.h>

using namespace mlir;

namespace fovea::attn::reference {

using Function = double (*)(double, double, double);

// NaN goes through maximumf and minimumf, and stops at maxnumf and minnumf (IEEE 754-2019).
static double maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }
static double minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }

static Function compareIntegers(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq: return [](double a, double b, double) { return double(a == b); };
  case P::ne: return [](double a, double b, double) { return double(a != b); };
  case P::slt: return [](double a, double b, double) { return double(a < b); };
  case P::sle: return [](double a, double b, double) { return double(a <= b); };
  case P::sgt: return [](double a, double b, double) { return double(a > b); };
  case P::sge: return [](double a, double b, double) { return double(a >= b); };
  default: return nullptr; // positions are signed
  }
}

static Function compareFloats(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ: return [](double a, double b, double) { return double(a == b); };
  case P::ONE: return [](double a, double b, double) { return double(a < b || a > b); };
  case P::OLT: return [](double a, double b, double) { return double(a < b); };
  case P::OLE: return [](double a, double b, double) { return double(a <= b); };
  case P::OGT: return [](double a, double b, double) { return double(a > b); };
  case P::OGE: return [](double a, double b, double) { return double(a >= b); };
  case P::UNE: return [](double a, double b, double) { return double(!(a == b)); };
  case P::ORD: return [](double a, double b, double) { return double(!std::isnan(a) && !std::isnan(b)); };
  case P::UNO: return [](double a, double b, double) { return double(std::isnan(a) || std::isnan(b)); };
  default: return nullptr;
  }
}

static bool isBool(Operation *op) { return op->getResult(0).getType().isInteger(1); }

Function scalarFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, Function>(op)
      // arithmetic
      .Case([](arith::AddFOp) -> Function { return [](double a, double b, double) { return a + b; }; })
      .Case([](arith::SubFOp) -> Function { return [](double a, double b, double) { return a - b; }; })
      .Case([](arith::MulFOp) -> Function { return [](double a, double b, double) { return a * b; }; })
      .Case([](arith::DivFOp) -> Function { return [](double a, double b, double) { return a / b; }; })
      .Case([](arith::RemFOp) -> Function { return [](double a, double b, double) { return std::fmod(a, b); }; })
      .Case([](arith::NegFOp) -> Function { return [](double a, double, double) { return -a; }; })
      .Case([](arith::MaximumFOp) -> Function { return [](double a, double b, double) { return maximum(a, b); }; })
      .Case([](arith::MinimumFOp) -> Function { return [](double a, double b, double) { return minimum(a, b); }; })
      .Case([](arith::MaxNumFOp) -> Function { return [](double a, double b, double) { return std::fmax(a, b); }; })
      .Case([](arith::MinNumFOp) -> Function { return [](double a, double b, double) { return std::fmin(a, b); }; })
      .Case([](arith::CmpFOp cmp) { return compareFloats(cmp.getPredicate()); })
      // integers
      .Case([](arith::AddIOp) -> Function { return [](double a, double b, double) { return a + b; }; })
      .Case([](arith::SubIOp) -> Function { return [](double a, double b, double) { return a - b; }; })
      .Case([](arith::MulIOp) -> Function { return [](double a, double b, double) { return a * b; }; })
      .Case([](arith::DivSIOp) -> Function { return [](double a, double b, double) { return std::trunc(a / b); }; })
      .Case([](arith::FloorDivSIOp) -> Function {
        return [](double a, double b, double) { return std::floor(a / b); };
      })
      .Case([](arith::CeilDivSIOp) -> Function {
        return [](double a, double b, double) { return std::ceil(a / b); };
      })
      .Case([](arith::RemSIOp) -> Function { return [](double a, double b, double) { return std::fmod(a, b); }; })
      .Case([](arith::MaxSIOp) -> Function { return [](double a, double b, double) { return std::fmax(a, b); }; })
      .Case([](arith::MinSIOp) -> Function { return [](double a, double b, double) { return std::fmin(a, b); }; })
      .Case([](arith::CmpIOp cmp) { return compareIntegers(cmp.getPredicate()); })
      .Case([](arith::AndIOp op) -> Function {
        return [](double a, double b, double) { return double(int64_t(a) & int64_t(b)); };
      })
      .Case([](arith::OrIOp op) -> Function {
        return [](double a, double b, double) { return double(int64_t(a) | int64_t(b)); };
      })
      .Case([](arith::XOrIOp op) -> Function {
        return [](double a, double b, double) { return double(int64_t(a) ^ int64_t(b)); };
      })
      // conversions: values do not change, but truncation towards zero
      .Case<arith::SIToFPOp, arith::UIToFPOp, arith::ExtUIOp, arith::ExtFOp>([](Operation *) -> Function {
        return [](double a, double, double) { return a; };
      })
      .Case([](arith::ExtSIOp cast) -> Function {
        if (cast.getIn().getType().isInteger(1)) // true is the integer -1
          return [](double a, double, double) { return -a; };
        return [](double a, double, double) { return a; };
      })
      .Case([](arith::TruncIOp cast) -> Function {
        if (isBool(cast))
          return [](double a, double, double) { return double(int64_t(a) & 1); };
        return [](double a, double, double) { return double(int32_t(int64_t(a))); };
      })
      .Case([](arith::FPToSIOp) -> Function { return [](double a, double, double) { return std::trunc(a); }; })
      .Case([](arith::SelectOp) -> Function {
        return [](double condition, double a, double b) { return condition != 0 ? a : b; };
      })
      // functions
      .Case([](math::ExpOp) -> Function { return [](double a, double, double) { return std::exp(a); }; })
      .Case([](math::Exp2Op) -> Function { return [](double a, double, double) { return std::exp2(a); }; })
      .Case([](math::ExpM1Op) -> Function { return [](double a, double, double) { return std::expm1(a); }; })
      .Case([](math::LogOp) -> Function { return [](double a, double, double) { return std::log(a); }; })
      .Case([](math::Log2Op) -> Function { return [](double a, double, double) { return std::log2(a); }; })
      .Case([](math::Log1pOp) -> Function { return [](double a, double, double) { return std::log1p(a); }; })
      .Case([](math::TanhOp) -> Function { return [](double a, double, double) { return std::tanh(a); }; })
      .Case([](math::ErfOp) -> Function { return [](double a, double, double) { return std::erf(a); }; })
      .Case([](math::SqrtOp) -> Function { return [](double a, double, double) { return std::sqrt(a); }; })
      .Case([](math::RsqrtOp) -> Function { return [](double a, double, double) { return 1 / std::sqrt(a); }; })
      .Case([](math::SinOp) -> Function { return [](double a, double, double) { return std::sin(a); }; })
      .Case([](math::CosOp) -> Function { return [](double a, double, double) { return std::cos(a); }; })
      .Case([](math::PowFOp) -> Function { return [](double a, double b, double) { return std::pow(a, b); }; })
      .Case([](math::FmaOp) -> Function { return [](double a, double b, double c) { return a * b + c; }; })
      .Case([](math::FloorOp) -> Function { return [](double a, double, double) { return std::floor(a); }; })
      .Case([](math::CeilOp) -> Function { return [](double a, double, double) { return std::ceil(a); }; })
      .Case<math::AbsFOp, math::AbsIOp>([](Operation *) -> Function {
        return [](double a, double, double) { return std::fabs(a); };
      })
      .Default([](Operation *) -> Function { return nullptr; });
}

} // namespace fovea::attn::reference
