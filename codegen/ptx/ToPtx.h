// codegen/ptx/ToPtx.h - LLVM/NVVM dialect to PTX text, in process.
#pragma once

#include "mlir/IR/Operation.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace fovea::codegen {

struct PtxOptions {
  /// -O level of the NVPTX back end; by default the target's (targets in BackEnd.cpp says why).
  std::optional<int> optLevel;
  /// f32 subnormals: true flushes them (".ftz" on f32 arithmetic), which the approximate functions
  /// do anyway.
  bool flushDenormals = true;
  /// Keep the LLVM IR here as text when not null (for --emit=llvm and tests).
  std::string *llvmIR = nullptr;
  /// Lower the module itself, which must be flat (a builtin.module without gpu.modules), instead of a copy.
  bool inPlace = false;
};

/// Wall-clock milliseconds of one translation, for benchmarks and `--time`.
struct PtxTimes {
  double lower = 0;     ///< MLIR conversions to the LLVM dialect
  double translate = 0; ///< LLVM dialect -> LLVM IR
  double codegen = 0;   ///< LLVM IR -> PTX
};

/// Registers every dialect interface and translation the functions below need; cheap, idempotent
/// per context.
void registerPtxDialects(mlir::MLIRContext &context);

/// Translates a builtin.module or gpu.module that holds llvm, nvvm, arith, math, cf, scf and index
/// operations to PTX for `chip` ("sm_100a" or "sm_90a"). `op` is left unchanged, unless `inPlace` says otherwise. Errors name what
/// was expected and found.
llvm::Expected<std::string> translateToPtx(mlir::Operation *op, llvm::StringRef chip,
                                           const PtxOptions &options = {},
                                           PtxTimes *times = nullptr);

} // namespace fovea::codegen
