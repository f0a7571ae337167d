// test/mutation/Harmless.cpp - the rules, one function each; every one says why its mutants are equivalent.
#include "test/mutation/Harmless.h"
#include "test/mutation/Flow.h"

namespace fovea::mutation {
namespace {

using ptx::Function;
using ptx::Instruction;

/// Anything by which threads, engines or proxies learn of each other.
bool isSync(const Instruction &i) {
  return is(i, "mbarrier") || is(i, "bar") || is(i, "barrier") || is(i, "fence") || is(i, "membar") || is(i, "griddepcontrol") ||
         (is(i, "tcgen05") && !isAccess(i)) || (is(i, "wgmma") && !isAccess(i)) || (is(i, "cp") && !isAccess(i));
}
bool isBulk(const Instruction &i) { return is(i, "cp") && has(i, ".bulk"); }
bool isWarpBarrier(const Instruction &i) { return (is(i, "bar") || is(i, "barrier")) && has(i, ".warp"); }
/// A barrier that each thread of the warp takes part in for itself, memory included.
bool meetsWholeWarp(const Instruction &i) {
  return isWarpBarrier(i) || ((is(i, "bar") || is(i, "barrier")) && (has(i, ".sync") || has(i, ".red")) && !has(i, ".cluster"));
}
int64_t groups(const Instruction &i) { return i.operands.empty() ? 0 : i.operands[0].integer; }

/// setmaxnreg moves an allowance between warps; PTX registers are virtual, and ptxas, not the order at run time, decides
/// whether a warp's code fits. Giving back more or taking less only leaves more in the pool: the waits of others, the
/// only effect there is, end no later.
bool moreRegistersLeft(const Function &fn, const Mutant &m, const Flow &) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "setmaxnreg"))
    return false;
  if (m.change == Change::Deleted)
    return has(i, ".inc");
  return m.what == "to " + std::to_string(groups(i) - 8);
}

/// A tcgen05 fence orders tcgen05 accesses on its one side with synchronisation on its other. Where another fence of the
/// same kind stands on that one side before any tcgen05 access does (the deleted one between), it orders the same.
bool repeatedTensorFence(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  bool after = has(i, ".fence::after_thread_sync"), before = has(i, ".fence::before_thread_sync");
  if (!is(i, "tcgen05") || !(after || before))
    return false;
  auto same = [&](const Instruction &o) { return is(o, "tcgen05") && has(o, after ? ".fence::after_thread_sync" : ".fence::before_thread_sync"); };
  auto access = [](const Instruction &o) { return is(o, "tcgen05") && isAccess(o); };
  return flow.always(m.index, after, same, access);
}

/// fence.proxy.async orders what the thread knew to be written before it. When the next one comes before the thread tells
/// anybody anything (barrier, arrival, asynchronous operation), that one orders as much.
bool repeatedProxyFence(const Function &fn, const Mutant &m, const Flow &flow) {
  if (!is(fn.body[m.index], "fence", ".proxy"))
    return false;
  auto same = [&](const Instruction &o) { return is(o, "fence", ".proxy") && o.modifiers == fn.body[m.index].modifiers; };
  auto tells = [](const Instruction &o) { return isSync(o) || is(o, "cp") || is(o, "tcgen05") || is(o, "wgmma") || is(o, "atom") || is(o, "red"); };
  return flow.always(m.index, true, same, tells);
}

/// A commit_group that another one follows before any wait, all waits being for all groups (N = 0): the copies join the
/// next group, and whoever waits for the one waits for the other.
bool joinsNextGroup(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  if (!has(i, ".commit_group") || m.change == Change::Weakened)
    return false;
  auto sameKind = [&](const Instruction &o) { return o.opcode == i.opcode && isBulk(o) == isBulk(i); };
  for (const Instruction &o : fn.body)
    if (sameKind(o) && has(o, ".wait_group") && groups(o) != 0)
      return false;
  auto commit = [&](const Instruction &o) { return sameKind(o) && has(o, ".commit_group"); };
  // The next commit may stand in a branch that this thread takes as it took this one, so a wait in between is what counts.
  auto wait = [&](const Instruction &o) { return sameKind(o) && (has(o, ".wait_group") || has(o, ".wait_all")); };
  return flow.always(m.index, true, commit, wait, false, flow.knownAt(m.index));
}

/// A wait when nothing can be pending: on every path an earlier wait for all groups, and no operation or commit since.
bool nothingPending(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  if (!has(i, ".wait_group"))
    return false;
  auto earlier = [&](const Instruction &o) {
    return o.opcode == i.opcode && isBulk(o) == isBulk(i) && has(o, ".wait_group") && groups(o) == 0 && has(o, ".read") >= has(i, ".read") && (!has(o, ".read") || has(i, ".read"));
  };
  auto starts = [&](const Instruction &o) { return o.opcode == i.opcode && isBulk(o) == isBulk(i) && (isAccess(o) || has(o, ".commit_group")); };
  return flow.always(m.index, false, earlier, starts);
}

/// wgmma.wait_group that a later one on every path makes good, before anything could tell: until then no instruction
/// names a register of a wgmma, touches memory or synchronises with anybody.
bool laterWaitSuffices(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "wgmma", ".wait_group"))
    return false;
  auto later = [&](const Instruction &o) { return is(o, "wgmma", ".wait_group") && groups(o) <= groups(i); };
  // Of the groups that this wait would have ended, N + 1 leaves the last one pending: its registers.
  std::vector<uint32_t> pending;
  size_t commits = 0;
  for (size_t k = m.index; k-- > 0 && commits <= (m.what == "N + 1" ? size_t(groups(i)) + 1 : ~size_t(0));) {
    const Instruction &o = fn.body[k];
    commits += is(o, "wgmma", ".commit_group");
    if (is(o, "wgmma", ".mma_async") && commits <= (m.what == "N + 1" ? size_t(groups(i)) + 1 : ~size_t(0))) {
      collect(o.operands[0], pending);
      if (o.operands[1].kind == ptx::Operand::Vector)
        collect(o.operands[1], pending);
    }
  }
  auto tells = [&](const Instruction &o) {
    if (isAccess(o) || isSync(o))
      return true;
    for (const ptx::Operand &x : o.operands)
      if (names(x, pending))
        return true;
    return false;
  };
  return flow.always(m.index, true, later, tells);
}

/// wgmma.fence is owed when another instruction used a register of the wgmma since the last fence (PTX ISA, wgmma.fence).
/// Here the wgmmas up to the next fence have none that anything named since the one before.
bool registersUntouched(const Function &fn, const Mutant &m, const Flow &flow) {
  if (!is(fn.body[m.index], "wgmma", ".fence"))
    return false;
  std::vector<uint32_t> used;
  for (size_t k = m.index + 1; k < fn.body.size() && !is(fn.body[k], "wgmma", ".fence"); ++k)
    if (is(fn.body[k], "wgmma", ".mma_async")) {
      collect(fn.body[k].operands[0], used);
      if (fn.body[k].operands[1].kind == ptx::Operand::Vector)
        collect(fn.body[k].operands[1], used);
    }
  auto fence = [](const Instruction &o) { return is(o, "wgmma", ".fence"); };
  auto touches = [&](const Instruction &o) {
    if (is(o, "wgmma", ".mma_async"))
      return false;
    for (const ptx::Operand &x : o.operands)
      if (names(x, used))
        return true;
    return false;
  };
  return flow.always(m.index, false, fence, touches);
}

/// bar.warp.sync orders what one lane did before it with what another lane does after it, until the warp meets again. It is
/// needless when on one of the two sides no lane does anything that could tell.
/// Before it, what tells: an access by ordinary instructions; a wait or a fence of some lanes only. What a lane *issues*
/// (copies, products, arrivals) does not: it ends later, by its own barrier or group, and no barrier of threads orders that.
/// After it: an access, anything issued, arrivals. To wait does not: the lane learns, and its later accesses are looked at
/// themselves; nor does a fence that every lane executes, since each covers its own.
/// tcgen05.ld, st, wait and wgmma's waits are .sync instructions that a warp executes as one: no lane is ahead there.
bool warpMeetsAnyway(const Function &fn, const Mutant &m, const Flow &flow) {
  if (!isWarpBarrier(fn.body[m.index]))
    return false;
  auto isWait = [](const Instruction &o) { return is(o, "mbarrier") && (has(o, ".try_wait") || has(o, ".test_wait")); };
  auto isFence = [](const Instruction &o) { return is(o, "fence") || is(o, "membar") || (is(o, "tcgen05") && (has(o, ".fence::before_thread_sync") || has(o, ".fence::after_thread_sync"))); };
  auto collective = [](const Instruction &o) {
    return has(o, ".sync") && has(o, ".aligned") && (is(o, "tcgen05") || (is(o, "wgmma") && !isAccess(o)));
  };
  // Executed by every lane between here and the meeting on that side.
  auto byAll = [&](const Instruction &o, bool forward) {
    return o.guard < 0 && flow.always(m.index, forward, [&](const Instruction &x) { return &x == &o; }, meetsWholeWarp);
  };
  auto ordinary = [](const Instruction &o) {
    return o.opcode == "ld" || o.opcode == "st" || o.opcode == "atom" || o.opcode == "red" || o.opcode == "ldmatrix" || o.opcode == "stmatrix" ||
           (is(o, "cp") && !isBulk(o) && isAccess(o));
  };
  auto before = [&](const Instruction &o) {
    if (ordinary(o))
      return isAccess(o);
    if (isWait(o) || isFence(o))
      return !byAll(o, false);
    return is(o, "cp") && (has(o, ".wait_group") || has(o, ".wait_all"));
  };
  auto after = [&](const Instruction &o) {
    if (meetsWholeWarp(o) || isWait(o) || collective(o) || (isBulk(o) && (has(o, ".commit_group") || has(o, ".wait_group"))))
      return false;
    if (isFence(o))
      return !byAll(o, true);
    return isAccess(o) || isSync(o);
  };
  return flow.always(m.index, true, meetsWholeWarp, after, /*atEnd=*/true) || flow.always(m.index, false, meetsWholeWarp, before, true);
}

/// bar.warp.sync again: when no lane but the first does anything on either side until the warp meets, there are no two
/// lanes to order.
bool onlyFirstLane(const Function &fn, const Mutant &m, const Flow &flow) {
  if (!isWarpBarrier(fn.body[m.index]))
    return false;
  Flow::Predicates other = flow.notFirstLane();
  // Others may read global memory where the first lane writes none.
  auto writesGlobal = [](const Instruction &o) { return (is(o, "st") && !has(o, ".shared")) || is(o, "atom") || is(o, "red") || is(o, "cp", ".reduce") || (is(o, "cp") && has(o, ".bulk_group")); };
  Flow::Predicates first;
  for (auto [p, value] : other)
    first[p] = !value;
  bool readable = flow.always(m.index, true, meetsWholeWarp, writesGlobal, true, first) && flow.always(m.index, false, meetsWholeWarp, writesGlobal, true, first);
  auto acts = [&](const Instruction &o) {
    if (readable && is(o, "ld") && has(o, ".global"))
      return false;
    return isAccess(o) || (isSync(o) && !meetsWholeWarp(o)) || has(o, ".aligned");
  };
  return !other.empty() && flow.always(m.index, true, meetsWholeWarp, acts, true, other) && flow.always(m.index, false, meetsWholeWarp, acts, true, other);
}

struct Rule { const char *name; bool (*proves)(const Function &, const Mutant &, const Flow &); };
constexpr Rule kRules[] = {{"more registers left", moreRegistersLeft}, {"repeated tcgen05 fence", repeatedTensorFence}, {"repeated proxy fence", repeatedProxyFence},
                           {"joins the next group", joinsNextGroup},  {"nothing pending", nothingPending},             {"a later wait suffices", laterWaitSuffices},
                           {"registers untouched", registersUntouched}, {"warp meets anyway", warpMeetsAnyway},       {"only the first lane", onlyFirstLane}};

} // namespace

std::string harmless(const Function &fn, const Mutant &m, const std::set<uint32_t> &impliedWaits) {
  // A wait whose phase, arrivals included, had reached the thread by other waits each time it was executed, under every
  // policy: happens-before is the same relation without it, and the phase is over when the thread comes there.
  const Instruction &i = fn.body[m.index];
  if (is(i, "mbarrier") && m.change != Change::Weakened && (has(i, ".try_wait") || has(i, ".test_wait")) && impliedWaits.count(m.line))
    return "implied by other waits";
  Flow flow(fn);
  for (const Rule &r : kRules)
    if (r.proves(fn, m, flow))
      return r.name;
  return "";
}

} // namespace fovea::mutation
