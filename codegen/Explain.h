// codegen/Explain.h - `fovea explain`: the schedule of each kernel, its memory, its modelled time, and why.
#pragma once

#include "codegen/Compiler.h"
#include <string>

namespace fovea {

/// What `fovea explain SPEC` prints, for every kernel of a spec compiled at least to Phase::Sync: warps, registers,
/// roles, channels, maps of shared and tensor memory, barriers, clocks by unit and by role, the bound and the critical
/// circuit, and what the other schedules would cost. All times are modelled, not measured, and say so.
/// `json`: the same as one JSON object {"kernels": […]}.
std::string explain(const CompiledSpec &compiled, bool json);

} // namespace fovea
