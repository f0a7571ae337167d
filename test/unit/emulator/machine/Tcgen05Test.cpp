// test/unit/emulator/machine/Tcgen05Test.cpp - sm_100a kernels that LLVM compiled: a warp-specialised product, a CTA pair.
#include "test/unit/emulator/machine/Device.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

class Tcgen05 : public ::testing::TestWithParam<std::pair<AsyncPolicy, uint64_t>> {};

// C[M x N] = A[M x K] B[N x K]^T, bf16 in, f32 out: TMA warp, MMA warp, four epilogue warps, a ring of two stages.
TEST_P(Tcgen05, warpSpecialisedProduct) {
  constexpr uint32_t M = 256, N = 128, K = 320;
  AddressSpace memory;
  Program program(readFile(KERNELS "/warp_specialised_gemm_sm100a.ptx"), *findChip("sm_100a"), memory);
  auto a = randomBf16(M * K, 1), b = randomBf16(N * K, 2);
  uint64_t c = memory.allocate(M * N * 4, "c");
  Params p;
  p << makeMap(MapType::BF16, upload(memory, a, "a"), {K, M}, {2 * K}, {64, 128}, 3)
    << makeMap(MapType::BF16, upload(memory, b, "b"), {K, N}, {2 * K}, {64, 128}, 3) << c << uint32_t(K / 64) << uint32_t(N);
  Report r = program.run(*program.kernel("kernel"), launch(M / 128, 192, 65536, p, GetParam().first, GetParam().second));
  ASSERT_EQ(r.text(), "");
  auto got = download<float>(memory, c, M * N);
  for (uint32_t i = 0; i < M; ++i)
    for (uint32_t j = 0; j < N; ++j) {
      double want = 0;
      for (uint32_t k = 0; k < K; ++k)
        want += double(bf16ToFloat(a[i * K + k])) * bf16ToFloat(b[j * K + k]);
      ASSERT_NEAR(got[i * N + j], want, 1e-4) << i << ", " << j;
    }
}

// The pair's even block issues for both; its result stays in tensor memory, so that only the protocol is checked here
// (numbers of CTA pairs: test/conformance).
TEST_P(Tcgen05, pairProtocol) {
  AddressSpace memory;
  Program program(readFile(KERNELS "/cta_pair_sm100a.ptx"), *findChip("sm_100a"), memory);
  auto a = randomBf16(256 * 64, 1);
  Params p;
  Map128 m = makeMap(MapType::BF16, upload(memory, a, "a"), {64, 256}, {128}, {64, 128}, 3);
  p << m << m;
  LaunchConfig c = launch(4, 32, 32768, p, GetParam().first, GetParam().second);
  c.cluster[0] = 2;
  EXPECT_EQ(program.run(*program.kernel("pair"), c).text(), "");
}

INSTANTIATE_TEST_SUITE_P(policies, Tcgen05,
                         ::testing::Values(std::make_pair(AsyncPolicy::Lazy, 0), std::make_pair(AsyncPolicy::Eager, 0), std::make_pair(AsyncPolicy::Random, 1),
                                           std::make_pair(AsyncPolicy::Random, 2)));

// Each kernel is wrong in one way; the machine must say how.
std::string wrong(const std::string &body, uint32_t threads = 128) {
  AddressSpace memory;
  std::string text = ".version 8.8\n.target sm_100a\n.address_size 64\n.shared .align 4 .b32 slot;\n.shared .align 8 .b64 bar;\n.visible .entry k()\n{\n"
                     ".reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .pred %p<4>;\nmov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0;\n" +
                     body + "\nret;\n}\n";
  Program program(text, *findChip("sm_100a"), memory);
  return program.run(*program.kernel("k"), launch(1, threads, 0, Params(), AsyncPolicy::Lazy)).text();
}

TEST(Tcgen05Rules, areChecked) {
  const std::string alloc = "@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64; bar.sync 0; ld.volatile.shared.b32 %r2, [slot];\n";
  const std::string dealloc = "bar.sync 0; @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;\n";
  const std::string lane = "shl.b32 %r3, %r1, 21; add.s32 %r4, %r2, %r3;\n";
  auto has = [](const std::string &t, const std::string &part) { EXPECT_NE(t.find(part), std::string::npos) << "expected \"" << part << "\" in: " << t; };
  EXPECT_EQ(wrong(alloc + lane + "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r0}; tcgen05.wait::st.sync.aligned; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r4]; tcgen05.wait::ld.sync.aligned;" + dealloc), "");
  has(wrong(alloc + "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r2];" + dealloc), "lane");
  has(wrong(alloc + lane + "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%r4+63];" + dealloc), "column");
  has(wrong(alloc), "still allocated");
  has(wrong(alloc + dealloc + dealloc), "dealloc");
  has(wrong("mov.b32 %r5, 0; @%p0 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%r5];"), "column");
  // Descriptors: bits 46-48 must be 0b001; the instruction descriptor must name a shape that exists.
  const std::string bad = alloc + "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, %r0; mov.b64 %rd0, ";
  has(wrong(bad + "64; mov.b32 %r7, 0x08200490; @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd0, %rd0, %r7, %p2;" + dealloc), "46");
  has(wrong(bad + "0x4000404000000040; mov.b32 %r7, 0x00000490; @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd0, %rd0, %r7, %p2;" + dealloc), "M");
}

} // namespace
