// runtime/emulator/detect/Clock.h - vector clocks, and what a granule of memory remembers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace fovea::emulator {

/// What is known to have happened: per actor, the last of its steps that is over (missing entries are 0).
class Clock {
public:
  uint32_t operator[](uint32_t actor) const { return actor < steps.size() ? steps[actor] : 0; }
  void raise(uint32_t actor, uint32_t step) {
    if (actor >= steps.size())
      steps.resize(actor + 1, 0);
    steps[actor] = std::max(steps[actor], step);
  }
  void join(const Clock &o) {
    if (o.steps.size() > steps.size())
      steps.resize(o.steps.size(), 0);
    latest(steps.data(), o.steps.data(), o.steps.size());
  }

  /// Keeps what both know.
  void meet(const Clock &o) {
    if (steps.size() > o.steps.size())
      steps.resize(o.steps.size());
    earliest(steps.data(), o.steps.data(), steps.size());
  }
  /// True when joining `o` would change nothing.
  bool covers(const Clock &o) const {
    for (size_t k = 0; k < o.steps.size(); ++k)
      if (o.steps[k] > (*this)[uint32_t(k)])
        return false;
    return true;
  }

private:
  std::vector<uint32_t> steps;

  /// to[k] = the later, or the earlier, of to[k] and from[k]. (By the host's vector instructions: plain x86-64 has none for this.)
  static void latest(uint32_t *to, const uint32_t *from, size_t n);
  static void earliest(uint32_t *to, const uint32_t *from, size_t n);
};

/// What is known of other clusters, by their index in the grid. Views are copied at every barrier and clusters hear of each other
/// seldom, so copies share one map until one of them learns more.
class Foreign {
public:
  using Map = std::map<uint64_t, Clock>;
  bool empty() const { return !map; }
  /// Null when nothing is known of the cluster.
  const Clock *find(uint64_t cluster) const {
    if (!map)
      return nullptr;
    auto it = map->find(cluster);
    return it == map->end() ? nullptr : &it->second;
  }
  void join(const Map &from) {
    if (from.empty())
      return;
    if (!map)
      map = std::make_shared<Map>();
    else if (map.use_count() > 1)
      map = std::make_shared<Map>(*map);
    for (auto &[cluster, clock] : from)
      (*map)[cluster].join(clock);
  }
  void join(const Foreign &from) {
    if (map == from.map || !from.map)
      return;
    if (!map)
      map = from.map;
    else if (!covers(from))
      join(*from.map);
  }
  bool covers(const Foreign &from) const {
    if (map == from.map || !from.map)
      return true;
    for (auto &[cluster, clock] : *from.map)
      if (const Clock *own = find(cluster); !own || !own->covers(clock))
        return false;
    return true;
  }
  template <class F> void each(F f) const {
    if (map)
      for (auto &[cluster, clock] : *map)
        f(cluster, clock);
  }

private:
  std::shared_ptr<Map> map;  ///< of one cluster's views, which one host thread handles
};

/// A view: everything that happened before; the generic writes among it that the asynchronous proxy sees too; and what
/// the tcgen05 fences order: handed out after fence::before_thread_sync, received, in force after fence::after_thread_sync.
/// Between the two any chain of execution ordering will do, and who passes it on needs no fence of its own: the first
/// stands before all that the writer signals later, the second behind all that was waited for (PTX ISA, "Specialized
/// Inter-thread Synchronization for tcgen05 instructions").
/// `weak` is what relaxed barriers tell, which orders execution but, by the ISA, no memory.
struct View {
  Clock happened, proxied, tensorOut, tensorIn, tensor, weak;
  Foreign foreign;

  /// A barrier collects from a thread, a thread takes over from a barrier.
  void release(const View &from) {
    happened.join(from.happened);
    proxied.join(from.proxied);
    tensorOut.join(from.tensorOut);
    weak.join(from.weak);
    foreign.join(from.foreign);
  }
  void acquire(const View &from) {
    happened.join(from.happened);
    proxied.join(from.proxied);
    tensorIn.join(from.tensorOut);
    tensorOut.join(from.tensorOut);
    weak.join(from.weak);
    foreign.join(from.foreign);
  }
  /// True when acquire(from) would change nothing.
  bool knows(const View &from) const {
    return foreign.covers(from.foreign) && happened.covers(from.happened) && proxied.covers(from.proxied) && tensorIn.covers(from.tensorOut) && weak.covers(from.weak);
  }
  /// Lanes of a warp put together what they know.
  void unite(const View &from) {
    acquire(from);
    tensorOut.join(from.tensorOut);
    tensorIn.join(from.tensorIn);
    tensor.join(from.tensor);
  }
};

/// One remembered access.
struct Mark {
  uint32_t actor = 0, step = 0;  ///< step 0: none
  uint32_t line = 0;
  uint32_t lanes = 0;            ///< threads of the warp, for its ordinary instructions; 0: the warp or an engine as a whole
  uint32_t instance = 0;         ///< tells one execution of an instruction from the next, within a warp
  uint16_t warp = 0;             ///< index in the cluster
  uint8_t bytes = 0;             ///< mask inside the granule
  bool generic = true;
};

/// Marks beyond those that have a place of their own: rare, so a pointer.
class MoreMarks {
public:
  MoreMarks() = default;
  MoreMarks(MoreMarks &&) = default;
  MoreMarks &operator=(MoreMarks &&) = default;
  MoreMarks(const MoreMarks &o) : marks(o.marks ? std::make_unique<std::vector<Mark>>(*o.marks) : nullptr) {}
  MoreMarks &operator=(const MoreMarks &o) { return *this = MoreMarks(o); }
  Mark *begin() { return marks ? marks->data() : nullptr; }
  Mark *end() { return marks ? marks->data() + marks->size() : nullptr; }
  bool any() const { return marks != nullptr; }
  void add(const Mark &m) {
    if (!marks)
      marks = std::make_unique<std::vector<Mark>>();
    marks->push_back(m);
  }
  template <class F> void removeIf(F f) {
    if (!marks)
      return;
    marks->erase(std::remove_if(marks->begin(), marks->end(), f), marks->end());
    if (marks->empty())
      marks.reset();
  }

private:
  std::unique_ptr<std::vector<Mark>> marks;
};

/// The last writes of a granule and the reads since.
struct Granule {
  Mark writes[2], reads[4];
  MoreMarks moreReads;           ///< what a block tells all of its warps is read by more than four
  uint8_t written = 0;           ///< bytes that were ever written

  /// This write covers all that was before.
  bool holdsOnly(const Mark &m) const {
    return writes[0].step == m.step && writes[0].actor == m.actor && writes[0].lanes == m.lanes && writes[0].line == m.line && !writes[1].step && !reads[0].step &&
           !reads[1].step && !reads[2].step && !reads[3].step && !moreReads.any();
  }
};

} // namespace fovea::emulator
