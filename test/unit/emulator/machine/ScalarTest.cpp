// test/unit/emulator/machine/ScalarTest.cpp - scalar forms that compilers seldom emit: values by the ISA's text
#include "test/unit/emulator/machine/Device.h"
#include <gtest/gtest.h>

using namespace fovea::emulator;
using namespace fovea::emulator::test;

namespace {

/// Runs `body` with one thread; it leaves its result in %r0 (and %r1). Registers: %r .b32, %h .b16, %d .b64, %f .f32, %p .pred.
std::vector<uint32_t> run(const std::string &body, const std::string &head = "") {
  AddressSpace memory;
  std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n" + head + "\n.visible .entry k(.param .u64 p) {\n" +
                     ".reg .b32 %r<20>; .reg .b16 %h<10>; .reg .b64 %d<10>; .reg .f32 %f<10>; .reg .pred %p<10>; mov.b32 %r1, 0;\n" + body +
                     "\nld.param.u64 %d9, [p]; st.global.v2.b32 [%d9], {%r0, %r1};\nret;\n}\n";
  Program program(text, *findChip("sm_100a"), memory);
  uint64_t out = memory.allocate(256, "out");
  memory.write(out + 128, "\1\2\3\4\5\6\7\10", 8);
  Params p;
  p << out;
  Report report = program.run(*program.kernel("k"), launch(1, 1, 0, p, AsyncPolicy::Lazy));
  EXPECT_EQ(report.text(), "");
  return download<uint32_t>(memory, out, 2);
}
uint32_t one(const std::string &body) { return run(body)[0]; }

TEST(Scalar, mad24High) {
  EXPECT_EQ(one("mad24.hi.u32 %r0, 0x123456, 0x10000, 5;"), 0x123456u + 5);
  EXPECT_EQ(one("mad24.hi.s32 %r0, 0xFFFFFF, 0x10000, 5;"), 4u) << "24-bit operands are signed: -1 * 65536 >> 16";
  EXPECT_EQ(one("mad24.hi.sat.s32 %r0, 0x400000, 0x400000, 0x7FFFFFF0;"), 0x7FFFFFFFu);
}

TEST(Scalar, findNthSet) {
  EXPECT_EQ(one("mov.b32 %r2, 0x9A; fns.b32 %r0, %r2, 0, 2;"), 3u);
  EXPECT_EQ(one("mov.b32 %r2, 0x9A; fns.b32 %r0, %r2, 7, -2;"), 4u);
  EXPECT_EQ(one("mov.b32 %r2, 0x9A; fns.b32 %r0, %r2, 4, 0;"), 4u);
  EXPECT_EQ(one("mov.b32 %r2, 0x9A; fns.b32 %r0, %r2, 5, 0;"), 0xFFFFFFFFu);
  EXPECT_EQ(one("mov.b32 %r2, 0x9A; fns.b32 %r0, %r2, 0, 9;"), 0xFFFFFFFFu);
}

TEST(Scalar, lop3WithPredicate) {
  const std::string set = "mov.b32 %r2, 0xF0; mov.b32 %r3, 0xCC; mov.b32 %r4, 0xAA; setp.eq.u32 %p1, 0, 0; ";
  const std::string read = " selp.b32 %r1, 1, 0, %p2;";
  EXPECT_EQ(run(set + "lop3.and.b32 %r0|%p2, %r2, %r3, %r4, 0x80, %p1;" + read), (std::vector<uint32_t>{0x80, 1}));
  EXPECT_EQ(run(set + "lop3.and.b32 %r0|%p2, %r2, %r3, %r4, 0x00, %p1;" + read), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(run(set + "lop3.or.b32 %r0|%p2, %r2, %r3, %r4, 0x00, %p1;" + read), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(run(set + "lop3.or.b32 %r0|%p2, %r2, %r3, %r4, 0x96, !%p1;" + read), (std::vector<uint32_t>{0x96, 1}));
}

TEST(Scalar, threeOperandMinimaOfMagnitudes) {
  const std::string set = "mov.f32 %f1, 0fC0400000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0fC0A00000; ";  // -3, 2, -5
  EXPECT_EQ(one(set + "min.abs.f32 %f0, %f1, %f2, %f3; mov.b32 %r0, %f0;"), 0x40000000u);
  EXPECT_EQ(one(set + "max.abs.f32 %f0, %f1, %f2, %f3; mov.b32 %r0, %f0;"), 0x40A00000u);
  EXPECT_EQ(one(set + "mov.f32 %f2, 0f7FC00000; max.NaN.abs.f32 %f0, %f1, %f2, %f3; mov.b32 %r0, %f0;"), 0x7FFFFFFFu);
}

TEST(Scalar, fmaOutOfBoundsNanIsZero) {
  // Halves: 2 * 3 + 1 and (fill) * 3 + 1.
  EXPECT_EQ(one("mov.b32 %r2, 0x7FF74000; mov.b32 %r3, 0x42004200; mov.b32 %r4, 0x3C003C00; fma.rn.oob.f16x2 %r0, %r2, %r3, %r4;"), 0x00004700u);
  EXPECT_EQ(one("mov.b16 %h1, 0x7E00; mov.b16 %h2, 0x4200; fma.rn.oob.f16 %h0, %h1, %h2, %h2; cvt.u32.u16 %r0, %h0;"), 0x7FFFu) << "another NaN stays one";
}

TEST(Scalar, packedSetAndSetp) {
  const std::string set = "mov.b32 %r2, 0x40003C00; mov.b32 %r3, 0x3C004000; setp.ne.u32 %p1, 0, 0; ";  // halves 1, 2 against 2, 1
  EXPECT_EQ(one(set + "set.lt.f16x2.f16x2 %r0, %r2, %r3;"), 0x00003C00u);
  EXPECT_EQ(one(set + "set.gt.u32.f16x2 %r0, %r2, %r3;"), 0xFFFF0000u);
  EXPECT_EQ(one(set + "set.lt.or.bf16x2.bf16x2 %r0, %r2, %r3, !%p1;"), 0x3F803F80u);
  const std::string read = " selp.b32 %r0, 1, 0, %p2; selp.b32 %r1, 1, 0, %p3;";
  EXPECT_EQ(run(set + "setp.lt.f16x2 %p2|%p3, %r2, %r3;" + read), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(run(set + "setp.lt.and.f16x2 %p2|%p3, %r2, %r3, %p1;" + read), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(run(set + "setp.lt.xor.f16x2 %p2|%p3, %r2, %r3, !%p1;" + read), (std::vector<uint32_t>{0, 1}));
}

TEST(Scalar, packsOfSmallIntegers) {
  EXPECT_EQ(one("cvt.pack.sat.u4.s32.b32 %r0, 20, 3, 0xABCDEF;"), 0xABCDEFF3u);
  EXPECT_EQ(one("cvt.pack.sat.s4.s32.b32 %r0, -20, 3, 0x12;"), 0x1283u);
  EXPECT_EQ(one("cvt.pack.sat.u2.s32.b32 %r0, 7, 1, 0xF;"), 0xFDu);
  EXPECT_EQ(one("cvt.pack.sat.s2.s32.b32 %r0, -7, 1, 0;"), 0x9u);
}

TEST(Scalar, vectorsOfSpecialRegisters) {
  EXPECT_EQ(run("mov.v4.u32 {%r2, %r3, %r4, %r5}, %ntid; add.u32 %r0, %r2, %r3; mov.b32 %r1, %r5;"), (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(one("mov.u32 %r0, %pm3; mov.u32 %r2, %envreg5; mov.u64 %d1, %current_graph_exec; cvt.u32.u64 %r3, %d1; or.b32 %r0, %r0, %r2; or.b32 %r0, %r0, %r3;"), 0u);
}

TEST(Scalar, initialisersFillUpRows) {
  const std::string head = ".global .u32 t[2][3] = {{1}, {4, 5}};\n.const .b8 s[3] = {7, 8};";
  EXPECT_EQ(run("ld.global.u32 %r0, [t+12]; ld.global.u32 %r1, [t+4];", head), (std::vector<uint32_t>{4, 0}));
  EXPECT_EQ(run("ld.global.u32 %r0, [t+20]; ld.const.u8 %r1, [s+1];", head), (std::vector<uint32_t>{0, 8}));
}

TEST(Scalar, memoryMappedAccesses) {
  const std::string at = "ld.param.u64 %d1, [p]; add.u64 %d1, %d1, 128; ";
  EXPECT_EQ(one(at + "ld.mmio.relaxed.sys.global.u32 %r0, [%d1];"), 0x04030201u);
  EXPECT_EQ(one(at + "mov.b32 %r2, 77; st.mmio.relaxed.sys.global.u32 [%d1], %r2; ld.global.u32 %r0, [%d1];"), 77u);
  EXPECT_EQ(one(at + "mov.b32 %r2, 78; st.async.mmio.release.sys.global.b32 [%d1], %r2; ld.global.u32 %r0, [%d1];"), 78u);
  EXPECT_EQ(one(at + "mov.b32 %r2, 1; red.async.mmio.release.sys.global.add.u32 [%d1], %r2; ld.global.u32 %r0, [%d1];"), 0x04030202u);
}

TEST(Scalar, stackAllocations) {
  // Two live arrays, the second freed and taken again: the third lies where the second lay.
  EXPECT_EQ(run("mov.u64 %d1, 16; alloca.u64 %d2, %d1; st.local.u32 [%d2+12], 5; stacksave.u64 %d3; alloca.u64 %d4, %d1, 32; st.local.u32 [%d4], 6;"
                "ld.local.u32 %r0, [%d2+12]; stackrestore.u64 %d3; alloca.u64 %d5, %d1, 32; sub.u64 %d6, %d5, %d4; cvt.u32.u64 %r1, %d6;"),
            (std::vector<uint32_t>{5, 0}));
}

void refused(const std::string &body, const std::string &message) {
  try {
    run(body);
    ADD_FAILURE() << "accepted: " << body;
  } catch (const std::exception &e) {
    EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
  }
}

TEST(Scalar, whatIsNotThereSaysWhy) {
  refused("multimem.red.global.add.u32 [%d1], %r1;", "'multimem' is not supported: it needs a multicast object");
  refused("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}];", "textures are not emulated; use ld.global");
  refused("suld.b.1d.b32.trap {%r1}, [%d1, {%r2}];", "surfaces are not emulated; use ld.global");
  refused("cvt.rs.bf16x2.f32 %r1, %f1, %f2, %r2;", "stochastic rounding (.rs) is not supported");
  refused("min.abs.f32 %f0, %f1, %f2;", "without .xorsign, .abs goes with three operands");
  refused("lop3.and.b32 %r0, %r1, %r2, %r3, 1, %p1;", "lop3.and and lop3.or write d|p");
  refused("mov.v4.u32 {%r0, %r1, %r2, %r3}, %r4;", "a vector mov reads %tid, %ntid, %ctaid or %nctaid");
  refused("set.eq.f32.f16x2 %r0, %r1, %r2;", "a packed set writes its own type, .u32 or .s32");
  refused("alloca.u64 %d0, %d1, 3;", "the alignment of alloca is a power of two up to 1024");
  refused("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r0,%r1,%r2,%r3},{%f0,%f1,%f2,%f3}, %r4, 2;",
          "the sparsity selector is below 2 here, found 2");
  refused("mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r0,%r1},{%f0,%f1,%f2,%f3};", "exists as .row.col only");
  refused("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%d1];", "this shape and type of wmma do not exist");
  refused("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1}, [%d1];", "this wmma fragment has 8 registers, found 2");
}

TEST(Scalar, stackFaults) {
  AddressSpace memory;
  std::string head = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() { .reg .b64 %d<4>; mov.u64 %d1, ";
  Program big(head + "20000; alloca.u64 %d2, %d1; ret; }", *findChip("sm_100a"), memory);
  EXPECT_NE(big.run(*big.kernel("k"), launch(1, 1, 0, {}, AsyncPolicy::Lazy)).text().find("alloca of 20000 bytes"), std::string::npos);
  Program wrong(head + "999999; stackrestore.u64 %d1; ret; }", *findChip("sm_100a"), memory);
  EXPECT_NE(wrong.run(*wrong.kernel("k"), launch(1, 1, 0, {}, AsyncPolicy::Lazy)).text().find("stackrestore of a value that stacksave did not give"), std::string::npos);
}

} // namespace
