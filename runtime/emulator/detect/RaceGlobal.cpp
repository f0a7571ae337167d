// runtime/emulator/detect/RaceGlobal.cpp - races in global memory: inside a cluster by its views, between clusters by what
// atomics and flags told them of each other.
#include "runtime/emulator/detect/RaceMemory.h"

namespace fovea::emulator {

void RaceMemory::foreignConflict(Cluster &c, const Mark &earlier, uint64_t cluster, const Mark &now, bool earlierWrites, bool nowWrites, uint64_t address, Warp &w,
                                 bool sameValue) {
  ClusterState &s = ClusterState::of(c);
  if (!s.said.insert({earlier.line, now.line, sameValue ? 12 : 4}).second)
    return;
  Earlier e;
  e.line = earlier.line;
  e.address = describe(c, {"global memory", address, nullptr});
  // Blocks that all store one value are common and harmless; of ordinary stores the value is not known here.
  bool warning = sameValue || (earlier.line == now.line && earlierWrites && nowWrites && earlier.generic && now.generic);
  c.report(&w, now.line, now.lanes && !(now.lanes & (now.lanes - 1)) ? __builtin_ctz(now.lanes) : -1, warning,
           std::string("race: ") + (nowWrites ? "write" : "read") + " at line " + std::to_string(now.line) + " of " + e.address + " is not ordered after the " +
               (earlierWrites ? "write" : "read") + " at line " + std::to_string(earlier.line) + " by another block (cluster " + std::to_string(cluster) +
               " of the grid)",
           &e);
}

void RaceMemory::touchCell(Cluster &c, GlobalCell &g, bool write, bool strong, const Mark &m, const View &seen, uint64_t address, uint32_t size, Warp &w) {
  ClusterState &s = ClusterState::of(c);
  uint32_t value = 0;
  if (write && !m.generic) {  // an asynchronous write has been carried out when the detector hears of it
    uint32_t words[4] = {};
    c.launch->memory->read(address, words, size);
    for (uint32_t word : words)
      value = (value ^ word) * (size > 4 ? 0x9E3779B1u : 1u);
  }
  bool sameValue = write && !m.generic && g.write.step && !g.write.generic && g.value == value && g.valueBytes == size;
  auto check = [&](const Mark &e, uint64_t cluster, bool earlierWrites, bool earlierStrong) {
    if (!e.step || !(e.bytes & m.bytes) || (strong && earlierStrong))
      return;
    if (cluster == s.index) {
      bool sameInstruction = e.actor == m.actor && e.lanes && e.instance == m.instance && !earlierWrites;
      if (!sameInstruction && !s.ordered(e, m, seen.happened))
        conflict(c, e, m, earlierWrites, write, {"global memory", address, nullptr}, Pair::Race, w, sameValue && earlierWrites);
      else if (earlierWrites && !write && !m.generic && e.generic && e.actor != m.actor && !s.proxied(e, seen))
        conflict(c, e, m, true, false, {"global memory", address, nullptr}, Pair::Proxy, w);
      return;
    }
    auto known = seen.foreign.find(cluster);
    if (known != seen.foreign.end() && e.actor < kWgmmaActor && known->second[e.actor] >= e.step)
      return;
    foreignConflict(c, e, cluster, m, earlierWrites, write, address, w, sameValue && earlierWrites);
  };
  check(g.write, g.cluster[0], true, g.strongWrite);
  if (write) {
    check(g.read, g.cluster[1], false, g.strongRead);
    if (g.manyReaders && g.read.step && g.cluster[1] == s.index && !(strong && g.strongRead) && seen.foreign.empty()) {
      Mark other = g.read;
      other.bytes = m.bytes;
      foreignConflict(c, other, ~uint64_t(0), m, false, true, address, w, false);
    }
    g.read = Mark();
    g.manyReaders = false;
    if (g.write.step && g.cluster[0] == s.index && g.write.actor == m.actor && g.write.lanes != m.lanes && (g.write.bytes & ~m.bytes))
      return;  // neighbours' bytes: the granule remembers one writer
    g.write = m;
    g.cluster[0] = s.index;
    g.strongWrite = strong;
    g.value = value;
    g.valueBytes = m.generic ? 0 : uint8_t(size);
    return;
  }
  g.manyReaders |= g.read.step && g.cluster[1] != s.index;
  bool more = g.read.step && g.cluster[1] == s.index && g.read.actor == m.actor;
  uint32_t lanes = more ? g.read.lanes | m.lanes : m.lanes;
  uint8_t bytes = more ? g.read.bytes | m.bytes : m.bytes;
  g.read = m;
  g.read.lanes = lanes;
  g.read.bytes = bytes;
  g.cluster[1] = s.index;
  g.strongRead = strong;
}

void RaceMemory::touchGlobal(Cluster &c, uint64_t address, uint64_t bytes, bool write, bool strong, Mark m, const View &seen, Warp &w) {
  for (uint64_t at = address, end = address + bytes; at < end;) {
    uint64_t page = at >> 10, stop = std::min(end, (page + 1) << 10);
    Shard &shard = shards[page % 64];
    std::lock_guard<std::mutex> hold(shard.lock);
    std::unique_ptr<Page> &p = shard.pages[page];
    if (!p)
      p = std::make_unique<Page>();
    if (!p->blocks && !write && !m.lanes && at % 16 == 0 && stop % 16 == 0) {
      uint64_t n = (stop - at) / 16, mask = n == 64 ? ~uint64_t(0) : ((uint64_t(1) << n) - 1) << at / 16 % 64;
      m.bytes = 15;
      p->histories.visit(mask, [&](GlobalCell &cell, uint32_t block) { touchCell(c, cell, write, strong, m, seen, page << 10 | block * 16, 16, w); });
      at = stop;
      if (p->histories.size() <= Histories<GlobalCell>::kMost)
        continue;
    }
    if (!p->blocks) {
      p->blocks = std::make_unique<std::array<GlobalBlock, 64>>();
      p->histories.each([&](uint64_t mask, const GlobalCell &cell) {
        for (; mask; mask &= mask - 1)
          (*p->blocks)[size_t(__builtin_ctzll(mask))].whole = cell;
      });
      p->histories.clear();
    }
    while (at < stop) {
      GlobalBlock &b = (*p->blocks)[at / 16 % 64];
      uint64_t end = std::min((at & ~uint64_t(15)) + 16, stop);
      if (end - at == 16 && !b.parts) {
        m.bytes = 15;
        touchCell(c, b.whole, write, strong, m, seen, at, 16, w);
        at = end;
        continue;
      }
      if (!b.parts) {
        b.parts = std::make_unique<std::array<GlobalCell, 4>>();
        b.whole.valueBytes = 0;
        b.parts->fill(b.whole);
      }
      while (at < end) {
        uint64_t last = std::min((at & ~uint64_t(3)) + 4, end);
        m.bytes = uint8_t(((1u << (last - at)) - 1) << (at % 4));
        touchCell(c, (*b.parts)[at / 4 % 4], write, strong, m, seen, at, uint32_t(last - at), w);
        at = last;
      }
    }
  }
}

} // namespace fovea::emulator
