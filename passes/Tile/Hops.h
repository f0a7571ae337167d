// passes/Tile/Hops.h - the one table of what a hop needs, by producing unit, consuming unit and space.
#pragma once

#include "passes/Tile/Stations.h"
#include "runtime/abi/Target.h"

namespace fovea::tile {

/// What a hop needs; see the table in Hops.cpp, where each row names its source in the PTX ISA.
struct HopRule {
  bool barrier = false;      ///< an mbarrier per slot: producer arrives, consumer waits
  bool byTma = false;        ///< the copy itself completes it (arrive.expect_tx before the copy)
  bool commit = false;       ///< tcgen05.commit arrives
  bool afterProduct = false; ///< arrive where the product that reads the slot is waited for (wgmma)
  bool waitProduct = false;  ///< wgmma.wait_group, no barrier
  bool sync = false;         ///< the group's own named barrier
  bool drainStores = false;  ///< cp.async.bulk.wait_group.read by the issuer: before the sync, or before it arrives
  llvm::SmallVector<FenceKind, 2> before, after; ///< by the producer before it passes; by the consumer after its wait
};

/// The rule of the hop `from` -> `to`; `wrap` is the hop from the last station back to the first.
mlir::FailureOr<HopRule> hopRule(Station &from, Station &to, Space space, bool wrap, const Target &target);

} // namespace fovea::tile
