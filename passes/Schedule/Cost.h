// passes/Schedule/Cost.h - the modelled time of one work item: the event graph with durations, and the units' work.
#pragma once

#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "runtime/abi/Target.h"
#include <string>
#include <vector>

namespace fovea {

/// Clocks that one role spends on an item: its threads, and the TMA copies or products that it issues.
struct RoleCost {
  std::string role, group;
  double threads = 0, asynchronous = 0;
};

/// Where the time of one work item goes, in clocks of one SM with its share of the chip's memory bandwidth. Modelled,
/// not measured.
struct Cost {
  double bytes = 0;       ///< moved between HBM and the SM
  double memory = 0;      ///< bytes over the SM's share of the achievable bandwidth: the floor
  double l2 = 0;          ///< key blocks, which other items have brought to L2, over the SM's share of its bandwidth
  double tensor = 0;      ///< products over the tensor core's rate
  double exponential = 0; ///< ex2 over the MUFU's rate
  double arithmetic = 0;  ///< register arithmetic over the issue rate; exponentials' own instructions only where overlaps() says so
  double fma = 0, shared = 0, tmem = 0; ///< likewise there: f32 products and sums, bytes of shared and of tensor memory
  double circuit = 0;     ///< period of the critical circuit of the event graph, over the CTAs that share the SM
  double imbalance = 1;   ///< loss of static striding (persistent) against the hardware's order of CTAs
  std::string critical;   ///< that circuit by name
  std::vector<RoleCost> roles;

  /// Clocks per item: the busiest unit or the critical circuit, whichever takes longer.
  double period() const {
    return imbalance * std::max({memory, l2, tensor, exponential, arithmetic, fma, shared, tmem, circuit});
  }
  /// "memory", "L2", "tensor core", "exponentials", "arithmetic" or "latency" (the circuit).
  const char *bound() const;
};

/// Key blocks of the item that is priced, where items have any: enough for the loop to outweigh its ends.
inline constexpr unsigned kPricedBlocks = 8;

/// What one more key tile of its loop costs an item, in clocks of one SM. Modelled, not measured.
struct KeyTileCost {
  double tensor = 0, exponential = 0, fma = 0, issue = 0, shared = 0, tmem = 0, l2 = 0; ///< work over each unit's rate
  double circuit = 0; ///< what it adds to the critical circuit
  /// The busiest unit, and that or the circuit.
  double bound() const { return std::max({tensor, exponential, fma, issue, shared, tmem, l2}); }
  double period() const { return std::max(bound(), circuit); }
};

/// Of a mapped kernel that loops over key blocks on sm_100a. `coldPaths`: as if each block took them.
KeyTileCost priceKeyTile(tile::KernelOp kernel, const tile::Schedule &schedule, const Target &target, bool coldPaths = false);

/// Prices a kernel whose roles are mapped to groups. An error (out of balance, or a deadlock as the cycle of waits) is
/// returned as text in `refusal`, and the cost is then void.
Cost price(tile::KernelOp kernel, const tile::Schedule &schedule, const Target &target, std::string &refusal);

} // namespace fovea
