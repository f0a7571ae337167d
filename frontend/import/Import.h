// frontend/import/Import.h - the meaning of a spec as a module of the dialect `attn`
#pragma once

#include "frontend/sema/Spec.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace fovea {

/// A module with one `attn.spec`. Loads the dialects that it needs; every op carries the place of the text that it
/// says. Inputs: q, k, v (for mxfp8 `q`, `q_scale`, `k`, ...), then the tables in the order of their first use.
/// Results: `o`, and `lse` when asked. The module verifies for every spec that sema accepts.
mlir::OwningOpRef<mlir::ModuleOp> importSpec(const sema::Spec &spec, mlir::MLIRContext &context,
                                             llvm::StringRef filename);

} // namespace fovea
