// test/bench/EmulatorBench.cpp - kernels on the emulator, detectors on: 64 sequences of 1 to 256 rows, 4 heads of 64.
#include "frontend/cli/Session.h"
#include "runtime/core/Workload.h"

#include <benchmark/benchmark.h>
#include <filesystem>
#include <fstream>

using namespace fovea;

static void launch(benchmark::State &state, const char *target, const char *operation) {
  auto stop = [&](const std::string &why) { state.SkipWithError(why.c_str()); };
  std::filesystem::path file = std::filesystem::temp_directory_path() / "fovea_emulator_bench.attn";
  std::ofstream(file) << "attention bench {\n  q, k, v : bf16 [jagged offsets, 4 heads, 64]\n"
                         "  pattern : block_diagonal(64)\n  emit    : forward, backward\n}\n";
  Expected<cli::DeviceChoice> choice = cli::chooseDevice("emulator", target);
  if (!choice)
    return stop(choice.message());
  cli::Session session;
  cli::LoadedSpec loaded = cli::loadSpec(session, file.string(), *choice, true);
  if (!loaded.kernels)
    return stop("the spec was refused");
  WorkloadSize size;
  size.batch = 64;
  Expected<Workload> workload = Workload::create(*loaded.kernels, operation, size);
  if (!workload)
    return stop(workload.message());
  Expected<PreparedLaunch> prepared = loaded.kernels->prepare(operation, workload->tensors);
  if (!prepared)
    return stop(prepared.message());
  for (auto _ : state) {
    Expected<void> ok = prepared->launch(Stream::defaultOf(choice->device));
    if (ok)
      ok = choice->device.synchronize();
    if (!ok)
      return stop(ok.message());
  }
  state.counters["rows"] = double(workload->rows);
}

BENCHMARK_CAPTURE(launch, sm_90a_forward, "sm_90a", "forward")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(launch, sm_90a_backward, "sm_90a", "backward")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(launch, sm_100a_forward, "sm_100a", "forward")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(launch, sm_100a_backward, "sm_100a", "backward")->Unit(benchmark::kMillisecond)->UseRealTime();
