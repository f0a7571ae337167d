// passes/Analysis/Execution.cpp - how many items show all that can happen; the closure of their order.
#include "passes/Analysis/Execution.h"
#include "passes/Analysis/Unroller.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

FailureOr<Execution> Execution::unroll(KernelOp kernel, const Target &target, unsigned items) {
  return Unroller(kernel, target, items).run();
}

unsigned Execution::itemsToUnroll(KernelOp kernel, const Schedule &schedule) {
  if (!schedule.persistent)
    return 1;
  if (hasKeyBlocks(kernel))
    return 5; // long, single, double, long, single: item rings hold two, and block rings wrap in the long ones
  int64_t depth = 1;
  for (ChannelOp channel : kernel.getBody().getOps<ChannelOp>())
    depth = std::max(depth, int64_t(channel.getDepth()));
  for (BarrierOp barrier : kernel.getBody().getOps<BarrierOp>())
    depth = std::max(depth, int64_t(barrier.getDepth()));
  return unsigned(depth) + 2;
}

std::optional<unsigned> Execution::phase(BarrierOp barrier, int64_t item) const {
  auto it = phases.find(barrier.getSymName());
  if (it == phases.end() || item < 0 || item >= int64_t(it->second.size()) || it->second[item] < 0)
    return std::nullopt;
  return unsigned(it->second[item]);
}

const std::vector<Execution::Fence> &Execution::fencesOf(const Step &step) const {
  return fences[step.group][std::max(step.warp, 0)];
}

// A warp's fences are in program order, and steps of one warp are numbered in program order.
std::optional<unsigned> Execution::fenceAfter(unsigned step, FenceKind kind) const {
  for (const Fence &fence : fencesOf(steps[step]))
    if (fence.kind == kind && fence.step > step)
      return fence.step;
  return std::nullopt;
}

std::optional<unsigned> Execution::fenceBefore(unsigned step, FenceKind kind) const {
  const Step &s = steps[step];
  unsigned at = s.issue >= 0 ? unsigned(s.issue) : step;
  std::optional<unsigned> found;
  for (const Fence &fence : fencesOf(s)) {
    if (fence.step >= at)
      break;
    if (fence.kind == kind)
      found = fence.step;
  }
  return found;
}

LogicalResult Execution::close() {
  const unsigned n = steps.size();
  std::vector<unsigned> incoming(n, 0), sorted;
  for (const auto &next : successors)
    for (unsigned to : next)
      ++incoming[to];
  for (unsigned i = 0; i < n; ++i)
    if (incoming[i] == 0)
      sorted.push_back(i);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (unsigned to : successors[sorted[i]])
      if (--incoming[to] == 0)
        sorted.push_back(to);
  if (sorted.size() != n) {
    for (unsigned i = 0; i < n; ++i)
      if (incoming[i] && isa<WaitOp>(steps[i].op))
        return steps[i].op->emitOpError("in group '")
               << groupName(steps[i].group) << "' never returns: in item " << steps[i].item
               << " the arrivals it waits for wait for it";
    llvm_unreachable("programs are joined by waits only");
  }
  reach.assign(n, llvm::BitVector(n));
  for (unsigned i : llvm::reverse(sorted)) {
    reach[i].set(i);
    for (unsigned to : successors[i])
      reach[i] |= reach[to];
  }
  if (groups.size() == 1)
    return success();
  tells.assign(n, llvm::BitVector(n));
  for (unsigned i : llvm::reverse(sorted)) {
    tells[i].set(i);
    for (unsigned to : successors[i])
      if (steps[to].issue == int(i))
        tells[i].set(to);
      else
        tells[i] |= tells[to];
  }
  return success();
}
