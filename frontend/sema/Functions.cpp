// frontend/sema/Functions.cpp - the one list of functions, and of words that name enums
#include "frontend/sema/Functions.h"

#include <algorithm>
#include <cmath>

namespace fovea::sema {

static constexpr FunctionInfo table[] = {
    {Function::Abs, "abs", 1, "abs(x)"},
    {Function::Cos, "cos", 1, "cos(x)"},
    {Function::Exp, "exp", 1, "exp(x)"},
    {Function::Exp2, "exp2", 1, "exp2(x)"},
    {Function::Floor, "floor", 1, "floor(x)"},
    {Function::FloorDiv, "floordiv", 2, "floordiv(integer, integer)"},
    {Function::Gelu, "gelu", 1, "gelu(x)"},
    {Function::Log, "log", 1, "log(x)"},
    {Function::Log2, "log2", 1, "log2(x)"},
    {Function::Max, "max", 2, "max(x, y)"},
    {Function::Min, "min", 2, "min(x, y)"},
    {Function::Relu, "relu", 1, "relu(x)"},
    {Function::Rsqrt, "rsqrt", 1, "rsqrt(x)"},
    {Function::Sigmoid, "sigmoid", 1, "sigmoid(x)"},
    {Function::Silu, "silu", 1, "silu(x)"},
    {Function::Sin, "sin", 1, "sin(x)"},
    {Function::Softcap, "softcap", 2, "softcap(x, cap)"},
    {Function::Sqrt, "sqrt", 1, "sqrt(x)"},
    {Function::Tanh, "tanh", 1, "tanh(x)"},
    {Function::Where, "where", 3, "where(condition, x, y)"},
};

llvm::ArrayRef<FunctionInfo> functions() { return table; }

const FunctionInfo *findFunction(llvm::StringRef name) {
  for (const FunctionInfo &info : table)
    if (info.name == name)
      return &info;
  return nullptr;
}

double evaluate(Function function, llvm::ArrayRef<double> x) {
  switch (function) {
  case Function::Abs: return std::fabs(x[0]);
  case Function::Cos: return std::cos(x[0]);
  case Function::Exp: return std::exp(x[0]);
  case Function::Exp2: return std::exp2(x[0]);
  case Function::Floor: return std::floor(x[0]);
  case Function::FloorDiv: return std::floor(x[0] / x[1]);
  case Function::Gelu: return 0.5 * x[0] * (1 + std::erf(x[0] / std::sqrt(2.0)));
  case Function::Log: return std::log(x[0]);
  case Function::Log2: return std::log2(x[0]);
  case Function::Max: return std::max(x[0], x[1]);
  case Function::Min: return std::min(x[0], x[1]);
  case Function::Relu: return std::max(x[0], 0.0);
  case Function::Rsqrt: return 1 / std::sqrt(x[0]);
  case Function::Sigmoid: return 1 / (1 + std::exp(-x[0]));
  case Function::Silu: return x[0] / (1 + std::exp(-x[0]));
  case Function::Sin: return std::sin(x[0]);
  case Function::Softcap: return x[1] * std::tanh(x[0] / x[1]);
  case Function::Sqrt: return std::sqrt(x[0]);
  case Function::Tanh: return std::tanh(x[0]);
  case Function::Where: return x[0] != 0 ? x[1] : x[2];
  }
  return 0;
}

const char *spelling(Function function) {
  for (const FunctionInfo &info : table)
    if (info.function == function)
      return info.name.data();
  return "?";
}

const char *spelling(DType dtype) {
  switch (dtype) {
  case DType::BF16: return "bf16";
  case DType::F16: return "f16";
  case DType::E4M3: return "e4m3";
  case DType::MXFP8: return "mxfp8";
  }
  return "?";
}

const char *spelling(Variable variable) {
  switch (variable) {
  case Variable::I: return "i";
  case Variable::J: return "j";
  case Variable::H: return "h";
  case Variable::B: return "b";
  case Variable::D: return "d";
  case Variable::NQueries: return "n_queries";
  case Variable::NKeys: return "n_keys";
  case Variable::S: return "s";
  case Variable::Scale: return "scale";
  case Variable::O: return "o";
  }
  return "?";
}

} // namespace fovea::sema
