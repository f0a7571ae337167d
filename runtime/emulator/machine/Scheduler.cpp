// runtime/emulator/machine/Scheduler.cpp - the scheduler of one cluster and the host threads that share a grid.
#include "runtime/emulator/machine/Scheduler.h"
#include "runtime/emulator/machine/Decoder.h"
#include <algorithm>
#include <thread>

namespace fovea::emulator {

/// One group until it parks, ends, yields or has used up its quantum. Observers see an exact Warp::instructions.
template <bool Watched> static uint64_t runGroup(Warp &w, Group &first, uint64_t quantum) {
  w.group = &first;
  const Inst *code = w.code->insts.data();
  uint64_t n = 0, before = w.instructions;
  while (n < quantum) {
    Group &g = *w.group;
    const Inst &i = code[g.pc];
    uint32_t active = g.mask & (w.pred(i.guard) ^ i.guardXor);
    ++n;
    if (!active) {
      ++g.pc;
      continue;
    }
    w.active = active;
    if (Watched)
      w.instructions = before + n;
    Step s = i.run(w, i);
    if (s == Step::Next) {
      ++g.pc;
      continue;
    }
    if (s == Step::Jump) {
      if (!w.group)
        break;
      continue;
    }
    if (s == Step::Yield)
      ++g.pc;
    break;
  }
  w.instructions = before + n;
  return n;
}

static bool finished(Cluster &c) {
  for (auto &cta : c.ctas)
    if (cta->liveThreads)
      return false;
  return true;
}

/// One turn for each warp that can run. Returns the instructions executed.
static uint64_t turn(Cluster &c, std::vector<Warp *> &warps) {
  AsyncPolicy policy = c.launch->config->policy;
  bool random = policy == AsyncPolicy::Random, watched = c.launch->config->observer;
  uint64_t total = 0;
  if (random)
    std::shuffle(warps.begin(), warps.end(), c.rng);
  for (Warp *w : warps) {
    size_t n = w->groups.size();
    if (!n)
      continue;
    // The first runnable group; with several, the last one that ran goes to the back so that spinning starves nobody.
    size_t pick = n;
    size_t start = random && n > 1 ? c.rng() % n : 0;
    for (size_t k = 0; k < n; ++k)
      if (w->groups[(start + k) % n].wait.kind == Wait::None) {
        pick = (start + k) % n;
        break;
      }
    if (pick == n)
      continue;
    uint64_t quantum = random ? 16 + c.rng() % 512 : 2048;
    total += watched ? runGroup<true>(*w, w->groups[pick], quantum) : runGroup<false>(*w, w->groups[pick], quantum);
    if (w->groups.size() > 1 && w->group)
      std::rotate(w->groups.begin() + long(w->group - w->groups.data()), w->groups.begin() + long(w->group - w->groups.data()) + 1, w->groups.end());
    w->group = nullptr;
    if (random && !c.async.idle() && c.rng() % 4 == 0)
      c.async.pump(c, true);
  }
  return total;
}

std::string describeWaits(Cluster &c) {
  std::string s;
  int lines = 0;
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      for (Group &g : w->groups) {
        if (++lines > 24)
          return s + "\n  ...";
        s += "\n  block rank " + std::to_string(cta->rank) + " warp " + std::to_string(w->id);
        if (g.mask != w->begun)
          s += " (" + std::to_string(__builtin_popcount(g.mask)) + " threads)";
        s += ", line " + std::to_string(w->code->insts[g.pc].line) + ": ";
        switch (g.wait.kind) {
        case Wait::Mbarrier: {
          uint32_t offset = uint32_t(g.wait.key);
          Mbarrier *b = cta->mbarriers.find(offset);
          s += "waits for phase " + std::to_string(g.wait.detail) + " of the mbarrier at shared address " + std::to_string(offset);
          if (b)
            s += " (init at line " + std::to_string(b->line) + ", " + std::to_string(b->pending) + " of " + std::to_string(b->expected) +
                 " arrivals missing, " + std::to_string(b->tx) + " bytes missing)";
          break;
        }
        case Wait::NamedBarrier: {
          NamedBarrier &b = cta->barriers[g.wait.key & 15];
          s += "waits at named barrier " + std::to_string(g.wait.key) + " (" + std::to_string(b.arrived) + " of " + std::to_string(g.wait.detail) + " threads arrived)";
          break;
        }
        case Wait::ClusterBarrier: s += "waits at the cluster barrier (" + std::to_string(c.arrived) + " threads arrived)"; break;
        case Wait::Registers: s += "waits for " + std::to_string(g.wait.detail) + " registers, the pool has " + std::to_string(cta->registerPool); break;
        case Wait::TmemAlloc: s += "waits for " + std::to_string(g.wait.detail) + " columns of tensor memory"; break;
        case Wait::BulkGroup: s += "waits for bulk copies"; break;
        case Wait::CpAsync: s += "waits for cp.async copies"; break;
        case Wait::Wgmma: s += "waits for wgmma groups that other warps of the warp group have not issued"; break;
        case Wait::WarpSync: s += "waits for the other threads of its warp at a .sync instruction"; break;
        case Wait::Tcgen: s += "waits for tcgen05 operations"; break;
        case Wait::PairPeer: s += "waits for the other block of its pair"; break;
        case Wait::None: s += "can run"; break;
        }
      }
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      for (Join &j : w->joins)
        if (j.used && j.arrived)
          s += "\n  block rank " + std::to_string(cta->rank) + " warp " + std::to_string(w->id) + ": " +
               std::to_string(__builtin_popcount(j.arrived)) + " threads wait to reconverge at line " + std::to_string(w->code->insts[j.pc].line);
  return s;
}

bool runCluster(Cluster &c, uint64_t budget) {
  std::vector<Warp *> warps;
  for (auto &cta : c.ctas)
    for (auto &w : cta->warps)
      warps.push_back(w.get());
  int idleRounds = 0;
  uint64_t lastProgress = c.progress, done = 0, sincePump = 0;
  while (!finished(c)) {
    if (c.launch->stop.load(std::memory_order_relaxed))
      return true;
    uint64_t n = turn(c, warps);
    done += n;
    sincePump += n;
    if (n && c.launch->executed.fetch_add(n, std::memory_order_relaxed) + n > c.launch->config->limit)
      throw LocatedFault("limit: the kernel executed more than " + std::to_string(c.launch->config->limit) +
                             " warp instructions (FOVEA_EMULATE_LIMIT); it may be in an endless loop:" + describeWaits(c), nullptr, 0, -1);
    if (!n) {
      // Everybody waits: time for what is pending, then for waits that may give up, then it is a deadlock.
      sincePump = 0;
      if (!c.async.idle()) {
        c.async.pump(c, c.launch->config->policy == AsyncPolicy::Random);
        continue;
      }
      if (finished(c))
        break;
      if (c.progress != lastProgress) {
        lastProgress = c.progress;
        idleRounds = 0;
      }
      bool any = false;
      if (idleRounds < 3) {
        ++idleRounds;
        for (Warp *w : warps)
          for (Group &g : w->groups)
            if (g.wait.kind == Wait::Mbarrier) {
              g.wait = {};
              g.timedOut = any = true;
            }
      }
      if (!any)
        for (Warp *w : warps)
          any |= forceJoins(*w);
      if (!any)
        throw LocatedFault("deadlock: no thread can go on and nothing is pending" + describeWaits(c), nullptr, 0, -1);
    } else if (sincePump > (1u << 16)) {
      // Threads that poll memory must see asynchronous work end at some time.
      sincePump = 0;
      c.async.pump(c, false);
    }
    if (done >= budget || c.polls >= kPolls)
      return false;
  }
  return true;
}

void finishCluster(Cluster &c) {
  c.async.drain(c);
  for (auto &cta : c.ctas)
    if (cta->tmem && !cta->tmem->live().empty())
      throw LocatedFault("tmem: the block ended with " + std::to_string(cta->tmem->live()[0].count) + " columns of tensor memory at column " +
                             std::to_string(cta->tmem->live()[0].column) + " still allocated", nullptr, 0, -1);
  if (Observer *o = c.launch->config->observer)
    o->clusterEnd(c);
}

/// A host thread: takes clusters from the grid; one that runs long gets company, so that blocks which wait for each
/// other through global memory make progress as far as a chip's residency allows.
static void worker(Launch &launch, uint64_t maxResident) {
  constexpr uint64_t kLong = 8u << 20, kTurn = 256u << 10;  // instructions: before there is company (at once for one that polls), and until its turn
  std::vector<std::unique_ptr<Cluster>> resident;
  size_t at = 0;
  uint64_t sinceNew = 0;
  bool more = true;
  while (!launch.stop) {
    if (more && (resident.empty() || (sinceNew >= kLong && resident.size() < maxResident))) {
      sinceNew = 0;
      uint64_t index = launch.nextCluster.fetch_add(1);
      if (index < launch.clusterCount) {
        resident.push_back(makeCluster(launch, index));
        at = resident.size() - 1;
      } else {
        more = false;
      }
    }
    if (resident.empty())
      return;
    at %= resident.size();
    Cluster &c = *resident[at];
    const Warp *where = nullptr;
    try {
      uint64_t budget = resident.size() > 1 ? kTurn : kLong;
      if (runCluster(c, budget)) {
        if (!launch.stop)
          finishCluster(c);
        resident.erase(resident.begin() + long(at));
        at = resident.empty() ? 0 : at % resident.size();
        if (resident.empty())
          continue;
      } else {
        sinceNew += c.polls >= kPolls ? kLong : budget;
        c.polls = 0;
        at = (at + 1) % resident.size();
      }
    } catch (const LocatedFault &f) {
      addFinding(launch, f.warp, f.line, f.lane, false, f.what());
      launch.stop = true;
    } catch (const std::exception &f) {
      for (auto &cta : c.ctas)
        for (auto &w : cta->warps)
          if (w->group)
            where = w.get();
      addFinding(launch, where, where ? where->code->insts[where->group->pc].line : 0, -1, false, f.what());
      launch.stop = true;
    }
  }
}

Report runKernel(const Code &code, const LaunchConfig &config, AddressSpace &memory, std::function<std::string(uint32_t)> lineText,
                 std::function<std::string(uint32_t)> fileName) {
  Launch launch;
  launch.code = &code;
  launch.config = &config;
  launch.memory = &memory;
  launch.lineText = std::move(lineText);
  launch.fileName = std::move(fileName);
  uint64_t perCluster = uint64_t(config.cluster[0]) * config.cluster[1] * config.cluster[2];
  uint64_t blocks = uint64_t(config.grid[0]) * config.grid[1] * config.grid[2];
  launch.clusterCount = perCluster ? blocks / perCluster : 0;
  unsigned threads = config.threads ? config.threads : std::max(1u, std::thread::hardware_concurrency());
  threads = unsigned(std::min<uint64_t>(threads, std::max<uint64_t>(1, launch.clusterCount)));
  uint64_t resident = std::max<uint64_t>(1, config.smCount / perCluster / threads);
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t)
    pool.emplace_back([&] { worker(launch, resident); });
  worker(launch, resident);
  for (std::thread &t : pool)
    t.join();
  if (code.serialWgmma && config.observer)
    addFinding(launch, nullptr, code.serialWgmmaLine, -1, true,
               "wgmma: a register of a wgmma.mma_async is touched before the wait_group that ends it; the ISA leaves the value open, ptxas serialises the kernel's wgmmas");
  if (code.earlyTmemUseLine && config.observer)
    addFinding(launch, nullptr, code.earlyTmemUseLine, -1, true,
               "tmem: the result of a tcgen05.ld is used before tcgen05.wait::ld; a chip honours the register dependence, the ISA promises the value only after the wait");
  if (code.unfencedWgmmaLine && config.observer)
    addFinding(launch, nullptr, code.unfencedWgmmaLine, -1, true,
               "fence: no wgmma.fence between another use of its registers (or the beginning of the kernel) and this wgmma.mma_async");
  launch.report.warpInstructions = launch.executed;
  return launch.report;
}

} // namespace fovea::emulator
