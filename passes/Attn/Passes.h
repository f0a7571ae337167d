// passes/Attn/Passes.h - passes on the dialect `attn`
#ifndef FOVEA_PASSES_ATTN_PASSES_H
#define FOVEA_PASSES_ATTN_PASSES_H

#include "dialect/Attn/Attn.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/Pass.h>

namespace fovea {

#define GEN_PASS_DECL
#include "passes/Attn/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Attn/Passes.h.inc"

} // namespace fovea

#endif // FOVEA_PASSES_ATTN_PASSES_H
