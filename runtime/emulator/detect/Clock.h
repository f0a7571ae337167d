// runtime/emulator/detect/Clock.h - vector clocks, and what a granule of memory remembers.
#pragma once
#include <algorithm>
#include <cstdint>
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
    for (size_t k = 0; k < o.steps.size(); ++k)
      steps[k] = std::max(steps[k], o.steps[k]);
  }

  /// Keeps what both know.
  void meet(const Clock &o) {
    if (steps.size() > o.steps.size())
      steps.resize(o.steps.size());
    for (size_t k = 0; k < steps.size(); ++k)
      steps[k] = std::min(steps[k], o.steps[k]);
  }

private:
  std::vector<uint32_t> steps;
};

/// A view: everything that happened before; the generic writes among it that the asynchronous proxy sees too; and what
/// the tcgen05 fences order: handed out after fence::before_thread_sync, received, in force after fence::after_thread_sync.
struct View {
  Clock happened, proxied, tensorOut, tensorIn, tensor;
  /// A barrier collects from a thread, a thread takes over from a barrier.
  void release(const View &from) {
    happened.join(from.happened);
    proxied.join(from.proxied);
    tensorOut.join(from.tensorOut);
  }
  void acquire(const View &from) {
    happened.join(from.happened);
    proxied.join(from.proxied);
    tensorIn.join(from.tensorOut);
  }
};

/// One remembered access.
struct Mark {
  uint32_t actor = 0, step = 0;  ///< step 0: none
  uint32_t line = 0;
  uint16_t warp = 0;
  uint8_t bytes = 0;             ///< mask inside the granule
  bool generic = true;
};

/// The last writes of a granule and the reads since.
struct Granule {
  Mark writes[2], reads[4];
  uint8_t nextRead = 0;
};

} // namespace fovea::emulator
