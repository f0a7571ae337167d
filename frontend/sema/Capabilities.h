// frontend/sema/Capabilities.h - what the lowering of each target cannot do yet: one table
//
// Every spec that sema accepts has a meaning, and the evaluator runs it. This table is what stands between that and
// a kernel, so it is asked by `compile` and `check` and by nobody else. A row goes when its feature arrives; nothing
// else changes.
#pragma once

#include "frontend/ast/Diagnostics.h"
#include "frontend/sema/Spec.h"

#include "llvm/ADT/StringRef.h"

namespace fovea::sema {

/// One thing that cannot be lowered, at the place that asks for it.
struct Refusal {
  Range range;         ///< of the spec's name where a default asks for it
  std::string what;    ///< `head dim 7`
  std::string nearest; ///< the nearest thing that works: `a head dim of 32, 64, ...; 32 is nearest`
  bool backward = false; ///< stands in the way of the backward kernels only
};

/// All of them, in the order of the table.
std::vector<Refusal> refusals(const Spec &spec, llvm::StringRef target);

/// Which kernels are wanted of a spec that asks for a backward.
enum class Kernels { Forward, All };

/// Reports the refusals as errors; those of a backward that is not wanted become warnings, and the backward is taken
/// out of `spec`, since the forward alone is compiled then.
void checkCapabilities(Spec &spec, llvm::StringRef target, Kernels kernels, Diagnostics &diagnostics);

} // namespace fovea::sema
