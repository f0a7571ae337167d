// runtime/emulator/machine/Machine.cpp - services for handlers, and the set-up of clusters, CTAs and warps.
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Scheduler.h"

namespace fovea::emulator {

void faultAt(const Warp &w, int lane, const std::string &message) {
  throw LocatedFault(message, &w, w.group ? w.code->insts[w.group->pc].line : 0, lane);
}

void requireConverged(Warp &w, const char *what, bool barrier) {
  if (w.active != w.live)
    faultAt(w, __builtin_ctz(w.active), std::string("warp: ") + what + " is .aligned but only some threads of the warp execute it");
  if (!w.metByBranch || barrier)
    return;
  w.metByBranch = false;
  Cluster &c = *w.cta->cluster;
  if (c.launch->config->observer && w.group)
    c.report(&w, w.code->insts[w.group->pc].line, -1, true,
             std::string("convergence: ") + what + " is .aligned, and the threads of the warp, which took different branches, have met at no bar.warp.sync since");
}

void Observer::globalLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint64_t *addresses, uint32_t bytes) {
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    global(w, i, a, lane, addresses[lane], bytes);
  }
}
void Observer::sharedLanes(Warp &w, const Inst &i, Access a, uint32_t lanes, const uint32_t *offsets, uint32_t bytes) {
  eachLane(lanes, [&](int l) { shared(w, i, a, *w.cta, unsigned(l), offsets[l], bytes); });
}

void Observer::asyncSharedBlocks(Cluster &c, const AsyncOp &op, Proxy p, Access a, Cta &owner, uint32_t page, uint64_t blocks) {
  while (blocks) {
    uint32_t first = uint32_t(__builtin_ctzll(blocks));
    uint64_t rest = ~(blocks >> first);
    uint32_t n = rest ? uint32_t(__builtin_ctzll(rest)) : 64;
    asyncShared(c, op, p, a, owner, page + first * 16, n * 16);
    blocks &= first + n < 64 ? ~uint64_t(0) << (first + n) : 0;
  }
}

Step park(Warp &w, Wait::Kind kind, uint64_t key, uint64_t detail) {
  w.group->wait.kind = kind;
  w.group->wait.key = key;
  w.group->wait.detail = detail;
  return Step::Park;
}

void Cta::wake(Wait::Kind kind, uint64_t key) {
  for (auto &w : warps)
    for (Group &g : w->groups)
      if (g.wait.kind == kind && (key == ~uint64_t(0) || g.wait.key == key))
        g.wait = {};
}

void Cluster::wakeAll(Wait::Kind kind, uint64_t key) {
  for (auto &cta : ctas)
    cta->wake(kind, key);
}

static Finding locate(Launch &launch, const Warp *w, uint32_t line, int lane, const std::string &message) {
  Finding f;
  f.message = message;
  f.kind = message.substr(0, message.find(':'));
  f.kernel = launch.code->name;
  f.line = line;
  f.lane = lane;
  if (w) {
    f.warp = int(w->id);
    std::copy(w->cta->id, w->cta->id + 3, f.cta);
  }
  // By the line, since an asynchronous operation takes effect while its warp is elsewhere.
  for (size_t k = 0; line && k < launch.code->insts.size(); ++k)
    if (launch.code->insts[k].line == line) {
      SourceLine s = launch.code->sources[k];
      if (s.line)
        f.source = (launch.fileName ? launch.fileName(s.file) : "") + ":" + std::to_string(s.line);
      break;
    }
  if (line && launch.lineText)
    f.lineText = launch.lineText(line);
  return f;
}

void addFinding(Launch &launch, const Warp *w, uint32_t line, int lane, bool warning, const std::string &message, const Earlier *earlier) {
  Finding f = locate(launch, w, line, lane, message);
  if (earlier)
    f.earlier = *earlier;
  f.warning = warning;
  std::lock_guard<std::mutex> hold(launch.lock);
  for (const Finding &g : launch.report.findings)
    if (g.message == f.message && g.line == f.line)
      return;  // once is enough
  if (launch.report.findings.size() < 1000)
    launch.report.findings.push_back(std::move(f));
}

void Cluster::report(const Warp *warp, uint32_t line, int lane, bool warning, const std::string &message, const Earlier *earlier) {
  addFinding(*launch, warp, line, lane, warning, message, earlier);
}

static uint32_t specialValue(SpecialRegister s, const Warp &w, uint32_t lane, const LaunchConfig &c, uint64_t clusterIndex) {
  using S = SpecialRegister;
  const Cta &cta = *w.cta;
  uint32_t tid = w.id * 32 + lane;
  uint32_t tx = tid % c.block[0], ty = tid / c.block[0] % c.block[1], tz = tid / c.block[0] / c.block[1];
  uint32_t rank = cta.rank;
  switch (s) {
  case S::TidX: return tx;
  case S::TidY: return ty;
  case S::TidZ: return tz;
  case S::NtidX: return c.block[0];
  case S::NtidY: return c.block[1];
  case S::NtidZ: return c.block[2];
  case S::CtaidX: return cta.id[0];
  case S::CtaidY: return cta.id[1];
  case S::CtaidZ: return cta.id[2];
  case S::NctaidX: return c.grid[0];
  case S::NctaidY: return c.grid[1];
  case S::NctaidZ: return c.grid[2];
  case S::LaneId: return lane;
  case S::WarpId: return w.id;
  case S::NwarpId: return 64;
  case S::SmId: return uint32_t(clusterIndex % c.smCount);
  case S::NsmId: return c.smCount;
  case S::GridId: return 1;
  case S::ClusteridX: return cta.id[0] / c.cluster[0];
  case S::ClusteridY: return cta.id[1] / c.cluster[1];
  case S::ClusteridZ: return cta.id[2] / c.cluster[2];
  case S::NclusteridX: return c.grid[0] / c.cluster[0];
  case S::NclusteridY: return c.grid[1] / c.cluster[1];
  case S::NclusteridZ: return c.grid[2] / c.cluster[2];
  case S::ClusterCtaidX: return cta.id[0] % c.cluster[0];
  case S::ClusterCtaidY: return cta.id[1] % c.cluster[1];
  case S::ClusterCtaidZ: return cta.id[2] % c.cluster[2];
  case S::ClusterNctaidX: return c.cluster[0];
  case S::ClusterNctaidY: return c.cluster[1];
  case S::ClusterNctaidZ: return c.cluster[2];
  case S::ClusterCtarank: return rank;
  case S::ClusterNctarank: return c.cluster[0] * c.cluster[1] * c.cluster[2];
  case S::IsExplicitCluster: return c.cluster[0] * c.cluster[1] * c.cluster[2] > 1;
  case S::LaneMaskEq: return kLaneBit[lane];
  case S::LaneMaskLe: return (kLaneBit[lane] - 1) | kLaneBit[lane];
  case S::LaneMaskLt: return kLaneBit[lane] - 1;
  case S::LaneMaskGe: return ~(kLaneBit[lane] - 1);
  case S::LaneMaskGt: return ~((kLaneBit[lane] - 1) | kLaneBit[lane]);
  case S::TotalSmem: return w.code->staticShared + c.dynamicShared;
  case S::AggrSmem: return w.code->staticShared + c.dynamicShared + kSharedReserved;
  case S::DynamicSmem: return c.dynamicShared;
  case S::ReservedSmemBegin: return 0;
  case S::ReservedSmemEnd: case S::ReservedSmemCap: return kSharedReserved;
  case S::Env0: return 0;
  }
  return 0;
}

static void setUpRegisters(Warp &w, const LaunchConfig &config, uint64_t clusterIndex) {
  const Code &code = *w.code;
  w.file.reset(new uint8_t[code.registerBytes + 64]);
  w.regs = w.file.get() + (64 - reinterpret_cast<uintptr_t>(w.file.get()) % 64) % 64;
  poison(w.regs, code.registerBytes, config.poison);
  w.pred(Decoder::kTrue) = kAllLanes;
  uint32_t dynamicBase = kSharedReserved + code.staticShared;
  dynamicBase = (dynamicBase + code.sharedAlign - 1) / code.sharedAlign * code.sharedAlign;
  for (const Code::Constant &c : code.constants) {
    uint64_t v = c.low;
    if (c.add == Code::Constant::SharedBase) {
      bool dynamic = v & uint64_t(1) << 62;
      v &= ~(uint64_t(1) << 62);
      v = uint64_t(uint32_t(v) + (dynamic ? dynamicBase : 0) + w.cta->windowBase());
    }
    for (int l = 0; l < 32; ++l)
      switch (c.bytes) {
      case 0: w.pred(c.offset) = v ? kAllLanes : 0; break;
      case 2: w.reg<uint16_t>(c.offset)[l] = uint16_t(v); break;
      case 4: w.reg<uint32_t>(c.offset)[l] = uint32_t(v); break;
      case 8: w.reg<uint64_t>(c.offset)[l] = v; break;
      default:
        w.reg<uint64_t>(c.offset)[l] = v;
        w.reg<uint64_t>(c.offset)[32 + l] = c.high;
      }
  }
  for (const Code::Special &s : code.specials)
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t v = specialValue(SpecialRegister(s.which), w, l, config, clusterIndex);
      if (s.bytes == 0)
        w.pred(s.offset) = v ? kAllLanes : 0;
      else if (s.bytes == 2)
        w.reg<uint16_t>(s.offset)[l] = uint16_t(v);
      else if (s.bytes == 4)
        w.reg<uint32_t>(s.offset)[l] = v;
      else
        w.reg<uint64_t>(s.offset)[l] = v;
    }
}

std::unique_ptr<Cluster> makeCluster(Launch &launch, uint64_t index) {
  const LaunchConfig &config = *launch.config;
  const Code &code = *launch.code;
  auto cluster = std::make_unique<Cluster>();
  cluster->launch = &launch;
  cluster->rng.seed(config.seed * 0x9E3779B97F4A7C15ull + index + 1);
  uint64_t nx = config.grid[0] / config.cluster[0], ny = config.grid[1] / config.cluster[1];
  cluster->id[0] = uint32_t(index % nx);
  cluster->id[1] = uint32_t(index / nx % ny);
  cluster->id[2] = uint32_t(index / nx / ny);
  uint32_t threads = config.block[0] * config.block[1] * config.block[2];
  uint32_t rank = 0;
  for (uint32_t z = 0; z < config.cluster[2]; ++z)
    for (uint32_t y = 0; y < config.cluster[1]; ++y)
      for (uint32_t x = 0; x < config.cluster[0]; ++x) {
        auto cta = std::make_unique<Cta>();
        cta->cluster = cluster.get();
        cta->rank = rank++;
        cta->id[0] = cluster->id[0] * config.cluster[0] + x;
        cta->id[1] = cluster->id[1] * config.cluster[1] + y;
        cta->id[2] = cluster->id[2] * config.cluster[2] + z;
        uint32_t dynamicBase = kSharedReserved + code.staticShared;
        dynamicBase = (dynamicBase + code.sharedAlign - 1) / code.sharedAlign * code.sharedAlign;
        cta->shared.resize(dynamicBase + config.dynamicShared);
        poison(cta->shared.data(), cta->shared.size(), config.poison);
        if (code.usesTmem)
          cta->tmem = std::make_unique<Tmem>(config.poison);
        cta->liveThreads = threads;
        uint32_t warps = (threads + 31) / 32;
        if (code.localBytes) {
          cta->local.reset(new uint8_t[size_t(warps) * 32 * code.localBytes]);
          poison(cta->local.get(), size_t(warps) * 32 * code.localBytes, config.poison);
        }
        for (uint32_t k = 0; k < warps; ++k) {
          auto w = std::make_unique<Warp>();
          w->cta = cta.get();
          w->code = &code;
          w->id = k;
          uint32_t n = std::min(32u, threads - k * 32);
          w->live = w->begun = n == 32 ? kAllLanes : kLaneBit[n] - 1;
          w->groups.reserve(40);
          Group g;
          g.mask = w->live;
          w->groups.push_back(g);
          if (code.maxnreg)
            w->registersNow = code.maxnreg;
          else if (code.minnctapersm && threads)
            w->registersNow = std::min(255u, 65536 / (code.minnctapersm * warps * 32) / 8 * 8);
          setUpRegisters(*w, config, index);
          cta->warps.push_back(std::move(w));
        }
        cluster->ctas.push_back(std::move(cta));
      }
  if (config.observer)
    config.observer->clusterBegin(*cluster);
  return cluster;
}

} // namespace fovea::emulator
