// codegen/LaunchClocks.h - what a launch takes, modelled, as an expression over its arguments: by it variants are chosen.
#pragma once

#include "passes/Schedule/Choose.h"
#include "runtime/abi/Manifest.h"

namespace fovea {

/// Gives a kernel's entry `clocks`: those of an SM until the last item of a launch is done. Items that meet equally many keys come in rounds of the chip; of others
/// the heaviest may take longest, or all together, of which the last leave half a chip idle. The same for all variants, and left
/// out: what it takes to launch. Modelled, not measured; test/device/README.md says how well it chooses on an H200.
void addLaunchClocks(KernelSpec &spec, tile::KernelOp kernel, const Candidate &candidate, const Problem &problem);

} // namespace fovea
