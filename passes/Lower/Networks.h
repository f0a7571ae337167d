// passes/Lower/Networks.h - the roles and channels of each kernel, for any schedule and target.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lower/Problem.h"
#include "runtime/abi/Target.h"

namespace fovea {

/// Appends `tile.kernel @<name>_forward` with one role per region:
///   load -> Q, K -> qk -> S -> softmax -> P -> pv -> O -> epilogue -> Out -> store,
///   load -> V -> softmax (clears the tail) -> pv.
/// Spaces follow the target: S, P and O in TMEM (tcgen05) or registers (wgmma).
tile::KernelOp buildForward(mlir::ModuleOp module, const Problem &problem, const tile::Schedule &schedule,
                            const Target &target, mlir::Location loc);

/// Appends `tile.kernel @<name>_forward` for a problem whose items loop over key blocks of `schedule.keyRows` rows:
///   load_k -> Q, K -> qk -> S -> softmax -> P -> pv -> O, back to softmax, which rescales it where a maximum grew;
///   load_v -> V (-> clear, where sequences are jagged) -> pv;  pv -> Result (O when its item ends) -> softmax -> Out
///   -> store. The other targets and schedules differ in where S, P and O lie and which roles share warps.
tile::KernelOp buildFlash(mlir::ModuleOp module, const Problem &problem, const tile::Schedule &schedule,
                          const Target &target, mlir::Location loc);

/// Appends `tile.kernel @<name>_backward`: dQ, dK and dV of one block from Q, K, V and dO (`dout`) alone.
///   load -> Q, K, V, dO -> clear_qk, clear_dp (tails of all four);  qk -> S, dp -> dP = dO V^T -> softmax;
///   softmax -> P -> product_dv, softmax -> dS -> product_dq, product_dk;  each gradient -> its epilogue -> its store.
/// S and P are recomputed; a tile sees whole rows, so D_i is the row sum of P o dP and O is not read. No atomics: each
/// gradient tile is written once, so repeated runs agree bit for bit.
tile::KernelOp buildBackward(mlir::ModuleOp module, const Problem &problem, const tile::Schedule &schedule,
                             const Target &target, mlir::Location loc);

} // namespace fovea
