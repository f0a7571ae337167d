// passes/Schedule/Choose.h - enumerates the schedules of a problem on a target and picks the cheapest.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "passes/Lower/Problem.h"
#include "passes/Schedule/Cost.h"
#include "runtime/abi/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// What `schedule TARGET { … }` of a spec may ask for; absent means the model decides.
struct ScheduleOverrides {
  std::optional<std::string> roles;   ///< "fused" or "split"
  std::optional<int64_t> tileRows;    ///< tile_m: 64, 128 or 192
  std::optional<int64_t> stages;      ///< ring depth of the loads (split)
  std::optional<int64_t> ctasPerSm;
  std::optional<std::string> p;       ///< "tmem" or "smem" (sm_100a)
  std::optional<int64_t> keyRows;     ///< tile_n: rows of a key block
  std::optional<int64_t> splits;      ///< parts of a tile's keys; 1: none
  std::optional<int64_t> packed;      ///< query heads of a group that share a tile; 1: none
  std::optional<std::string> softmax; ///< "exact" or "max_free"
  std::optional<int64_t> staged;      ///< keys of a block whose weights are handed on before the rest; 0: all at once (sm_100a)

  /// Reads the dictionary of one target; an unknown key, value or limit is an error that says what may stand there.
  static llvm::Expected<ScheduleOverrides> fromAttr(mlir::DictionaryAttr attr, const Target &target);
};

struct Candidate {
  tile::Schedule schedule;
  std::string name;    ///< "fused, 64 rows, 4 CTAs per SM"
  Cost cost;
  std::string refusal; ///< why it cannot be built; empty if it can
  double excess = 0;   ///< what the refusal asks for over what there is; the nearest refusal is reported

  double rowTail = 1; ///< rows of the tiles that hold a known number of queries, over that number

  /// What candidates are compared by: tiles of different heights do different amounts of work per item.
  /// Those whose items loop over key blocks are priced for a number of blocks, whose heights differ, too.
  double clocksPerRow() const {
    const int64_t keys = std::max<int64_t>(schedule.keyRows, 1);
    // Lengths are often multiples of 64 or 128, which leave other key tiles a tail; one of 1024 stands for them.
    const double tail = double((1024 + keys - 1) / keys * keys) / 1024;
    return rowTail * tail * cost.period() / double(schedule.itemRows()) / double(keys);
  }
  /// What a key block takes of an item, of few that run at a time: the circuit, or products with half of the exponentials, which
  /// warpgroups that wait for each other hide no better (on an H200 within 15 % of measured).
  double clocksPerBlock() const { return std::max(cost.circuit, cost.tensor + cost.exponential / 2) / kPricedBlocks; }
  /// Refuses if `amount` of something exceeds its `limit`; of several refusals the greatest excess is kept.
  void needs(int64_t amount, int64_t limit, const char *what);
  /// Refuses for a contradiction, `why` being "has …: what would work"; several are told one after the other.
  void refuse(llvm::StringRef why);
};

using NetworkBuilderFn = llvm::function_ref<tile::KernelOp(mlir::ModuleOp, const Problem &, const tile::Schedule &,
                                                           const Target &, mlir::Location)>;

/// Prices every candidate that is not refused on the network that `build` makes of it, and sorts: best first, refused
/// ones last. An error if none can be built, naming the nearest refusal; `what` ("backward, ") precedes it.
llvm::Expected<std::vector<Candidate>> rank(std::vector<Candidate> all, const Problem &problem, const Target &target,
                                            NetworkBuilderFn build, llvm::StringRef what = "");

/// All forward candidates that the overrides allow, ranked.
llvm::Expected<std::vector<Candidate>> enumerateForward(const Problem &problem, const Target &target,
                                                        const ScheduleOverrides &overrides);
/// The same where items loop over key blocks.
llvm::Expected<std::vector<Candidate>> enumerateFlash(const Problem &problem, const Target &target,
                                                      const ScheduleOverrides &overrides);
/// The same for the backward kernel, which has the fused form only.
llvm::Expected<std::vector<Candidate>> enumerateBackward(const Problem &problem, const Target &target,
                                                         const ScheduleOverrides &overrides);

} // namespace fovea
