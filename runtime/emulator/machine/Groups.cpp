// runtime/emulator/machine/Groups.cpp - divergence: groups of a warp's threads, their splits and reconvergence.
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {

static void releaseJoins(Warp &w);

static int32_t newJoin(Warp &w, uint32_t pc, uint32_t expected, int32_t parent) {
  for (size_t j = 0; j < w.joins.size(); ++j)
    if (!w.joins[j].used) {
      w.joins[j] = {pc, expected, 0, parent, true};
      return int32_t(j);
    }
  w.joins.push_back({pc, expected, 0, parent, true});
  return int32_t(w.joins.size() - 1);
}

void branchGroup(Warp &w, uint32_t taken, uint32_t target, int32_t joinPc) {
  Group &g = *w.group;
  uint32_t rest = g.mask & ~taken;
  if (!rest) {
    g.pc = target;
    return;
  }
  if (!taken) {
    ++g.pc;
    return;
  }
  if (joinPc >= 0 && !(g.join >= 0 && w.joins[size_t(g.join)].pc == uint32_t(joinPc)))
    g.join = newJoin(w, uint32_t(joinPc), g.mask, g.join);
  Group other;
  other.pc = target;
  other.mask = taken;
  other.join = g.join;
  g.mask = rest;
  ++g.pc;
  w.groups.push_back(other);  // reserved for 32: g stays valid
}

static void removeGroup(Warp &w) {
  size_t at = size_t(w.group - w.groups.data());
  w.groups.erase(w.groups.begin() + long(at));
  w.group = nullptr;
}

/// At a reconvergence point: true when the group went on, false when it now waits inside the join.
static bool arriveJoin(Warp &w, uint32_t pc) {
  Group &g = *w.group;
  if (g.join < 0 || w.joins[size_t(g.join)].pc != pc)
    return true;
  Join &j = w.joins[size_t(g.join)];
  j.arrived |= g.mask;
  if (j.arrived == j.expected) {
    w.metByBranch |= j.arrived != g.mask;
    g.mask = j.arrived;
    g.join = j.parent;
    j.used = false;
    return arriveJoin(w, pc);
  }
  removeGroup(w);
  return false;
}

Step runJoin(Warp &w, const Inst &) {
  if (!arriveJoin(w, w.group->pc))
    return Step::Jump;
  return Step::Next;
}

static void releaseJoins(Warp &w) {
  for (bool again = true; again;) {
    again = false;
    for (size_t k = 0; k < w.joins.size(); ++k) {
      Join &j = w.joins[k];
      if (!j.used)
        continue;
      if (!j.expected) {
        j.used = false;
      } else if (j.arrived == j.expected) {
        Group g;
        g.pc = j.pc;
        g.mask = j.arrived;
        g.join = j.parent;
        j.used = false;
        w.groups.push_back(g);
        again = true;
      }
    }
  }
}

void exitLanes(Warp &w, uint32_t lanes) {
  w.live &= ~lanes;
  w.cta->liveThreads -= uint32_t(__builtin_popcount(lanes));
  for (Join &j : w.joins)
    if (j.used) {
      j.expected &= ~lanes;
      j.arrived &= ~lanes;
    }
  Group &g = *w.group;
  g.mask &= ~lanes;
  if (!g.mask)
    removeGroup(w);
  releaseJoins(w);
}

/// Last resort against a deadlock: threads that wait to reconverge go on alone (independent thread scheduling promises
/// progress, not convergence). Returns true when some did.
bool forceJoins(Warp &w) {
  bool any = false;
  for (Join &j : w.joins)
    if (j.used && j.arrived) {
      Group g;
      g.pc = j.pc + 1;
      g.mask = j.arrived;
      g.join = j.parent;
      j.expected &= ~j.arrived;
      j.arrived = 0;
      w.groups.push_back(g);
      any = true;
    }
  releaseJoins(w);
  return any;
}

} // namespace fovea::emulator
