# test/conformance/cases/bulk.py - copies and stores between the CTAs of a cluster and global memory, one kernel per chip
"""Bulk copies (global to shared, shared to shared of the peer, shared to global), st.async and st.shared::cluster to the peer, 128-bit
loads, prefetches and fences: forms that the compilers at hand do not emit. Two CTAs exchange 512-byte rows."""
import numpy as np
from harness import Case, Kernel, given, out
from . import case, generator

BODY = """.version {version}
.target {chip}
.address_size 64
.visible .entry form(.param .u64 source, .param .u64 result)
.reqntid 128
.explicitcluster
.reqnctapercluster 2, 1, 1
{{
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .b128 %q<2>;
  .shared .align 128 .b8 own[2048];    // this CTA's row, then the rows that the peer sends in three ways
  .shared .align 8 .b64 bars[3];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r2, %r1, 1;
  setp.u32.eq %p0, %r0, 0;
  ld.param.u64 %rd0, [source];
  ld.param.u64 %rd1, [result];
  mul.wide.u32 %rd2, %r1, 512;
  add.u64 %rd2, %rd0, %rd2;            // this CTA's row in global memory
  mov.u32 %r3, own;
  mov.u32 %r4, bars;
  prefetch.global.L1 [%rd2];
  prefetch.global.L2 [%rd2];
  @%p0 mbarrier.init.shared::cta.b64 [%r4], 1;
  @%p0 mbarrier.init.shared::cta.b64 [%r4+8], 1;
  @%p0 mbarrier.init.shared::cta.b64 [%r4+16], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 512;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+8], 512;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+16], 512;
  @%p0 cp.async.bulk.{to_shared}.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 512, [%r4];
WAIT0:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
  @!%p1 bra WAIT0;
  // the peer's memory
  mapa.shared::cluster.u32 %r5, %r3, %r2;
  mapa.shared::cluster.u32 %r6, %r4, %r2;
  add.u32 %r7, %r5, 512;
  add.u32 %r8, %r6, 8;
  @%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r3], 512, [%r8];
  shl.b32 %r9, %r0, 4;
  add.u32 %r10, %r3, %r9;
  setp.lt.u32 %p2, %r0, 32;
  @!%p2 bra SENT;
  ld.shared.v4.b32 {{%r11, %r12, %r13, %r14}}, [%r10];
  add.u32 %r15, %r5, %r9;
  add.u32 %r16, %r6, 16;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r15+1024], {{%r11, %r12, %r13, %r14}}, [%r16];
  not.b32 %r17, %r11;
  st.shared::cluster.v4.b32 [%r15+1536], {{%r17, %r12, %r13, %r14}};
SENT:
WAIT1:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4+8], 0;
  @!%p1 bra WAIT1;
WAIT2:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4+16], 0;
  @!%p1 bra WAIT2;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  // the first 1024 bytes leave by a bulk store, the others by 128-bit loads; warps meet at a named barrier half by arrival
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mul.wide.u32 %rd3, %r1, 2048;
  add.u64 %rd3, %rd1, %rd3;
  @!%p0 bra STORED;
  cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r3], 1024;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  cp.async.bulk.wait_group 0;
STORED:
  setp.lt.u32 %p3, %r0, 64;
  @%p3 bar.arrive 1, 128;
  @%p3 bra DONE;
  bar.sync 1, 128;
  sub.u32 %r18, %r0, 64;
  shl.b32 %r18, %r18, 4;
  add.u32 %r19, %r3, %r18;
  ld.shared.b128 %q0, [%r19+1024];
  mov.b128 {{%rd5, %rd6}}, %q0;
  mov.b64 %rd7, -1;
  and.b64 %rd5, %rd5, %rd7;
  cvt.u64.u32 %rd8, %r18;
  add.u64 %rd8, %rd3, %rd8;
  st.global.v2.b64 [%rd8+1024], {{%rd5, %rd6}};
  fence.acq_rel.gpu;
  fence.acq_rel.sys;
DONE:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}}
"""


class Form(Kernel):
    """A kernel whose PTX is made here."""

    def __init__(self, chip, version, to_shared):
        super().__init__("bulk", f"exchange_{chip}", dict(chip=chip, function="bulk_form", signature={}, constexprs={}, meta=dict(
            name="form", num_warps=4, num_ctas=2, shared=0)))
        self.text = BODY.format(chip=chip, version=version, to_shared=to_shared)

    def ptx(self):
        return self.text.encode()


def kernels():
    yield Form("sm_90a", "8.4", "shared::cluster")
    yield Form("sm_100a", "8.8", "shared::cta")


@case("bulk_form")
def bulk_form(k):
    rows = generator(k).integers(0, 2**32, (2, 32, 4), dtype=np.uint32)
    peer = rows[::-1]
    last = peer.copy()
    last[:, :, 0] = ~last[:, :, 0]
    result = np.stack([rows, peer, peer, last], 1)
    return Case((1,), dict(source=given(rows, "u32"), result=out(result, "u32")), [{"buffer": "source"}, {"buffer": "result"}])
