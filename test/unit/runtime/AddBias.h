// test/unit/runtime/AddBias.h - a small kernel with its manifest, for tests that run one.
#ifndef FOVEA_TEST_UNIT_RUNTIME_ADDBIAS_H
#define FOVEA_TEST_UNIT_RUNTIME_ADDBIAS_H

#include "runtime/abi/Manifest.h"
#include "runtime/abi/Sha256.h"

namespace fovea::test {

/// out[i] = in[i] + bias, one thread per element; each also counts itself in scratch memory.
inline const char *const kAddBiasPtx = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry add_bias(.param .u64 in, .param .u64 out, .param .u32 n, .param .u32 bias, .param .u64 counter)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  ld.param.u32 %r4, [n];
  setp.ge.u32 %p, %r1, %r4;
  @%p bra DONE;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [out];
  ld.param.u64 %d3, [counter];
  ld.param.u32 %r5, [bias];
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d2, %d2;
  cvta.to.global.u64 %d3, %d3;
  mul.wide.u32 %d4, %r1, 4;
  add.u64 %d1, %d1, %d4;
  add.u64 %d2, %d2, %d4;
  ld.global.u32 %r6, [%d1];
  add.u32 %r6, %r6, %r5;
  atom.global.add.u32 %r7, [%d3], 1;
  st.global.u32 [%d2], %r6;
DONE:
  ret;
}
)";

/// `bias` is the kernel's parameter: a dim symbol, or an expression of the tensors' shapes.
inline Manifest addBiasManifest(Expr bias) {
  Manifest m;
  m.spec = "add_bias";
  m.target = "sm_90a";
  m.ptx = "add_bias.ptx";
  m.ptxSha256 = sha256(kAddBiasPtx);
  m.tensors = {{"in", TensorSpec::Role::Input, {DType::I32}, {"n"}, 4, 1, false, ""},
               {"out", TensorSpec::Role::Output, {DType::I32}, {"n"}, 4, 1, false, ""}};
  KernelSpec kernel;
  kernel.name = "forward";
  kernel.entry = "add_bias";
  kernel.block = {32, 1, 1};
  kernel.grid = {ceilDiv("n", 32), 1, 1};
  ParamSpec in, out, n, addend, counter;
  in.tensor = "in";
  out.tensor = "out";
  n.kind = addend.kind = ParamSpec::Kind::I32;
  n.value = "n";
  addend.value = std::move(bias);
  counter.kind = ParamSpec::Kind::Scratch;
  counter.name = "counter";
  counter.bytes = 4;
  kernel.params = {in, out, n, addend, counter};
  m.kernels = {kernel};
  return m;
}

} // namespace fovea::test

#endif // FOVEA_TEST_UNIT_RUNTIME_ADDBIAS_H
