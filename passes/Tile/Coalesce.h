// passes/Tile/Coalesce.h - one fence or barrier where several hops asked for it.
#pragma once

#include "dialect/Tile/Tile.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace fovea::tile {

/// Barriers that hand on what a fence of the kind orders.
using FencedBarriers = std::map<FenceKind, llvm::StringSet<>>;

/// Hops that meet at one place ask for the same fence or barrier; once is enough when nothing happens in between. Stores do
/// not part two barriers: what threads read for them comes back behind the one that stands before the drain. Of `block`
/// alone, without its regions.
void coalesce(mlir::Block &block, const FencedBarriers &fenced);

} // namespace fovea::tile
