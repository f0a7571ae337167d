// test/bench/InstructionBench.cpp - warp instructions per second of the emulator, one thread, on loops of one kind, detectors off and on.
#include "runtime/emulator/detect/Races.h"
#include "test/unit/emulator/machine/Device.h"

#include <benchmark/benchmark.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

/// 8 CTAs of 4 warps run `body` 2000 times.
static void loop(benchmark::State &state, const char *body) {
  AddressSpace memory;
  Program program(std::string(".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
                              "  .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n"
                              "  .shared .align 16 .b8 tile[2048];\n"
                              "  mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r8, tile; mad.lo.u32 %r8, %r0, 16, %r8;\n"
                              "  mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f3E000000;\n"
                              "  st.shared.v4.f32 [%r8], {%f1, %f2, %f3, %f1};\nloop:\n") +
                      body + "  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p1, %r1, 2000;\n  @%p1 bra loop;\n  ret;\n}\n",
                  *findChip("sm_90a"), memory);
  LaunchConfig config = launch(8, 128, 0, {}, AsyncPolicy::Lazy);
  config.threads = 1;
  double instructions = 0;
  for (auto _ : state) {
    std::unique_ptr<Observer> detector = state.range(0) ? makeRaceDetector() : nullptr;
    config.observer = detector.get();
    Report report = program.run(*program.kernel("k"), config);
    if (report.failed())
      return state.SkipWithError(report.text().c_str());
    instructions += double(report.warpInstructions);
  }
  state.counters["warp_instructions"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
}

#define LOOP(NAME, BODY) BENCHMARK_CAPTURE(loop, NAME, BODY)->Arg(0)->Arg(1)->ArgName("detect")
LOOP(integer, "  add.u32 %r2, %r2, %r0; xor.b32 %r3, %r3, %r2; shl.b32 %r4, %r3, 3; add.u32 %r5, %r4, %r2;\n");
LOOP(fma, "  fma.rn.f32 %f4, %f1, %f2, %f3; fma.rn.f32 %f5, %f4, %f2, %f3; fma.rn.f32 %f6, %f5, %f2, %f3; fma.rn.f32 %f7, %f6, %f2, %f3;\n");
LOOP(exp2, "  ex2.approx.ftz.f32 %f4, %f1; ex2.approx.ftz.f32 %f5, %f2; ex2.approx.ftz.f32 %f6, %f3; ex2.approx.ftz.f32 %f7, %f5;\n");
LOOP(shared, "  ld.shared.v4.f32 {%f4, %f5, %f6, %f7}, [%r8]; st.shared.v4.f32 [%r8], {%f4, %f5, %f6, %f7};\n");
