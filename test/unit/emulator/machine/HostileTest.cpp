// test/unit/emulator/machine/HostileTest.cpp - PTX that means harm: an error or a stop with a report, in bounded time and memory
#include "runtime/emulator/ptx/Error.h"
#include "test/unit/emulator/machine/Device.h"
#include <ctime>
#include <gtest/gtest.h>
#include <sys/resource.h>

#ifdef __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER
#endif
#endif

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

/// What became of the text: the load error, the report of the run, or "" when it ended well.
std::string outcome(const std::string &text, uint32_t threads = 64, uint64_t limit = 1u << 20, AsyncPolicy policy = AsyncPolicy::Lazy, const char *chip = "sm_100a") {
  std::clock_t start = std::clock();  // of the processor: the machine may be busy
  std::string said;
  try {
    AddressSpace memory;
    Program program(text, *findChip(chip), memory);
    uint64_t out = memory.allocate(1024, "out");
    for (const std::string &name : program.kernels()) {
      const Code *code = program.kernel(name);
      LaunchConfig config = launch(1, threads, 1024, {}, policy, 1);
      config.params.assign(code->paramBytes, 0);
      std::memcpy(config.params.data(), &out, std::min<size_t>(8, config.params.size()));
      config.limit = limit;
      said += program.run(*code, config).text();
    }
  } catch (const fovea::ptx::LoadError &e) {
    said = e.what();
  }
  EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 60) << text.substr(0, 200);
  return said;
}

std::string kernel(const std::string &body, const std::string &head = "", const std::string &target = "sm_100a") {
  return ".version 8.8\n.target " + target + "\n.address_size 64\n" + head + "\n.shared .align 1024 .b8 tile[4096];\n.shared .align 8 .b64 bar;\n"
         ".visible .entry k(.param .u64 p) {\n.reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<20>; .reg .b128 %q<3>; .reg .pred %p<9>;\n"
         "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;\n" + body + "\nret;\n}\n";
}

void says(const std::string &body, const std::string &part, uint32_t threads = 32) {
  std::string said = outcome(kernel(body), threads);
  EXPECT_NE(said.find(part), std::string::npos) << body << "\nsaid: " << said;
}

class Hostile : public ::testing::Test {
protected:
  /// Nothing here may need more than this: a hostile text must not take the machine down.
  void SetUp() override {
    getrlimit(RLIMIT_AS, &before);
    rlimit bound = before;
    bound.rlim_cur = rlim_t(6) << 30;
#ifndef ADDRESS_SANITIZER  // whose shadow takes more
    setrlimit(RLIMIT_AS, &bound);
#endif
  }
  void TearDown() override { setrlimit(RLIMIT_AS, &before); }
  rlimit before;
};

TEST_F(Hostile, noText) {
  EXPECT_NE(outcome(""), "");
  EXPECT_NE(outcome(std::string(1 << 20, '\0')), "");
  EXPECT_NE(outcome(std::string(1 << 20, '\xff')), "");
  EXPECT_NE(outcome(std::string("\x7f" "ELF\2\1\1\0\0", 9) + std::string(4096, '\0')), "");
  std::mt19937 rng(7);
  std::string noise(1 << 18, ' ');
  for (char &c : noise)
    c = char(rng());
  EXPECT_NE(outcome(noise), "");
  EXPECT_NE(outcome(".version 8.8\n.target sm_100a\n.address_size 64\n" + noise), "");
}

TEST_F(Hostile, truncatedAnywhere) {
  std::string whole = readFile(KERNELS "/blockdiag_fwd_sm90a.ptx");
  ASSERT_GT(whole.size(), 20000u);
  for (size_t n = 0; n < whole.rfind('}'); n += 997) {
    AddressSpace memory;
    try {
      Program program(whole.substr(0, n), *findChip("sm_90a"), memory);
      for (const std::string &name : program.kernels())
        program.kernel(name);
      EXPECT_TRUE(program.kernels().empty()) << "a kernel that ends at byte " << n << " was taken";
    } catch (const fovea::ptx::LoadError &) {
    }
  }
}

TEST_F(Hostile, changedAnywhere) {
  // One byte of a real kernel at a time: whatever loads must run to an end, too.
  std::string whole = readFile(KERNELS "/cta_pair_sm100a.ptx");
  std::mt19937 rng(11);
  for (int k = 0; k < 400; ++k) {
    std::string text = whole;
    text[rng() % text.size()] = "0123456789.,;[]{}()%abcxyz@!"[rng() % 28];
    outcome(text, 32, 20000);
  }
}

TEST_F(Hostile, deepNesting) {
  outcome(kernel(std::string(200000, '{') + std::string(200000, '}')));
  EXPECT_NE(outcome(kernel(std::string(1000000, '{'))), "");
  EXPECT_NE(outcome(kernel("mov.u32 %r1, " + std::string(100000, '(') + "1" + std::string(100000, ')') + ";")), "");
  EXPECT_NE(outcome(kernel("mov.b64 %d1, " + std::string(100000, '{') + ";")), "");
  EXPECT_NE(outcome(kernel("mov.u32 %r1, " + std::string(100000, '-') + "1;")), "");
  // Functions that call the next one twice: 2^40 instructions when inlined.
  std::string head = ".func f40() { ret; }\n";
  for (int k = 39; k >= 0; --k)
    head = head + ".func f" + std::to_string(k) + "() { call f" + std::to_string(k + 1) + "; call f" + std::to_string(k + 1) + "; ret; }\n";
  EXPECT_NE(outcome(kernel("call f0;", head)).find("instructions after inlining"), std::string::npos);
  // 5000 functions deep.
  head = ".func g5000() { ret; }\n";
  for (int k = 4999; k >= 0; --k)
    head += ".func g" + std::to_string(k) + "() { call g" + std::to_string(k + 1) + "; ret; }\n";
  outcome(kernel("call g0;", head));
}

TEST_F(Hostile, tooMuchOfEverything) {
  std::string body = "{ .reg .b32 %x<1000000>;\n";
  for (int k = 0; k < 1000000; ++k)
    body += "mov.b32 %x" + std::to_string(k) + ", 1;\n";
  EXPECT_NE(outcome(kernel(body + "}")).find("too many registers"), std::string::npos);
  EXPECT_NE(outcome(kernel(".reg .b32 %x<18446744073709551615>; mov.b32 %x18446744073709551614, 1;")), "");
  body.clear();
  for (int k = 0; k < 300000; ++k)
    body += "L" + std::to_string(k) + ": bra L" + std::to_string(k * 7919ull % 300000) + ";\n";
  outcome(kernel(body));
  EXPECT_NE(outcome(kernel("", ".global .b8 huge[0x7fffffffffffffff];")).find("huge"), std::string::npos);
  EXPECT_NE(outcome(kernel("", ".global .b64 huge[1073741824];\n.global .b64 more[1073741824];")), "");
  EXPECT_NE(outcome(kernel("mov.u32 %r1, big;", ".shared .b8 big[0x7fffffff];")), "");
  EXPECT_NE(outcome(kernel("", ".global .align 4611686018427387904 .b8 odd[8];")), "");
  EXPECT_NE(outcome(kernel(".local .b8 l[0x7fffffffffff]; st.local.u8 [l], %h1;")), "");
  EXPECT_NE(outcome(kernel(".local .b8 l[1000000]; st.local.u32 [l], %r0;"), 1024).find("local memory"), std::string::npos);
  std::string table = ".global .b8 t[100000] = {";
  for (int k = 0; k < 200000; ++k)
    table += "1,";
  EXPECT_NE(outcome(kernel("", table + "1};")), "");
  std::string parameters = ".visible .entry w(";
  for (int k = 0; k < 20000; ++k)
    parameters += std::string(k ? ", " : "") + ".param .u64 a" + std::to_string(k);
  EXPECT_NE(outcome(kernel("", parameters + ") { ret; }")).find("32764"), std::string::npos);
}

TEST_F(Hostile, jumpsToNowhere) {
  says("bra NOWHERE;", "branch to 'NOWHERE', which is no label");
  says("{ INNER: ret; } bra INNER;", "no label");
  says("bra p;", "branch to");
  says("brx.idx %r0, MISSING;", "no .branchtargets list");
  says("T: .branchtargets GONE; brx.idx %r0, T;", "GONE");
  says("T: .branchtargets A, B; add.u32 %r1, %r0, 7; brx.idx %r1, T; A: B:", "brx");
  says("call nobody;", "nobody");
  says("call (%r1), k, (%r1);", "k");
  EXPECT_NE(outcome(kernel("call f;", ".func f() { call g; ret; }\n.func g() { call f; ret; }")).find("recursi"), std::string::npos);
}

TEST_F(Hostile, endless) {
  for (AsyncPolicy policy : {AsyncPolicy::Lazy, AsyncPolicy::Eager, AsyncPolicy::Random})
    for (const char *body : {"L: bra L;", "L: nanosleep.u32 1000000; bra L;", "L: @%p0 bra L;", "L: bar.sync 0; bra L;", "L: ld.volatile.global.u32 %r1, [%d0]; bra L;",
                             "L: atom.global.add.u32 %r1, [%d0], 1; bra L;", "L: vote.sync.ballot.b32 %r1, %p0, -1; bra L;",
                             "@%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; L: mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; bra L;",
                             "L: add.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, %r1; @!%p1 bra L;"})
      EXPECT_NE(outcome(kernel(body), 64, 1u << 20, policy).find("limit: the kernel executed more than 1048576 warp instructions"), std::string::npos) << body;
  EXPECT_NE(outcome(kernel("@%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0; L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra L;"), 64, 1u << 30).find("deadlock"),
            std::string::npos);
  says("bar.sync 1, 64;", "deadlock");
  says("@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 512;", "only some threads");
  // One thread of each warp spins for ever on what another thread of it would do after the branch: still a stop.
  EXPECT_NE(outcome(kernel("@%p0 bra W; bra E; W: ld.volatile.shared.u32 %r1, [tile]; setp.ne.u32 %p1, %r1, 123; @%p1 bra W; E:")), "");
}

TEST_F(Hostile, addressesOutOfThisWorld) {
  for (const char *address : {"0x8000000000000000", "0xffffffffffffffff", "0xfffffffffffffff0", "0x7fffffffffffffff", "0x8000000000000010", "1", "0x100000000", "0xdeadbeefdeadbee0"}) {
    std::string set = std::string("mov.b64 %d1, ") + address + "; cvt.u32.u64 %r1, %d1; ";
    for (const char *access :
         {"ld.global.b128 %q0, [%d1];", "st.global.v4.b32 [%d1], {%r0, %r0, %r0, %r0};", "ld.u8 %r2, [%d1];", "st.u32 [%d1], %r0;", "atom.global.add.u32 %r2, [%d1], 1;", "red.add.u64 [%d1], 1;",
          "ld.shared.u32 %r2, [%d1];", "st.shared.u32 [%r1], %r0;", "ld.local.u32 %r2, [%d1];", "st.local.u64 [%d1], %d1;", "ld.shared::cluster.u32 %r2, [%r1];", "st.bulk.shared::cta [%r1], 64, 0;",
          "mbarrier.init.shared.b64 [%r1], 1;", "mbarrier.arrive.b64 _, [%d1];", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];",
          "cp.async.ca.shared.global [%r1], [%d1], 16;", "mov.u32 %r2, tile; cp.async.ca.shared.global [%r2], [%d1], 16; cp.async.wait_all;",
          "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
          "mov.u32 %r2, tile; cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r2], 0xfffffff0; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
          "mov.u32 %r2, tile; mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 4096, [%r3];"
          "L: mbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0; @!%p1 bra L;",
          "mov.u32 %r2, tile; mov.u32 %r3, bar; mbarrier.init.shared.b64 [%r3], 1; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1, {%r0, %r0}], [%r3];",
          "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d0, {%r1}], [%r1];", "mapa.u64 %d2, %d1, 5;", "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r2, %r3, %r4, %r5}, [%r1];",
          "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d1;", "multimem.red.global.add.u32 [%d1], %r0;"})
      EXPECT_NE(outcome(kernel(set + access), 32), "") << set << access;
  }
  // Addresses that a launch hands over as parameters or that arithmetic wraps around.
  says("add.u64 %d1, %d0, 0x7fffffffffffff00; ld.global.u32 %r1, [%d1];", "out of bounds");
  says("ld.global.u32 %r1, [%d0+0x7fffffffffffffff];", "");
  says("ld.param.u64 %d1, [p+8];", "beyond the kernel's parameters");
  says("ld.param.u64 %d1, [p+-8];", "beyond the kernel's parameters");
  says("wgmma.fence.sync.aligned;", "sm_90a only");
}

TEST_F(Hostile, descriptorsOutOfThisWorld) {
  const std::string alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 64; ld.shared.u32 %r1, [tile]; setp.eq.u32 %p1, %r0, %r0; ";
  for (const char *bits : {"0xffffffffffffffff", "0x8000000000000000", "0x4000400000013fff", "0"})
    for (const char *idesc : {"0xffffffff", "0", "0x08200490"})
      EXPECT_NE(outcome(kernel(alloc + "mov.b64 %d1, " + bits + "; mov.b32 %r2, " + idesc + "; @%p0 tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d1, %r2, %p1;"
                               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;"), 32), "") << bits << " " << idesc;
  // A descriptor may name what the system keeps at the start of shared memory, but not more than the block has.
  for (const char *bits : {"0xffffffffffffffff", "0x8000000000000000", "0x4000004000013fff", "0x4000004000013ff0"})
    outcome(kernel("mov.b64 %d1, " + std::string(bits) + "; setp.eq.u32 %p1, %r0, %r0; wgmma.fence.sync.aligned;"
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %d1, %d1, %p1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
                             "", "sm_90a"), 128, 1u << 20, AsyncPolicy::Lazy, "sm_90a");
}

TEST_F(Hostile, launches) {
  AddressSpace memory;
  Program program(kernel(""), *findChip("sm_100a"), memory);
  const Code *code = program.kernel("k");
  auto refused = [&](auto change, const std::string &part) {
    Params p;
    p << uint64_t(0);
    LaunchConfig c = launch(1, 32, 0, p, AsyncPolicy::Lazy);
    change(c);
    std::string said = program.run(*code, c).text();
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  refused([](LaunchConfig &c) { c.block[0] = 0xffffffff; }, "at most 1024 threads");
  refused([](LaunchConfig &c) { c.grid[0] = 0xffffffff; }, "too large");
  refused([](LaunchConfig &c) { c.grid[1] = 0; }, "must be positive");
  refused([](LaunchConfig &c) { c.cluster[0] = 0xffff; c.grid[0] = 0xffff; }, "at most 16 blocks");
  refused([](LaunchConfig &c) { c.dynamicShared = 0xffffffff; }, "shared memory");
  refused([](LaunchConfig &c) { c.params.clear(); }, "bytes of parameters");
  // More blocks than anybody can wait for: the limit ends it.
  refused([](LaunchConfig &c) { c.grid[0] = 0x7fffffff; c.grid[1] = 65535; c.limit = 100000; }, "limit");
}

} // namespace
