# test/device/probes/copies.py - asynchronous copies: cp.async, bulk, bulk tensor of every rank, swizzle and edge
import numpy as np
from operands import bf16, f16, integers, pairs
from probe import PROBES, Probe, add, entry, rng, slug

WAIT = """  .shared .align 8 .b64 bar;
  mov.u32 %r21, bar;
  setp.ne.u32 %p9, %r0, 0;
  @%p9 bra initialised;
  mbarrier.init.shared::cta.b64 [%r21], 1;
  fence.mbarrier_init.release.cluster;
initialised:
  bar.sync 0;
"""
DONE = """waiting:
  mbarrier.try_wait.parity.shared::cta.b64 %p8, [%r21], 0;
  @!%p8 bra waiting;
"""


def dump(size, pointer):
    """All 32 threads store `size` bytes of shared memory at %r20."""
    return "".join(f"  mad.lo.s32 %r25, %r0, 4, {128 * k}; add.u32 %r26, %r20, %r25; ld.shared.b32 %r27, [%r26]; cvt.u64.u32 %rd50, %r25; add.s64 %rd50, %rd{pointer}, %rd50; st.global.b32 [%rd50], %r27;\n"
                   for k in range(size // 128))


def fill(size, pointer):
    """All 32 threads load `size` bytes to shared memory at %r20."""
    return "".join(f"  mad.lo.s32 %r25, %r0, 4, {128 * k}; cvt.u64.u32 %rd50, %r25; add.s64 %rd50, %rd{pointer}, %rd50; ld.global.b32 %r27, [%rd50]; add.u32 %r26, %r20, %r25; st.shared.b32 [%r26], %r27;\n"
                   for k in range(size // 128))


def tile(size):
    return f"  .shared .align 1024 .b8 tile[{size}];\n  mov.u32 %r20, tile;\n  mov.u32 %r0, %tid.x;\n"


def poison(size):
    """Shared memory that the copy must not leave as it is, or must."""
    return "".join(f"  mad.lo.s32 %r25, %r0, 4, {128 * k}; add.u32 %r26, %r20, %r25; st.shared.b32 [%r26], 0xa5a5a5a5;\n" for k in range(size // 128)) + \
        "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"


def map_of(buffer, dtype, dims, item, box, swizzle="none", fill="zero", interleave="none", element_strides=None, padding=0):
    strides, span = [], dims[0] * item + padding
    for d in dims[1:]:
        strides.append(span)
        span *= d
    return {"tensor_map": dict(buffer=buffer, offset=0, dtype=dtype, dims=dims, strides=strides, box=box, element_strides=element_strides or [1] * len(dims), interleave=interleave,
                               swizzle=swizzle, l2_promotion="none", oob_fill=fill)}


ITEM = dict(u8=1, u16=2, f16=2, bf16=2, u32=4, i32=4, f32=4, u64=8, i64=8, f64=8)
# Extents chosen so that boxes end inside and outside of the tensor in every dimension.
DIMS = [[96], [72, 9], [72, 9, 5], [72, 5, 5, 3], [72, 5, 3, 3, 3]]
BOXES = [[64], [64, 8], [64, 4, 3], [64, 4, 2, 2], [64, 2, 2, 2, 2]]
CORNERS = {"inside": [0, 0, 0, 0, 0], "below": [-8, -1, -1, -1, -1], "beyond": [40, 4, 3, 2, 2], "outside": [200, 1, 1, 1, 1]}


def load(name, rank, dtype, corner, box=None, dims=None, form_tail="", space="shared::cluster", room=0, **how):
    item = ITEM[dtype]
    dims, box = dims or DIMS[rank - 1], box or BOXES[rank - 1]
    copied = int(np.prod(box)) * item
    steps = how.get("element_strides")
    if steps:
        steps = [1] + steps[1:]  # the driver's reference: without interleave the innermost stride is ignored
        copied = int(np.prod([-(-b // s) for b, s in zip(box, steps)])) * item
    size = -(-max(copied, room) // 128) * 128 + 128
    total = int(np.prod(dims)) * item
    data = integers(name, 16, count=max(128, total // 2))[:total // 2] if "data" not in how else how.pop("data")
    form = f"cp.async.bulk.tensor.{rank}d.{space}.global.tile.mbarrier::complete_tx::bytes{form_tail}"
    at = ", ".join(str(c) for c in corner[:rank])
    policy = ", %rd30" if "cache_hint" in form_tail else ""
    body = tile(size) + poison(size) + WAIT + \
        "  @%p9 bra issued;\n  createpolicy.fractional.L2::evict_first.b64 %rd30, 1.0;\n" \
        f"  mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r21], {copied};\n  mov.b64 %rd20, p0; cvta.param.u64 %rd20, %rd20;\n" \
        f"  {form} [%r20], [%rd20, {{{at}}}], [%r21]{policy};\nissued:\n" + DONE + dump(size, 1)
    add(Probe("copy", name, form, entry([".param .align 64 .b8 p0[128]", ".param .u64 p1"], body), {"a": data}, {"out": ("uint32", (size // 4,), "")},
              [map_of("a", dtype, dims, item, box, **how), {"buffer": "out"}]))


def store(name, rank, dtype, corner, reduction="", data=None, start=None, box=None, dims=None, swizzle="none", fmt="", wait=""):
    item = ITEM[dtype]
    dims, box = dims or DIMS[rank - 1], box or BOXES[rank - 1]
    copied = int(np.prod(box)) * item
    size = -(-copied // 128) * 128
    data = data if data is not None else integers(name, 32, count=max(128, size // 4))[:size // 4]
    total = int(np.prod(dims)) * item
    start = start if start is not None else integers(name + " start", 16, count=max(128, total // 2))[:total // 2]
    form = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{reduction}.tile.bulk_group" if reduction else f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    at = ", ".join(str(c) for c in corner[:rank])
    body = tile(size) + fill(size, 1) + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  setp.ne.u32 %p9, %r0, 0;\n  @%p9 bra issued;\n  mov.b64 %rd20, p0; cvta.param.u64 %rd20, %rd20;\n" \
        f"  {form} [%rd20, {{{at}}}], [%r20];\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group{wait} 0;\nissued:\n"
    add(Probe("copy", name, form, entry([".param .align 64 .b8 p0[128]", ".param .u64 p1"], body), {"a": data}, {"out": (start.dtype.name, start.shape, fmt)},
              [map_of("out", dtype, dims, item, box, swizzle), {"buffer": "a"}], initial={"out": start}))


def tensors():
    for rank in range(1, 6):
        for where, corner in CORNERS.items():
            load(f"tma_load_{rank}d_{where}", rank, "bf16", corner)
        load(f"tma_load_{rank}d_nan", rank, "f16", CORNERS["beyond"], fill="nan")
        for where in ("inside", "below", "beyond"):
            store(f"tma_store_{rank}d_{where}", rank, "bf16", CORNERS[where])
    load("tma_load_cache_hint", 2, "bf16", CORNERS["beyond"], form_tail=".L2::cache_hint")
    for rank in (2, 3):
        load(f"tma_load_{rank}d_cta", rank, "bf16", CORNERS["beyond"], form_tail=".L2::cache_hint", space="shared::cta")
    store("tma_store_read", 2, "bf16", CORNERS["inside"], wait=".read")
    for swizzle, width in (("32B", 32), ("64B", 64), ("128B", 128)):
        for dtype in ("u8", "bf16", "f32"):
            item = ITEM[dtype]
            for rows in (8, 13):
                load(f"tma_load_{dtype}_{swizzle}_{rows}", 2, dtype, [16 // item, 1], [width // item, rows], [4 * width // item, 20], swizzle=swizzle)
        store(f"tma_store_{swizzle}", 2, "bf16", [8, 1], box=[width // 2, 16], dims=[2 * width, 20], swizzle=swizzle)
        load(f"tma_load_narrow_{swizzle}", 2, "bf16", [8, 1], [width // 4, 8], [4 * width, 20], swizzle=swizzle, room=2 * width * 8)
        load(f"tma_load_3d_{swizzle}", 3, "bf16", [8, 3, 1], [width // 2, 5, 3], [2 * width, 9, 5], swizzle=swizzle)
    for dtype in ("u8", "u16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"):
        load(f"tma_load_type_{dtype}", 2, dtype, [16, 3], [32, 8], [48, 9])
    for dtype in ("bf16", "f32", "f64"):
        load(f"tma_load_nan_{dtype}", 2, dtype, [16, 3], [32, 8], [40, 9], fill="nan")
    load("tma_load_unaligned", 2, "bf16", [3, 1])
    store("tma_store_unaligned", 2, "bf16", [3, 1])
    load("tma_load_element_strides", 2, "f32", [4, 1], [32, 8], [64, 20], element_strides=[1, 2])
    load("tma_load_element_strides_inner", 2, "f32", [4, 1], [32, 8], [64, 20], element_strides=[2, 1])
    reductions()


def reductions():
    dims, box, corner = [32, 9], [16, 8], [8, 3]
    for dtype, ops in (("u32", "add min max inc dec and or xor"), ("i32", "add min max and"), ("u64", "add min max and or xor"), ("i64", "min max")):
        for op in ops.split():
            name, bits = f"tma_reduce_{op}_{dtype}", ITEM[dtype] * 8
            store(name, 2, dtype, corner, op, integers(name, bits, count=128), integers(name + " start", bits, count=288), box, dims)
    for dtype, make, ops in (("f16", f16, "add min max"), ("bf16", bf16, "add min max")):
        for op in ops.split():
            name = f"tma_reduce_{op}_{dtype}"
            store(name, 2, dtype, corner, op, pairs(make, name)[:64], make(name + " start")[:288], box, dims)
    for name, dtype, w in (("tma_reduce_add_f32", "f32", np.float32), ("tma_reduce_add_f64", "f64", np.float64)):
        bits = np.uint32 if w is np.float32 else np.uint64
        draw = lambda s, n: rng(name + s).standard_normal(n).astype(w).view(bits)
        store(name, 2, dtype, corner, "add", draw("a", 128), draw("b", 288), box, dims)


def bulk():
    data = integers("bulk data", 32, count=1024)
    for size in (16, 512, 2048):
        form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        body = tile(2176) + poison(2176) + WAIT + f"  @%p9 bra issued;\n  mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r21], {size};\n  {form} [%r20+16], [%rd0], {size}, [%r21];\nissued:\n" + DONE + dump(2176, 1)
        add(Probe("copy", f"bulk_load_{size}", form, entry([".param .u64 p0", ".param .u64 p1"], body), {"a": data}, {"out": ("uint32", (544,), "")}, [{"buffer": "a"}, {"buffer": "out"}]))
    form = "cp.async.bulk.global.shared::cta.bulk_group"
    flush = "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  setp.ne.u32 %p9, %r0, 0;\n  @%p9 bra issued;\n"
    end = "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\nissued:\n"
    body = tile(2048) + fill(2048, 0) + flush + f"  {form} [%rd1+32], [%r20+16], 1024;\n" + end
    add(Probe("copy", "bulk_store", form, entry([".param .u64 p0", ".param .u64 p1"], body), {"a": data}, {"out": ("uint32", (512,), "")}, [{"buffer": "a"}, {"buffer": "out"}], initial={"out": data[:512][::-1].copy()}))
    for op, bits in (("add.u32", 32), ("add.s32", 32), ("add.u64", 64), ("min.s32", 32), ("max.u32", 32), ("min.u64", 64), ("and.b32", 32), ("or.b32", 32), ("xor.b32", 32), ("inc.u32", 32), ("dec.u32", 32),
                     ("and.b64", 64), ("add.noftz.f16", 16), ("add.noftz.bf16", 17), ("min.f16", 16), ("max.bf16", 17), ("add.f32", 320), ("add.f64", 640)):
        form = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}"
        name = slug("bulk_reduce_" + op)
        if bits in (16, 17):
            make = f16 if bits == 16 else bf16
            a, start = pairs(make, name)[:128], pairs(make, name + " start")[:128]
        elif bits >= 320:
            draw = lambda s: rng(name + s).standard_normal(128 if bits == 320 else 64).astype(np.float32 if bits == 320 else np.float64).view(np.uint32)
            a, start = draw("a"), draw("b")
        else:
            a, start = (integers(name + s, bits, count=128)[:4096 // bits].view(np.uint32) for s in ("", " start"))
        body = tile(512) + fill(512, 0) + flush + f"  {form} [%rd1], [%r20], 512;\n" + end
        add(Probe("copy", name, form, entry([".param .u64 p0", ".param .u64 p1"], body), {"a": a.copy()}, {"out": ("uint32", (128,), "")}, [{"buffer": "a"}, {"buffer": "out"}], initial={"out": start.copy()}))


def classic():
    data = integers("cp.async data", 32, count=1024)
    for cache, size, source in (("ca", 4, ""), ("ca", 8, ""), ("ca", 16, ""), ("cg", 16, ""), ("ca", 16, ", 5"), ("cg", 16, ", 0"), ("ca", 8, ", 3")):
        form = f"cp.async.{cache}.shared.global"
        body = tile(640) + poison(640) + f"  mad.lo.s32 %r25, %r0, {size}, %r20; mul.wide.u32 %rd41, %r0, {size}; add.s64 %rd41, %rd0, %rd41;\n" \
            f"  {form} [%r25], [%rd41], {size}{source};\n  cp.async.commit_group;\n  cp.async.wait_group 0;\n  bar.sync 0;\n" + dump(640, 1)
        add(Probe("copy", slug(f"cp_async_{cache}_{size}{source.replace(', ', '_of_')}"), form + (" src-size" if source else ""), entry([".param .u64 p0", ".param .u64 p1"], body), {"a": data},
                  {"out": ("uint32", (160,), "")}, [{"buffer": "a"}, {"buffer": "out"}]))
    for form in ("cp.async.mbarrier.arrive.noinc.shared::cta.b64",):
        body = tile(640) + poison(640) + WAIT.replace("[%r21], 1;", "[%r21], 32;") + "  mad.lo.s32 %r25, %r0, 16, %r20; mul.wide.u32 %rd41, %r0, 16; add.s64 %rd41, %rd0, %rd41;\n" \
            f"  cp.async.cg.shared.global [%r25], [%rd41], 16;\n  {form} [%r21];\n" + DONE + dump(640, 1)
        add(Probe("copy", slug(form), form, entry([".param .u64 p0", ".param .u64 p1"], body), {"a": data}, {"out": ("uint32", (160,), "")}, [{"buffer": "a"}, {"buffer": "out"}]))


def clusters():
    """Two CTAs: one writes into the other's shared memory."""
    both = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n"
    head = tile(512) + poison(512) + "  mov.u32 %r28, %cluster_ctarank; xor.b32 %r29, %r28, 1; mapa.shared::cluster.u32 %r31, %r20, %r29;\n" \
        "  mul.wide.u32 %rd41, %r0, 4; mul.wide.u32 %rd42, %r28, 128; add.s64 %rd41, %rd41, %rd42; add.s64 %rd41, %rd0, %rd41; ld.global.b32 %r32, [%rd41];\n"
    tail = "  mul.wide.u32 %rd51, %r28, 512; add.s64 %rd1, %rd1, %rd51;\n" + dump(512, 1)
    data = integers("cluster data", 32, count=128)

    def pair(name, form, body):
        add(Probe("cluster", name, form, entry([".param .u64 p0", ".param .u64 p1"], body), {"a": data}, {"out": ("uint32", (256,), "")}, [{"buffer": "a"}, {"buffer": "out"}], (2, 1, 1), cluster=(2, 1, 1)))
    lane = "  mad.lo.s32 %r33, %r0, 4, %r31;\n"
    pair("cluster_store", "st.shared::cluster.b32", head + both + lane + "  st.shared::cluster.b32 [%r33], %r32;\n" + both + tail)
    pair("cluster_load", "ld.shared::cluster.b32", head + "  mad.lo.s32 %r34, %r0, 4, %r20; st.shared.b32 [%r34], %r32;\n" + both + lane + "  ld.shared::cluster.b32 %r35, [%r33];\n" + both +
         "  st.shared.b32 [%r34+128], %r35;\n  bar.sync 0;\n" + tail)
    pair("cluster_atomic", "atom.shared::cluster.add.u32", head + both + lane + "  atom.shared::cluster.add.u32 %r35, [%r33], %r32;\n" + both + "  mad.lo.s32 %r34, %r0, 4, %r20; st.shared.b32 [%r34+128], %r35;\n  bar.sync 0;\n" + tail)
    init = WAIT.replace("[%r21], 1;", "[%r21], 1;") + "  mapa.shared::cluster.u32 %r36, %r21, %r29;\n"
    pair("st_async", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32", head + init + "  @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r21], 128;\n" + both + lane +
         "  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r33], %r32, [%r36];\n" + DONE + both + tail)
    pair("remote_arrive", "mbarrier.arrive.release.cluster.shared::cluster.b64", head + init + both + "  @!%p9 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r36];\n" + DONE + both + tail)
    pair("bulk_to_peer", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", head + init + "  @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r21], 128;\n"
         "  mad.lo.s32 %r34, %r0, 4, %r20; st.shared.b32 [%r34+256], %r32;\n  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  add.u32 %r37, %r20, 256;\n" + both +
         "  @!%p9 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r31], [%r37], 128, [%r36];\n" + DONE + both + tail)
    name, form = "tma_load_multicast", "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
    body = tile(1152) + poison(1152) + WAIT + "  mov.u32 %r28, %cluster_ctarank;\n  @!%p9 mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r21], 1024;\n" + both + \
        "  mov.b64 %rd20, p0; cvta.param.u64 %rd20, %rd20;\n  setp.ne.u32 %p7, %r28, 0;\n  or.pred %p7, %p7, %p9;\n  mov.b16 %h1, 3;\n" \
        f"  @!%p7 {form} [%r20], [%rd20, {{40, 4}}], [%r21], %h1;\n" + DONE + "  mul.wide.u32 %rd51, %r28, 1152; add.s64 %rd1, %rd1, %rd51;\n" + dump(1152, 1) + both
    add(Probe("cluster", name, form, entry([".param .align 64 .b8 p0[128]", ".param .u64 p1"], body), {"a": integers(name, 16, count=648)}, {"out": ("uint32", (576,), "")},
              [map_of("a", "bf16", [72, 9], 2, [64, 8]), {"buffer": "out"}], (2, 1, 1), cluster=(2, 1, 1)))


def build():
    tensors()
    bulk()
    classic()
    clusters()
