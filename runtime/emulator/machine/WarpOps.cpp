// runtime/emulator/machine/WarpOps.cpp - shuffles, votes, match, redux, elect: threads of one warp together.
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace fovea::emulator {

bool gatherWarp(Warp &w, const Inst &i, uint32_t members, uint32_t &lanes) {
  members &= w.live;
  uint32_t here = w.active;
  if (here & ~members)
    faultAt(w, __builtin_ctz(here & ~members), "warp: a thread executes a .sync instruction whose member mask does not name it");
  for (Group &g : w.groups)
    if (&g != w.group && g.wait.kind == Wait::WarpSync) {
      const Inst &other = w.code->insts[g.pc];
      if (g.pc == w.group->pc || (other.run == i.run && g.wait.detail))
        here |= g.mask & (w.pred(other.guard) ^ other.guardXor);
    }
  if ((here & members) != members) {
    // bar.warp.sync (detail 1) may meet itself at another place; the data-exchanging ones at the same one only.
    park(w, Wait::WarpSync, w.group->pc, i.r[0] == 0 && i.imm == 0);
    return false;
  }
  for (Group &g : w.groups)
    if (&g != w.group && g.wait.kind == Wait::WarpSync && (g.mask & here)) {
      g.wait = {};
      ++g.pc;
    }
  w.active = lanes = here & members;
  w.metByBranch &= lanes != w.live;
  return true;
}

namespace {

enum class Shuffle : uint8_t { Up, Down, Bfly, Idx };

/// shfl.sync.mode d|p, a, b, c, members. r: d, a, b, c, members, p (or sink).
template <Shuffle Mode> Step shuffle(Warp &w, const Inst &i) {
  uint32_t lanes;
  if (!gatherWarp(w, i, w.reg<uint32_t>(i.r[4])[__builtin_ctz(w.active)], lanes))
    return Step::Park;
  const uint32_t *b = w.reg<uint32_t>(i.r[2]), *c = w.reg<uint32_t>(i.r[3]);
  uint32_t a[32], ok = 0;
  std::memcpy(a, w.reg<uint32_t>(i.r[1]), sizeof a);
  uint32_t *d = w.reg<uint32_t>(i.r[0]);
  eachLane(lanes, [&](int l) {
    int bval = int(b[l] & 31), cval = int(c[l] & 31), mask = int((c[l] >> 8) & 31);
    int max = (l & mask) | (cval & ~mask), min = l & mask, j;
    bool p;
    switch (Mode) {
    case Shuffle::Up: j = l - bval; p = j >= max; break;
    case Shuffle::Down: j = l + bval; p = j <= max; break;
    case Shuffle::Bfly: j = l ^ bval; p = j <= max; break;
    default: j = min | (bval & ~mask); p = j <= max; break;
    }
    if (!p)
      j = l;
    if (!(lanes & kLaneBit[j & 31]))
      d[l] = kPoison;  // reading a thread that does not take part is undefined
    else
      d[l] = a[j & 31];
    ok |= p ? kLaneBit[l] : 0u;
  });
  uint32_t &p = w.pred(i.r[5]);
  p = ok | (p & ~lanes);
  return Step::Next;
}

void decodeShuffle(Decoder &d) {
  if (!d.mods.take(".sync"))
    d.fail("'shfl' without .sync is not supported from sm_70 on");
  int mode = d.mods.oneOf({".up", ".down", ".bfly", ".idx"});
  d.needType("the .b32");
  d.count(5, 5);
  if (mode < 0)
    d.fail("'shfl' needs .up, .down, .bfly or .idx");
  const Operand &to = d.op(0);
  bool pair = to.kind == Operand::Pair;
  uint32_t a = d.src(d.op(1), Type::B32), b = d.src(d.op(2), Type::U32), c = d.src(d.op(3), Type::U32), m = d.src(d.op(4), Type::U32);
  uint32_t r = d.dst(pair ? to.parts[0] : to, 4), p = pair ? d.dstPred(to.parts[1]) : d.temporaryPred();
  static const Handler modes[] = {shuffle<Shuffle::Up>, shuffle<Shuffle::Down>, shuffle<Shuffle::Bfly>, shuffle<Shuffle::Idx>};
  Inst &i = d.emit(modes[mode]);
  i.r[0] = r, i.r[1] = a, i.r[2] = b, i.r[3] = c, i.r[4] = m, i.r[5] = p;
  i.imm = 1;
}

/// vote.sync: r: d, predicate, members. imm: 1 all, 2 any, 3 uni, 4 ballot.
Step vote(Warp &w, const Inst &i) {
  uint32_t lanes;
  if (!gatherWarp(w, i, w.reg<uint32_t>(i.r[2])[__builtin_ctz(w.active)], lanes))
    return Step::Park;
  uint32_t p = w.pred(i.r[1]) & lanes;
  if (i.imm == 4) {
    forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int) { return p; });
  } else {
    bool v = i.imm == 1 ? p == lanes : i.imm == 2 ? p != 0 : p == 0 || p == lanes;
    uint32_t &r = w.pred(i.r[0]);
    r = (v ? lanes : 0) | (r & ~lanes);
  }
  return Step::Next;
}
void decodeVote(Decoder &d) {
  if (!d.mods.take(".sync"))
    d.fail("'vote' without .sync is not supported from sm_70 on");
  int mode = d.mods.oneOf({".all", ".any", ".uni", ".ballot"});
  d.needType("the .pred or .b32");
  d.count(3, 3);
  if (mode < 0)
    d.fail("'vote' needs .all, .any, .uni or .ballot");
  uint32_t p = d.srcPred(d.op(1)), m = d.src(d.op(2), Type::U32), r = mode == 3 ? d.dst(d.op(0), 4) : d.dstPred(d.op(0));
  Inst &i = d.emit(vote);
  i.r[0] = r, i.r[1] = p, i.r[2] = m;
  i.imm = uint64_t(mode + 1);
}

/// match.any/all.sync: r: d, a, members, p. imm bit 0: all, bit 1: 64-bit, bit 2: set.
Step match(Warp &w, const Inst &i) {
  uint32_t lanes;
  if (!gatherWarp(w, i, w.reg<uint32_t>(i.r[2])[__builtin_ctz(w.active)], lanes))
    return Step::Park;
  auto value = [&](int l) { return i.imm & 2 ? w.reg<uint64_t>(i.r[1])[l] : uint64_t(w.reg<uint32_t>(i.r[1])[l]); };
  uint64_t v[32];
  eachLane(lanes, [&](int l) { v[l] = value(l); });
  uint32_t *d = w.reg<uint32_t>(i.r[0]);
  bool all = true;
  int first = __builtin_ctz(lanes);
  eachLane(lanes, [&](int l) { all &= v[l] == v[first]; });
  eachLane(lanes, [&](int l) {
    uint32_t same = 0;
    eachLane(lanes, [&](int k) { same |= v[k] == v[l] ? kLaneBit[k] : 0u; });
    d[l] = i.imm & 1 ? (all ? lanes : 0) : same;
  });
  uint32_t &p = w.pred(i.r[3]);
  p = (all ? lanes : 0) | (p & ~lanes);
  return Step::Next;
}
void decodeMatch(Decoder &d) {
  int mode = d.mods.oneOf({".any", ".all"});
  d.mods.take(".sync");
  Type t = d.needType("the .b32 or .b64");
  d.count(3, 3);
  if (mode < 0)
    d.fail("'match' needs .any or .all");
  const Operand &to = d.op(0);
  bool pair = to.kind == Operand::Pair;
  uint32_t a = d.src(d.op(1), t), m = d.src(d.op(2), Type::U32);
  uint32_t r = d.dst(pair ? to.parts[0] : to, 4), p = pair ? d.dstPred(to.parts[1]) : d.temporaryPred();
  Inst &i = d.emit(match);
  i.r[0] = r, i.r[1] = a, i.r[2] = m, i.r[3] = p;
  i.imm = uint64_t(mode) | (ptx::bytesOf(t) == 8 ? 2 : 0) | 4;
}

enum class Reduction : uint8_t { Add, Min, Max, And, Or, Xor };
struct ReduxForm : Extra { Reduction op; Type type; bool abs, nan; };
Step redux(Warp &w, const Inst &i) {
  const ReduxForm &f = *static_cast<const ReduxForm *>(i.extra);
  uint32_t lanes;
  if (!gatherWarp(w, i, w.reg<uint32_t>(i.r[2])[__builtin_ctz(w.active)], lanes))
    return Step::Park;
  const uint32_t *a = w.reg<uint32_t>(i.r[1]);
  bool first = true, anyNan = false;
  uint32_t r = 0;
  eachLane(lanes, [&](int l) {
    uint32_t v = a[l];
    if (f.type == Type::F32) {
      if (f.abs)
        v &= 0x7fffffff;
      float x, y;
      std::memcpy(&x, &v, 4);
      std::memcpy(&y, &r, 4);
      if (std::isnan(x)) {
        anyNan = true;
        return;
      }
      if (first || (f.op == Reduction::Min ? x < y || (x == y && std::signbit(x)) : x > y || (x == y && !std::signbit(x))))
        r = v;
    } else if (first) {
      r = v;
    } else {
      switch (f.op) {
      case Reduction::Add: r += v; break;
      case Reduction::And: r &= v; break;
      case Reduction::Or: r |= v; break;
      case Reduction::Xor: r ^= v; break;
      case Reduction::Min: r = f.type == Type::S32 ? uint32_t(std::min(int32_t(r), int32_t(v))) : std::min(r, v); break;
      case Reduction::Max: r = f.type == Type::S32 ? uint32_t(std::max(int32_t(r), int32_t(v))) : std::max(r, v); break;
      }
    }
    first = false;
  });
  if (f.type == Type::F32 && (first || (f.nan && anyNan)))
    r = 0x7fffffff;
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int) { return r; });
  return Step::Next;
}
void decodeRedux(Decoder &d) {
  d.mods.take(".sync");
  int op = d.mods.oneOf({".add", ".min", ".max", ".and", ".or", ".xor"});
  ReduxForm *f = d.extra<ReduxForm>();
  f->abs = d.mods.take(".abs");
  f->nan = d.mods.take(".NaN");
  f->type = d.needType("a");
  d.count(3, 3);
  if (op < 0 || ptx::bytesOf(f->type) != 4 || (f->type == Type::F32 && op != 1 && op != 2))
    d.fail("this redux is not defined");
  f->op = Reduction(op);
  uint32_t a = d.src(d.op(1), f->type), m = d.src(d.op(2), Type::U32), r = d.dst(d.op(0), 4);
  Inst &i = d.emit(redux);
  i.r[0] = r, i.r[1] = a, i.r[2] = m;
  i.imm = 1;
  i.extra = f;
}

/// elect.sync d|p, members: the leader is the lowest lane under the fixed policies, any under the random one.
Step elect(Warp &w, const Inst &i) {
  uint32_t lanes;
  if (!gatherWarp(w, i, w.reg<uint32_t>(i.r[1])[__builtin_ctz(w.active)], lanes))
    return Step::Park;
  uint32_t leader = uint32_t(__builtin_ctz(lanes));
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int) { return leader; });
  uint32_t &p = w.pred(i.r[2]);
  p = kLaneBit[leader] | (p & ~lanes);
  return Step::Next;
}
void decodeElect(Decoder &d) {
  if (!d.mods.take(".sync"))
    d.fail("'elect' needs .sync");
  d.count(2, 2);
  if (d.op(0).kind != Operand::Pair)
    d.fail("'elect.sync' writes d|p");
  uint32_t m = d.src(d.op(1), Type::U32), r = d.dst(d.op(0).parts[0], 4), p = d.dstPred(d.op(0).parts[1]);
  Inst &i = d.emit(elect);
  i.r[0] = r, i.r[1] = m, i.r[2] = p;
  i.imm = 1;
}

Step activeMask(Warp &w, const Inst &i) {
  uint32_t m = w.active;
  forLanes(w, w.reg<uint32_t>(i.r[0]), [=](int) { return m; });
  return Step::Next;
}
void decodeActiveMask(Decoder &d) {
  d.needType("the .b32");
  d.count(1, 1);
  uint32_t r = d.dst(d.op(0), 4);
  d.emit(activeMask).r[0] = r;
}

} // namespace

void addWarpOps(OpcodeTable &t) {
  t.add({"shfl"}, decodeShuffle);
  t.add({"vote"}, decodeVote);
  t.add({"match"}, decodeMatch);
  t.add({"redux"}, decodeRedux);
  t.add({"elect"}, decodeElect);
  t.add({"activemask"}, decodeActiveMask);
}

} // namespace fovea::emulator
