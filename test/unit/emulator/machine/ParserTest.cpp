// test/unit/emulator/machine/ParserTest.cpp - what the PTX front end accepts, and the errors for what it does not.
#include "runtime/emulator/machine/Program.h"
#include "runtime/emulator/ptx/Error.h"
#include <gtest/gtest.h>
#include <random>

using namespace fovea::emulator;

namespace {

std::string module(const std::string &body, const std::string &head = "") {
  return ".version 8.8\n.target sm_100a\n.address_size 64\n" + head + "\n.visible .entry k(.param .u64 p)\n{\n" + body + "\nret;\n}\n";
}

/// "" when the text loads and its kernel decodes, else the message.
std::string load(const std::string &text) {
  AddressSpace memory;
  try {
    Program p(text, *findChip("sm_100a"), memory);
    for (const std::string &k : p.kernels())
      p.kernel(k);
    return "";
  } catch (const fovea::ptx::LoadError &e) {
    return e.what();
  }
}

void expectError(const std::string &text, const std::string &part, int line = 0) {
  std::string got = load(text);
  EXPECT_NE(got.find(part), std::string::npos) << "expected \"" << part << "\" in: " << got;
  if (line)
    EXPECT_EQ(got.rfind("line " + std::to_string(line) + ":", 0), 0u) << got;
}

TEST(Parser, acceptsWhatCompilersWrite) {
  EXPECT_EQ(load(module(R"(
    .reg .b32 a, b; .reg .v4 .f32 abcd; .reg .b32 x_<8>; .reg .pred %p<3>; .reg .b64 %rd<4>; .reg .b16 %rs<4>;
    .pragma "used_bytes_mask 0xffff";
    .loc 1 10 5
    .loc 1 11 5, function_name $L__info_string0, inlined_at 1 12 3
    mov.f32 abcd.x, 0f3F800000; mov.f32 abcd.w, 1.5;
    mov.u32 a, %tid.x; mov.u32 x_7, 0x10; add.s32 b, a, -1;
    { .reg .b32 a; mov.b32 a, 5; L: setp.u32.eq %p1, a, 5; @%p1 bra L2; L2: }
    { L: bra L3; L3: }
    ld.param.u64 %rd0, [p]; ld.global.v4.f32 abcd, [ %rd0 + 16 ]; st.global.b32 [%rd0+-4], b;
    elect.sync _|%p2, -1;
    mov.b64 {_, b}, %rd0; mov.b32 {%rs0, %rs1}, a; mov.b64 %rd1, {a, b};
    max.f32 abcd.x, abcd.y, abcd.z, abcd.w;
    bra.uni DONE; DONE:)")), "");
  EXPECT_EQ(load(module("", ".file 1 \"a.cu\"\n.global .align 4 .b8 s[4] = {1, 2, 0x3, 4};\n.const .f32 c[2] = {0f3F800000, 2.5};\n"
                            ".extern .shared .align 16 .b8 smem[];\n.section .debug_str { .b8 1,2,3 }")), "");
}

TEST(Parser, inlinesFunctions) {
  EXPECT_EQ(load(module(R"(.reg .b32 %r<4>; { .param .b32 a0; .param .b32 r0; mov.u32 %r1, 3; st.param.b32 [a0], %r1;
    call.uni (r0), twice, (a0); ld.param.b32 %r2, [r0]; })",
    ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }")), "");
}

TEST(Parser, namesTheNearest) {
  expectError(module(".reg .f32 f;\nmull.f32 f, f, f;"), "unknown instruction 'mull'; the nearest known one is 'mul'", 8);
  expectError(module(".reg .f32 f;\nadd.fzt.f32 f, f, f;"), "unknown modifier '.fzt' on 'add'; the nearest known one is '.ftz'");
  expectError(module(".rge .f32 f;"), "unknown directive '.rge'; the nearest known one is '.reg'");
  expectError(module(".reg .b32 r; mov.u32 r, %tid.q;"), "no special register known here; the nearest known one is '%tid");
  expectError(".version 8.8\n.target sm_100a\n.entyr k() { }", "unknown directive '.entyr'; the nearest known one is '.entry'");
}

TEST(Parser, refusesWithReason) {
  expectError("hello", "expected '.version' first");
  expectError(std::string("\x7f""ELF"), "unexpected byte 0x7f");
  expectError(".version 99.0\n.target sm_100a", "PTX version 99.0 is not known here");
  expectError(".version 8.8\n.target sm_120a\n", ".target sm_120a does not run on sm_100a");
  expectError(".version 8.8\n.target sm_90a\n", ".target sm_90a does not run on sm_100a");
  expectError(module("bra NOWHERE;"), "branch to 'NOWHERE', which is no label");
  expectError(module(".reg .b32 r; add.s32 r, r, q;"), "'q' is not declared");
  expectError(module(".reg .b64 r; add.s32 r, r, r;"), "is 64 bits wide");
  expectError(module(".reg .b32 %r<4>; mov.b32 %r4, 0;"), "beyond its declaration <4>");
  expectError(module(".reg .b32 r; mov.b32 r, 99999999999999999999;"), "does not fit in 64 bits");
  expectError(module("wgmma.fence.sync.aligned;"), "sm_90a only");
  expectError(module("setmaxnreg.inc.sync.aligned.u32 100;"), "multiple of 8");
  expectError(module(".reg .b32 r; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [0], 48;"), "32, 64, 128, 256 or 512");
  expectError(module("call f;", ".func f() { call f; ret; }"), "recursion");
  std::string cut = module(".reg .b32 r;");
  expectError(cut.substr(0, cut.rfind('}')), "cut off");
}

TEST(Parser, survivesHostileText) {
  std::string deep;
  for (int k = 0; k < 20000; ++k)
    deep += "{";
  load(module(deep));
  std::string nested(20000, '[');
  load(module("mov.b32 r, " + nested));
  load(module(".reg .b32 r; mov.b32 r, " + std::string(5000, '(') + "1;"));
  load(module("@@\n@@\n/* unclosed"));
  load(module(".reg .b32 %r<18446744073709551615>; mov.b32 %r99999999, 1;"));
  // Random cuts and byte changes of a real module must end in an error or load, never in a crash.
  std::string good = module(".reg .b32 a, b; .reg .pred p; .reg .b64 d; mov.u32 a, %tid.x; setp.eq.s32 p, a, 3; @p bra L; add.s32 b, a, 7; L: ld.param.u64 d, [p]; st.global.v2.b32 [d+8], {a, b};");
  std::mt19937 rng(1);
  for (int k = 0; k < 3000; ++k) {
    std::string s = good;
    for (unsigned n = rng() % 4 + 1; n-- && !s.empty();) {
      size_t at = rng() % s.size();
      switch (rng() % 4) {
      case 0: s[at] = char(rng()); break;
      case 1: s.erase(at, rng() % 8); break;
      case 2: s.insert(at, s.substr(rng() % s.size(), rng() % 16)); break;
      default: s.resize(at + 1); break;
      }
    }
    load(s);
  }
}

} // namespace
