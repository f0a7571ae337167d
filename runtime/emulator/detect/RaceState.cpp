// runtime/emulator/detect/RaceState.cpp - views of warps and their lanes.
#include "runtime/emulator/detect/RaceState.h"

namespace fovea::emulator {

namespace {
template <bool Later> inline __attribute__((always_inline)) void merge(uint32_t *__restrict to, const uint32_t *__restrict from, size_t n) {
  for (size_t k = 0; k < n; ++k)
    to[k] = Later ? std::max(to[k], from[k]) : std::min(to[k], from[k]);
}
#ifdef __x86_64__
template <bool Later> __attribute__((target("avx2"))) void mergeAvx2(uint32_t *to, const uint32_t *from, size_t n) { merge<Later>(to, from, n); }
#endif
template <bool Later> void mergeHere(uint32_t *to, const uint32_t *from, size_t n) {
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2)
    return mergeAvx2<Later>(to, from, n);
#endif
  merge<Later>(to, from, n);
}
} // namespace

// A clock may be merged into itself: nothing changes then.
void Clock::latest(uint32_t *to, const uint32_t *from, size_t n) {
  if (to != from)
    mergeHere<true>(to, from, n);
}
void Clock::earliest(uint32_t *to, const uint32_t *from, size_t n) {
  if (to != from)
    mergeHere<false>(to, from, n);
}

BarrierView &ClusterState::barrier(const Cta &owner, uint32_t offset) {
  auto [it, fresh] = mbarriers.try_emplace(key(owner, offset));
  if (fresh)
    it->second.actor = actors++;
  return it->second;
}

void ClusterState::meetTmem(const Warp &w, View &v) const {
  uint32_t index = indexOf(w);
  const WarpState &ws = warps[index];
  for (int store = 0; store < 2; ++store) {
    uint32_t actor = actorOf(index, store ? TmemStores : TmemLoads);
    v.happened.raise(actor, ws.waited[store]);
    v.tensorOut.raise(actor, ws.fencedTmem[store]);
  }
}

void ClusterState::raiseOwn(const Warp &w, uint32_t lanes, View &to) {
  const uint32_t index = indexOf(w), step = warps[index].step;
  if (whole(w, lanes)) {
    meetTmem(w, to);
    if (w.live == w.begun)
      return to.happened.raise(actorOf(index, Self), step);
  }
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto [actor, fresh] = laneActors.try_emplace(index * 32 + uint32_t(__builtin_ctz(m)), actors);
    actors += fresh;
    to.happened.raise(actor->second, step);
  }
  // Lanes that run together have executed all that stands before, which chips keep and the ISA does not promise.
  if (w.group && whole(w, w.group->mask))
    to.weak.raise(actorOf(index, Self), step);
}

void ClusterState::publish(const Warp &w, uint32_t lanes, View &to) {
  WarpState &ws = self(w);
  to.release(ws.view);
  for (auto &[lane, view] : ws.own)
    if (lanes & kLaneBit[lane] || whole(w, lanes))
      to.release(view);
  raiseOwn(w, lanes, to);
}

void ClusterState::know(const Warp &w, uint32_t lanes, View &v) {
  WarpState &ws = self(w);
  v = ws.view;
  for (auto &[lane, view] : ws.own)
    if (lanes & kLaneBit[lane] || whole(w, lanes))
      v.unite(view);
  raiseOwn(w, lanes, v);
}

void ClusterState::meetPublished(const Warp &w, View &v) {
  const uint32_t index = indexOf(w);
  const WarpState &ws = warps[index];
  if (!ws.own.empty() || w.live != w.begun) {
    View theirs;
    publish(w, w.live, theirs);
    v.happened.meet(theirs.happened);
    v.proxied.meet(theirs.proxied);
    return;
  }
  // The same without a copy of the view.
  const std::pair<uint32_t, uint32_t> raised[] = {{actorOf(index, TmemLoads), ws.waited[0]}, {actorOf(index, TmemStores), ws.waited[1]}, {actorOf(index, Self), ws.step}};
  uint32_t before[3];
  for (int k = 0; k < 3; ++k)
    before[k] = v.happened[raised[k].first];
  v.happened.meet(ws.view.happened);
  v.proxied.meet(ws.view.proxied);
  for (int k = 0; k < 3; ++k)
    v.happened.raise(raised[k].first, std::min(before[k], raised[k].second));
}

const View &ClusterState::known(const Warp &w, unsigned lane) {
  WarpState &ws = self(w);
  if (!ws.own.empty())
    if (auto it = ws.own.find(lane); it != ws.own.end())
      return it->second;
  return ws.view;
}

void ClusterState::synchronise(const Warp &w, uint32_t lanes) {
  WarpState &ws = self(w);
  View v;
  know(w, lanes, v);
  if (whole(w, lanes)) {
    ws.own.clear();
    ws.view = std::move(v);
  } else {
    for (uint32_t m = lanes; m; m &= m - 1)
      ws.own[uint32_t(__builtin_ctz(m))] = v;
  }
  tick(w);
}

bool ClusterState::ordered(const Mark &earlier, const Mark &now, const Clock &seen) const {
  if (!earlier.step)
    return true;
  // Program order; lanes of one warp have none among each other.
  if (earlier.actor == now.actor && (!earlier.lanes || !now.lanes || earlier.lanes == now.lanes))
    return true;
  // A warp's own tcgen05.ld and st, which it executes as one.
  auto ownTmem = [&](uint32_t actor) { return actor < warps.size() * Engines && (actor % Engines == TmemLoads || actor % Engines == TmemStores); };
  if (ownTmem(earlier.actor) && ownTmem(now.actor) && earlier.actor / Engines == now.actor / Engines)
    return warps[earlier.actor / Engines].waited[earlier.actor % Engines == TmemStores] >= earlier.step;
  if (earlier.actor >= kLoadActor)
    return loads->over(earlier.actor - kLoadActor, seen);
  if (earlier.actor >= kWgmmaActor) {
    for (uint32_t k = 0; k < 4; ++k)
      if (seen[actorOf(earlier.actor - kWgmmaActor + k, WgmmaPipe)] < earlier.step)
        return false;
    return true;
  }
  if (seen[earlier.actor] >= earlier.step)
    return true;
  for (uint32_t m = earlier.lanes; m; m &= m - 1) {
    auto actor = laneActors.find(earlier.warp * 32u + uint32_t(__builtin_ctz(m)));
    if (actor == laneActors.end() || seen[actor->second] < earlier.step)
      return false;
  }
  return earlier.lanes != 0;
}

bool ClusterState::proxied(const Mark &written, const View &seen) const {
  if (seen.proxied[written.actor] >= written.step)
    return true;
  for (uint32_t m = written.lanes; m; m &= m - 1) {
    auto actor = laneActors.find(written.warp * 32u + uint32_t(__builtin_ctz(m)));
    if (actor == laneActors.end() || seen.proxied[actor->second] < written.step)
      return false;
  }
  return written.lanes != 0;
}

Mark ClusterState::mark(const Warp &w, uint32_t line, uint32_t actor, uint32_t step, bool generic) const {
  Mark m;
  m.actor = actor;
  m.step = step;
  m.line = line;
  m.warp = uint16_t(indexOf(w));
  m.generic = generic;
  return m;
}

Mark ClusterState::laneMark(const Warp &w, uint32_t line, unsigned lane) {
  WarpState &ws = self(w);
  if (line != ws.lastLine || lane <= ws.lastLane)
    ++ws.instance;
  ws.lastLine = line;
  ws.lastLane = lane;
  Mark m = mark(w, line, actorOf(indexOf(w), Self), use(w), true);
  m.lanes = kLaneBit[lane];
  m.instance = ws.instance;
  return m;
}

} // namespace fovea::emulator
