// codegen/LaunchClocks.h - what a launch takes, modelled, as an expression over its arguments: by it variants are chosen.
#pragma once

#include "passes/Schedule/Choose.h"
#include "runtime/abi/Expr.h"

namespace fovea {

/// Clocks of an SM until the last item of a launch is done. Items that meet equally many keys come in rounds of the chip; of others
/// the heaviest may take longest, or all together, of which the last leave half a chip idle. The same for all variants, and left
/// out: what it takes to launch. Modelled, not measured: on an H200 the choice by it among 42 launches of 4 to 32 heads, 512 to
/// 4096 rows and head dims 64 to 256 took 1.2 % longer than the best, the best for many tiles 26 % (test/device/README.md).
Expr launchClocks(tile::KernelOp kernel, const Candidate &candidate, const Problem &problem);

} // namespace fovea
