// codegen/Compiler.h - one attention, from `attn` to PTX, manifest and header, phase by phase.
#pragma once

#include "codegen/ptx/ToPtx.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Schedule/Choose.h"
#include "passes/Schedule/Report.h"
#include "runtime/abi/Manifest.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace fovea {

/// The phases of `fovea compile --emit=PHASE`, in order.
enum class Phase { Attn, Grad, Schedule, Tile, Alloc, Sync, Nvvm, Ptx };
const char *phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

struct CompileOptions {
  std::string target = "sm_100a"; ///< a row of runtime/abi/Target.h
  Phase until = Phase::Ptx;       ///< stop after this phase; `text` is then its IR
  bool verifyEachPhase = true;    ///< run the post-conditions (passes/Verify)
};

/// What compiling gives. `text` is the IR after `until` (the PTX for Phase::Ptx).
struct CompiledSpec {
  std::string text;
  std::string ptx;
  Manifest manifest;
  std::string header;                    ///< typed C++ header that launches the kernels
  std::vector<Candidate> candidates;     ///< of the forward kernel, the chosen one first
  std::vector<Candidate> backwardCandidates; ///< likewise; empty without a backward
  std::vector<KernelReport> reports;     ///< of each kernel, from Phase::Sync on; see codegen/Explain.h
  std::vector<std::pair<std::string, double>> milliseconds; ///< wall-clock time of each phase
};

/// Every dialect and translation that the compiler uses.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Compiles the one `attn.spec` of `module` (left unchanged). Refusals and failed post-conditions are errors whose
/// text holds the diagnostics.
llvm::Expected<CompiledSpec> compile(mlir::ModuleOp module, const CompileOptions &options);

/// The phases from `schedule` on, for one problem. `compile` is this after reading the problem off `attn`.
llvm::Expected<CompiledSpec> compileProblem(mlir::MLIRContext &context, const Problem &problem,
                                            const ScheduleOverrides &overrides, const CompileOptions &options);

} // namespace fovea
