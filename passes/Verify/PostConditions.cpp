// passes/Verify/PostConditions.cpp - the passes around the post-conditions, and those of `schedule` and `tile`.
#include "passes/Verify/PostConditions.h"
#include "dialect/Tile/Schedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Analysis/EventGraph.h"
#include "runtime/abi/Target.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

LogicalResult fovea::tile::verifySchedule(KernelOp kernel) {
  const Target *target = findTarget(kernel.getTarget());
  if (!target)
    return kernel.emitOpError("unknown target '") << kernel.getTarget() << "', known are " << targetNames();
  llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
  if (!schedule)
    return kernel.emitOpError(llvm::toString(schedule.takeError()));

  llvm::StringMap<int> mapped;
  int64_t nextWarp = 0;
  for (const GroupSchedule &g : schedule->groups) {
    if (g.warps < 1 || g.firstWarp < nextWarp)
      return kernel.emitOpError("schedule gives group '")
             << g.name << "' " << g.warps << " warps from " << g.firstWarp
             << ": groups own at least one warp each, in ascending order, and warps below " << nextWarp << " are taken";
    nextWarp = g.firstWarp + g.warps;
    // setmaxnreg (PTX ISA): 24 to 256 in steps of 8.
    if (g.registers && (g.registers < 24 || g.registers > 256 || g.registers % 8))
      return kernel.emitOpError("schedule gives group '")
             << g.name << "' " << g.registers << " registers a thread: expected 24 to 256 in steps of 8";
    for (const std::string &role : g.roles)
      if (++mapped[role] > 1)
        return kernel.emitOpError("schedule maps role '") << role << "' to two groups";
  }
  if (nextWarp * 32 > 1024)
    return kernel.emitOpError("schedule uses ") << nextWarp << " warps: a CTA has at most 32";
  if (const int64_t asked = schedule->registersAskedFor(*target), pool = schedule->registerPool(*target); asked > pool)
    return kernel.emitOpError("schedule gives its groups ")
           << asked << " registers in each of " << schedule->ctasPerSm << " CTAs per SM: a CTA of " << 32 * schedule->warps()
           << " threads begins with " << pool << " of the " << target->registersPerSm << " of " << target->name
           << ", " << schedule->registersAtEntry(*target) << " a thread, and setmaxnreg would wait for more forever";
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    if (!mapped.count(role.getSymName()))
      return kernel.emitOpError("schedule maps role '") << role.getSymName() << "' to no group";
  auto isChannel = [&](const std::string &name) { return bool(kernel.lookupSymbol<ChannelOp>(name)); };
  for (auto &[channel, depth] : schedule->depths)
    if (!isChannel(channel))
      return kernel.emitOpError("schedule gives a depth to '") << channel << "', which is no channel of the kernel";
  for (auto &[channel, other] : schedule->aliases)
    if (!isChannel(channel) || !isChannel(other))
      return kernel.emitOpError("schedule lays '")
             << channel << "' over '" << other << "', and one of them is no channel of the kernel";
  return success();
}

LogicalResult fovea::tile::verifyTile(KernelOp kernel) {
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    return role.emitOpError("role '") << role.getSymName() << "' is left unmapped";
  FailureOr<EventGraph> graph = EventGraph::build(kernel);
  if (failed(graph))
    return failure();
  for (const Event &event : graph->events) {
    ChannelOp channel = event.channel;
    if (!channel || channel.getSlotType().getSpace() != Space::Registers)
      continue;
    if (channel.getDepth() != 1)
      return channel.emitOpError("lies in registers and has depth ")
             << channel.getDepth() << ": a ring of registers would be chosen at run time [tile.channel-C3]";
    for (const Event &other : graph->events)
      if (other.channel == channel && other.group != event.group)
        return channel.emitOpError("lies in registers, but '")
               << event.role << "' and '" << other.role << "' run on different groups [tile.channel-C3]";
  }
  return success();
}

namespace {
template <LogicalResult (*Check)(KernelOp)> struct VerifyPhase : PassWrapper<VerifyPhase<Check>, OperationPass<ModuleOp>> {
  explicit VerifyPhase(StringRef phase) : argument(("tile-verify-" + phase).str()) {}
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPhase)
  StringRef getArgument() const final { return argument; }
  StringRef getDescription() const final { return "check what the phase promises the next"; }
  void runOnOperation() override {
    for (KernelOp kernel : this->getOperation().template getOps<KernelOp>())
      if (failed(Check(kernel)))
        return this->signalPassFailure();
    this->markAllAnalysesPreserved();
  }
  std::string argument;
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createVerifySchedulePass() {
  return std::make_unique<VerifyPhase<verifySchedule>>("schedule");
}
std::unique_ptr<Pass> fovea::tile::createVerifyTilePass() { return std::make_unique<VerifyPhase<verifyTile>>("tile"); }
std::unique_ptr<Pass> fovea::tile::createVerifyAllocPass() {
  return std::make_unique<VerifyPhase<verifyAlloc>>("alloc");
}
std::unique_ptr<Pass> fovea::tile::createVerifySyncPass() { return std::make_unique<VerifyPhase<verifySync>>("sync"); }

void fovea::tile::registerVerifyPasses() {
  registerPass(createVerifySchedulePass);
  registerPass(createVerifyTilePass);
  registerPass(createVerifyAllocPass);
  registerPass(createVerifySyncPass);
}
