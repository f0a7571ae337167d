// test/mutation/WarpBarrier.cpp - what the lanes of a warp do on the two sides of a bar.warp.sync.
#include "test/mutation/WarpBarrier.h"
#include <algorithm>
#include <set>

namespace fovea::mutation {

using ptx::Instruction;
using ptx::Operand;

bool isSync(const Instruction &i) {
  return is(i, "mbarrier") || is(i, "bar") || is(i, "barrier") || is(i, "fence") || is(i, "membar") || is(i, "griddepcontrol") ||
         (is(i, "tcgen05") && !isAccess(i)) || (is(i, "wgmma") && !isAccess(i)) || (is(i, "cp") && !isAccess(i));
}
bool isBulk(const Instruction &i) { return is(i, "cp") && has(i, ".bulk"); }
bool meetsWholeWarp(const Instruction &i) {
  return (is(i, "bar") || is(i, "barrier")) && (has(i, ".warp") || ((has(i, ".sync") || has(i, ".red")) && !has(i, ".cluster")));
}

namespace {

bool isWait(const Instruction &o) { return is(o, "mbarrier") && (has(o, ".try_wait") || has(o, ".test_wait")); }
bool isFence(const Instruction &o) {
  return is(o, "fence") || is(o, "membar") || (is(o, "tcgen05") && (has(o, ".fence::before_thread_sync") || has(o, ".fence::after_thread_sync")));
}
bool isCollective(const Instruction &o) {
  return has(o, ".sync") && has(o, ".aligned") && (is(o, "tcgen05") || (is(o, "wgmma") && !isAccess(o)));
}
/// All lanes of the warp wait for each other: shuffles and votes of all.
bool gathersWholeWarp(const Instruction &o) {
  if (!(is(o, "shfl") || is(o, "vote") || is(o, "redux") || is(o, "match")) || o.guard >= 0 || o.operands.empty())
    return false;
  const Operand &members = o.operands.back();
  return members.kind == Operand::Integer && uint32_t(members.integer) == ~0u;
}

/// What one lane does on one side, as far as another could tell.
struct Effects {
  bool reads[2] = {}, writes[2] = {};  ///< shared, global memory
  bool learns = false;                 ///< before: took over what another thread said
  bool asks = false;                   ///< after: an access that rests on what others have learnt
  bool tells = false;                  ///< after: another thread may go on

  bool conflicts(const Effects &later) const {
    bool any = false, race = false;
    for (int k = 0; k < 2; ++k) {
      any |= reads[k] || writes[k];
      race |= writes[k] ? later.reads[k] || later.writes[k] : reads[k] && later.writes[k];
    }
    return race || (later.tells && (any || learns)) || (learns && later.asks);
  }
  void access(const Instruction &o, bool read, bool write) {
    bool shared = has(o, ".shared") || has(o, ".shared::cta") || has(o, ".shared::cluster"), global = has(o, ".global");
    for (int k = 0; k < 2; ++k)
      if ((k ? global : shared) || !(shared || global)) {
        reads[k] |= read;
        writes[k] |= write;
      }
  }
  void bulk(const Instruction &o) {
    // .global after .shared: a store (cp.async.bulk.global.shared::cta); .reduce and what else is not known: both.
    bool toShared = false, toGlobal = false;
    for (std::string_view m : o.modifiers) {
      if (m == ".global" && !toShared)
        toGlobal = true;
      if (m.substr(0, 7) == ".shared" && !toGlobal)
        toShared = true;
    }
    reads[0] |= !toShared, writes[0] |= toShared || !toGlobal;
    reads[1] |= !toGlobal || has(o, ".reduce"), writes[1] |= toGlobal || !toShared;
  }
};

/// Loads, stores and atomics, by ordinary instructions. False: it is none.
bool ordinary(const Instruction &o, Effects &e) {
  if (!isAccess(o))
    return false;
  if (o.opcode == "ld" || o.opcode == "ldmatrix")
    return has(o, ".nc") || (e.access(o, true, false), true);
  if (o.opcode == "st" || o.opcode == "stmatrix")
    return e.access(o, false, true), true;
  if (o.opcode == "atom" || o.opcode == "red") {
    e.access(o, true, true);
    e.learns = e.tells = true;
    return true;
  }
  return false;
}

/// Whether a lane knows by itself of all that its access conflicts with, when it comes there by `at`: each lane waits for a barrier
/// of shared memory first, and whoever makes a conflicting access before it (Sharing) arrives on that barrier right behind it. The
/// wait is the same in all lanes, and each was in the wait for the phase before, so that none takes another phase for this one.
/// Barriers are told apart by the constant in their address: those of a ring share it, and address and phase of the wait are those
/// of the kernel, in which it orders the two for the first lane.
bool learnsAlone(const ptx::Function &fn, const Instruction &access, size_t at, const Flow &flow, const Sharing &sharing, const std::vector<bool> &differs,
                 const Flow::Predicates &assume) {
  if (!sharing.watched || access.opcode != "ld")
    return false;
  auto barrierOf = [&](const Instruction &o) -> int64_t {  // 0: not known
    const Operand *base = nullptr;
    for (const Operand &x : o.operands)
      if (x.kind == Operand::Address && x.parts.size() == 1)
        base = &x.parts[0];
    if (!base || base->kind != Operand::Register)
      return 0;
    const Instruction *from = nullptr;
    for (const Instruction &d : fn.body)
      if (!d.operands.empty() && d.operands[0].kind == Operand::Register && d.operands[0].reg == base->reg) {
        if (from)
          return 0;
        from = &d;
      }
    return from && is(*from, "add") && from->operands.size() == 3 && from->operands[2].kind == Operand::Integer ? from->operands[2].integer + base->integer : 0;
  };
  std::set<int64_t> awaited;
  bool alike = true;
  auto waits = [&](const Instruction &o) {
    if (!isWait(o) || o.guard >= 0)
      return false;
    std::vector<uint32_t> inputs;
    for (size_t k = 1; k < o.operands.size(); ++k)
      collect(o.operands[k], inputs);
    for (uint32_t r : inputs)
      alike &= !differs[r];
    awaited.insert(barrierOf(o));
    return true;
  };
  if (!flow.always(size_t(&access - fn.body.data()), false, waits, [&](const Instruction &o) { return &o == &fn.body[at]; }, false, assume) || !alike ||
      awaited.size() != 1 || !*awaited.begin())
    return false;
  for (size_t k = 0; k < fn.body.size(); ++k) {
    const Instruction &other = fn.body[k];
    auto conflicts = sharing.laterThan.find(uint32_t(other.line));
    if (conflicts == sharing.laterThan.end() || !conflicts->second.count(uint32_t(access.line)))
      continue;
    auto arrives = [&](const Instruction &o) { return is(o, "mbarrier", ".arrive") && !has(o, ".expect_tx") && !has(o, ".relaxed") && barrierOf(o) == *awaited.begin(); };
    if (other.opcode != "st" || !flow.always(k, true, arrives, isSync))
      return false;
  }
  return true;
}

} // namespace

bool warpOrderNeedless(const ptx::Function &fn, size_t at, const Flow &flow, const Sharing &sharing) {
  if (!flow.valid || at == 0)
    return false;
  auto meets = [&](const Instruction &o) { return meetsWholeWarp(o) && &o != &fn.body[at]; };
  std::vector<bool> differs = flow.laneDependent();
  auto splits = [&](const Instruction &o) { return o.opcode == "bra" && o.guard >= 0 && differs[size_t(o.guard)]; };
  Flow::Predicates anyLane = flow.certainAt(at), other = anyLane;
  for (auto [p, value] : flow.notFirstLane())
    other.emplace(p, value);
  // Executed by every lane, if by one: no branch on the way there lets some lanes pass it by.
  auto byAll = [&](const Instruction &o, bool forward) {
    if (o.guard >= 0)
      return false;
    auto end = [&](const Instruction &x) { return &x == &o || meets(x); };
    for (const Instruction *x : flow.until(at, forward, end, anyLane))
      if (splits(*x)) {
        bool leads = false;
        flow.always(size_t(x - fn.body.data()), true, meets, [&](const Instruction &y) { return leads |= &y == (forward ? &o : &fn.body[at]); }, true, anyLane);
        if (leads)
          return false;
      }
    return true;
  };
  auto alone = [&](const Instruction &o, const std::set<uint32_t> &conflicting) { return sharing.watched && isAccess(o) && !conflicting.count(uint32_t(o.line)); };
  // Whoever conflicts with it later, of this warp or another, does so in this very code and behind a barrier that every lane takes
  // part in for itself: no lane needs to speak for it before.
  auto named = [](const Instruction &o) { return meetsWholeWarp(o) && !has(o, ".warp"); };
  std::vector<const Instruction *> ahead = flow.until(at, true, named, anyLane), ever = flow.until(at, true, [](const Instruction &) { return false; }, anyLane);
  auto behindBarrier = [&](const Instruction &o) {
    auto conflicts = sharing.laterThan.find(uint32_t(o.line));
    if (!sharing.watched || !(is(o, "ld") || is(o, "st")) || conflicts == sharing.laterThan.end())
      return false;
    for (uint32_t line : conflicts->second) {
      auto isIt = [&](const Instruction *x) { return uint32_t(x->line) == line; };
      if (std::any_of(ahead.begin(), ahead.end(), isIt) || std::none_of(ever.begin(), ever.end(), isIt))
        return false;
    }
    return true;
  };
  auto before = [&](const Flow::Predicates &assume) {
    Effects e;
    for (const Instruction *o : flow.until(at, false, meets, assume)) {
      if (o == &fn.body[at] || (alone(*o, sharing.before) && !is(*o, "atom") && !is(*o, "red")) || behindBarrier(*o))
        continue;
      if (ordinary(*o, e))
        continue;
      if (is(*o, "cp") && !isBulk(*o) && isAccess(*o))
        e.reads[1] = e.writes[0] = true;
      else if (isWait(*o) || isFence(*o))
        e.learns |= !byAll(*o, false);
      else if (is(*o, "mbarrier"))
        e.learns |= !has(*o, ".arrive") || has(*o, ".expect_tx");
      else
        e.learns |= (is(*o, "cp") && (has(*o, ".wait_group") || has(*o, ".wait_all"))) || (is(*o, "barrier") && has(*o, ".wait")) || is(*o, "griddepcontrol");
    }
    return e;
  };
  auto after = [&](const Flow::Predicates &assume) {
    Effects e;
    for (const Instruction *o : flow.until(at, true, meets, assume)) {
      if (o == &fn.body[at] || (alone(*o, sharing.after) && (is(*o, "ld") || is(*o, "st"))))
        continue;
      if (isAccess(*o) && !has(*o, ".nc") && !isCollective(*o))
        e.asks |= !learnsAlone(fn, *o, at, flow, sharing, differs, assume);
      if (ordinary(*o, e) || isWait(*o) || isCollective(*o) || (isBulk(*o) && (has(*o, ".commit_group") || has(*o, ".wait_group"))))
        continue;
      if (isFence(*o))
        e.tells |= !byAll(*o, true);
      else if (isBulk(*o) && isAccess(*o))
        e.bulk(*o);
      else if (is(*o, "wgmma") || is(*o, "tcgen05"))
        isAccess(*o) ? void(e.reads[0] = true) : void(e.tells = true);
      else if (is(*o, "cp") && isAccess(*o))
        e.reads[1] = e.writes[0] = true;
      else
        e.tells |= isSync(*o);
    }
    return e;
  };
  Effects firstBefore = before(anyLane), otherBefore = before(other), firstAfter = after(anyLane), otherAfter = after(other);
  return !otherBefore.conflicts(firstAfter) && !firstBefore.conflicts(otherAfter);
}

bool warpConvergenceNeedless(const ptx::Function &fn, size_t at, const Flow &flow) {
  if (!flow.valid || at == 0)
    return false;
  std::vector<bool> differs = flow.laneDependent();
  Flow::Predicates assume = flow.certainAt(at);

  auto gathers = [&](const Instruction &o) { return (meetsWholeWarp(o) && &o != &fn.body[at]) || gathersWholeWarp(o); };
  auto splits = [&](const Instruction *o) { return o->opcode == "bra" && o->guard >= 0 && differs[size_t(o->guard)]; };
  std::vector<const Instruction *> back = flow.until(at, false, [&](const Instruction &o) { return gathers(o) || (o.guard < 0 && has(o, ".aligned")); }, assume);
  std::vector<const Instruction *> ahead = flow.until(at, true, gathers, assume);
  return std::none_of(back.begin(), back.end(), splits) || std::none_of(ahead.begin(), ahead.end(), [](const Instruction *o) { return has(*o, ".aligned"); });
}

} // namespace fovea::mutation
