// runtime/core/Bench.h - times of prepared launches, and what the device could do at best.
#ifndef FOVEA_RUNTIME_CORE_BENCH_H
#define FOVEA_RUNTIME_CORE_BENCH_H

#include "runtime/core/Module.h"

#include <functional>
#include <vector>

namespace fovea {

struct BenchOptions {
  int warmup = 10;   ///< launches that are not timed
  int repeats = 50;  ///< timed launches, each between two events
};

struct LaunchTimes {
  double medianMs = 0, fastestMs = 0, slowestMs = 0; ///< on the device, by events
};

/// The middle value of one or more, or the mean of the two middle ones.
double median(std::vector<double> values);

/// Warms up, then times.
Expected<LaunchTimes> timeLaunches(const Device &device, PreparedLaunch &launch, const BenchOptions &options = {});

/// Milliseconds of each repetition of `enqueue`d work, back to back: one way to time kernels, copies and ceilings.
Expected<std::vector<double>> timeOnDevice(const Device &device, const BenchOptions &options,
                                           const std::function<Expected<void>(const Stream &)> &enqueue);

/// What this device reaches in this run.
struct Ceilings {
  double copyBytesPerSecond = 0; ///< reads and writes of the driver's copy of 2 GiB, the fastest of three pairs of buffers
  double tensorFlops = 0;        ///< bf16 products with f32 accumulation out of shared memory; 0: no such kernel for the chip
  double tensorClockMHz = 0;     ///< the SMs' clock while the tensor kernel ran
};
Expected<Ceilings> measureCeilings(const Device &device);

/// One measured operation, in figures for people.
struct BenchResult {
  std::string operation, variant; ///< PreparedLaunch::variant
  LaunchTimes times;
  double bytes = 0, flops = 0; ///< of one launch; 0: not known
};
/// Lines with TB/s and TFLOPS beside the ceilings.
std::string benchTable(const std::vector<BenchResult> &results, const Ceilings &ceilings);
std::string benchJson(const Device &device, const std::vector<BenchResult> &results, const Ceilings &ceilings);

} // namespace fovea

#endif // FOVEA_RUNTIME_CORE_BENCH_H
