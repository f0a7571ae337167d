// codegen/ptx/BackEnd.h - an LLVM module to PTX text.
#pragma once

#include "codegen/ptx/ToPtx.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace fovea::codegen {

/// Whether the back end knows the chip.
bool isPtxTarget(llvm::StringRef chip);

/// One LLVM module on its way to PTX. Modules have nothing in common, so that each may have a thread.
struct PtxTranslation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string text, errors; ///< of `run`

  /// Gives `module` a machine for `chip` (isPtxTarget), and attributes that the dialects cannot express.
  llvm::Error prepare(llvm::StringRef chip, const PtxOptions &options);
  /// Fills `text`, or `errors` with why not.
  void run();
};

} // namespace fovea::codegen
