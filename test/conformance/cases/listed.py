# test/conformance/cases/listed.py - forms of the lists in forms/ that no stored kernel holds, written as PTX here
"""Each kernel's result depends on every form it is there for."""
import numpy as np
from harness import Case, Kernel, given, out
from . import case, generator

HEAD = """.version {version}
.target {chip}
.address_size 64
.visible .entry form({params})
.reqntid 128
{directives}{{
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .b128 %q<2>;
  mov.u32 %r0, %tid.x;
  setp.u32.eq %p0, %r0, 0;
"""

SCALAR = """  .shared .align 16 .b8 words[1024];
  ld.param.u64 %rd0, [source];
  ld.param.u64 %rd1, [result];
  mul.wide.u32 %rd2, %r0, 8;
  add.u64 %rd3, %rd0, %rd2;
  ld.global.v2.b32 {%r1, %r2}, [%rd3];
  shl.b32 %r3, %r0, 3;
  mov.s32 %r4, words;
  add.u32 %r4, %r4, %r3;
  st.shared.v2.b32 [%r4], {%r2, %r1};
  ld.shared.v2.b32 {%r5, %r6}, [%r4];
  cvt.u16.u32 %h0, %r5;
  cvt.u16.u32 %h1, %r6;
  setp.eq.b16 %p1, %h0, %h1;          // the low halves agree in some threads
  vote.sync.ballot.b32 %r7, %p1, 0xffffffff;
  sub.u32 %r8, %r5, %r6;
  add.u64 %rd4, %rd1, %rd2;
  st.global.v2.b32 [%rd4], {%r7, %r8};
  ret;
}
"""

# A map of rank 3 is made interleaved and plain again in shared memory, published, prefetched and copied through; then a box of
# maxima goes back through the map that was passed.
MAPS = """  .shared .align 128 .b8 map[128];
  .shared .align 128 .b8 box[512];
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd0, [scratch];
  ld.param.u64 %rd1, [result];
  mov.u32 %r1, map;
  mov.u32 %r2, box;
  mov.u32 %r3, bar;
  mov.b64 %rd2, source;
  cvta.param.u64 %rd2, %rd2;
  setp.lt.u32 %p1, %r0, 32;
  @!%p1 bra MADE;
  shl.b32 %r4, %r0, 2;
  cvt.u64.u32 %rd3, %r4;
  add.u64 %rd3, %rd2, %rd3;
  ld.b32 %r5, [%rd3];
  add.u32 %r6, %r1, %r4;
  st.shared.b32 [%r6], %r5;
  bar.warp.sync 0xffffffff;
  @%p0 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r1], 1;
  @%p0 tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r1], 0;
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [%r1], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;
  @%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 192;
  @%p0 cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd0, {0, 1, 2}], [%r3];
MADE:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  setp.lt.u32 %p3, %r0, 48;
  @!%p3 bra DONE;
  shl.b32 %r7, %r0, 2;
  add.u32 %r8, %r2, %r7;
  ld.shared.b32 %r9, [%r8];
  cvt.u64.u32 %rd4, %r7;
  add.u64 %rd4, %rd1, %rd4;
  st.global.b32 [%rd4], %r9;
DONE:
  ret;
}
"""

# Both blocks of the pair load their half of a box and tell the leader's barrier; maxima of both go back, with a cache policy.
PAIR = """  .shared .align 128 .b8 box[2048];
  .shared .align 8 .b64 bar;
  mov.b64 %rd0, source;
  cvta.param.u64 %rd0, %rd0;
  mov.b64 %rd1, target;
  cvta.param.u64 %rd1, %rd1;
  createpolicy.fractional.L2::evict_last.b64 %rd2, 1.0;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, box;
  mov.u32 %r3, bar;
  and.b32 %r4, %r3, 0xfeffffff;        // the leader's barrier
  shl.b32 %r5, %r1, 4;                 // rows 0.. and 16..
  setp.eq.u32 %p1, %r1, 0;
  and.pred %p2, %p0, %p1;
  @%p0 cp.async.bulk.prefetch.tensor.2d.L2.global [%rd0, {0, %r5}];
  @%p0 cp.async.bulk.prefetch.tensor.2d.L2.global.L2::cache_hint [%rd0, {0, %r5}], %rd2;
  @%p2 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p2 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 4096;
  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%r2], [%rd0, {0, %r5}], [%r4];
  @!%p1 bra LOADED;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;
  @!%p3 bra WAIT;
LOADED:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @!%p0 bra DONE;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.bulk_group.L2::cache_hint [%rd1, {0, %r5}], [%r2], %rd2;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
DONE:
  ret;
}
"""

# Each block works off its own tile and every tile whose block it can cancel.
CANCEL = """  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd1, [result];
  mov.u32 %r1, response;
  mov.u32 %r2, bar;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ctaid.y;
  mov.u32 %r5, %ctaid.z;
  mov.u32 %r10, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
TILE:
  // result[z][y][x][thread] = 1000000 z + 10000 y + 100 x + thread
  mad.lo.u32 %r6, %r5, 5, %r4;
  mad.lo.u32 %r6, %r6, 7, %r3;
  shl.b32 %r6, %r6, 7;
  add.u32 %r6, %r6, %r0;
  mul.wide.u32 %rd2, %r6, 4;
  add.u64 %rd2, %rd1, %rd2;
  mul.lo.u32 %r7, %r5, 1000000;
  mad.lo.u32 %r7, %r4, 10000, %r7;
  mad.lo.u32 %r7, %r3, 100, %r7;
  add.u32 %r7, %r7, %r0;
  st.global.u32 [%rd2], %r7;
  bar.sync 0;
  @!%p0 bra ASKED;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
ASKED:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r10;
  @!%p1 bra ASKED;
  xor.b32 %r10, %r10, 1;
  ld.shared.b128 %q0, [%r1];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q0;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r4, %r5, _}, %q0;
  @%p2 bra TILE;
  ret;
}
"""


class Form(Kernel):
    """A kernel whose PTX is made here."""

    def __init__(self, name, chip, params, body, ctas=1, directives=""):
        super().__init__("listed", f"{name}_{chip}", dict(chip=chip, function=f"listed_{name}", signature={}, constexprs={}, meta=dict(
            name="form", num_warps=4, num_ctas=ctas, shared=0)))
        self.text = HEAD.format(version="8.8" if chip == "sm_100a" else "8.4", chip=chip, params=params, directives=directives) + body

    def ptx(self):
        return self.text.encode()


MAP = ".param .align 64 .b8 {}[128]"


def kernels():
    for chip in ("sm_90a", "sm_100a"):
        yield Form("scalar", chip, ".param .u64 source, .param .u64 result", SCALAR)
        yield Form("maps", chip, MAP.format("source") + ", .param .u64 scratch, .param .u64 result", MAPS)
    yield Form("pair", "sm_100a", MAP.format("source") + ", " + MAP.format("target"), PAIR, 2, ".explicitcluster\n.reqnctapercluster 2, 1, 1\n")
    yield Form("cancel", "sm_100a", ".param .u64 result", CANCEL)


@case("listed_scalar")
def scalar(k):
    pairs = generator(k).integers(0, 2**32, (128, 2), dtype=np.uint32)
    pairs[::3, 1] = pairs[::3, 0] ^ 0x10000
    same = (pairs[:, 0] & 0xffff) == (pairs[:, 1] & 0xffff)
    ballots = (same.reshape(4, 32) * (np.uint64(1) << np.arange(32, dtype=np.uint64))).sum(1).astype(np.uint32)
    result = np.stack([np.repeat(ballots, 32), pairs[:, 1] - pairs[:, 0]], 1)
    return Case((1,), dict(source=given(pairs, "u32"), result=out(result, "u32")), [{"buffer": "source"}, {"buffer": "result"}])


def tensor(buffer, dtype, dims, strides, box, **more):
    return {"tensor_map": dict(buffer=buffer, dtype=dtype, dims=dims, strides=strides, box=box, **more)}


@case("listed_maps")
def maps(k):
    x = generator(k).integers(0, 2**32, (5, 6, 4), dtype=np.uint32)
    box = x[2:5, 1:5]
    args = dict(source=given(x, "u32"), scratch=given(np.zeros(32, np.uint32), "u32"), result=out(np.ascontiguousarray(box).reshape(-1), "u32"))
    return Case((1,), args, [tensor("source", "u32", [4, 6, 5], [16, 96], [4, 4, 3]), {"buffer": "scratch"}, {"buffer": "result"}])


@case("listed_pair")
def pair(k):
    rng = generator(k)
    x, old = (rng.integers(-1000, 1000, (32, 32)).astype(np.int32) for _ in range(2))
    args = dict(source=given(x, "i32"), target=out(np.maximum(x, old), "i32", init=old))
    return Case((1,), args, [tensor(b, "i32", [32, 32], [128], [32, 16]) for b in ("source", "target")])


@case("listed_cancel")
def cancel(k):
    z, y, x, t = np.ogrid[:2, :5, :7, :128]
    return Case((7, 5, 2), dict(result=out((1000000 * z + 10000 * y + 100 * x + t).astype(np.uint32), "u32")), [{"buffer": "result"}])
