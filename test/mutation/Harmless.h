// test/mutation/Harmless.h - proofs that a mutant which nobody noticed computes the same under every schedule.
#pragma once
#include "test/mutation/Mutants.h"
#include "test/mutation/Sharing.h"
#include <set>

namespace fovea::mutation {

/// Of a bar.warp.sync whose convergence nothing needs only the order between lanes remains, and no rule shows that needless.
constexpr const char *kLanesOnly = "lanes only";

/// The name of the rule (test/mutation/README.md) that proves the mutant equivalent to its kernel, "" when none does. Each
/// rule rests on the paths of the text and on what the ISA says of the instruction, not on the emulator.
/// `impliedWaits`: lines of Report::impliedWaits in every run of the kernel.
std::string harmless(const ptx::Function &fn, const Mutant &m, const std::set<uint32_t> &impliedWaits, const Sharing &sharing);

} // namespace fovea::mutation
