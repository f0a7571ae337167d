// passes/Verify/ProveNoHazard.cpp - pass tile-prove-no-hazard: every two conflicting accesses are ordered and fenced.
//
// Two accesses conflict if their ranges overlap, one writes, and they are not the same step. What they need beyond
// order depends on who touches the memory (PTX ISA in brackets):
//   shared   threads write, TMA or tensor core follows   the writer's fence.proxy.async before it hands over [proxies]
//            threads write, another reads                an order that does not lead through a commit alone [tcgen05.commit]
//   tensor   tensor core, then threads                    the threads' tcgen05 fence::after_thread_sync
//            threads, then tensor core or other threads   wait::st behind a write, fence::before_thread_sync, and the
//                                                         other side's fence::after_thread_sync
// The two tcgen05 fences stand at the ends of the chain, however many groups it leads through: the first one's is before all
// that it signals later, the other's behind all that was waited for, and who passes the news on needs none ["Specialized
// Inter-thread Synchronization for tcgen05 instructions"].
// A read of tensor memory ends with its own wait::ld (codegen/kernel), so that nothing is owed behind it. Tensor cores
// and TMA may overwrite what threads have read without a proxy fence: nothing of theirs is read back.
//
// Products that one thread issues take effect in the order of issue. The ISA promises that of one accumulator; that a
// product of scores may follow the one that reads P out of its columns without a wait is what FlashAttention 4 and
// CUTLASS rely on (P over S). Which of the two comes first is the event graph's to tell (tile-prove-live).
//
// The barriers themselves: a wait for phase k must return before phase k + 1 is over (else its parity means another
// phase), and nobody arrives for phase k + 1 before phase k is over.
#include "mlir/IR/BuiltinOps.h"
#include "passes/Analysis/Execution.h"
#include "passes/Tile/Passes.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
class HazardCheck {
public:
  explicit HazardCheck(const Execution &x) : x(x) {}

  LogicalResult run() {
    for (size_t i = 0; i < x.accesses.size(); ++i)
      for (size_t j = i + 1; j < x.accesses.size(); ++j)
        if (conflict(x.accesses[i], x.accesses[j]) && failed(check(x.accesses[i], x.accesses[j])))
          return failure();
    for (const WaitStep &wait : x.waits)
      if (failed(checkWait(wait)))
        return failure();
    for (const ArrivalStep &arrival : x.arrivals)
      if (failed(checkArrival(arrival)))
        return failure();
    return success();
  }

private:
  bool conflict(const Access &a, const Access &b) const {
    if (!(a.write || b.write) || a.space != b.space || a.begin >= b.end || b.begin >= a.end)
      return false;
    const Step &s = x.steps[a.step], &t = x.steps[b.step];
    if (a.space == Space::Registers)
      return a.step != b.step && s.group == t.group && s.warp == t.warp;
    // One step that reads and writes: a thread reads before it writes, a tensor core streams.
    if (a.step == b.step)
      return a.unit == Unit::Tensor;
    if (s.op == t.op && s.item == t.item && s.block == t.block && a.divided && b.divided)
      return false;
    const bool apart = (a.ownRows && b.ownRows && s.warp != t.warp) ||
                       (s.group == t.group && a.team >= 0 && b.team >= 0 && a.team != b.team);
    return !(apart && sameRows(a, b, s, t));
  }

  // Whether the warps of both steps divide the rows in the same way, so that different warps never meet.
  bool sameRows(const Access &a, const Access &b, const Step &s, const Step &t) const {
    GroupOp ga = x.groups[s.group], gb = x.groups[t.group];
    if (ga.getWarps() != gb.getWarps())
      return false;
    if (a.space == Space::Tmem)
      return true;
    SlotType u = ChannelOp(a.channel).getSlotType(), v = ChannelOp(b.channel).getSlotType();
    return a.begin == b.begin && u.getRows() == v.getRows() && u.getCols() == v.getCols() &&
           u.getElementType().getIntOrFloatBitWidth() == v.getElementType().getIntOrFloatBitWidth();
  }

  LogicalResult check(const Access &a, const Access &b) const {
    if (a.step == b.step)
      return report(a, b, "are one product: it may not write what it reads");
    if (x.ordered(a.step, b.step))
      return reportMissing(a, b);
    if (x.ordered(b.step, a.step))
      return reportMissing(b, a);
    // Products of one issuer on the same accumulator are pipelined in order (PTX ISA, tcgen05 pipelined pairs; wgmma).
    const Step &s = x.steps[a.step], &t = x.steps[b.step];
    auto accumulates = [](const Access &access, const Step &step) {
      auto mma = dyn_cast<MmaOp>(step.op);
      return mma && access.write && access.space != Space::Smem;
    };
    if (s.group == t.group && a.channel == b.channel && accumulates(a, s) && accumulates(b, t))
      return success();
    // Its products on other tensor memory, too, take effect in the order of issue.
    if (s.group == t.group && a.space == Space::Tmem && a.unit == Unit::Tensor && b.unit == Unit::Tensor)
      return success();
    return report(a, b, "are not ordered: no chain of arrivals and waits leads from one to the other");
  }

  LogicalResult reportMissing(const Access &first, const Access &then) const {
    std::string missing = missingFence(first, then);
    return missing.empty() ? success() : report(first, then, "are ordered, but lack " + missing);
  }

  std::string missingFence(const Access &first, const Access &then) const {
    const Step &s = x.steps[first.step], &t = x.steps[then.step];
    if (first.space == Space::Smem) {
      if (first.write && first.unit == Unit::Threads && !then.write && !x.told(first.step, then.step))
        return "an arrival of the writer's threads: a commit tells of products alone";
      if (!first.write || first.unit != Unit::Threads || then.unit == Unit::Threads)
        return "";
      std::optional<unsigned> fence = x.fenceAfter(first.step, FenceKind::AsyncProxy);
      return fence && x.ordered(*fence, then.step) ? "" : "the writer's fence async_proxy before it hands over";
    }
    if (first.space != Space::Tmem || (first.unit == Unit::Tensor && then.unit == Unit::Tensor))
      return "";
    std::optional<unsigned> after = x.fenceBefore(then.step, FenceKind::TensorAfter);
    if (first.unit == Unit::Tensor)
      return after && x.ordered(first.step, *after) ? "" : "a fence tensor_after between the wait and the later one";
    unsigned from = first.step;
    if (first.write) {
      std::optional<unsigned> stored = x.fenceAfter(from, FenceKind::TmemStores);
      if (!stored || !x.ordered(*stored, then.step))
        return "the writer's fence tmem_stores before it hands over";
      from = *stored;
    }
    if (s.group == t.group && s.warp == t.warp && then.unit == Unit::Threads)
      return "";
    std::optional<unsigned> before = x.fenceAfter(from, FenceKind::TensorBefore);
    if (!before || !x.ordered(*before, then.step))
      return "the first one's fence tensor_before before it hands over";
    return after && x.ordered(*before, *after) ? "" : "a fence tensor_after between the wait and the later one";
  }

  LogicalResult checkWait(const WaitStep &wait) const {
    const Step &step = x.steps[wait.step];
    BarrierOp barrier = wait.barrier;
    int64_t depth = barrier.getDepth();
    // It cannot begin early: the same op waited for the phase before, `depth` items ago.
    std::optional<unsigned> next = x.phase(barrier, wait.item + depth);
    if (!next || x.ordered(wait.step, *next))
      return success();
    return step.op->emitOpError("in group '")
           << x.groupName(step.group) << "', item " << step.item
           << ": may still wait when the phase after the awaited one is over, and its parity then holds it back";
  }

  LogicalResult checkArrival(const ArrivalStep &arrival) const {
    if (arrival.ordered)
      return success();
    const Step &step = x.steps[arrival.step];
    BarrierOp barrier = arrival.barrier;
    std::optional<unsigned> previous = x.phase(barrier, int64_t(arrival.item) - int64_t(barrier.getDepth()));
    if (!previous || x.ordered(*previous, arrival.step))
      return success();
    return step.op->emitOpError("in group '")
           << x.groupName(step.group) << "', item " << step.item << ": may arrive on '" << barrier.getSymName()
           << "' before the phase of item " << int64_t(arrival.item) - int64_t(barrier.getDepth()) << " is over";
  }

  std::string describe(const Access &a) const {
    const Step &s = x.steps[a.step];
    std::string who = a.unit == Unit::Tma ? "TMA" : a.unit == Unit::Tensor ? "the tensor core" : "threads";
    ChannelOp channel = a.channel;
    std::string text = who + " of group '" + x.groupName(s.group).str() + "' " + (a.write ? "writing" : "reading") +
                       " '" + channel.getSymName().str() + "' (" + s.op->getName().getStringRef().str() + ", item " +
                       std::to_string(s.item);
    if (a.space != Space::Registers)
      text += std::string(a.space == Space::Smem ? ", shared bytes [" : ", tensor columns [") +
              std::to_string(a.begin) + ", " + std::to_string(a.end) + ")";
    return text + ")";
  }

  LogicalResult report(const Access &a, const Access &b, const Twine &what) const {
    return x.steps[b.step].op->emitOpError("hazard: ") << describe(a) << " and " << describe(b) << " " << what;
  }

  const Execution &x;
};

struct ProveNoHazard : PassWrapper<ProveNoHazard, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProveNoHazard)
  StringRef getArgument() const final { return "tile-prove-no-hazard"; }
  StringRef getDescription() const final {
    return "check from the explicit synchronisation that no two conflicting accesses are unordered or unfenced";
  }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      const Target *target = findTarget(kernel.getTarget());
      llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
      if (!target || !schedule) {
        std::string why = schedule ? "unknown target" : llvm::toString(schedule.takeError());
        kernel.emitOpError(why);
        return signalPassFailure();
      }
      if (failed(proveNoHazard(kernel, *target, *schedule)))
        return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace

LogicalResult fovea::tile::proveNoHazard(KernelOp kernel, const Target &target, const Schedule &schedule) {
  FailureOr<Execution> x = Execution::unroll(kernel, target, Execution::itemsToUnroll(kernel, schedule));
  return failed(x) ? failure() : HazardCheck(*x).run();
}

std::unique_ptr<Pass> fovea::tile::createProveNoHazardPass() { return std::make_unique<ProveNoHazard>(); }
