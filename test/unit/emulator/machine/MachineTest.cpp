// test/unit/emulator/machine/MachineTest.cpp - threads: divergence, barriers, waits, deadlock, bounds.
#include "test/unit/emulator/machine/Device.h"
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

struct Kernel {
  AddressSpace memory;
  std::unique_ptr<Program> program;
  uint64_t out = 0;
  size_t words;
  explicit Kernel(const std::string &body, size_t words = 256, const std::string &directives = "", const std::string &head = "") : words(words) {
    std::string text = ".version 8.8\n.target sm_100a\n.address_size 64\n" + head + "\n.visible .entry k(.param .u64 p) " + directives +
                       "\n{\n.reg .b32 %r<40>; .reg .pred %p<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>; .local .align 8 .b8 depot[8];\n"
                       "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1; mov.u32 %r1, %laneid;\n" + body + "\nret;\n}\n";
    program = std::make_unique<Program>(text, *findChip("sm_100a"), memory);
    out = memory.allocate(words * 4, "out");
  }
  Report run(uint32_t threads, AsyncPolicy policy = AsyncPolicy::Lazy, uint32_t grid = 1, uint32_t cluster = 1, uint64_t limit = 50u << 20) {
    Params p;
    p << out;
    LaunchConfig c = launch(grid, threads, 0, p, policy, 1);
    c.cluster[0] = cluster;
    c.limit = limit;
    return program->run(*program->kernel("k"), c);
  }
  std::vector<uint32_t> result() { return download<uint32_t>(memory, out, words); }
};

TEST(Machine, loopsDivergeAndMeetAgain) {
  // Each lane counts to its own number; the ballot after the loop must see all of them.
  Kernel k("mov.u32 %r2, 0; LOOP: add.s32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1; @%p1 bra LOOP;"
           "vote.sync.ballot.b32 %r3, %p1, -1; activemask.b32 %r4; xor.b32 %r5, %r2, %r4; st.global.u32 [%rd1], %r5;");
  ASSERT_EQ(k.run(32).text(), "");
  auto r = k.result();
  for (uint32_t l = 0; l < 32; ++l)
    EXPECT_EQ(r[l], (l + 1) ^ 0xffffffffu);
}

TEST(Machine, earlyReturnsDoNotKeepOthersApart) {
  Kernel k("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN; setp.gt.u32 %p2, %r1, 20; @%p2 bra OUT; mov.u32 %r3, 7; bra MEET;"
           "EVEN: mov.u32 %r3, 9; MEET: activemask.b32 %r4; st.global.u32 [%rd1], %r4; OUT:");
  ASSERT_EQ(k.run(32).text(), "");
  uint32_t want = 0;
  for (uint32_t l = 0; l < 32; ++l)
    want |= l % 2 == 0 || l <= 20 ? 1u << l : 0;
  EXPECT_EQ(k.result()[0], want);
}

TEST(Machine, oneLaneMaySpinOnAnother) {
  // Lane 0 waits for a flag that lane 1 sets after the branch that parts them.
  Kernel k("setp.ne.u32 %p1, %r1, 0; @%p1 bra OTHER; SPIN: ld.volatile.global.u32 %r2, [%rd0+400]; setp.ne.u32 %p2, %r2, 5; @%p2 bra SPIN; bra END;"
           "OTHER: setp.ne.u32 %p3, %r1, 1; @%p3 bra END; mov.u32 %r3, 5; st.volatile.global.u32 [%rd0+400], %r3; END: st.global.u32 [%rd1], %r1;");
  for (AsyncPolicy p : {AsyncPolicy::Lazy, AsyncPolicy::Random})
    ASSERT_EQ(k.run(32, p).text(), "");
  EXPECT_EQ(k.result()[31], 31u);
}

TEST(Machine, namedBarriersHandOver) {
  // Warp 1 produces, warps 0 and 2 consume; arrive and sync on the same barrier.
  Kernel k("shr.u32 %r2, %r0, 5; setp.eq.u32 %p1, %r2, 1; @%p1 bra PRODUCE; bar.sync 3, 96; ld.shared.u32 %r3, [box]; st.global.u32 [%rd1], %r3; bra END;"
           "PRODUCE: mov.u32 %r4, 77; st.shared.u32 [box], %r4; bar.arrive 3, 96; END:", 256, "", ".shared .align 4 .b32 box;");
  ASSERT_EQ(k.run(96).text(), "");
  EXPECT_EQ(k.result()[0], 77u);
  EXPECT_EQ(k.result()[95], 77u);
}

TEST(Machine, clusterBarrierAndRemoteSharedMemory) {
  Kernel k("mov.u32 %r2, %cluster_ctarank; add.s32 %r3, %r2, 100; st.shared.u32 [box], %r3; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
           "xor.b32 %r4, %r2, 1; mov.u32 %r5, box; mapa.shared::cluster.u32 %r6, %r5, %r4; ld.shared::cluster.u32 %r7, [%r6];"
           "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd2, %rd0, %rd2; st.global.u32 [%rd2], %r7; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
           256, "", ".shared .align 4 .b32 box;");
  ASSERT_EQ(k.run(32, AsyncPolicy::Random, 2, 2).text(), "");
  EXPECT_EQ(k.result()[0], 101u);
  EXPECT_EQ(k.result()[1], 100u);
}

TEST(Machine, mbarrierPhases) {
  // Fresh barrier: parity 1 passes, parity 0 does not; after 32 arrivals the other way round.
  Kernel k("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 32; bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1;"
           "mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3; bar.sync 0;"
           "mbarrier.arrive.shared.b64 %rd2, [bar]; W: mbarrier.try_wait.shared.b64 %p4, [bar], %rd2; @!%p4 bra W;"
           "mbarrier.test_wait.parity.shared.b64 %p3, [bar], 0; selp.u32 %r4, 4, 0, %p3; or.b32 %r5, %r2, %r3; or.b32 %r5, %r5, %r4; st.global.u32 [%rd1], %r5;",
           256, "", ".shared .align 8 .b64 bar;");
  for (AsyncPolicy p : {AsyncPolicy::Lazy, AsyncPolicy::Random}) {
    ASSERT_EQ(k.run(32, p).text(), "");
    EXPECT_EQ(k.result()[5], 5u);
  }
}

TEST(Machine, deadlockNamesTheWaits) {
  Kernel k("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 2; bar.sync 0; @%p1 mbarrier.arrive.shared.b64 _, [bar];"
           "W: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0; @!%p4 bra W;", 256, "", ".shared .align 8 .b64 bar;");
  std::string t = k.run(64).text();
  EXPECT_NE(t.find("deadlock: no thread can go on"), std::string::npos) << t;
  EXPECT_NE(t.find("1 of 2 arrivals missing"), std::string::npos) << t;
}

TEST(Machine, printsAndZeroesAndKnowsItsCluster) {
  Kernel k("{ .param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %rd2, fmt; cvta.global.u64 %rd2, %rd2; st.param.b64 [a], %rd2; mov.u64 %rd3, 0;"
           "st.local.u32 [depot], %r1; mov.u32 %r9, 0; st.local.u32 [depot+4], %r9; mov.u64 %rd3, depot; cvta.local.u64 %rd3, %rd3; st.param.b64 [b], %rd3; setp.eq.u32 %p1, %r0, 3; @%p1 call.uni (r), vprintf, (a, b); }"
           "mov.u64 %rd4, 16; st.bulk.weak.shared::cta [box], %rd4, 0; ld.shared.u32 %r5, [box+12]; mov.pred %p2, %is_explicit_cluster; selp.u32 %r6, 1, 0, %p2; add.u32 %r5, %r5, %r6; st.global.u32 [%rd1], %r5;",
           256, "", ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 fmt[9] = {108, 97, 110, 101, 32, 37, 100, 10, 0};\n.shared .align 16 .b8 box[16];");
  ::testing::internal::CaptureStdout();
  std::string report = k.run(32).text();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "lane 3\n");
  ASSERT_EQ(report, "");
  EXPECT_EQ(k.result()[4], 0u);
}

TEST(Machine, errorsAreFound) {
  auto text = [](const std::string &body, const std::string &head = "", uint32_t threads = 32) {
    Kernel k(body, 32, "", head);
    return k.run(threads, AsyncPolicy::Lazy, 1, 1, 1 << 20).text();
  };
  auto has = [](const std::string &t, const std::string &part) { EXPECT_NE(t.find(part), std::string::npos) << "expected \"" << part << "\" in: " << t; };
  has(text("st.global.u32 [%rd1+128], %r0;"), "0 bytes beyond the end of out");
  has(text("st.global.u32 [%rd1+2], %r0;"), "misaligned");
  has(text("mov.u64 %rd2, 0; ld.global.u32 %r2, [%rd2];"), "in no buffer");
  has(text("ld.shared.u32 %r2, [0];"), "out of bounds: read of 4 bytes at shared address 0x0");
  has(text("mbarrier.arrive.shared.b64 _, [bar];", ".shared .align 8 .b64 bar;"), "where no mbarrier was initialised");
  has(text("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [bar], 5; bar.sync 0; mbarrier.arrive.shared.b64 _, [bar], 6;", ".shared .align 8 .b64 bar;"), "misses only 5");
  has(text("L: bra L;"), "limit: the kernel executed more than");
  has(text("trap;"), "trap");
  has(text("setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0;"), "only some threads of the warp");
  has(text("bar.sync 1, 64;"), "deadlock");
  has(text("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;", ".shared .align 4 .b32 slot;"), "still allocated");
}

} // namespace
