// runtime/core/Bench.cpp - medians of events after warm-up, and their tables.
#include "runtime/core/Bench.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace fovea {
using namespace cu;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Expected<std::vector<double>> timeOnDevice(const Device &device, const BenchOptions &options,
                                           const std::function<Expected<void>(const Stream &)> &enqueue) {
  Expected<Stream> stream = Stream::create(device);
  if (!stream)
    return stream.error();
  // One event before each repetition and one behind the last. Nothing is waited for in between: a pause lets the chip
  // go idle, which costs a copy of 2 GiB 1 to 3 %.
  std::vector<Event> marks;
  auto mark = [&]() -> Expected<void> {
    Expected<Event> event = Event::create(device);
    if (!event)
      return event.error();
    marks.push_back(std::move(*event));
    return marks.back().record(*stream);
  };
  for (int i = -options.warmup; i < options.repeats; ++i) {
    if (i >= 0)
      if (auto ok = mark(); !ok)
        return ok.error();
    if (auto ok = enqueue(*stream); !ok)
      return ok.error();
  }
  if (auto ok = mark(); !ok)
    return ok.error();
  if (auto ok = marks.back().synchronize(); !ok)
    return ok.error();
  std::vector<double> times;
  for (size_t i = 0; i + 1 < marks.size(); ++i) {
    Expected<float> ms = marks[i + 1].millisecondsSince(marks[i]);
    if (!ms)
      return ms.error();
    times.push_back(*ms);
  }
  if (times.empty())
    times.push_back(0);
  return times;
}

Expected<LaunchTimes> timeLaunches(const Device &device, PreparedLaunch &launch, const BenchOptions &options) {
  Expected<std::vector<double>> milliseconds =
      timeOnDevice(device, options, [&](const Stream &stream) { return launch.launch(stream); });
  if (!milliseconds)
    return milliseconds.error();
  LaunchTimes times;
  times.medianMs = median(*milliseconds);
  times.fastestMs = *std::min_element(milliseconds->begin(), milliseconds->end());
  times.slowestMs = *std::max_element(milliseconds->begin(), milliseconds->end());
  return times;
}

std::string benchTable(const std::vector<BenchResult> &results, const Ceilings &ceilings) {
  std::string text;
  char line[256];
  for (const BenchResult &r : results) {
    double seconds = r.times.medianMs * 1e-3;
    const std::string what = r.operation + (r.variant.empty() ? "" : " " + r.variant);
    std::snprintf(line, sizeof line, "%-10s %9.4f ms (%.4f to %.4f)", what.c_str(), r.times.medianMs,
                  r.times.fastestMs, r.times.slowestMs);
    text += line;
    if (r.bytes > 0 && seconds > 0) {
      std::snprintf(line, sizeof line, "  %6.3f TB/s", r.bytes / seconds / 1e12);
      text += line;
      if (ceilings.copyBytesPerSecond > 0)
        std::snprintf(line, sizeof line, " (%.0f %% of a copy)", 100 * r.bytes / seconds / ceilings.copyBytesPerSecond),
            text += line;
    }
    if (r.flops > 0 && seconds > 0) {
      std::snprintf(line, sizeof line, "  %6.1f TFLOPS", r.flops / seconds / 1e12);
      text += line;
      if (ceilings.tensorFlops > 0)
        std::snprintf(line, sizeof line, " (%.0f %% of the tensor cores)", 100 * r.flops / seconds / ceilings.tensorFlops),
            text += line;
    }
    text += "\n";
  }
  if (ceilings.copyBytesPerSecond <= 0)
    return text;
  std::snprintf(line, sizeof line, "ceilings measured in this run: copy %.3f TB/s, bf16 %.0f TFLOPS at %.0f MHz\n",
                ceilings.copyBytesPerSecond / 1e12, ceilings.tensorFlops / 1e12, ceilings.tensorClockMHz);
  return text + line;
}

std::string benchJson(const Device &device, const std::vector<BenchResult> &results, const Ceilings &ceilings) {
  nlohmann::json operations = nlohmann::json::array();
  for (const BenchResult &r : results)
    operations.push_back({{"operation", r.operation},
                          {"variant", r.variant},
                          {"median_ms", r.times.medianMs},
                          {"fastest_ms", r.times.fastestMs},
                          {"slowest_ms", r.times.slowestMs},
                          {"bytes", r.bytes},
                          {"flops", r.flops}});
  nlohmann::json all = {{"device", device.facts().name},
                        {"driver", driverVersionText(device.driver().version)},
                        {"boost_clock_mhz", device.facts().clockKHz / 1000.0},
                        {"ceilings",
                         {{"copy_bytes_per_second", ceilings.copyBytesPerSecond},
                          {"tensor_flops", ceilings.tensorFlops},
                          {"tensor_clock_mhz", ceilings.tensorClockMHz}}},
                        {"operations", std::move(operations)}};
  return all.dump(2) + "\n";
}

} // namespace fovea
