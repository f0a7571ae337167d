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
    const Clock *known = seen.foreign.find(cluster);
    if (known && (e.actor >= kLoadActor ? loadOver(cluster, e.actor, *known) : e.actor < kWgmmaActor && (*known)[e.actor] >= e.step))
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
  g.readBy(s.index, m, strong);
}

void RaceMemory::GlobalCell::readBy(uint64_t index, const Mark &m, bool strong) {
  manyReaders |= read.step && cluster[1] != index;
  bool more = read.step && cluster[1] == index && read.actor == m.actor;
  uint32_t lanes = more ? read.lanes | m.lanes : m.lanes;
  uint8_t bytes = more ? read.bytes | m.bytes : m.bytes;
  read = m;
  read.lanes = lanes;
  read.bytes = bytes;
  cluster[1] = index;
  strongRead = strong;
}

void RaceMemory::begin(const ClusterState &s) {
  std::lock_guard<std::mutex> hold(loadsLock);
  loads[s.index] = s.loads;
}

bool RaceMemory::loadOver(uint64_t cluster, uint32_t actor, const Clock &known) {
  std::lock_guard<std::mutex> hold(loadsLock);
  return loads[cluster]->over(actor - kLoadActor, known);
}

RaceMemory::Page &RaceMemory::pageOf(ClusterState *s, uint64_t page, std::unique_lock<std::mutex> &hold) {
  Shard &shard = shards[page % 64];
  hold = std::unique_lock<std::mutex>(shard.lock);
  ClusterState::NearPage *near = s ? &s->pages[page % 64] : nullptr;
  if (near && near->number == page)
    return *static_cast<Page *>(near->page);
  std::unique_ptr<Page> &p = shard.pages[page];
  if (!p)
    p = std::make_unique<Page>();
  if (near)
    *near = {page, p.get()};
  return *p;
}

template <class F> void RaceMemory::eachCell(ClusterState *s, uint64_t address, uint64_t bytes, bool engineReads, F f) {
  for (uint64_t at = address, end = address + bytes; at < end;) {
    uint64_t page = at >> 10, stop = std::min(end, (page + 1) << 10);
    std::unique_lock<std::mutex> hold;
    Page *p = &pageOf(s, page, hold);
    if (!p->blocks && engineReads && at % 16 == 0 && stop % 16 == 0) {
      uint64_t n = (stop - at) / 16, mask = n == 64 ? ~uint64_t(0) : ((uint64_t(1) << n) - 1) << at / 16 % 64;
      p->histories.visit(mask, [&](GlobalCell &cell, uint32_t block) { f(cell, page << 10 | block * 16, 16, uint8_t(15)); });
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
        f(b.whole, at, 16, uint8_t(15));
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
        f((*b.parts)[at / 4 % 4], at, uint32_t(last - at), uint8_t(((1u << (last - at)) - 1) << (at % 4)));
        at = last;
      }
    }
  }
}

RaceMemory::ReadLog *RaceMemory::logOf(Cluster &c, uint64_t address, uint64_t bytes) {
  ClusterState::Buffer &b = ClusterState::of(c).buffers[address >> 16 & 15];
  if (address - b.begin < b.size && bytes <= b.size - (address - b.begin))
    return static_cast<ReadLog *>(b.log);
  Allocation *a = c.launch->memory->find(address, bytes);
  if (!a)
    return nullptr;
  std::lock_guard<std::mutex> hold(logsLock);
  ReadLog &log = logs[a->base];
  b = {a->base, a->size, &log};
  return &log;
}

bool RaceMemory::ReadLog::add(const Run &n) {
  constexpr size_t kMost = 1u << 20;
  for (size_t k = runs.size(), last = k > 4 ? k - 4 : 0; n.count == 1 && k-- > last;) {  // one row more; host threads take turns
    Run &r = runs[k];
    if (r.cluster != n.cluster || r.bytes != n.bytes || r.mark.actor != n.mark.actor || r.mark.step != n.mark.step || r.mark.line != n.mark.line ||
        r.mark.instance != n.mark.instance)
      continue;
    if (r.count == 1)
      r.stride = n.address - r.address;
    if (n.address != r.address + r.count * r.stride)
      continue;
    ++r.count;
    return true;
  }
  if (runs.size() == kMost)
    return false;
  runs.push_back(n);
  return true;
}

void RaceMemory::close(ReadLog &log) {
  for (Run &r : log.runs)
    for (uint64_t k = 0; k < r.count; ++k)
      eachCell(nullptr, r.address + k * r.stride, r.bytes, true, [&](GlobalCell &cell, uint64_t, uint32_t, uint8_t bytes) {
        r.mark.bytes = bytes;
        cell.readBy(r.cluster, r.mark, false);
      });
  log.runs = {};
  log.open = false;
}

bool RaceMemory::noteRows(Cluster &c, uint64_t address, uint32_t bytes, uint64_t stride, uint32_t count, const Mark &m) {
  ReadLog *log = logOf(c, address, (count - 1) * stride + bytes);
  if (!log || !log->open)
    return false;
  std::lock_guard<std::mutex> hold(log->lock);
  return log->open && log->add({address, stride, ClusterState::of(c).index, bytes, count, m});
}

void RaceMemory::touchGlobal(Cluster &c, uint64_t address, uint64_t bytes, bool write, bool strong, Mark m, const View &seen, Warp &w) {
  const bool engineReads = !write && !m.lanes;
  if (ReadLog *log = logOf(c, address, bytes); log && log->open) {
    std::lock_guard<std::mutex> hold(log->lock);
    if (log->open) {
      if (engineReads && log->add({address, 0, ClusterState::of(c).index, uint32_t(bytes), 1, m}))
        return;
      close(*log);
    }
  }
  eachCell(&ClusterState::of(c), address, bytes, engineReads, [&](GlobalCell &cell, uint64_t at, uint32_t size, uint8_t part) {
    m.bytes = part;
    touchCell(c, cell, write, strong, m, seen, at, size, w);
  });
}

} // namespace fovea::emulator
