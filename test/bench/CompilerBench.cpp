// test/bench/CompilerBench.cpp - from a spec's text to PTX: in a process that is already running, and in a new one.
#include "frontend/cli/Session.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace fovea;

static std::string writeSpec(int depth, bool backward) {
  std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("fovea_bench_" + std::to_string(depth) + (backward ? "b" : "f") + ".attn");
  std::ofstream(file) << "attention bench {\n  q, k, v : bf16 [jagged offsets, 4 heads, " << depth
                      << "]\n  pattern : block_diagonal(64)\n  emit    : forward" << (backward ? ", backward" : "") << "\n}\n";
  return file.string();
}

static void inProcess(benchmark::State &state, const char *target, int depth, bool backward) {
  std::string file = writeSpec(depth, backward);
  for (auto _ : state) {
    cli::Session session;
    auto module = session.read(file, target, backward ? sema::Kernels::All : sema::Kernels::Forward);
    CompileOptions options;
    options.target = target;
    if (!module)
      return state.SkipWithError("the spec was refused");
    llvm::Expected<CompiledSpec> compiled = compile(*module, options);
    if (!compiled)
      return state.SkipWithError(llvm::toString(compiled.takeError()).c_str());
    benchmark::DoNotOptimize(compiled->ptx.data());
  }
}

static void coldProcess(benchmark::State &state, const char *target, int depth, bool backward) {
  std::string command = std::string(FOVEA_TOOL " compile ") + writeSpec(depth, backward) + " --target=" + target +
                        " --emit=ptx -o /dev/null > /dev/null";
  for (auto _ : state)
    if (std::system(command.c_str()) != 0)
      return state.SkipWithError("fovea compile failed");
}

#define BOTH(NAME, ...)                                                                                                \
  BENCHMARK_CAPTURE(inProcess, NAME, __VA_ARGS__)->Unit(benchmark::kMillisecond)->UseRealTime();                       \
  BENCHMARK_CAPTURE(coldProcess, NAME, __VA_ARGS__)->Unit(benchmark::kMillisecond)->UseRealTime();
BOTH(sm_90a_d64_forward, "sm_90a", 64, false)
BOTH(sm_90a_d128_backward, "sm_90a", 128, true)
BOTH(sm_100a_d64_forward, "sm_100a", 64, false)
BOTH(sm_100a_d128_backward, "sm_100a", 128, true)
