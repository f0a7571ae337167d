// frontend/Frontend.h - the front end in one call: text in, a module of `attn` or the errors out
#pragma once

#include "frontend/sema/Capabilities.h"
#include "frontend/sema/Spec.h"

#include <llvm/ADT/StringRef.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

#include <optional>
#include <string>

namespace fovea {

/// `module` is there exactly when nothing was refused; `messages` is what a command prints to stderr (with a module it
/// holds warnings, if anything).
struct ReadResult {
  std::optional<sema::Spec> spec;
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< one verified `attn.spec`
  std::string messages;
};

/// Parses, checks and imports a spec; everything that has a meaning is accepted (`eval`).
ReadResult readSpec(llvm::StringRef text, llvm::StringRef filename, mlir::MLIRContext &context);

/// The same for `compile` and `check`: also refuses what `target` cannot lower yet. With Kernels::Forward a backward
/// that cannot be lowered is a warning, and the caller compiles the forward alone.
ReadResult readSpec(llvm::StringRef text, llvm::StringRef filename, mlir::MLIRContext &context, llvm::StringRef target,
                    sema::Kernels kernels);

/// `text` is the canonical form, or the AST with the place of every node; none when the spec has syntax errors.
struct TextResult {
  std::optional<std::string> text;
  std::string messages;
};
TextResult formatSpec(llvm::StringRef text, llvm::StringRef filename);
TextResult dumpAst(llvm::StringRef text, llvm::StringRef filename);

} // namespace fovea
