// frontend/Frontend.cpp - the stages of the front end, one behind the other
#include "frontend/Frontend.h"

#include "frontend/ast/Parse.h"
#include "frontend/fmt/Format.h"
#include "frontend/import/Import.h"
#include "frontend/sema/Sema.h"

#include <mlir/IR/Verifier.h>

namespace fovea {

static ReadResult read(llvm::StringRef text, llvm::StringRef filename, mlir::MLIRContext &context,
                       llvm::function_ref<void(sema::Spec &, Diagnostics &)> check) {
  ReadResult result;
  Diagnostics diagnostics;
  auto spec = ast::parse(text, diagnostics);
  if (spec)
    result.spec = sema::analyze(*spec, diagnostics);
  if (result.spec)
    check(*result.spec, diagnostics);
  result.messages = diagnostics.render(text, filename);
  if (diagnostics.hasErrors())
    return result;
  result.module = importSpec(*result.spec, context, filename);
  // Sema promises a module that verifies; the text of a broken promise goes to the context's own handler.
  if (mlir::failed(mlir::verify(*result.module))) {
    result.module = nullptr;
    result.messages += (filename + ": error: the imported module does not verify; this is a bug of Fovea\n").str();
  }
  return result;
}

ReadResult readSpec(llvm::StringRef text, llvm::StringRef filename, mlir::MLIRContext &context) {
  return read(text, filename, context, [](sema::Spec &, Diagnostics &) {});
}

ReadResult readSpec(llvm::StringRef text, llvm::StringRef filename, mlir::MLIRContext &context, llvm::StringRef target,
                    sema::Kernels kernels) {
  return read(text, filename, context, [&](sema::Spec &spec, Diagnostics &diagnostics) {
    sema::checkCapabilities(spec, target, kernels, diagnostics);
  });
}

static TextResult print(llvm::StringRef text, llvm::StringRef filename, std::string (*show)(const ast::Spec &)) {
  TextResult result;
  Diagnostics diagnostics;
  auto spec = ast::parse(text, diagnostics);
  if (spec && !diagnostics.hasErrors())
    result.text = show(*spec);
  result.messages = diagnostics.render(text, filename);
  return result;
}

TextResult formatSpec(llvm::StringRef text, llvm::StringRef filename) {
  return print(text, filename, [](const ast::Spec &spec) { return format(spec); });
}

TextResult dumpAst(llvm::StringRef text, llvm::StringRef filename) { return print(text, filename, ast::dump); }

} // namespace fovea
