// passes/Schedule/Variants.h - the schedules that one manifest has beside each other, for launches of different sizes.
#pragma once

#include "passes/Schedule/Choose.h"

namespace fovea {

/// Of ranked candidates the best, and where items loop over key blocks on sm_90a the best of each other height of tiles: a launch
/// that has few tiles for the chip, or a few too many for whole rounds of it, is faster in others. Of self-attention only the first
/// adds up tiles in parts; the others, and itself once more, go without (Schedule::splits), which is faster where nothing is in
/// parts. Only the best where the spec sets the height, where all sequences share queries (whose number is known), and on sm_100a
/// (no chip has told what its tiles take).
std::vector<Candidate> pickVariants(const std::vector<Candidate> &ranked, const Problem &problem, const Target &target,
                                    const ScheduleOverrides &overrides);

/// "64x128": rows of a tile, keys of a block; "64x128_parts" where tiles may be in parts.
std::string variantName(const tile::Schedule &schedule);

} // namespace fovea
