// passes/Schedule/Choose.h - enumerates the schedules of a problem on a target and picks the cheapest.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "passes/Lower/Problem.h"
#include "runtime/abi/Target.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// What `schedule TARGET { … }` of a spec may ask for; absent means the model decides.
struct ScheduleOverrides {
  std::optional<std::string> roles;   ///< "fused" or "split"
  std::optional<int64_t> tileRows;    ///< tile_m: 64 or 128
  std::optional<int64_t> stages;      ///< ring depth of the loads (split)
  std::optional<int64_t> ctasPerSm;
  std::optional<std::string> p;       ///< "tmem" or "smem" (sm_100a)

  /// Reads the dictionary of one target; an unknown key, value or limit is an error that says what may stand there.
  static llvm::Expected<ScheduleOverrides> fromAttr(mlir::DictionaryAttr attr, const Target &target);
};

/// Where the time of one work item goes, in clocks of one SM with its share of the chip's memory bandwidth. Modelled,
/// not measured.
struct Cost {
  double memory = 0;    ///< bytes over the SM's share of the achievable bandwidth: the floor
  double tensor = 0;    ///< products over the tensor core's rate
  double exponential = 0; ///< ex2 over the MUFU's rate
  double chain = 0;     ///< one item alone, from its load to its store
  double items = 1;     ///< items in flight on an SM
  /// Clocks per item: the busiest unit, or the chain shared by the items in flight.
  double period() const { return std::max({memory, tensor, exponential, chain / items}); }
  const char *bound() const;
};

struct Candidate {
  tile::Schedule schedule;
  std::string name;    ///< "fused, 64 rows, 4 CTAs per SM"
  Cost cost;
  std::string refusal; ///< why it cannot be built; empty if it can
};

/// All candidates that the overrides allow, best first; infeasible ones last with their refusal. An error if none
/// can be built, naming the limit that the nearest one breaks.
llvm::Expected<std::vector<Candidate>> enumerateForward(const Problem &problem, const Target &target,
                                                        const ScheduleOverrides &overrides);

} // namespace fovea
