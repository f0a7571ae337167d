// runtime/emulator/machine/Timeline.h - per-warp timelines of instructions and waits, written as Perfetto JSON.
#pragma once
#include "runtime/emulator/detect/Observer.h"
#include <memory>
#include <string>

namespace fovea::emulator {

/// An observer (LaunchConfig::observer) that draws what each warp did over a logical time of one tick per warp
/// instruction. Warps run side by side in it, however the scheduler interleaved them: a wait ends at the tick of the
/// latest arrival it needed, and asynchronous work takes effect at the tick it was issued or allowed to start. Ticks are
/// no cycles: the picture shows who waits for whom and how many instructions lie between, not how long a chip takes.
class Timeline : public Observer {
public:
  virtual void beginKernel(const std::string &name) = 0;
  /// Chrome trace events, which ui.perfetto.dev opens: one process a block, one thread a warp; slices "run" (with the
  /// instructions and the PTX lines) and one per wait, named after what was waited for. 1 tick = 1 us of the picture.
  virtual std::string json() const = 0;
};
std::unique_ptr<Timeline> makeTimeline();

} // namespace fovea::emulator
