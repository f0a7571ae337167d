// test/unit/passes/ExplainTest.cpp - `fovea explain` says what was decided, what it costs, and why.
#include "codegen/Explain.h"
#include "test/unit/passes/Kernels.h"
#include "llvm/Support/JSON.h"

using namespace fovea;
using namespace fovea::test;

namespace {
CompiledSpec compileFor(Kernels &kernels, const char *target, const char *roles) {
  Variant v;
  v.dim = 128;
  ScheduleOverrides overrides;
  if (*roles)
    overrides.roles = roles;
  CompileOptions options;
  options.target = target, options.until = Phase::Sync;
  auto compiled = compileProblem(kernels.context, kernels.problem(v), overrides, options);
  EXPECT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  return std::move(*compiled);
}

TEST(Explain, Text) {
  Kernels kernels;
  std::string text = explain(compileFor(kernels, "sm_90a", ""), false);
  if (std::getenv("FOVEA_SHOW"))
    std::printf("%s", (text + explain(compileFor(kernels, "sm_100a", "split"), false)).c_str());
  for (const char *line : {"forward: kernel kernel_forward for sm_90a", "schedule   fused, 64 rows, 4 CTAs per SM",
                           "all        0-3", "Out over V", "modelled, not measured", "bound by memory", "(chosen)",
                           "(next best)", "of 232448 bytes of shared memory", "refused: split, 128 rows, 4 stages: needs"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(Explain, MapsOfMemoryOfSplitRoles) {
  Kernels kernels;
  std::string text = explain(compileFor(kernels, "sm_100a", "split"), false);
  for (const char *line : {"map of tensor memory (columns)", "[0, 64)            S[0]", "K[1]", "barrier Q_full",
                           "persistent CTAs", "columns of tensor memory"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(Explain, SaysWhereTheRowTermAndTheRotationAre) {
  Kernels kernels;
  Variant v;
  v.backward = v.rotary = true;
  for (const char *target : {"sm_90a", "sm_100a"}) {
    CompileOptions options;
    options.target = target, options.until = Phase::Sync;
    auto compiled = compileProblem(kernels.context, kernels.problem(v), {}, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    std::string text = explain(*compiled, false);
    for (const char *line : {"D_i: the row sum of P o dP, in registers, since a tile sees whole rows; O is not read",
                             "packed gradients: dq, dk and dv are columns of 'dz'", "rotary table 'angles', a row per token",
                             "rotary on load: K is turned by 'angles' (interleaved) in shared memory",
                             "rotary epilogue: dq leaves un-rotated by 'angles' (interleaved)", "load -> rotate -> epilogue_dv"})
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

// The backward on sm_100a, chosen and split: roles, what each takes, the bytes, and what limits.
TEST(Explain, BackwardOfTensorMemory) {
  Kernels kernels;
  for (const char *roles : {"fused", "split"}) {
    Variant v;
    v.backward = true, v.dim = 128;
    ScheduleOverrides overrides;
    overrides.roles = roles;
    CompileOptions options;
    options.target = "sm_100a", options.until = Phase::Sync;
    auto compiled = compileProblem(kernels.context, kernels.problem(v), overrides, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    std::string text = explain(*compiled, false);
    text = text.substr(text.find("backward: kernel"));
    const bool split = std::string(roles) == "split";
    for (const char *line : {"D_i: the row sum of P o dP, in registers", "clocks per item (modelled, not measured)",
                             "114688 bytes at this SM's share of the bandwidth", "bound by ", "critical circuit",
                             "clocks per item by role (modelled)", "map of tensor memory (columns)",
                             split ? "product_dk   keys" : "product_dk   all",
                             split ? "qk -> softmax -> ds" : "tmem over DV",
                             split ? "clear_qk, qk, clear_dp, dp" : "all        0-3",
                             split ? "of 512 columns of tensor memory" : "256 of 512 columns of tensor memory"})
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(Explain, NamesTheTensorsOfAnEpilogue) {
  Kernels kernels;
  for (const char *target : {"sm_90a", "sm_100a"}) {
    Variant v;
    v.target = target, v.backward = v.epilogue = true;
    CompileOptions options;
    options.target = target, options.until = Phase::Sync;
    auto compiled = kernels.compileEpilogue(v, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    std::string text = explain(*compiled, false);
    for (const char *line : {"epilogue: an expression of o in f32, before its one rounding and one store", "Element1 holds 'residual'",
                             "epilogue: its gradients are computed in f32 from shared memory and o, which is made again",
                             "store_delement0 stores 'dgate'", "store_delement1 stores 'dresidual', which is dout as it is"})
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(Explain, SaysWhatALoopOverKeyBlocksVisits) {
  Kernels kernels;
  for (const Variant &v : {loopVariants()[0], loopVariants()[3]}) {
    ScheduleOverrides overrides;
    overrides.softmax = v.softmax, overrides.keyRows = 64;
    Problem problem = kernels.problem(v);
    problem.range.upper.push_back({Bound::diagonalShifted(1)});
    CompileOptions options;
    options.target = v.target, options.until = Phase::Sync;
    auto compiled = compileProblem(kernels.context, problem, overrides, options);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    std::string text = explain(*compiled, false);
    for (const char *line : {"a loop over key blocks of 64 rows, from the last to the first", "the next item from a counter",
                             "min(n_keys, i + (n_keys - n_queries) + 1)",
                             v.softmax == "exact" ? "softmax: a running maximum" : "softmax: the maximum of the first key block stays"})
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    for (const char *line : {"blocks of 0 keys", "every grid-th item", "static striding"})
      EXPECT_EQ(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(Explain, JsonHoldsTheSame) {
  Kernels kernels;
  CompiledSpec compiled = compileFor(kernels, "sm_100a", "");
  auto parsed = llvm::json::parse(explain(compiled, true));
  ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
  const llvm::json::Object &kernel = *parsed->getAsObject()->getArray("kernels")->front().getAsObject();
  EXPECT_EQ(*kernel.getString("entry"), "kernel_forward");
  EXPECT_EQ(kernel.getArray("candidates")->size(), compiled.candidates.size());
  EXPECT_EQ(*kernel.getArray("candidates")->front().getAsObject()->getString("schedule"), compiled.candidates[0].name);
  EXPECT_EQ(kernel.getArray("channels")->size(), 7u);
  EXPECT_GT(kernel.getArray("smem_map")->size(), 3u);
}
} // namespace
