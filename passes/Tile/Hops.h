// passes/Tile/Hops.h - the one table of what a hop needs, by producing unit, consuming unit and space.
#pragma once

#include "dialect/Tile/Tile.h"
#include "runtime/abi/Target.h"
#include "llvm/ADT/SmallVector.h"

namespace fovea::tile {

/// One visit of a station in a mapped kernel: a program holds several where it was pipelined over key blocks.
struct Visit {
  TakeOp take;
  PassOp pass;
};

/// One station of a channel in a mapped kernel.
struct Station {
  llvm::SmallVector<Visit, 3> visits;
  GroupOp group;
  bool stores = false; ///< a TMA store reads the slot here
  bool reads = false;  ///< threads read the slot here and do not write it
  Unit unit() { return visits.front().take.getUnit(); }
};

/// Whether anything is done with the slot between its take and its pass.
bool worksOn(TakeOp take);

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
