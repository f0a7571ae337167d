// runtime/emulator/detect/RaceMemory.cpp - shadows of shared and tensor memory, and the words of a report.
#include "runtime/emulator/detect/RaceMemory.h"
#include <cstdio>

namespace fovea::emulator {

std::string RaceMemory::describe(Cluster &c, const Place &at) const {
  char text[80];
  if (!at.owner)
    return "global memory at " + c.launch->memory->describe(at.address);
  if (at.space[0] == 't')
    std::snprintf(text, sizeof text, "tensor memory at lane %u, column %u", unsigned(at.address >> 16), unsigned(at.address & 0xffff));
  else
    std::snprintf(text, sizeof text, "%s at shared address 0x%x", at.space, unsigned(at.address));
  std::string s = text;
  if (c.ctas.size() > 1)
    s += " of block rank " + std::to_string(at.owner->rank);
  return s;
}

static std::string by(const ClusterState &s, const Mark &m) {
  std::string text = "line " + std::to_string(m.line) + " (warp " + std::to_string(m.warp % s.warpsPerCta);
  if (m.lanes && !(m.lanes & (m.lanes - 1)))
    text += " lane " + std::to_string(__builtin_ctz(m.lanes));
  return text + ")";
}

void RaceMemory::conflict(Cluster &c, const Mark &earlier, const Mark &now, bool earlierWrites, bool nowWrites, const Place &at, Pair kind, Warp &w,
                          bool weakly) {
  ClusterState &s = ClusterState::of(c);
  if (!s.said.insert({earlier.line, now.line, int(kind) + (weakly ? 8 : 0)}).second)
    return;
  std::string where = describe(c, at), text;
  bool warning = false;
  if (kind == Pair::Proxy) {
    text = "fence: line " + std::to_string(now.line) + " reads " + where + " through the asynchronous proxy, written by an ordinary store at " + by(s, earlier) +
           " with no fence.proxy.async between";
  } else {
    text = std::string("race: ") + (nowWrites ? "write" : "read") + " at line " + std::to_string(now.line) + " of " + where + " is not ordered after the " +
           (earlierWrites ? "write" : "read") + " at " + by(s, earlier);
    if (earlier.actor == now.actor) {
      // Lanes that happen to run together keep the order of the text; the ISA promises it after bar.warp.sync only.
      text += earlier.instance == now.instance ? ": threads of one warp store to one place" : ": threads of one warp with no bar.warp.sync between";
      warning = true;
    }
    if (weakly)
      text += !at.owner && nowWrites && earlierWrites && !now.generic ? ": both store one value"
              : c.ctas.size() > 1 ? ": only a .relaxed barrier, or one thread of a warp that did not meet (bar.warp.sync), stands between"
                                  : ": the warp did not meet (bar.warp.sync) before one of its threads told others";
    warning |= weakly;
    // All threads storing one value to one place is common (a role table, a cleared flag) and harmless.
    warning |= earlier.line == now.line && earlierWrites && nowWrites && earlier.generic && now.generic;
  }
  Earlier e;
  e.line = earlier.line;
  e.warp = int(earlier.warp % s.warpsPerCta);
  std::copy(c.ctas[earlier.warp / s.warpsPerCta]->id, c.ctas[earlier.warp / s.warpsPerCta]->id + 3, e.cta);
  e.address = where;
  int lane = now.lanes && !(now.lanes & (now.lanes - 1)) ? __builtin_ctz(now.lanes) : -1;
  c.report(&w, now.line, lane, warning, text, &e);
}

void RaceMemory::checkInit(Cluster &c, const BarrierView &b, const Cta &owner, uint32_t offset, const Mark &m, const View &seen, Warp &w) {
  ClusterState &s = ClusterState::of(c);
  if (!s.ordered(b.init, m, seen.happened))
    return conflict(c, b.init, m, true, false, {"an mbarrier (its init)", offset, &owner}, Pair::Race, w);
  // The asynchronous proxy (copies, the tensor core) must see the init too. Proven compilers leave the fence out.
  if (m.generic || !b.init.step || s.proxied(b.init, seen))
    return;
  if (s.said.insert({b.init.line, 0, 3}).second)
    c.report(&w, m.line, -1, true, "fence: the asynchronous operation of line " + std::to_string(m.line) + " signals an mbarrier whose init at line " +
                                       std::to_string(b.init.line) + " is not made visible to it (fence.proxy.async or fence.mbarrier_init after the init)");
}

void RaceMemory::noteUnwritten(uint32_t line, const Place &at) {
  std::lock_guard<std::mutex> hold(notesLock);
  for (const UnwrittenRead &n : notes)
    if (n.line == line)
      return;
  if (notes.size() < 64)
    notes.push_back({line, at.space, at.address});
}
std::vector<UnwrittenRead> RaceMemory::unwrittenReads() const {
  std::lock_guard<std::mutex> hold(notesLock);
  return notes;
}

void RaceMemory::touch(Cluster &c, Granule &g, bool write, const Mark &m, const View &seen, const Place &at, Warp &w) {
  ClusterState &s = ClusterState::of(c);
  for (const Mark &e : g.writes) {
    if (!(e.bytes & m.bytes))
      continue;
    if (!s.ordered(e, m, seen.happened)) {
      conflict(c, e, m, true, write, at, Pair::Race, w, s.ordered(e, m, seen.weak));
    } else if (!write && !m.generic && e.generic && e.step && e.actor != m.actor && !s.proxied(e, seen)) {
      conflict(c, e, m, true, write, at, Pair::Proxy, w);
    }
  }
  if (write) {
    auto after = [&](const Mark &e) {
      if ((e.bytes & m.bytes) && !(e.actor == m.actor && e.instance == m.instance) && !s.ordered(e, m, seen.happened))
        conflict(c, e, m, false, true, at, Pair::Race, w, s.ordered(e, m, seen.weak));
    };
    std::for_each(g.reads, g.reads + 4, after);
    std::for_each(g.moreReads.begin(), g.moreReads.end(), after);
    g.written |= m.bytes;
    // Older marks that the new write covers are history.
    for (Mark &e : g.reads)
      if (!(e.bytes & ~m.bytes))
        e = Mark();
    g.moreReads.removeIf([&](const Mark &e) { return !(e.bytes & ~m.bytes); });
    if (!(g.writes[0].bytes & ~m.bytes))
      g.writes[0] = m;
    else if (!(g.writes[1].bytes & ~m.bytes))
      g.writes[1] = m;
    else {
      g.writes[1] = g.writes[0];
      g.writes[0] = m;
    }
    if (!(g.writes[1].bytes & ~m.bytes) && &g.writes[1] != &g.writes[0] && g.writes[0].step == m.step && g.writes[0].actor == m.actor)
      g.writes[1] = Mark();
    return;
  }
  if ((m.bytes & ~g.written) && s.said.insert({m.line, 0, 5}).second)
    noteUnwritten(m.line, at);
  auto merge = [&](Mark &e, bool covered) {
    uint8_t bytes = e.bytes | m.bytes;
    uint32_t lanes = covered ? m.lanes : e.lanes | m.lanes;
    e = m;
    e.bytes = bytes;
    e.lanes = lanes;
  };
  for (Mark &e : g.reads)
    if (e.step && e.actor == m.actor)
      return merge(e, s.ordered(e, m, seen.happened));
  for (Mark &e : g.moreReads)
    if (e.actor == m.actor)
      return merge(e, s.ordered(e, m, seen.happened));
  for (Mark &e : g.reads)
    if (!e.step || s.ordered(e, m, seen.happened)) {  // a read that is ordered before this one is covered by it
      if (!e.step)
        e.bytes = 0;
      return merge(e, true);
    }
  g.moreReads.add(m);
}

/// What the owner of a block did there, as marks.
static void settle(OwnBlock &o, Granule &g) {
  auto mark = [&](const OwnBlock::Last &last) {
    Mark m;
    if (last.step) {
      m.warp = uint16_t((o.owner - 1) / 32);
      m.actor = ClusterState::actorOf(m.warp, Self);
      m.step = last.step, m.line = last.line, m.instance = last.instance;
      m.lanes = kLaneBit[(o.owner - 1) % 32];
      m.bytes = 15;
    }
    return m;
  };
  g = Granule();
  g.writes[0] = mark(o.write);
  g.reads[0] = mark(o.read);
  g.written = 15;
  o.owner = 0;
}

void RaceMemory::touchShared(Cluster &c, Cta &owner, uint32_t offset, uint32_t bytes, bool write, Mark m, const View &seen, Warp &w) {
  SharedShadow &shadow = ClusterState::of(c).shared[owner.rank];
  uint32_t limit = uint32_t(shadow.own.size() * 16);  // the operation itself says that it leaves the block's memory
  for (uint32_t at = offset, end = std::min(limit, offset + bytes); at < end;) {
    uint32_t block = at / 16, stop = std::min(end, (block + 1) * 16);
    if (at % 16 == 0 && end - at >= 32) {
      uint32_t page = at & ~1023u, last = std::min(end & ~15u, page + 1024), n = (last - at) / 16;
      touchSharedBlocks(c, owner, page, n == 64 ? ~uint64_t(0) : ((uint64_t(1) << n) - 1) << (at - page) / 16, write, m, seen, w);
      at = last;
      continue;
    }
    if (OwnBlock &o = shadow.own[block]; o.owner)
      settle(o, *shadow.granules.whole(block));
    if (stop - at == 16) {
      m.bytes = 15;
      shadow.granules.visit(at / 4, 4, write ? &m : nullptr, [&](Granule &g, uint32_t) { touch(c, g, write, m, seen, {"shared memory", at, &owner}, w); });
      Granule *g = write && m.lanes && m.generic ? shadow.granules.whole(block) : nullptr;
      if (g && g->holdsOnly(m)) {
        OwnBlock &o = shadow.own[block];
        o.owner = m.warp * 32u + uint32_t(__builtin_ctz(m.lanes)) + 1;
        o.write = {m.step, m.line, m.instance};
        o.read = {};
      }
    }
    for (uint32_t k = stop - at == 16 ? stop : at; k < stop;) {
      uint32_t next = std::min(stop, (k / 4 + 1) * 4);
      m.bytes = uint8_t(((1u << (next - k)) - 1) << (k % 4));
      touch(c, shadow.granules.at(k / 4), write, m, seen, {"shared memory", k, &owner}, w);
      k = next;
    }
    at = stop;
  }
}

void RaceMemory::touchSharedBlocks(Cluster &c, Cta &owner, uint32_t page, uint64_t blocks, bool write, Mark m, const View &seen, Warp &w) {
  SharedShadow &shadow = ClusterState::of(c).shared[owner.rank];
  size_t left = shadow.own.size() - std::min(shadow.own.size(), size_t(page / 16));
  if (left < 64)
    blocks &= (uint64_t(1) << left) - 1;
  if (!blocks)
    return;
  OwnBlock *own = &shadow.own[page / 16];
  if (!shadow.granules.together(page / 1024))
    for (uint64_t rest = blocks; rest; rest &= rest - 1)
      if (uint32_t k = uint32_t(__builtin_ctzll(rest)); own[k].owner)
        settle(own[k], *shadow.granules.whole(page / 16 + k));
  m.bytes = 15;
  shadow.granules.visitBlocks(page / 1024, blocks, write ? &m : nullptr,
                              [&](Granule &g, uint32_t at) { touch(c, g, write, m, seen, {"shared memory", at * 4, &owner}, w); });
}

/// Columns of a group of 16 lanes: the first granule, and how many there are.
static std::pair<uint32_t, uint32_t> columnsOf(uint32_t address, uint32_t columns) {
  uint32_t group = (address >> 16) / 16, column = address & 0xffff;
  return {group * 512 + column, group < 8 && column < 512 ? std::min(columns, 512 - column) : 0};
}

void RaceMemory::checkTensorFences(Cluster &c, Cta &owner, uint32_t address, uint32_t columns, bool write, const Mark &m, const View &seen, Warp &w) {
  ClusterState &s = ClusterState::of(c);
  auto &shadow = s.tmem[owner.rank];
  uint32_t self = s.indexOf(w);
  auto check = [&](const Mark &e) {
    bool own = e.actor == m.actor || (e.actor / Engines == self && e.actor % Engines != TensorPipe) || e.generic;
    if (!e.step || own || !s.ordered(e, m, seen.happened) || seen.tensor[e.actor] >= e.step || !s.said.insert({e.line, m.line, 2}).second)
      return;
    c.report(&w, m.line, -1, true,
             "fence: tensor memory accessed at line " + std::to_string(m.line) + " after " + by(s, e) +
                 " without tcgen05.fence::before_thread_sync there and ::after_thread_sync here");
  };
  auto [first, n] = columnsOf(address, columns);
  shadow.visit(first, n, nullptr, [&](Granule &g, uint32_t) {
    check(g.writes[0]);
    if (write)
      for (const Mark &e : g.reads)
        check(e);
  });
}

void RaceMemory::touchTmem(Cluster &c, Cta &owner, uint32_t address, uint32_t columns, bool write, Mark m, const View &seen, Warp &w) {
  auto &shadow = ClusterState::of(c).tmem[owner.rank];
  m.bytes = 1;
  auto [first, n] = columnsOf(address, columns);
  shadow.visit(first, n, write ? &m : nullptr, [&](Granule &g, uint32_t) {
    touch(c, g, write, m, seen, {"tensor memory", address, &owner}, w);
  });
}

} // namespace fovea::emulator
