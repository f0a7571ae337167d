// passes/Tile/CoveredHops.h - hops whose order other hops give already.
//
// Two hops between the same warps often meet: who passes O and then P is waited for once; scores that arrive show that
// the product before them is over. In the event graph such a hop is an edge beside a path with no more tokens. The path
// stands for the edge if it leaves the producing group by the same unit: a commit covers all products that its thread
// issued before, an arrival of threads all that they did before. Copies of TMA cover nothing but themselves. Where the hop
// leads to a take that nothing is done with (of a view, by a role that works on its owner), it is the group's next work on
// the slot that a path has to reach.
#pragma once

#include "dialect/Tile/Tile.h"
#include <set>
#include <string>

namespace fovea::tile {

/// A channel and the station that passes on; the last one hands the slot back.
using CoveredHops = std::set<std::pair<std::string, unsigned>>;

/// The hops of a mapped kernel that need no barrier of their own: each is covered by paths through others that are not
/// in the set, for items of every number of key blocks that can differ. tile-prove-no-hazard checks the outcome.
mlir::FailureOr<CoveredHops> coveredHops(KernelOp kernel);

} // namespace fovea::tile
