// test/unit/emulator/machine/DetectorsTest.cpp - what each detector finds, and what it leaves alone.
#include "runtime/emulator/detect/Uninitialised.h"
#include "test/unit/emulator/machine/Device.h"
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

/// A kernel of one buffer `out`, run under the detectors.
Report run(const std::string &body, uint32_t threads = 32, uint32_t grid = 1) {
  AddressSpace memory;
  std::string text = ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<40>; .reg .pred %p<10>; .reg .b64 %rd<10>;\n"
                     ".shared .align 16 .b8 s[1024]; .shared .align 8 .b8 bar[8];\n"
                     "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1; shl.b32 %r1, %r0, 2;\n"
                     "mov.u32 %r2, s; add.u32 %r1, %r1, %r2; setp.eq.u32 %p0, %r0, 0; xor.b32 %r3, %r1, 4; mov.u32 %r4, bar;\n" + body + "\nret;\n}\n";
  Program program(text, *findChip("sm_100a"), memory);
  Params p;
  p << memory.allocate(4096, "out");
  LaunchConfig c = launch(grid, threads, 0, p, AsyncPolicy::Lazy, 1);
  c.limit = 1u << 20;
  c.threads = 1;  // so that the blocks run in their order
  auto races = makeRaceDetector();
  return runAndCheckInputs(program, *program.kernel("k"), c, memory, *races);
}

testing::AssertionResult finds(const Report &r, bool warning, const std::string &words) {
  for (const Finding &f : r.findings)
    if (f.warning == warning && f.message.find(words) != std::string::npos)
      return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no " << (warning ? "warning" : "error") << " with '" << words << "' in: " << r.text();
}

TEST(Detectors, blocksThatShareGlobalMemory) {
  // Block 0 writes what block 1 reads.
  const std::string write = "setp.eq.u32 %p1, %r9, 0; @%p1 bra W; ", end = " bra E; W: @%p0 st.global.u32 [%rd0], 7; ";
  Report r = run(write + "@%p0 ld.global.u32 %r5, [%rd0]; @%p0 st.global.u32 [%rd0+4], %r5;" + end + "E:", 32, 2);
  ASSERT_TRUE(finds(r, false, "by another block"));
  EXPECT_NE(r.text().find("(out + 0)"), std::string::npos) << r.text();
  EXPECT_NE(r.json().find("\"earlier\""), std::string::npos);
  // With a flag and fences there is an order.
  EXPECT_EQ(run("setp.ne.u32 %p1, %r0, 0; @%p1 bra E; setp.eq.u32 %p1, %r9, 0; @%p1 bra W;"
                "P: ld.acquire.gpu.global.u32 %r5, [%rd0+64]; setp.ne.u32 %p2, %r5, 1; @%p2 bra P;"
                "ld.global.u32 %r5, [%rd0]; st.global.u32 [%rd0+4], %r5; bra E;"
                "W: st.global.u32 [%rd0], 7; fence.acq_rel.gpu; st.release.gpu.global.u32 [%rd0+64], 1; E:", 32, 2).text(), "");
}

// The block that polls runs first, so it must give way long before the limit of this file is reached.
TEST(Detectors, blocksThatWaitForLaterOnes) {
  for (const char *poll : {"P: ld.acquire.gpu.global.u32 %r5, [%rd0+64]; ", "P: atom.acquire.gpu.global.cas.b32 %r5, [%rd0+64], 1, 1; "})
    EXPECT_EQ(run(std::string("setp.ne.u32 %p1, %r0, 0; @%p1 bra E; setp.eq.u32 %p1, %r9, 1; @%p1 bra W;") + poll +
                  "setp.ne.u32 %p2, %r5, 1; @%p2 bra P; ld.global.u32 %r5, [%rd0]; st.global.u32 [%rd0+4], %r5; bra E;"
                  "W: st.global.u32 [%rd0], 7; fence.acq_rel.gpu; st.release.gpu.global.u32 [%rd0+64], 1; E:", 32, 2).text(), "");
}

// What only engines have read is noted apart, until somebody writes there.
TEST(Detectors, buffersThatEnginesRead) {
  const std::string begin = "setp.ne.u32 %p1, %r0, 0; @%p1 bra E; setp.eq.u32 %p1, %r9, 1; @%p1 bra W; mbarrier.init.shared.b64 [%r4], 1; fence.proxy.async.shared::cta; ",
                    copy = "mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 96; "
                           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0+1024], 32, [%r4];"
                           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+32], [%rd0+2048], 32, [%r4];"
                           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+64], [%rd0+3072], 32, [%r4];",
                    wait = "L: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra L; ";
  auto write = [](int at) { return "st.global.u32 [%rd0+" + std::to_string(at) + "], 7; "; };
  for (int at : {1024, 2052, 3100})  // each of the three copies
    EXPECT_TRUE(finds(run(begin + copy + wait + "bra E; W: " + write(at) + "E:", 32, 2), false, "is not ordered after the read at line"));
  EXPECT_EQ(run(begin + copy + wait + "bra E; W: " + write(1056) + write(2044) + write(512) + "E:", 32, 2).text(), "");
  // A flag after the wait orders them, one before it does not.
  const std::string tell = "fence.acq_rel.gpu; st.release.gpu.global.u32 [%rd0+64], 1; ", hear = "W: ld.acquire.gpu.global.u32 %r5, [%rd0+64]; setp.ne.u32 %p2, %r5, 1; @%p2 bra W; ";
  EXPECT_EQ(run(begin + copy + wait + tell + "bra E; " + hear + write(2048) + "E:", 32, 2).text(), "");
  EXPECT_TRUE(finds(run(begin + copy + tell + wait + "bra E; " + hear + write(2048) + "E:", 32, 2), false, "is not ordered after the read at line"));
  // The block's own store, before and after the wait.
  EXPECT_TRUE(finds(run(begin + copy + write(2048) + wait + "W: E:", 32, 1), false, "race: "));
  EXPECT_EQ(run(begin + copy + wait + write(2048) + "W: E:", 32, 1).text(), "");
}

TEST(Detectors, lanesOfAWarp) {
  const std::string store = "st.shared.u32 [%r1], %r0;", load = "ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd1], %r5;";
  EXPECT_TRUE(finds(run(store + load), true, "threads of one warp with no bar.warp.sync between"));
  EXPECT_EQ(run(store + "bar.warp.sync -1;" + load).text(), "");
}

TEST(Detectors, oneLanePublishesItsOwnAccessesOnly) {
  // Warp 0 writes, its first lane arrives, warp 1 waits and reads.
  auto kernel = [](const std::string &meet) {
    return "@%p0 mbarrier.init.shared.b64 [%r4], 1; bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra R; st.shared.u32 [%r1], %r0;" + meet +
           "@%p0 mbarrier.arrive.shared.b64 _, [%r4]; bra E; R: add.u32 %r5, %r1, -128; W: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra W;"
           "ld.shared.u32 %r5, [%r5]; st.global.u32 [%rd1], %r5; E:";
  };
  // Together: chips keep the order. The first lane alone, on a branch of its own: nothing does.
  EXPECT_TRUE(finds(run(kernel(""), 64), true, "the warp did not meet (bar.warp.sync) before one of its threads told others"));
  EXPECT_TRUE(finds(run(kernel("@!%p0 bra X; mbarrier.arrive.shared.b64 _, [%r4]; X: add.u32 %r9, %r9, 1; bra E;"), 64), false, "race: read"));
  EXPECT_EQ(run(kernel("bar.warp.sync -1;"), 64).text(), "");
}

TEST(Detectors, eachOfManyReadersCounts) {
  // Six warps read one word, the first lane of each arrives, the seventh warp waits and writes it.
  auto kernel = [](const std::string &meet) {
    return "mov.u32 %r8, %laneid; setp.eq.u32 %p2, %r8, 0; @%p0 mbarrier.init.shared.b64 [%r4], 6; @%p0 st.shared.u32 [%r2], 7; bar.sync 0;"
           "setp.ge.u32 %p1, %r0, 192; @%p1 bra W; ld.shared.u32 %r5, [%r2]; setp.ge.u32 %p4, %r0, 32; @!%p4 bra F; bar.warp.sync -1; bra M; F: add.u32 %r9, %r9, 1;" + meet +
           "M: @%p2 mbarrier.arrive.shared.b64 _, [%r4]; st.global.u32 [%rd1], %r5; bra E;"
           "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W; @%p2 st.shared.u32 [%r2], 8; E:";
  };
  EXPECT_TRUE(finds(run(kernel(""), 224), true, "the warp did not meet (bar.warp.sync) before one of its threads told others"));
  EXPECT_EQ(run(kernel("bar.warp.sync -1;"), 224).text(), "");
}

// Threads that have exited are waited for by nobody (PTX ISA, exit; match.sync names the non-exited threads of its mask). They
// take part in no barrier either, so what they wrote last is ordered before nothing.
TEST(Detectors, lanesThatExited) {
  auto kernel = [](const std::string &before, const std::string &barrier, int offset) {
    return "setp.ge.u32 %p1, %r0, 16; setp.ge.u32 %p2, %r0, 32; st.shared.u32 [%r1], %r0;" + before + "@%p2 bra S; @%p1 exit; S:" + barrier + "ld.shared.u32 %r5, [%r1 + " +
           std::to_string(offset) + "]; st.global.u32 [%rd1], %r5;";
  };
  const std::string meet = "bar.warp.sync -1;", block = "bar.sync 0; setp.lt.u32 %p3, %r0, 32; @%p3 exit;";
  EXPECT_TRUE(finds(run(kernel("", meet, 64)), true, "threads of one warp with no bar.warp.sync between"));
  EXPECT_EQ(run(kernel(meet, meet, 64)).text(), "");
  EXPECT_EQ(run(kernel("", meet + "xor.b32 %r1, %r1, 4;", 0)).text(), "");  // among those that stayed
  // The second warp reads what the half of the first that left wrote; the barrier waits for the other half only.
  Report r = run(kernel("", block, -64), 64);
  EXPECT_FALSE(r.failed()) << r.text();
  EXPECT_TRUE(finds(r, true, "race: read"));
  EXPECT_EQ(run(kernel("", block + "setp.ge.u32 %p3, %r0, 48; @%p3 exit;", -128), 64).text(), "");  // what the other half wrote
}

TEST(Detectors, garbageThatReachesAnOutput) {
  Report r = run("ld.shared.u32 %r5, [%r1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5;");
  EXPECT_TRUE(finds(r, false, "uninitialised: 32 words of out"));
  EXPECT_TRUE(finds(r, false, "unwritten memory is read at line"));
  EXPECT_TRUE(finds(run("shr.u32 %r5, %r7, 3; st.global.u32 [%rd1], %r5;"), false, "uninitialised"));  // a register
  // Read and masked: no finding.
  EXPECT_EQ(run("ld.shared.u32 %r5, [%r1]; setp.gt.u32 %p1, %r0, 99; selp.b32 %r5, %r5, 0, %p1; st.global.u32 [%rd1], %r5;").text(), "");
}

TEST(Detectors, bulkStoreOutlivesItsBlock) {
  const std::string store = "st.shared.u32 [%r1], %r0; fence.proxy.async.shared::cta; bar.warp.sync -1; @!%p0 bra E;"
                            "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128; cp.async.bulk.commit_group;";
  EXPECT_TRUE(finds(run(store + "E:"), false, "leak: "));
  EXPECT_EQ(run(store + "cp.async.bulk.wait_group.read 0; E:").text(), "");
}

TEST(Detectors, stopsWithCopiesPending) {  // built with -fsanitize=address, this says what was left behind
  EXPECT_TRUE(finds(run("cvta.to.global.u64 %rd2, %rd1; cp.async.ca.shared.global [%r1], [%rd2], 4; trap;"), false, "trap"));
}

TEST(Detectors, initThatTheCopyMayNotSee) {
  auto kernel = [](const std::string &fence) {
    return "setp.ne.u32 %p1, %r0, 0; @%p1 bra E; mbarrier.init.shared.b64 [%r4], 1;" + fence +
           "st.global.u32 [%rd0], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 16;"
           "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd0+64], 16, [%r4]; W: mbarrier.try_wait.parity.shared.b64 %p2, [%r4], 0; @!%p2 bra W; E:";
  };
  EXPECT_TRUE(finds(run(kernel("")), true, "signals an mbarrier whose init"));
  EXPECT_EQ(run(kernel("fence.proxy.async;")).text(), "");
  EXPECT_EQ(run(kernel("fence.mbarrier_init.release.cluster;")).text(), "");
}

TEST(Detectors, alignedInstructionAfterABranch) {
  const std::string branch = "st.shared.u32 [%r1], %r0; bar.warp.sync -1; @%p0 bra A; add.u32 %r9, %r9, 1; A: ",
                    load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r2]; st.global.u32 [%rd1], %r5;";
  EXPECT_TRUE(finds(run(branch + load), true, "convergence: ldmatrix"));
  EXPECT_EQ(run(branch + "bar.warp.sync -1;" + load).text(), "");
}

TEST(Detectors, wgmmaFenceInALoop) {
  // What the loop adds to the accumulators comes before the product of its next round.
  auto kernel = [](const std::string &fence) {
    return ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p<3>; .reg .b64 %d<3>;\n"
           ".shared .align 128 .b8 s[2048]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; mov.u32 %r3, 0;"
           "st.shared.v4.u32 [%r1], {%r3, %r3, %r3, %r3}; fence.proxy.async.shared::cta; bar.sync 0; shr.u32 %r2, %r2, 4; cvt.u64.u32 %d0, %r2; or.b64 %d0, %d0, 0x0000000800080000;"
           "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; setp.eq.u32 %p0, %r3, 0; wgmma.fence.sync.aligned;\nL:\n" + fence +
           "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d0, %d0, %p0, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
           "add.f32 %f0, %f0, %f0; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra L;\nret;\n}\n";
  };
  auto report = [&](const std::string &fence) {
    AddressSpace memory;
    Program program(kernel(fence), *findChip("sm_90a"), memory);
    LaunchConfig c = launch(1, 128, 0, {}, AsyncPolicy::Lazy, 1);
    auto races = makeRaceDetector();
    return runAndCheckInputs(program, *program.kernel("k"), c, memory, *races);
  };
  EXPECT_TRUE(finds(report(""), true, "no wgmma.fence between"));
  EXPECT_EQ(report("wgmma.fence.sync.aligned;").text(), "");
  // The use may stand anywhere in the text, and fences of other paths do not count.
  auto elsewhere = [&](const std::string &fence) { return report("bra.uni B;\nA: add.f32 %f0, %f0, %f0;" + fence + "bra.uni C;\nB: @%p0 bra A;\nwgmma.fence.sync.aligned;\nC:\n"); };
  EXPECT_TRUE(finds(elsewhere(""), true, "no wgmma.fence between"));
  EXPECT_EQ(elsewhere("wgmma.fence.sync.aligned;").text(), "");
}

TEST(Detectors, resultOfALoadFromTensorMemory) {
  auto kernel = [](const std::string &use) {
    return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32; bar.sync 0; ld.shared.u32 %r6, [%r4]; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r0};"
           "tcgen05.wait::st.sync.aligned; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r6]; mov.b32 %r8, %r5;" + use + "tcgen05.wait::ld.sync.aligned;"
           "add.u32 %r9, %r8, 1; st.global.u32 [%rd1], %r9; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 32;";
  };
  EXPECT_TRUE(finds(run(kernel("add.u32 %r9, %r5, 1;"), 32), true, "tmem: the result"));
  EXPECT_TRUE(finds(run(kernel("add.u32 %r9, %r8, 1;"), 32), true, "tmem: the result")); // a copy is one, too
  EXPECT_FALSE(finds(run(kernel(""), 32), true, "tmem: the result"));
}

TEST(Detectors, tensorMemoryGivenBackTooEarly) {
  auto kernel = [](const std::string &meet) {
    return "setp.ge.u32 %p1, %r0, 32; @%p1 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32; A: bar.sync 0; ld.shared.u32 %r6, [%r4];"
           "@!%p1 bra D; shl.b32 %r7, %r0, 16; and.b32 %r7, %r7, 0x600000; add.u32 %r7, %r7, %r6; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r0}; tcgen05.wait::st.sync.aligned; D:" + meet +
           "@%p1 bra E; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 32; E:";
  };
  EXPECT_TRUE(finds(run(kernel(""), 64), false, "race: write"));
  EXPECT_EQ(run(kernel("bar.sync 0;"), 64).text(), "");
}

TEST(Detectors, oneLaneSpeaksForItsWarpsTensorMemory) {
  // Four warps load, lane 0 of each arrives, warp 0 waits and gives the memory back.
  auto kernel = [](const std::string &meet) {
    return "mov.u32 %r8, %laneid; setp.eq.u32 %p2, %r8, 0; setp.ge.u32 %p1, %r0, 32; @%p0 mbarrier.init.shared.b64 [%r4], 4; @%p1 bra A;"
           "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32; A: bar.sync 0; ld.shared.u32 %r6, [%r2];"
           "shl.b32 %r7, %r0, 16; and.b32 %r7, %r7, 0x600000; add.u32 %r7, %r7, %r6; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r0}; tcgen05.wait::st.sync.aligned;"
           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r7]; tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync;" + meet +
           "@%p2 mbarrier.arrive.shared.b64 _, [%r4]; st.global.u32 [%rd1], %r5; @%p1 bra E;"
           "W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W; bar.warp.sync -1; tcgen05.fence::after_thread_sync; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 32; E:";
  };
  EXPECT_EQ(run(kernel("bar.warp.sync -1;"), 128).text(), "");
  Report r = run(kernel(""), 128);
  EXPECT_FALSE(r.failed()) << r.text();
  EXPECT_TRUE(finds(r, true, "the warp did not meet (bar.warp.sync) before one of its threads told others"));
}

TEST(Detectors, tensorFencesStandAtBothEndsOfAChain) {
  // Warp 0 stores, warp 1 passes the news on, warp 4 reads the same lanes: bar.sync 1 and 2 of two warps each.
  auto kernel = [](const std::string &before, const std::string &between, const std::string &after) {
    return "shr.u32 %r8, %r0, 5; setp.ne.u32 %p1, %r8, 0; setp.ne.u32 %p2, %r8, 1; setp.ne.u32 %p3, %r8, 4; @%p1 bra A;"
           "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 32; A: bar.sync 0; ld.shared.u32 %r6, [%r2];"
           "@%p1 bra B; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r0}; tcgen05.wait::st.sync.aligned;" + before + "bar.arrive 1, 64; B:"
           "@%p2 bra C; bar.sync 1, 64;" + between + "bar.arrive 2, 64; C:"
           "@%p3 bra D; bar.sync 2, 64;" + after +
           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r6]; tcgen05.wait::ld.sync.aligned; st.global.u32 [%rd1], %r5; D:"
           "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync; @%p1 bra E; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r6, 32; E:";
  };
  const std::string before = "tcgen05.fence::before_thread_sync;", after = "tcgen05.fence::after_thread_sync;";
  EXPECT_EQ(run(kernel(before, "", after), 160).text(), "");
  EXPECT_EQ(run(kernel(before, after + before, after), 160).text(), "");
  const std::string missing = "without tcgen05.fence::before_thread_sync there and ::after_thread_sync here";
  EXPECT_TRUE(finds(run(kernel("", after + before, after), 160), true, missing));
  EXPECT_TRUE(finds(run(kernel(before, after + before, ""), 160), true, missing));
}

} // namespace
