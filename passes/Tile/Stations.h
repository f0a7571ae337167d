// passes/Tile/Stations.h - who visits the slots of a channel in a mapped kernel, and what is done with them.
#pragma once

#include "dialect/Tile/Tile.h"
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

using Stations = llvm::SmallVector<Station>;

/// The stations of a channel, in order; an error at the channel if no role takes one of them.
mlir::FailureOr<Stations> stationsOf(KernelOp kernel, ChannelOp channel);

/// Whether anything is done with the slot between its take and its pass.
bool worksOn(TakeOp take);
/// The cold path that is the only place where the slot is touched, or null.
RareOp coldPath(Visit &visit);
/// The wgmma.wait_group behind which all products that read the slot are over, or the slot's pass if that is later; null
/// where none is waited for.
mlir::Operation *endOfProducts(Visit &visit);

} // namespace fovea::tile
