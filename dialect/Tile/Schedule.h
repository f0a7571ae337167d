// dialect/Tile/Schedule.h - every decision about one kernel, as a struct and as the attribute that carries it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/abi/Target.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace fovea::tile {

/// Parts of a tile's keys at most (Schedule::splits): a lane of a warp looks after each where they are added up.
constexpr int64_t kMaxSplits = 32;
/// Query heads that share a tile at most (Schedule::packed): the rows of a warpgroup, which stores them by itself.
constexpr int64_t kMaxPacked = 64;

/// The warps of one group and the roles merged onto them, in program order.
struct GroupSchedule {
  std::string name;
  int64_t firstWarp = 0;
  int64_t warps = 4;
  int64_t registers = 0; ///< what setmaxnreg asks for; 0: not asked
  std::vector<std::string> roles;
  int64_t teams = 1;     ///< parts of 4 warps that share no rows of a tile: they meet and store each for itself
};

/// One attribute holds every decision; passes after `schedule` obey it and decide nothing.
struct Schedule {
  int64_t tileRows = 64;        ///< query rows of a tile (M of the products)
  int64_t packed = 1;           ///< query heads of a group whose rows share a tile: row r is query r / packed, head r % packed
  int64_t queryTiles = 1;       ///< tiles of queries in flight: an item is as many, one behind the other, over the same key blocks
  int64_t block = 64;           ///< N of block_diagonal(N)
  int64_t keyRows = 0;          ///< rows of a key block that the items loop over; 0: a tile's keys are its own rows
  bool outInQ = false;          ///< the output of an item leaves through the slot of its queries
  bool outHalves = false;       ///< the output of an item leaves in two halves of its columns, through one slot
  int64_t polynomial = 0;       ///< sm_100a: of 16 exponentials, how many the FMA units compute
  int64_t staged = 0;           ///< sm_100a: keys of a block whose weights are handed on before the others are there; 0: all at once
  bool maxFree = false;         ///< softmax keeps the maximum of the first key block (see passes/Lower/README.md)
  int64_t splits = 1;           ///< parts that share the keys of a tile of queries; 0: as the launch's shapes ask for
  bool persistent = false;      ///< grid sized to the chip, items strided; else one item per CTA
  int64_t ctasPerSm = 1;        ///< resident CTAs that registers, SMEM and TMEM must allow
  bool pInTmem = false;         ///< sm_100a: P travels through TMEM (else SMEM)
  std::vector<GroupSchedule> groups;
  std::map<std::string, int64_t> depths;       ///< channel -> slots; absent: 1
  std::map<std::string, std::string> aliases;  ///< channel -> channel whose memory it reuses (tile.channel)
  std::map<std::string, int64_t> lags;         ///< role -> key blocks behind the others of its group, 0 or 1; absent: 0

  int64_t itemRows() const { return tileRows * queryTiles; }
  int64_t tileQueries() const { return tileRows / packed; }
  int64_t itemQueries() const { return tileQueries() * queryTiles; }
  int64_t depth(const std::string &channel) const {
    auto it = depths.find(channel);
    return it == depths.end() ? 1 : it->second;
  }
  int64_t lag(const std::string &role) const {
    auto it = lags.find(role);
    return it == lags.end() ? 0 : it->second;
  }
  int64_t warps() const {
    int64_t n = 0;
    for (const GroupSchedule &g : groups)
      n = std::max(n, g.firstWarp + g.warps);
    return n;
  }
  /// Registers of a thread when a CTA begins: an equal share of the SM's, in eights.
  int64_t registersAtEntry(const Target &target) const;
  /// Registers of a CTA when it begins, and what its groups hold once each has what it asks for. setmaxnreg takes from what
  /// others gave back, and waits for it: a CTA that asks for more than it began with hangs.
  int64_t registerPool(const Target &target) const { return 32 * warps() * registersAtEntry(target); }
  int64_t registersAskedFor(const Target &target) const;
  /// What fits beside the others' for each thread of `group`, in eights, 240 at most.
  int64_t registersLeftFor(const GroupSchedule &group, const Target &target) const;
  const GroupSchedule *groupOf(llvm::StringRef role) const {
    for (const GroupSchedule &g : groups)
      for (const std::string &r : g.roles)
        if (r == role)
          return &g;
    return nullptr;
  }

  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  /// Reads the attribute back; an unknown or missing key is an error that names it.
  static llvm::Expected<Schedule> fromAttr(mlir::DictionaryAttr attr);
};

} // namespace fovea::tile
