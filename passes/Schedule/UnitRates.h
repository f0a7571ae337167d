// passes/Schedule/UnitRates.h - rates and latencies of one SM for the cost model.
#pragma once

#include "runtime/abi/Target.h"

namespace fovea {

/// Per SM and clock. sm_90a: measured on an H200. sm_100a: published measurements of others; modelled here, since no
/// such chip is at hand.
struct UnitRates {
  double clockGhz;           ///< sustained
  double hbmBytesPerSecond;  ///< achieved by a copy
  double tensorFlops;        ///< 16-bit products of full-rate shapes
  double halfTileFactor;     ///< rate of 64-row products
  double loadLatency;        ///< clocks from a TMA issue to its data, out of HBM
  double productLatency;     ///< clocks from issue to results of a small product, beyond its work
  double handover;           ///< clocks of one barrier hand-over between warps
  double ctaStart;           ///< clocks to start a CTA, set up its barriers and find its work
  double itemSearch;         ///< clocks of a persistent group to find its next item
  double stridingLoss;       ///< time of static striding over that of the hardware's order, at the memory floor
  double mufu = 16;          ///< ex2
  double issue = 128;        ///< f32 lanes
  double sharedBytes = 128;  ///< bytes to or from shared memory
  double l2Bytes = 48;       ///< bytes from L2 while all SMs read; a rough figure, not measured
  double storeLatency = 500; ///< clocks until a TMA store has read its source
  double tmaIssue = 8;       ///< clocks between two TMA instructions of one thread
  double dependent = 25;     ///< clocks of a short chain of dependent instructions
  double groupSync = 30;     ///< clocks of a named barrier
  double tmemBytes = 512;    ///< bytes to or from tensor memory: a column of its lanes a clock; a rough figure, not measured
  double productGap = 0;     ///< clocks that the tensor core idles for each product of a warpgroup, if one other can fill in
  double rescaleGap = 0;     ///< more of them where a warpgroup rescales its output between two products
  double l2Drag = 0;         ///< tensor clocks that a byte of key blocks costs a chip at its power limit
};

inline UnitRates unitRates(const Target &target) {
  if (target.tcgen05)
    return {1.85, 7.4e12, 8192, 0.5, 1200, 250, 52, 1500, 700, 1.05};
  UnitRates hopper{1.75, 4.27e12, 4096, 1.0, 1100, 60, 68, 1500, 700, 1.05};
  // What orders the tiles of head dims 64 to 256 as they were timed.
  hopper.productGap = 40, hopper.rescaleGap = 100, hopper.l2Drag = 1.0 / 400;
  return hopper;
}

} // namespace fovea
