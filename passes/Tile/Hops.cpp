// passes/Tile/Hops.cpp - the one table of what a hop needs.
//
// Rows (same = both ends on one warp group, so that a named barrier of the group serves):
//   from     to        space      rule                                                   PTX ISA
//   tma      any       smem       expect_tx + complete_tx; wait                            mbarrier, async proxy
//   tensor   threads   tmem       commit; wait; fence::after                               tcgen05 memory model
//   tensor   threads   registers  wgmma.wait_group                                         wgmma
//   tensor   tensor    any        same: nothing, the order of issue
//   tensor   threads   smem       wgmma, same: nothing, both read; if threads write: sync
//   threads  tensor    registers  nothing: the product's own wgmma.fence                   wgmma
//   threads  tensor    tmem       wait::st, fence::before, arrive (same: sync); fence::after
//   threads  tensor    smem       fence.proxy.async, arrive (same: sync); wait             proxies
//   threads  tma       smem       fence.proxy.async, sync (a store shares its writers' group)
//   threads  threads   smem       fence.proxy.async behind a write, arrive (same: sync; nothing when both only read); wait
//   empty hops:
//   tensor   tensor    tmem       same: nothing, the order of issue (the slot of S comes back from the product that reads P over it)
//   tensor   any       smem       tcgen05: commit; wait · wgmma: arrive behind the product's wait
//   tensor   threads   tmem       commit; wait; fence::after (P read by the tensor core, rewritten by threads)
//   threads  tensor    tmem       wait::ld, fence::before, arrive (same: sync); fence::after
//   threads  tma       smem       arrive (same: sync); wait
//   store    threads   smem       wait_group.read by the issuer, then sync
//   store    tma       smem       wait_group.read by the issuer, who arrives; wait
#include "passes/Tile/Hops.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

FailureOr<HopRule> fovea::tile::hopRule(Station &from, Station &to, Space space, bool wrap,
                                        const Target &target) {
  HopRule r;
  const bool same = from.group == to.group;
  const Unit producer = from.unit(), consumer = to.unit();

  if (space == Space::Registers) {
    if (!same)
      return failure();
    // Threads read the result, or rewrite an operand: either way the product must be over.
    r.waitProduct = producer == Unit::Tensor && consumer == Unit::Threads;
    return r;
  }
  if (from.stores) {
    r.drainStores = true;
    (same ? r.sync : r.barrier) = true;
    return r;
  }
  switch (producer) {
  case Unit::Tma:
    r.barrier = r.byTma = true;
    return r;
  case Unit::Tensor:
    if (consumer == Unit::Tensor && same && (!wrap || target.tcgen05))
      return r; // two products on one slot, issued in order
    if (space == Space::Smem && consumer == Unit::Threads && same && !wrap && !target.tcgen05) {
      r.sync = !to.reads; // each warp has waited for its products; the others' may still read
      return r;
    }
    r.barrier = true;
    if (target.tcgen05)
      r.commit = true;
    else
      r.afterProduct = true;
    if (space == Space::Tmem && consumer == Unit::Threads)
      r.after.push_back(FenceKind::TensorAfter);
    return r;
  case Unit::Threads:
    if (space == Space::Tmem) {
      r.before.push_back(wrap ? FenceKind::TmemLoads : FenceKind::TmemStores);
      r.before.push_back(FenceKind::TensorBefore);
      r.after.push_back(FenceKind::TensorAfter);
    } else if (!wrap && (consumer != Unit::Threads || !(same || from.reads))) {
      // Also to threads of another group: whoever comes behind them, what was written here is fenced by its writer.
      r.before.push_back(FenceKind::AsyncProxy);
    }
    if (!same)
      r.barrier = true;
    else if (space != Space::Smem || wrap || consumer != Unit::Threads || !from.reads || !to.reads)
      r.sync = true;
    return r;
  }
  return failure();
}
