// frontend/sema/Functions.h - the functions that an expression may call
#pragma once

#include "frontend/sema/Spec.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fovea::sema {

struct FunctionInfo {
  Function function;
  llvm::StringRef name;
  unsigned arity;
  llvm::StringRef usage; ///< for messages: `softcap(x, cap)`
};

llvm::ArrayRef<FunctionInfo> functions();
/// Null when there is none of this name.
const FunctionInfo *findFunction(llvm::StringRef name);

/// The value of a function of Real arguments at a point; for constants.
double evaluate(Function function, llvm::ArrayRef<double> args);

} // namespace fovea::sema
