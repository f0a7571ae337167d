// test/mutation/Harmless.cpp - the rules, one function each; every one says why its mutants are equivalent.
#include "test/mutation/Harmless.h"
#include "test/mutation/WarpBarrier.h"
#include <algorithm>

namespace fovea::mutation {
namespace {

using ptx::Function;
using ptx::Instruction;

int64_t groups(const Instruction &i) { return i.operands.empty() ? 0 : i.operands[0].integer; }

/// setmaxnreg moves an allowance between warps; PTX registers are virtual, and ptxas, not the order at run time, decides
/// whether a warp's code fits. Giving back more or taking less only leaves more in the pool: the waits of others, the
/// only effect there is, end no later.
bool moreRegistersLeft(const Function &fn, const Mutant &m, const Flow &) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "setmaxnreg"))
    return false;
  // Nobody takes: then giving back more, less or nothing is the same to all.
  if (has(i, ".dec") && std::none_of(fn.body.begin(), fn.body.end(), [](const Instruction &o) { return is(o, "setmaxnreg", ".inc"); }))
    return m.change == Change::Deleted || m.what == "to " + std::to_string(groups(i) + 8) || m.what == "to " + std::to_string(groups(i) - 8);
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

/// tcgen05.fence::before_thread_sync puts all tcgen05 operations before it in front of what the thread tells others later, and
/// ::after_thread_sync those behind it behind what it has learnt. Another of the kind does the same as long as the thread tells, or
/// learns, nothing between the two, whatever it does to tensor memory there.
bool fencedOnceMore(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  const bool after = has(i, ".fence::after_thread_sync");
  if (!is(i, "tcgen05") || !(after || has(i, ".fence::before_thread_sync")))
    return false;
  auto same = [&](const Instruction &o) { return is(o, "tcgen05") && has(o, after ? ".fence::after_thread_sync" : ".fence::before_thread_sync"); };
  auto waits = [](const Instruction &o) { return is(o, "mbarrier") && (has(o, ".try_wait") || has(o, ".test_wait")); };
  auto ofOwn = [](const Instruction &o) { return is(o, "tcgen05") && (has(o, ".wait::ld") || has(o, ".wait::st") || has(o, ".fence::before_thread_sync") || has(o, ".fence::after_thread_sync")); };
  auto speaks = [&](const Instruction &o) {
    return ((isSync(o) && !ofOwn(o)) || is(o, "atom") || is(o, "red") || is(o, "tcgen05", ".mma") || is(o, "tcgen05", ".cp") || isBulk(o)) && (after || !waits(o));
  };
  return flow.always(m.index, !after, same, speaks);
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
  return flow.always(m.index, false, earlier, starts, false, flow.knownAt(m.index));
}

/// cp.async.bulk.wait_group.read with N + 1 leaves the youngest group reading. On every path the same thread waits for it before it
/// opens another, and whoever writes what that group reads does so behind that wait and a barrier of the block after it.
bool laterWaitBeforeWrites(const Function &fn, const Mutant &m, const Flow &flow, const Sharing &sharing) {
  const Instruction &i = fn.body[m.index];
  if (!isBulk(i) || !has(i, ".wait_group") || !has(i, ".read") || m.what != "N + 1" || !flow.valid || !sharing.watched)
    return false;
  Flow::Predicates known = flow.knownAt(m.index);
  auto commits = [](const Instruction &o) { return isBulk(o) && has(o, ".commit_group"); };
  auto here = [&](const Instruction &o) { return &o == &i; };
  auto later = [&](const Instruction &o) { return !here(o) && isBulk(o) && has(o, ".wait_group") && groups(o) <= groups(i); };
  if (!flow.always(m.index, true, later, commits, false, known))
    return false;
  auto blockMeets = [](const Instruction &o) { return meetsWholeWarp(o) && !has(o, ".warp"); };
  std::vector<const Instruction *> between = flow.until(m.index, true, later, known);
  // The stores of the youngest group: those behind which no commit but one lies.
  for (const Instruction *s : flow.until(m.index, false, [](const Instruction &) { return false; }, known)) {
    if (!isBulk(*s) || !isAccess(*s) || !has(*s, ".bulk_group"))
      continue;
    bool youngest = false, first = false;
    flow.always(size_t(s - fn.body.data()), true, [&](const Instruction &o) {
      if (commits(o))
        flow.always(size_t(&o - fn.body.data()), true, [&](const Instruction &x) { return commits(x) || (first |= here(x)); }, [](const Instruction &) { return false; }, true, known);
      return commits(o);
    }, [](const Instruction &) { return false; }, true, known);
    youngest = first;
    auto conflicts = sharing.laterThan.find(uint32_t(s->line));
    if (!youngest || conflicts == sharing.laterThan.end())
      continue;
    for (size_t k = 0; k < fn.body.size(); ++k) {
      const Instruction &x = fn.body[k];
      if (!conflicts->second.count(uint32_t(x.line)))
        continue;
      if (std::find(between.begin(), between.end(), &x) != between.end() || !flow.always(k, false, blockMeets, later))
        return false;
    }
  }
  return true;
}

/// tcgen05.wait::ld or ::st behind another of the kind or the kernel's beginning, with no tcgen05.ld or st between.
bool nothingMoves(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  bool load = has(i, ".wait::ld");
  if (!is(i, "tcgen05") || !(load || has(i, ".wait::st")))
    return false;
  return flow.always(m.index, false, [&](const Instruction &o) { return is(o, "tcgen05") && has(o, load ? ".wait::ld" : ".wait::st"); },
                     [&](const Instruction &o) { return is(o, "tcgen05") && has(o, load ? ".ld" : ".st"); }, true);
}

/// Registers of the wgmmas that a mutant of this wait leaves pending: with N + 1, those of the last group that it would have ended.
std::vector<uint32_t> leftPending(const Function &fn, const Mutant &m) {
  const size_t most = m.what == "N + 1" ? size_t(groups(fn.body[m.index])) + 1 : ~size_t(0);
  std::vector<uint32_t> pending;
  size_t commits = 0;
  for (size_t k = m.index; k-- > 0 && commits <= most;) {
    const Instruction &o = fn.body[k];
    commits += is(o, "wgmma", ".commit_group");
    if (is(o, "wgmma", ".mma_async") && commits <= most) {
      collect(o.operands[0], pending);
      if (o.operands[1].kind == ptx::Operand::Vector)
        collect(o.operands[1], pending);
    }
  }
  return pending;
}

bool namesAny(const Instruction &o, const std::vector<uint32_t> &registers) {
  return std::any_of(o.operands.begin(), o.operands.end(), [&](const ptx::Operand &x) { return names(x, registers); });
}

/// wgmma.wait_group that a later one on every path makes good, before anything could tell: until then no instruction
/// names a register of a wgmma, touches memory or synchronises with anybody.
bool laterWaitSuffices(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "wgmma", ".wait_group"))
    return false;
  auto later = [&](const Instruction &o) { return is(o, "wgmma", ".wait_group") && groups(o) <= groups(i); };
  std::vector<uint32_t> pending = leftPending(fn, m);
  return flow.always(m.index, true, later, [&](const Instruction &o) { return isAccess(o) || isSync(o) || namesAny(o, pending); });
}

/// wgmma.wait_group moved behind loads. A wgmma reads memory and writes registers, so that loads have nothing to fear from one that
/// is pending; and nothing up to the new place names its registers, writes memory, synchronises or branches.
bool passesLoads(const Function &fn, const Mutant &m, const Flow &) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "wgmma", ".wait_group") || m.change != Change::Moved || m.what.rfind("moved behind line ", 0) != 0)
    return false;
  const uint32_t last = uint32_t(std::stoul(m.what.substr(18)));
  std::vector<uint32_t> pending = leftPending(fn, m);
  for (size_t k = m.index + 1; k < fn.body.size() && uint32_t(fn.body[k].line) <= last; ++k) {
    const Instruction &o = fn.body[k];
    if (o.opcode == "bra" || isSync(o) || namesAny(o, pending) || (isAccess(o) && o.opcode != "ld" && o.opcode != "ldmatrix"))
      return false;
  }
  return true;
}

/// An mbarrier wait moved behind atomics that nobody's earlier access conflicts with: there is nothing that it would have put
/// before them, and between them and the new place the thread tells nobody anything.
bool passesOwnAtomics(const Function &fn, const Mutant &m, const Sharing &sharing) {
  const Instruction &i = fn.body[m.index];
  if (!is(i, "mbarrier", ".try_wait") || m.change != Change::Moved || m.what.rfind("moved behind line ", 0) != 0 || !sharing.watched)
    return false;
  const uint32_t last = uint32_t(std::stoul(m.what.substr(18)));
  for (size_t k = m.index + 1; k < fn.body.size() && uint32_t(fn.body[k].line) <= last; ++k) {
    const Instruction &o = fn.body[k];
    if (isSync(o) || (isAccess(o) && (!(is(o, "atom") || is(o, "red")) || sharing.after.count(uint32_t(o.line)))))
      return false;
  }
  return true;
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

/// bar.sync moved behind tcgen05.ld or st only. Those touch the 32 lanes of tensor memory that belong to the warp, so that of
/// the threads of a barrier of four warps at most no other reaches them, short of the tensor core's instructions, of which
/// none is issued between such barriers.
bool passesOwnLanes(const Function &fn, const Mutant &m, const Flow &flow) {
  const Instruction &i = fn.body[m.index];
  if (m.change != Change::Moved || !is(i, "bar") || has(i, ".warp") || i.operands.size() != 2 || i.operands[1].kind != ptx::Operand::Integer ||
      i.operands[1].integer > 128 || i.operands[0].kind != ptx::Operand::Integer || m.what.rfind("moved behind line ", 0) != 0)
    return false;
  uint32_t last = uint32_t(std::stoul(m.what.substr(18)));
  for (size_t k = m.index + 1; k < fn.body.size() && uint32_t(fn.body[k].line) <= last; ++k)
    if ((isAccess(fn.body[k]) && !(is(fn.body[k], "tcgen05") && (has(fn.body[k], ".ld") || has(fn.body[k], ".st")))) || (isSync(fn.body[k]) && !has(fn.body[k], ".aligned")))
      return false;
  auto sameBarrier = [&](const Instruction &o) {
    return is(o, "bar") && !has(o, ".warp") && !o.operands.empty() && o.operands[0].kind == ptx::Operand::Integer && o.operands[0].integer == i.operands[0].integer;
  };
  auto tensorCore = [](const Instruction &o) { return is(o, "tcgen05") && isAccess(o) && !has(o, ".ld") && !has(o, ".st"); };
  for (size_t k = 0; k < fn.body.size(); ++k)
    if (sameBarrier(fn.body[k]) && !flow.always(k, false, sameBarrier, tensorCore, true))
      return false;
  return true;
}

struct Rule { const char *name; bool (*proves)(const Function &, const Mutant &, const Flow &); };
constexpr Rule kRules[] = {{"more registers left", moreRegistersLeft}, {"repeated tcgen05 fence", repeatedTensorFence}, {"repeated tcgen05 fence", fencedOnceMore}, {"repeated proxy fence", repeatedProxyFence},
                           {"joins the next group", joinsNextGroup},  {"nothing pending", nothingPending}, {"nothing pending", nothingMoves},            {"a later wait suffices", laterWaitSuffices}, {"passes loads", passesLoads},
                           {"registers untouched", registersUntouched}, {"passes its own lanes", passesOwnLanes}};

} // namespace

std::string harmless(const Function &fn, const Mutant &m, const std::set<uint32_t> &impliedWaits, const Sharing &sharing) {
  // A wait whose phase, arrivals included, had reached the thread by other waits each time it was executed, under every
  // policy: happens-before is the same relation without it, and the phase is over when the thread comes there. Of
  // tcgen05.fence::after_thread_sync: all that had reached the thread was behind such a fence already.
  const Instruction &i = fn.body[m.index];
  bool wait = is(i, "mbarrier") && (has(i, ".try_wait") || has(i, ".test_wait")), fence = is(i, "tcgen05") && has(i, ".fence::after_thread_sync");
  if ((wait || fence) && m.change != Change::Weakened && impliedWaits.count(m.line))
    return "implied by other waits";
  Flow flow(fn);
  if (laterWaitBeforeWrites(fn, m, flow, sharing))
    return "a later wait suffices";
  if (passesOwnAtomics(fn, m, sharing))
    return "passes its own atomics";
  for (const Rule &r : kRules)
    if (r.proves(fn, m, flow))
      return r.name;
  if ((is(i, "bar") || is(i, "barrier")) && has(i, ".warp") && warpConvergenceNeedless(fn, m.index, flow))
    return warpOrderNeedless(fn, m.index, flow, sharing) ? "warp meets anyway" : kLanesOnly;
  return "";
}

} // namespace fovea::mutation
