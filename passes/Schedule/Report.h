// passes/Schedule/Report.h - what a finished kernel looks like, as plain data for `fovea explain`.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "passes/Schedule/Choose.h"
#include <string>
#include <vector>

namespace fovea {

struct ChannelReport {
  std::string name, space, tile; ///< "smem", "tmem" or "registers"; "64x128xbf16"
  std::vector<std::string> stations;
  std::string alias;             ///< the channel whose memory it reuses, or empty
  int64_t depth = 1;
  int64_t offset = -1;           ///< of slot 0: byte of shared memory or column of tensor memory; -1: registers
  int64_t slot = 0;              ///< bytes or columns that a tile covers
  int64_t stride = 0;            ///< from one slot to the next
};

struct BarrierReport {
  std::string name;
  int64_t count = 1, depth = 1, offset = 0;
};

struct KernelReport {
  std::string operation;         ///< "forward"
  std::string entry, target;
  tile::Schedule schedule;
  std::vector<std::string> notes; ///< what the network decides and its channels do not show
  std::vector<ChannelReport> channels;
  std::vector<BarrierReport> barriers;
  int64_t smemBytes = 0, tmemColumns = 0;
  std::optional<KeyTileCost> keyTile; ///< sm_100a, where items loop over key blocks
  std::vector<Candidate> candidates; ///< ranked
  std::string chosen;                ///< name of the candidate that this kernel is
  std::string variant;               ///< this one, of `variants` of the operation; empty: it is the only way
  std::vector<std::string> variants;
};

/// Reads the report off a kernel after tile-synchronise.
KernelReport report(tile::KernelOp kernel, llvm::StringRef operation, const std::vector<Candidate> &candidates, const Candidate &chosen);

} // namespace fovea
