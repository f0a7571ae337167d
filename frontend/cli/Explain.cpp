// frontend/cli/Explain.cpp - `fovea explain`.
#include "codegen/Explain.h"
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"

namespace fovea::cli {

int explainCommand(const ExplainArguments &arguments) {
  if (!findTarget(arguments.target)) {
    llvm::errs() << "fovea: error: unknown target '" << arguments.target << "'; known are " << targetNames() << "\n";
    return kUsage;
  }
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.read(arguments.spec, arguments.target);
  if (!module)
    return kFailure;
  CompileOptions options;
  options.target = arguments.target;
  options.until = Phase::Sync; // every decision has been made
  llvm::Expected<CompiledSpec> compiled = compile(*module, options);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  llvm::outs() << explain(*compiled, arguments.json);
  return kSuccess;
}

} // namespace fovea::cli
