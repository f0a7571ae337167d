// passes/Lower/Networks.h - the roles and channels of each kernel, for any schedule and target.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lower/Problem.h"
#include "runtime/abi/Target.h"

namespace fovea {

/// Roles of the forward network in the one order that a merged program may use.
llvm::ArrayRef<const char *> forwardRoles();

/// Appends `tile.kernel @<name>_forward` with one role per region:
///   load -> Q, K -> qk -> S -> softmax -> P -> pv -> O -> epilogue -> Out -> store,
///   load -> V -> softmax (clears the tail) -> pv.
/// Spaces follow the target: S, P and O in TMEM (tcgen05) or registers (wgmma).
tile::KernelOp buildForward(mlir::ModuleOp module, const Problem &problem, const tile::Schedule &schedule,
                            const Target &target, mlir::Location loc);

} // namespace fovea
