// runtime/emulator/machine/Control.cpp - branches, exit, trap, and what the host provides to device code.
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/Tcgen05.h"
#include <chrono>
#include <cstdio>
#include <cstring>

namespace fovea::emulator {

Step runBranch(Warp &w, const Inst &i) {
  branchGroup(w, w.active, i.target, int32_t(i.imm));
  return Step::Jump;
}

Step runBranchIndexed(Warp &w, const Inst &i) {
  const BranchTable &t = *static_cast<const BranchTable *>(i.extra);
  const uint32_t *index = w.reg<uint32_t>(i.r[0]);
  // Peel off one target after the other; the group itself keeps the last.
  uint32_t todo = w.active;
  uint32_t first = uint32_t(__builtin_ctz(todo));
  for (uint32_t l = first; todo; l = todo ? uint32_t(__builtin_ctz(todo)) : 0) {
    if (index[l] >= t.targets.size())
      faultAt(w, int(l), "control: brx.idx with index " + std::to_string(index[l]) + ", the list has " + std::to_string(t.targets.size()));
    uint32_t same = 0;
    eachLane(todo, [&](int k) { same |= index[k] == index[l] ? kLaneBit[k] : 0u; });
    todo &= ~same;
    uint32_t pc = w.group->pc;
    branchGroup(w, same, t.targets[index[l]], int32_t(i.imm));
    if (todo)
      w.group->pc = pc;  // the rest is still at the branch
  }
  return Step::Jump;
}

Step runExit(Warp &w, const Inst &i) {
  if (Observer *o = w.cta->cluster->launch->config->observer)
    if (!(w.live & ~w.active))
      o->warpExit(w);
  (void)i;
  bool all = w.active == w.group->mask;
  if (w.active == w.live && !w.tmemStores.empty())
    flushTmemStores(w);
  ++w.cta->cluster->progress;
  if (!all)
    ++w.group->pc;
  exitLanes(w, w.active);
  // A barrier that counts the threads still alive may be complete now.
  w.cta->wake(Wait::NamedBarrier, ~uint64_t(0));
  w.cta->cluster->wakeAll(Wait::ClusterBarrier, 0);
  return Step::Jump;
}

Step runTrap(Warp &w, const Inst &) { faultAt(w, __builtin_ctz(w.active), "trap: the kernel executed 'trap'"); }

Step runAssertFail(Warp &w, const Inst &) { faultAt(w, __builtin_ctz(w.active), "trap: a device assertion failed"); }

Step readClock(Warp &w, const Inst &i) {
  Launch &launch = *w.cta->cluster->launch;
  // The clock counts this warp's instructions; the timer is the host's.
  uint64_t clock = w.instructions + launch.executed.load(std::memory_order_relaxed);
  uint64_t nanos = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  uint64_t v = i.imm < 3 ? clock : nanos;
  bool wide = i.imm == 2 || i.imm == 3;
  eachLane(w.active, [&](int l) {
    if (wide)
      w.reg<uint64_t>(i.r[0])[l] = v;
    else
      w.reg<uint32_t>(i.r[0])[l] = uint32_t(i.imm == 1 || i.imm == 5 ? v >> 32 : v);
  });
  return Step::Next;
}

static std::string readString(Warp &w, uint64_t address) {
  std::string s;
  AddressSpace &m = *w.cta->cluster->launch->memory;
  for (size_t k = 0; k < 4096; ++k) {
    char c;
    m.read(address + k, &c, 1);
    if (!c)
      break;
    s += c;
  }
  return s;
}

/// vprintf(format, arguments): r[0], r[1] are the thread-local places of the two .param arguments.
Step runPrintf(Warp &w, const Inst &i) {
  Cta &cta = *w.cta;
  uint32_t perThread = w.code->localBytes;
  eachLane(w.active, [&](int l) {
    const uint8_t *local = cta.local.get() + size_t(w.id * 32 + uint32_t(l)) * perThread;
    uint64_t format, args;
    std::memcpy(&format, local + i.r[0], 8);
    std::memcpy(&args, local + i.r[1], 8);
    std::string f = readString(w, format), out;
    uint32_t at = 0;
    auto next = [&](uint32_t bytes) {
      uint64_t v = 0;
      at = (at + bytes - 1) / bytes * bytes;
      uint64_t address = args + at;
      at += bytes;
      if ((address & kWindowMask) == kLocalWindow && (address & 0xffffffff) + bytes <= perThread)
        std::memcpy(&v, local + (address & 0xffffffff), bytes);
      else
        cta.cluster->launch->memory->read(address, &v, bytes);
      return v;
    };
    for (size_t k = 0; k < f.size(); ++k) {
      if (f[k] != '%') {
        out += f[k];
        continue;
      }
      std::string spec = "%";
      int longs = 0;
      for (++k; k < f.size() && std::strchr("-+ #0123456789.lhjztL", f[k]); ++k) {
        if (f[k] == 'l' || f[k] == 'j' || f[k] == 'z' || f[k] == 't')
          ++longs;
        else if (f[k] != 'h' && f[k] != 'L')
          spec += f[k];
      }
      if (k >= f.size())
        break;
      char c = f[k], buffer[128] = "";
      if (spec.size() > 12)
        spec = "%";
      if (c == '%')
        out += '%';
      else if (std::strchr("diouxXc", c)) {
        uint64_t v = next(longs ? 8 : 4);
        if (!longs && (c == 'd' || c == 'i'))
          v = uint64_t(int64_t(int32_t(v)));
        std::snprintf(buffer, sizeof buffer, (spec + (c == 'c' ? "" : "ll") + c).c_str(), v);
      } else if (std::strchr("eEfFgGaA", c)) {
        uint64_t v = next(8);
        double x;
        std::memcpy(&x, &v, 8);
        std::snprintf(buffer, sizeof buffer, (spec + c).c_str(), x);
      } else if (c == 's')
        out += readString(w, next(8));
      else if (c == 'p')
        std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(next(8)));
      out += buffer;
    }
    if (!cta.cluster->launch->config->quiet)
      std::fputs(out.c_str(), stdout);
  });
  std::fflush(stdout);
  return Step::Next;
}

static Step nothing(Warp &, const Inst &) { return Step::Next; }
static Step yieldNow(Warp &, const Inst &) { return Step::Yield; }

static void trap(Decoder &d) {
  d.count(0, 0);
  d.emit(d.in->opcode == "trap" ? runTrap : nothing);
}
static void sleep(Decoder &d) {
  d.needType("the .u32");
  d.count(1, 1);
  d.src(d.op(0), Type::U32);
  d.emit(yieldNow);
}
static void monitor(Decoder &d) {
  d.mods.take(".mask");
  d.count(1, 1);
  d.emit(nothing);
}
static void dependent(Decoder &d) {
  // Kernels run one after the other here, so that everything waited for has already happened.
  if (d.mods.oneOf({".launch_dependents", ".wait"}) < 0)
    d.fail("'griddepcontrol' needs .launch_dependents or .wait");
  d.count(0, 0);
  d.emit(nothing);
}

void addControl(OpcodeTable &t) {
  t.add({"trap", "brkpt"}, trap);
  t.add({"nanosleep"}, sleep);
  t.add({"pmevent"}, monitor);
  t.add({"griddepcontrol"}, dependent);
}

} // namespace fovea::emulator
