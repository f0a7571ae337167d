// test/unit/passes/CostTest.cpp - the cost model against what an H200 measured, and the schedules it chooses.
#include "passes/Analysis/EventGraph.h"
#include "test/unit/passes/Kernels.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::tile;

namespace {
std::vector<Candidate> candidates(Kernels &kernels, const char *target, int64_t dim, int64_t block,
                                  const ScheduleOverrides &overrides = {}) {
  Variant v;
  v.dim = dim, v.block = block;
  auto all = enumerateForward(kernels.problem(v), *findTarget(target), overrides);
  EXPECT_TRUE(bool(all)) << llvm::toString(all.takeError());
  return std::move(*all);
}

// Milliseconds of the measured workload: 1,593,405 rows, 4 heads, on 132 SMs at 1.75 GHz.
double measuredWorkload(const Candidate &c) { return c.clocksPerRow() * 1593405 * 4 / 132 / 1.75e9 * 1e3; }

const Candidate &best(const std::vector<Candidate> &all, llvm::StringRef prefix) {
  for (const Candidate &c : all)
    if (c.refusal.empty() && llvm::StringRef(c.name).starts_with(prefix))
      return c;
  ADD_FAILURE() << "no candidate " << prefix.str();
  return all.front();
}

// One H200: forward of 64-row blocks took 1.477 ms at D 128 and 0.740 ms at D 64 with one CTA per tile, and 1.54 to
// 1.80 ms at D 128 with a persistent ring and static striding.
TEST(Cost, AgreesWithTheMeasuredKernels) {
  Kernels kernels;
  auto d128 = candidates(kernels, "sm_90a", 128, 64), d64 = candidates(kernels, "sm_90a", 64, 64);
  EXPECT_NEAR(measuredWorkload(best(d128, "fused, 64 rows, 4 CTAs")), 1.477, 0.08);
  EXPECT_NEAR(measuredWorkload(best(d64, "fused, 64 rows")), 0.740, 0.04);
  double ring = measuredWorkload(best(d128, "split, 64 rows"));
  EXPECT_GT(ring, 1.54);
  EXPECT_LT(ring, 1.80);
}

// One H200: the backward behind an applied rotary embedding took 2.248 ms for 1,717,000 rows of 3 heads, the forward that
// turns q and k on load 1.569 ms. A table's rows come from HBM once a tile, whatever the number of heads.
TEST(Cost, AgreesWithTheMeasuredRotaryKernels) {
  Kernels kernels;
  Variant v;
  v.dim = 128, v.backward = v.rotary = true;
  Problem p = kernels.problem(v);
  p.heads = 3;
  for (auto *rotation : {&p.rotaryQ, &p.rotaryK, &p.rotaryV})
    (*rotation)->onLoad = false;
  auto backward = enumerateBackward(p, *findTarget("sm_90a"), {});
  ASSERT_TRUE(bool(backward)) << llvm::toString(backward.takeError());
  EXPECT_NEAR(backward->front().clocksPerRow() * 1717000 * 3 / 132 / 1.75e9 * 1e3, 2.248, 0.08);
  EXPECT_NEAR(backward->front().cost.bytes, 64 * 128 * 2 * (7 + 1 / 3.0), 1);
  p = kernels.problem(v);
  p.rotaryV.reset();
  auto forward = enumerateForward(p, *findTarget("sm_90a"), {});
  ASSERT_TRUE(bool(forward)) << llvm::toString(forward.takeError());
  EXPECT_NEAR(measuredWorkload(forward->front()), 1.569, 0.08);
}

TEST(Cost, ChoosesSeveralCtasPerSmAtTheMemoryFloor) {
  Kernels kernels;
  auto all = candidates(kernels, "sm_90a", 128, 64);
  EXPECT_EQ(all[0].name, "fused, 64 rows, 4 CTAs per SM");
  EXPECT_STREQ(all[0].cost.bound(), "memory");
  // The runner-up and what it would cost stay for `explain`.
  ASSERT_GT(all.size(), 1u);
  EXPECT_GE(all[1].clocksPerRow(), all[0].clocksPerRow());
}

TEST(Cost, OneStageIsBoundByItsRoundTrip) {
  Kernels kernels;
  ScheduleOverrides overrides;
  overrides.roles = "split", overrides.stages = 1, overrides.tileRows = 64;
  auto all = candidates(kernels, "sm_100a", 64, 64, overrides);
  EXPECT_STREQ(all[0].cost.bound(), "latency");
  EXPECT_NE(all[0].cost.critical.find("-[V empty] -> load"), std::string::npos) << all[0].cost.critical;
}

TEST(Cost, MoreStagesNeverCostMore) {
  Kernels kernels;
  double previous = 1e9;
  for (int64_t stages : {1, 2, 3}) {
    ScheduleOverrides overrides;
    overrides.roles = "split", overrides.stages = stages, overrides.tileRows = 64;
    double period = candidates(kernels, "sm_90a", 64, 64, overrides)[0].cost.circuit;
    EXPECT_LE(period, previous);
    previous = period;
  }
}

TEST(Cost, EveryStageCountThatMayBeAskedForIsACandidate) {
  Kernels kernels;
  ScheduleOverrides overrides;
  overrides.roles = "split", overrides.stages = 6, overrides.tileRows = 64;
  EXPECT_EQ(candidates(kernels, "sm_90a", 64, 64, overrides)[0].schedule.depth("Q"), 6);
}

// Split roles of the backward: priced like the others, and within an SM's registers (setmaxnreg).
TEST(Cost, TheSplitBackwardIsACandidate) {
  Kernels kernels;
  Variant v;
  v.dim = 128, v.backward = true;
  for (const char *target : {"sm_90a", "sm_100a"}) {
    auto all = enumerateBackward(kernels.problem(v), *findTarget(target), {});
    ASSERT_TRUE(bool(all)) << llvm::toString(all.takeError());
    EXPECT_EQ((*all)[0].name.substr(0, 5), "fused") << target;
    const Candidate &split = best(*all, "split, 64 rows, 2 stages");
    EXPECT_GE(split.clocksPerRow(), (*all)[0].clocksPerRow());
    int64_t registers = 0;
    for (const GroupSchedule &group : split.schedule.groups)
      registers += 32 * group.warps * group.registers;
    EXPECT_LE(registers, findTarget(target)->registersPerSm);
  }
}

TEST(Cost, TheNearestRefusalIsReported) {
  Kernels kernels;
  Variant v;
  v.dim = 256, v.block = 64;
  ScheduleOverrides overrides;
  overrides.roles = "split", overrides.tileRows = 128;
  auto all = enumerateForward(kernels.problem(v), *findTarget("sm_90a"), overrides);
  ASSERT_FALSE(bool(all));
  EXPECT_EQ(llvm::toString(all.takeError()), "schedule sm_90a: no schedule fits; the nearest, split, 128 rows, 1 "
                                             "stages, needs 263168 bytes of shared memory of 232448");
}

// A ring of two slots: the producer takes 10 clocks to fill one, the consumer 30 to empty one and 5 to hand it back.
TEST(Cost, CriticalCircuitOfAHandMadeGraph) {
  EventGraph graph;
  graph.persistent = true;
  graph.events.resize(4); // take and pass of the producer, take and pass of the consumer
  auto edge = [&](unsigned from, unsigned to, unsigned tokens, double duration) {
    Edge e;
    e.from = from, e.to = to, e.tokens = tokens, e.duration = duration;
    graph.edges.push_back(e);
  };
  edge(0, 1, 0, 10), edge(1, 0, 1, 0);  // producer
  edge(2, 3, 0, 30), edge(3, 2, 1, 0);  // consumer
  edge(1, 2, 0, 0), edge(3, 0, 2, 5);   // full, empty
  EXPECT_FALSE(graph.findDeadlock());
  ASSERT_TRUE(graph.findCritical());
  EXPECT_DOUBLE_EQ(graph.findCritical()->period(), 30); // not (10 + 30 + 5) / 2
  graph.edges.back().tokens = 1;
  EXPECT_DOUBLE_EQ(graph.findCritical()->period(), 45);
  graph.edges.back().tokens = 0;
  ASSERT_TRUE(graph.findDeadlock());
  EXPECT_EQ(graph.findDeadlock()->edges.size(), 4u);
}
} // namespace
