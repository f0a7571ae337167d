// runtime/emulator/machine/Timeline.cpp - per-warp timelines of instructions and waits, written as Perfetto JSON.
#include "runtime/emulator/machine/Timeline.h"
#include "runtime/emulator/machine/Machine.h"
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>
#include <nlohmann/json.hpp>

namespace fovea::emulator {
namespace {

constexpr size_t kMaxSlices = 1u << 20;  ///< a browser opens no more

struct Slice {
  uint64_t begin, end;
  std::string what;  ///< "" for a stretch of instructions
  uint64_t instructions;
  uint32_t firstLine, lastLine;
};

struct Track {
  uint32_t block[3], warp;
  uint64_t skew = 0;   ///< ticks waited so far: time = instructions + skew
  uint64_t begin = 0;  ///< of the open run slice
  uint32_t firstLine = 0, lastLine = 0;
  uint64_t bulk = 0, classic = 0, wgmma = 0;  ///< when its asynchronous groups were done
  std::vector<Slice> slices;
};

/// What a cluster's warps arrive at: the tick of the latest arrival of each phase.
struct ClusterState {
  std::map<const Warp *, Track *> tracks;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> phases;  ///< (barrier, phase) -> tick
  std::map<const AsyncOp *, uint64_t> issued;                ///< pending operation -> tick
};

class TimelineImpl : public Timeline {
public:
  void beginKernel(const std::string &name) override { kernel = name; }

  void clusterBegin(Cluster &c) override {
    auto state = std::make_shared<ClusterState>();
    std::lock_guard<std::mutex> hold(lock);
    for (auto &cta : c.ctas)
      for (auto &w : cta->warps) {
        tracks.push_back(std::make_unique<Track>());
        Track &t = *tracks.back();
        std::copy(cta->id, cta->id + 3, t.block);
        t.warp = w->id;
        t.firstLine = t.lastLine = w->code->insts[0].line;
        state->tracks[w.get()] = &t;
      }
    c.observerState = state;
  }
  void clusterEnd(Cluster &c) override {
    for (auto &[warp, track] : of(c).tracks)
      closeRun(*track, now(*warp));
  }
  void warpExit(Warp &w) override { touch(w); }

  void barrierArrive(Warp &w, const Inst &, uint32_t id, uint64_t generation) override { arrive(w, barrier(2, w.cta->rank, id), generation); }
  void barrierLeave(Warp &w, const Inst &, uint32_t id, uint64_t generation) override {
    wait(w, at(w, barrier(2, w.cta->rank, id), generation), "named barrier " + std::to_string(id));
  }
  void clusterArrive(Warp &w, const Inst &, uint64_t generation) override { arrive(w, barrier(3, 0, 0), generation); }
  void clusterLeave(Warp &w, const Inst &, uint64_t generation) override { wait(w, at(w, barrier(3, 0, 0), generation), "cluster barrier"); }
  void mbarrierArrive(Warp &w, const Inst &, unsigned, Cta &owner, uint32_t offset, uint64_t phase) override { arrive(w, barrier(1, owner.rank, offset), phase); }
  void mbarrierWaited(Warp &w, const Inst &, unsigned, Cta &owner, uint32_t offset, uint64_t phase) override {
    wait(w, at(w, barrier(1, owner.rank, offset), phase), "mbarrier " + std::to_string(offset) + ", phase " + std::to_string(phase));
  }
  void mbarrierSignal(Cluster &c, const AsyncOp &op, Cta &owner, uint32_t offset, uint64_t phase) override {
    uint64_t &t = of(c).phases[{barrier(1, owner.rank, offset), phase}];
    t = std::max(t, of(c).issued[&op]);
  }
  void asyncIssue(Warp &w, const Inst &, unsigned, AsyncOp &op) override {
    touch(w);
    of(*w.cta->cluster).issued[&op] = now(w);
    // One thread's bulk groups, cp.async groups and wgmma groups are waited for in order; no work takes time of its own.
    Track &t = track(w);
    (op.kind == AsyncKind::Store ? t.bulk : op.kind == AsyncKind::Wgmma ? t.wgmma : t.classic) = now(w);
  }
  void asyncDone(Cluster &c, const AsyncOp &op) override { of(c).issued.erase(&op); }
  void mbarrierInit(Warp &w, const Inst &, Cta &owner, uint32_t offset) override {
    auto &phases = of(*w.cta->cluster).phases;
    uint64_t b = barrier(1, owner.rank, offset);
    phases.erase(phases.lower_bound({b, 0}), phases.upper_bound({b, ~uint64_t(0)}));
  }
  void groupWaited(Warp &w, const Inst &, AsyncKind kind, uint64_t, bool) override {
    Track &t = track(w);
    wait(w, kind == AsyncKind::Store ? t.bulk : kind == AsyncKind::Wgmma ? t.wgmma : t.classic, "asynchronous groups");
  }

  std::string json() const override {
    nlohmann::json events = nlohmann::json::array();
    std::map<std::array<uint32_t, 3>, int> processes;
    size_t lost = 0, count = 0;
    for (const auto &t : tracks) {
      auto [place, fresh] = processes.emplace(std::array<uint32_t, 3>{t->block[0], t->block[1], t->block[2]}, int(processes.size()) + 1);
      int pid = place->second;
      if (fresh)
        events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", pid}, {"args", {{"name", kernel + " block (" + std::to_string(t->block[0]) + ", " + std::to_string(t->block[1]) + ", " + std::to_string(t->block[2]) + ")"}}}});
      events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", pid}, {"tid", t->warp + 1}, {"args", {{"name", "warp " + std::to_string(t->warp)}}}});
      for (const Slice &s : t->slices) {
        if (++count > kMaxSlices) {
          ++lost;
          continue;
        }
        nlohmann::json e = {{"ph", "X"}, {"pid", pid}, {"tid", t->warp + 1}, {"ts", s.begin}, {"dur", s.end - s.begin}};
        if (s.what.empty()) {
          e["name"] = "run";
          e["cat"] = "run";
          e["args"] = {{"instructions", s.instructions}, {"first_line", s.firstLine}, {"last_line", s.lastLine}};
        } else {
          e["name"] = s.what;
          e["cat"] = "wait";
          e["args"] = {{"ticks", s.end - s.begin}, {"line", s.firstLine}};
        }
        events.push_back(std::move(e));
      }
    }
    return nlohmann::json{{"traceEvents", events}, {"otherData", {{"tick", "one warp instruction"}, {"slices_left_out", lost}}}}.dump();
  }

private:
  std::mutex lock;  ///< guards tracks' growth; a track is written by the thread that runs its cluster
  std::vector<std::unique_ptr<Track>> tracks;
  std::string kernel;

  static ClusterState &of(Cluster &c) { return *static_cast<ClusterState *>(c.observerState.get()); }
  static Track &track(const Warp &w) { return *of(*w.cta->cluster).tracks.at(&w); }
  static uint64_t now(const Warp &w) { return w.instructions + track(w).skew; }
  static uint64_t barrier(uint64_t kind, uint32_t rank, uint32_t id) { return kind << 56 | uint64_t(rank) << 32 | id; }
  static uint32_t line(const Warp &w) { return w.group ? w.code->insts[w.group->pc].line : 0; }
  static void touch(const Warp &w) {
    Track &t = track(w);
    t.lastLine = line(w) ? line(w) : t.lastLine;
    if (!t.firstLine)
      t.firstLine = t.lastLine;
  }
  static uint64_t at(Warp &w, uint64_t barrier, uint64_t phase) { return of(*w.cta->cluster).phases[{barrier, phase}]; }
  void arrive(Warp &w, uint64_t barrier, uint64_t phase) {
    touch(w);
    uint64_t &t = of(*w.cta->cluster).phases[{barrier, phase}];
    t = std::max(t, now(w));
  }
  static void closeRun(Track &t, uint64_t end) {
    if (end > t.begin)
      t.slices.push_back({t.begin, end, "", end - t.begin, t.firstLine, t.lastLine});
    t.begin = end;
    t.firstLine = 0;
  }
  void wait(Warp &w, uint64_t ready, const std::string &what) {
    touch(w);
    Track &t = track(w);
    uint64_t time = now(w);
    if (ready <= time)
      return;
    closeRun(t, time);
    t.slices.push_back({time, ready, what, 0, line(w), line(w)});
    t.skew += ready - time;
    t.begin = ready;
    t.firstLine = line(w);
  }
};

} // namespace

std::unique_ptr<Timeline> makeTimeline() { return std::make_unique<TimelineImpl>(); }

} // namespace fovea::emulator
