# test/conformance/kernels/gluon_async.py - Gluon kernels: tensor copies, barriers, clusters, wgmma, mma.sync
"""Gluon: TMA variants, mbarrier, cp.async, cluster, CLC, packed arithmetic, warp_specialize, mma_v2, wgmma."""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell as bw
from triton.experimental.gluon.language.nvidia import hopper as hp
from triton.experimental.gluon.language.nvidia.blackwell import tma, mbarrier, clc, fence_async_shared, cluster, async_copy
from triton.experimental.gluon.language.nvidia.blackwell import CachePolicy, FractionalEvictionPolicy

KERNELS = []
TY = dict(fp16=gl.float16, bf16=gl.bfloat16, fp32=gl.float32, fp8e4nv=gl.float8e4nv, fp8e5=gl.float8e5, i8=gl.int8, u8=gl.uint8,
          i32=gl.int32, u32=gl.uint32)


def add(name, fn, sig, const, targets=(100, ), div16=(), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=sig, constexprs=const, options=opt, div16=div16, targets=targets, lang="gluon"))


def C(*n):
    return {x: "constexpr" for x in n}


def sl(shape, t, swz=None, cga=None, rank=None):
    if swz is None:
        return gl.NVMMASharedLayout.get_default_for(shape, TY[t], cga_layout=cga)
    return gl.NVMMASharedLayout(swz, TY[t].primitive_bitwidth, rank=rank or len(shape), cga_layout=cga or [])


def desc(shape, t, lay, kind="tensordesc", extra=""):
    return f"{kind}<{t}[{','.join(map(str, shape))}]{extra},{lay!r}>"


# ------------------------------------------------------------- TMA tiled load/store, cache policies, predicate
@gluon.jit
def g_tma_copy(src, dst, p, POL: gl.constexpr, RO: gl.constexpr):
    s = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.nbytes_per_cta, pred=p != 0)
    tma.async_load(src, [0, 0], bar, s, pred=p != 0, cache_policy=POL)
    mbarrier.wait(bar, 0, pred=p != 0)
    tma.async_store(dst, [0, 0], s, cache_policy=POL)
    tma.store_wait(0, read_only=RO)


_d = desc([64, 64], "fp16", sl([64, 64], "fp16"))
for _n, _p in [("none", None), ("evict_first", CachePolicy(l2=FractionalEvictionPolicy("evict_first", 1.0))),
               ("evict_last", CachePolicy(l2=FractionalEvictionPolicy("evict_last", 1.0))),
               ("frac", CachePolicy(l2=FractionalEvictionPolicy("evict_last", 0.5, "evict_first")))]:
    add(f"g_tma_copy_{_n}", g_tma_copy, dict(src=_d, dst=_d, p="i32", **C("POL", "RO")), dict(POL=_p, RO=_n != "none"), targets=(100, 90))


# ------------------------------------------------------------- TMA multicast across a cluster (no MMA)
@gluon.jit
def g_tma_mcast(src, out_ptr, LAY: gl.constexpr):
    s = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.nbytes_per_cta)
    tma.async_load(src, [0, 0], bar, s, multicast=True)
    mbarrier.wait(bar, 0)
    v = s.load(LAY)
    gl.store(out_ptr + gl.arange(0, 64, gl.SliceLayout(1, LAY))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, LAY))[None, :], v)


add("g_tma_mcast_2cta", g_tma_mcast, dict(src=desc([64, 64], "fp16", sl([64, 64], "fp16", cga=[[0, 0]])), out_ptr="*fp16", LAY="constexpr"),
    dict(LAY=gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 0]])), targets=(100, 90), num_ctas=2, div16=("out_ptr", ))


# ------------------------------------------------------------- TMA gather4 / scatter4
@gluon.jit
def g_tma_gs(src, dst, idx_ptr, y, MC: gl.constexpr, LAY: gl.constexpr):
    s = gl.allocate_shared_memory(src.dtype, [32, src.block_type.shape[1]], src.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    xl: gl.constexpr = gl.SliceLayout(0, LAY)
    x = gl.load(idx_ptr + gl.arange(0, 32, xl))
    mbarrier.expect(bar, 32 * src.block_type.shape[1] * 2)
    tma.async_gather(src, x, y, bar, s)
    mbarrier.wait(bar, 0)
    tma.async_scatter(dst, x, y, s)
    tma.store_wait(0)


_g = desc([1, 64], "bf16", sl([1, 64], "bf16", swz=128))
add("g_tma_gather_scatter", g_tma_gs, dict(src=_g, dst=_g, idx_ptr="*i32", y="i32", **C("MC", "LAY")),
    dict(MC=False, LAY=gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0])), div16=("idx_ptr", ))


# ------------------------------------------------------------- TMA reduce (all kinds)
@gluon.jit
def g_tma_red(dst, x_ptr, OP: gl.constexpr, BM: gl.constexpr, BN: gl.constexpr):
    l: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    v = gl.load(x_ptr + gl.arange(0, BM, gl.SliceLayout(1, l))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, l))[None, :])
    s = gl.allocate_shared_memory(dst.dtype, dst.block_type.shape, dst.layout, v)
    fence_async_shared()
    if OP == "add":
        tma.async_atomic_add(dst, [0, 0], s)
    elif OP == "min":
        tma.async_atomic_min(dst, [0, 0], s)
    elif OP == "max":
        tma.async_atomic_max(dst, [0, 0], s)
    elif OP == "and":
        tma.async_atomic_and(dst, [0, 0], s)
    elif OP == "or":
        tma.async_atomic_or(dst, [0, 0], s)
    else:
        tma.async_atomic_xor(dst, [0, 0], s)
    tma.store_wait(0)


for _t, _o in [("fp32", "add"), ("fp16", "add"), ("bf16", "add"), ("i32", "add"), ("bf16", "min"), ("fp16", "max"), ("i32", "min"), ("u32", "max"), ("i32", "and"), ("i32", "or"), ("i32", "xor")]:
    add(f"g_tma_red_{_o}_{_t}", g_tma_red, dict(dst=desc([32, 64], _t, sl([32, 64], _t)), x_ptr="*" + _t, **C("OP", "BM", "BN")), dict(OP=_o, BM=32, BN=64),
        targets=(100, 90), div16=("x_ptr", ))


# ------------------------------------------------------------- device-side descriptor creation
@gluon.jit
def g_tma_devdesc(a_ptr, b_ptr, M, N, LAY: gl.constexpr, PAD: gl.constexpr):
    src = tma.make_tensor_descriptor(a_ptr, [M, N], [N, 1], [64, 64], LAY, padding_option=PAD)
    dst = tma.make_tensor_descriptor(b_ptr, [M, N], [N, 1], [64, 64], LAY)
    s = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.nbytes_per_cta)
    tma.async_load(src, [gl.program_id(0) * 64, 0], bar, s)
    mbarrier.wait(bar, 0)
    tma.async_store(dst, [gl.program_id(0) * 64, 0], s)
    tma.store_wait(0)


for _p in ("zero", "nan"):
    add(f"g_tma_devdesc_{_p}", g_tma_devdesc, dict(a_ptr="*fp16", b_ptr="*fp16", M="i32", N="i32", **C("LAY", "PAD")),
        dict(LAY=sl([64, 64], "fp16"), PAD=_p), targets=(100, 90), div16=("a_ptr", "b_ptr", "N"))


@gluon.jit
def g_tma_devdesc3(a_ptr, b_ptr, L, M, N, LAY: gl.constexpr):
    src = tma.make_tensor_descriptor(a_ptr, [L, M, N], [M * N, N, 1], [2, 16, 64], LAY)
    dst = tma.make_tensor_descriptor(b_ptr, [L, M, N], [M * N, N, 1], [2, 16, 64], LAY)
    s = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, src.nbytes_per_cta)
    tma.async_load(src, [0, 0, 0], bar, s)
    mbarrier.wait(bar, 0)
    tma.async_store(dst, [0, 0, 0], s)
    tma.store_wait(0)


add("g_tma_devdesc_3d", g_tma_devdesc3, dict(a_ptr="*fp16", b_ptr="*fp16", L="i32", M="i32", N="i32", LAY="constexpr"), dict(LAY=sl([2, 16, 64], "fp16")),
    targets=(100, 90), div16=("a_ptr", "b_ptr", "N"))


# ------------------------------------------------------------- mbarrier: init/expect/arrive(count, pred, from_cta)/wait(pred)/invalidate + cluster barriers
@gluon.jit
def g_mbar(out_ptr, p, CL: gl.constexpr, LAY: gl.constexpr):
    bar = mbarrier.allocate_mbarrier(batch=4)
    for i in gl.static_range(4):
        mbarrier.init(bar.index(i), count=2)
    mbarrier.arrive(bar.index(0), count=1)
    mbarrier.arrive(bar.index(0), count=1, pred=p > 0)
    mbarrier.arrive(bar.index(1), count=2)
    mbarrier.wait(bar.index(0), 0, pred=p > 0)
    mbarrier.wait(bar.index(1), 0)
    for k in range(0, p):  # both barriers are in their second phase
        mbarrier.arrive(bar.index(k & 1), count=2)
        mbarrier.wait(bar.index(k & 1), 1 - ((k >> 1) & 1))
    if CL:
        mbarrier.arrive(bar.index(2), count=1, from_cta=0)
        cluster.barrier()
        cluster.barrier(relaxed=True)
        gl.barrier(cluster=True)
        fence_async_shared(cluster=True)
    else:
        gl.barrier()
    for i in gl.static_range(4):
        mbarrier.invalidate(bar.index(i))
    gl.store(out_ptr + gl.arange(0, 128, LAY), p)


add("g_mbar", g_mbar, dict(out_ptr="*i32", p="i32", **C("CL", "LAY")), dict(CL=False, LAY=gl.BlockedLayout([1], [32], [4], [0])), targets=(100, 90), div16=("out_ptr", ))
add("g_mbar_cluster2", g_mbar, dict(out_ptr="*i32", p="i32", **C("CL", "LAY")), dict(CL=True, LAY=gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[0]])), targets=(100, 90), num_ctas=2,
    div16=("out_ptr", ))


# ------------------------------------------------------------- st.async to another CTA's smem (async_store)
@gluon.jit
def g_st_async(in_ptr, out_ptr, L1: gl.constexpr, SL: gl.constexpr, NB: gl.constexpr):
    o = gl.arange(0, 256, L1)
    v = gl.load(in_ptr + o)
    s = gl.allocate_shared_memory(gl.int32, [256], SL)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    cluster.barrier()
    mbarrier.expect(bar, NB)
    bw.async_store(s, v, bar)
    mbarrier.wait(bar, 0)
    gl.store(out_ptr + o, s.load(L1))
    cluster.barrier()


add("g_st_async_2cta", g_st_async, dict(in_ptr="*i32", out_ptr="*i32", **C("L1", "SL", "NB")),
    dict(L1=gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[1]]), SL=gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=[[1]]), NB=512), targets=(100, 90), num_ctas=2,
    div16=("in_ptr", "out_ptr"))


# ------------------------------------------------------------- cp.async
@gluon.jit
def g_cp_async(in_ptr, out_ptr, n, LAY: gl.constexpr):
    o = gl.arange(0, 64, gl.SliceLayout(1, LAY))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, LAY))[None, :]
    s = gl.allocate_shared_memory(gl.float16, [2, 64, 64], gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))
    bar = mbarrier.allocate_mbarrier(batch=2)
    mbarrier.init(bar.index(0), count=128)
    mbarrier.init(bar.index(1), count=1)
    async_copy.async_load(s.index(0), in_ptr + o)
    async_copy.mbarrier_arrive(bar.index(0), increment_count=False)
    async_copy.async_load(s.index(1), in_ptr + o, mask=o < n, cache_modifier=".ca")
    async_copy.mbarrier_arrive(bar.index(1), increment_count=True)
    mbarrier.arrive(bar.index(1), count=1)
    async_copy.commit_group()
    async_copy.wait_group(0)
    mbarrier.wait(bar.index(0), 0)
    mbarrier.wait(bar.index(1), 0)
    gl.store(out_ptr + o, s.index(0).load(LAY) + s.index(1).load(LAY))


add("g_cp_async", g_cp_async, dict(in_ptr="*fp16", out_ptr="*fp16", n="i32", LAY="constexpr"), dict(LAY=gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])), targets=(100, 90),
    div16=("in_ptr", "out_ptr", "n"))


# ------------------------------------------------------------- CLC
@gluon.jit
def g_clc(out_ptr, LAY: gl.constexpr, SL: gl.constexpr):
    res = gl.allocate_shared_memory(gl.int64, [2], SL)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    pid = gl.program_id(0)
    has = True
    ph = 0
    while has:
        mbarrier.expect(bar, 16)
        clc.try_cancel(res, bar)
        gl.store(out_ptr + pid * 128 + gl.arange(0, 128, LAY), pid)
        mbarrier.wait(bar, ph)
        ph ^= 1
        r = clc.load_result(res)
        has = r.is_canceled()
        if has:
            pid = r.program_id(0) + r.program_id(1) + r.program_id(2)


add("g_clc", g_clc, dict(out_ptr="*i32", **C("LAY", "SL")), dict(LAY=gl.BlockedLayout([1], [32], [4], [0]), SL=gl.SwizzledSharedLayout(1, 1, 1, [0])), div16=("out_ptr", ))
add("g_clc_2cta", g_clc, dict(out_ptr="*i32", **C("LAY", "SL")), dict(LAY=gl.BlockedLayout([1], [32], [4], [0], cga_layout=[[0]]), SL=gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=[[0]])),
    num_ctas=2, div16=("out_ptr", ))


# ------------------------------------------------------------- packed arithmetic
@gluon.jit
def g_packed(a_ptr, b_ptr, c_ptr, o_ptr, LAY: gl.constexpr, MM: gl.constexpr):
    i = gl.arange(0, 1024, LAY)
    a = gl.load(a_ptr + i)
    b = gl.load(b_ptr + i)
    c = gl.load(c_ptr + i)
    r = bw.fma2(bw.add2(a, b), bw.sub2(a, c), bw.mul2(b, c))
    if MM:
        r = bw.max2(bw.min2(r, a), b)
    gl.store(o_ptr + i, r)


for _t, _m in [("fp32", False), ("fp16", True), ("bf16", True)]:
    add(f"g_packed_{_t}", g_packed, dict(a_ptr="*" + _t, b_ptr="*" + _t, c_ptr="*" + _t, o_ptr="*" + _t, **C("LAY", "MM")), dict(LAY=gl.BlockedLayout([8], [32], [4], [0]), MM=_m),
        targets=(100, ) if _t == "fp32" else (100, 90), div16=("a_ptr", "b_ptr", "c_ptr", "o_ptr"))


# ------------------------------------------------------------- warp_specialize with register reallocation; producer/consumer ring over TMA + MMA
@gluon.jit
def ws_load(a_desc, b_desc, a, b, full, empty, K, BK: gl.constexpr, NB: gl.constexpr):
    idx = 0
    ph = 1
    for k in range(0, K, BK):
        mbarrier.wait(empty.index(idx), ph)
        mbarrier.expect(full.index(idx), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k], full.index(idx), a.index(idx))
        tma.async_load(b_desc, [0, k], full.index(idx), b.index(idx))
        idx += 1
        if idx == NB:
            idx = 0
            ph ^= 1


@gluon.jit
def ws_mma(a, b, acc, full, empty, done, K, BK: gl.constexpr, NB: gl.constexpr):
    idx = 0
    ph = 0
    use = False
    for k in range(0, K, BK):
        mbarrier.wait(full.index(idx), ph)
        bw.tcgen05_mma(a.index(idx), b.index(idx).permute([1, 0]), acc, use_acc=use)
        bw.tcgen05_commit(empty.index(idx))
        use = True
        idx += 1
        if idx == NB:
            idx = 0
            ph ^= 1
    bw.tcgen05_commit(done)


@gluon.jit
def ws_epi(c_desc, acc, done, BM: gl.constexpr, BN: gl.constexpr):
    mbarrier.wait(done, 0)
    cs = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    cs.store(acc.load().to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], cs)
    tma.store_wait(0)


@gluon.jit
def g_ws_gemm(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, [NB] + a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [NB] + b_desc.block_type.shape, b_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=NB)
    empty = mbarrier.allocate_mbarrier(batch=NB)
    done = mbarrier.allocate_mbarrier()
    for i in gl.static_range(NB):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    mbarrier.init(done, count=1)
    acc = bw.allocate_tensor_memory(gl.float32, [BM, BN], bw.TensorMemoryLayout([BM, BN], col_stride=1))
    gl.warp_specialize([(ws_epi, (c_desc, acc, done, BM, BN)), (ws_load, (a_desc, b_desc, a, b, full, empty, K, BK, NB)),
                        (ws_mma, (a, b, acc, full, empty, done, K, BK, NB))], [1, 1], [24, 24])


_ab = desc([128, 64], "bf16", sl([128, 64], "bf16"))
add("g_ws_gemm", g_ws_gemm, dict(a_desc=_ab, b_desc=_ab, c_desc=desc([128, 128], "bf16", sl([128, 128], "bf16")), K="i32", **C("BM", "BN", "BK", "NB")),
    dict(BM=128, BN=128, BK=64, NB=3))
add("g_ws_gemm_maxnreg", g_ws_gemm, dict(a_desc=_ab, b_desc=_ab, c_desc=desc([128, 128], "bf16", sl([128, 128], "bf16")), K="i32", **C("BM", "BN", "BK", "NB")),
    dict(BM=128, BN=128, BK=64, NB=3), maxnreg=128)


# ------------------------------------------------------------- warp-level mma.sync (mma_v2)
@gluon.jit
def g_mma_v2(a_ptr, b_ptr, c_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, KW: gl.constexpr, ACC: gl.constexpr, PREC: gl.constexpr):
    ml: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    al: gl.constexpr = gl.DotOperandLayout(0, ml, KW)
    bl: gl.constexpr = gl.DotOperandLayout(1, ml, KW)
    a = gl.load(a_ptr + gl.arange(0, M, gl.SliceLayout(1, al))[:, None] * K + gl.arange(0, K, gl.SliceLayout(0, al))[None, :])
    b = gl.load(b_ptr + gl.arange(0, K, gl.SliceLayout(1, bl))[:, None] * N + gl.arange(0, N, gl.SliceLayout(0, bl))[None, :])
    c = gl.full([M, N], 0, ACC, ml)
    c = bw.mma_v2(a, b, c, input_precision=PREC)
    gl.store(c_ptr + gl.arange(0, M, gl.SliceLayout(1, ml))[:, None] * N + gl.arange(0, N, gl.SliceLayout(0, ml))[None, :], c)


for _t, _k, _kw, _acc in [("fp16", 32, 2, "fp32"), ("bf16", 32, 2, "fp32"), ("fp16", 32, 2, "fp16"), ("fp32", 16, 1, "fp32"), ("i8", 64, 4, "i32"), ("fp8e4nv", 64, 4, "fp32"), ("fp8e5", 64, 4, "fp32")]:
    add(f"g_mma_v2_{_t}_{_acc}", g_mma_v2, dict(a_ptr="*" + _t, b_ptr="*" + _t, c_ptr="*" + _acc, **C("M", "N", "K", "KW", "ACC", "PREC")),
        dict(M=64, N=64, K=_k, KW=_kw, ACC=TY[_acc], PREC="tf32"), targets=(100, 90), div16=("a_ptr", "b_ptr", "c_ptr"))


# ------------------------------------------------------------- wgmma (Hopper only)
@gluon.jit
def g_wgmma(a_desc, b_desc, c_ptr, M: gl.constexpr, N: gl.constexpr, ACC: gl.constexpr, IK: gl.constexpr, RS: gl.constexpr, T: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    tma.async_load(b_desc, [0, 0], bar, b)
    mbarrier.wait(bar, 0)
    ml: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, IK])
    c = gl.full([M, N], 0, ACC, ml)
    bb = b.permute([1, 0])
    if RS:
        ar = a.load(gl.DotOperandLayout(0, ml, 32 // T.primitive_bitwidth))
        c = hp.warpgroup_mma(ar, bb, c, is_async=True)
    else:
        c = hp.warpgroup_mma(a, bb, c, is_async=True)
    c = hp.warpgroup_mma_wait(0, deps=[c])
    gl.store(c_ptr + gl.arange(0, M, gl.SliceLayout(1, ml))[:, None] * N + gl.arange(0, N, gl.SliceLayout(0, ml))[None, :], c)


for _t, _n, _acc, _rs in [("bf16", 64, "fp32", False), ("fp16", 128, "fp32", True), ("fp16", 256, "fp16", False), ("fp32", 64, "fp32", False), ("fp8e4nv", 64, "fp32", False), ("fp8e5", 64, "fp32", True),
                          ("i8", 64, "i32", False)]:
    _bk = 128 * 8 // TY[_t].primitive_bitwidth
    add(f"g_wgmma_{_t}_n{_n}_{_acc}{'_rs' if _rs else ''}", g_wgmma,
        dict(a_desc=desc([64, _bk], _t, sl([64, _bk], _t)), b_desc=desc([_n, _bk], _t, sl([_n, _bk], _t)), c_ptr="*" + _acc, **C("M", "N", "ACC", "IK", "RS", "T")),
        dict(M=64, N=_n, ACC=TY[_acc], IK=256 // TY[_t].primitive_bitwidth, RS=_rs, T=TY[_t]), targets=(90, ), div16=("c_ptr", ))


# ------------------------------------------------------------- shared-memory gather/scatter/atomics, global atomics with scopes, global loads with cache policies
@gluon.jit
def g_smem_ops(in_ptr, idx_ptr, out_ptr, LAY: gl.constexpr):
    o = gl.arange(0, 128, LAY)
    s = gl.allocate_shared_memory(gl.int32, [128], gl.SwizzledSharedLayout(1, 1, 1, [0]), gl.load(in_ptr + o))
    idx = gl.load(idx_ptr + o)
    gl.barrier()
    v = s.gather(idx, axis=0)
    gl.barrier()
    s.scatter(v + 1, idx, axis=0)
    gl.barrier()
    r = s.atomic_scatter_add(v, idx, axis=0)
    r += s.atomic_scatter_max(v, idx, axis=0)
    r += s.atomic_scatter_min(v, idx, axis=0)
    r += s.atomic_scatter_and(v, idx, axis=0)
    r += s.atomic_scatter_or(v, idx, axis=0)
    r += s.atomic_scatter_xor(v, idx, axis=0)
    s.atomic_scatter_xchg(v, idx, axis=0, mask=v > 0)
    gl.barrier()
    gl.store(out_ptr + o, r + s.load(LAY))


add("g_smem_ops", g_smem_ops, dict(in_ptr="*i32", idx_ptr="*i32", out_ptr="*i32", LAY="constexpr"), dict(LAY=gl.BlockedLayout([1], [32], [4], [0])), targets=(100, 90),
    div16=("in_ptr", "idx_ptr", "out_ptr"))


@gluon.jit
def g_cachepol(in_ptr, out_ptr, LAY: gl.constexpr, P1: gl.constexpr, P2: gl.constexpr, P3: gl.constexpr):
    o = gl.arange(0, 1024, LAY)
    v = gl.load(in_ptr + o, cache_policy=P1) + gl.load(in_ptr + 1024 + o, cache_policy=P2) + gl.load(in_ptr + 2048 + o, cache_policy=P3)
    v += gl.load(in_ptr + 4096 + o, mask=o < 1000, other=1.0, cache_modifier=".cg")
    v += gl.load(in_ptr + 8192 + o, mask=o < 1000, other=1.0, eviction_policy="evict_last")
    v += gl.load(in_ptr + 8192 + o, cache_modifier=".cv")
    v += gl.load(in_ptr + 16384 + o, volatile=True)
    gl.store(out_ptr + o, v, cache_policy=P1)
    gl.store(out_ptr + o + 1024, v, cache_modifier=".wt")
    gl.store(out_ptr + o + 2048, v, cache_modifier=".cs")


add("g_cachepol", g_cachepol, dict(in_ptr="*fp32", out_ptr="*fp32", **C("LAY", "P1", "P2", "P3")),
    dict(LAY=gl.BlockedLayout([4], [32], [4], [0]), P1=CachePolicy(l2=FractionalEvictionPolicy("evict_first", 1.0)),
         P2=CachePolicy(l1="no_allocate", l2_prefetch_size=128), P3=CachePolicy(l1="evict_last", l2=FractionalEvictionPolicy("evict_last", 0.5, "evict_first"))), targets=(100, 90),
    div16=("in_ptr", "out_ptr"))


@gluon.jit
def g_atomics(p_ptr, f_ptr, out_ptr, LAY: gl.constexpr):
    o = gl.arange(0, 128, LAY)
    r = gl.atomic_add(p_ptr + o, 1, sem="relaxed", scope="gpu")
    r += gl.atomic_max(p_ptr + o, r, sem="acquire", scope="cta")
    r += gl.atomic_min(p_ptr + o, r, sem="release", scope="sys")
    r += gl.atomic_and(p_ptr + o, r, sem="acq_rel", scope="gpu")
    r += gl.atomic_or(p_ptr + o, r)
    r += gl.atomic_xor(p_ptr + o, r)
    r += gl.atomic_xchg(p_ptr + o, r)
    r += gl.atomic_cas(p_ptr + o, r, r + 1)
    gl.atomic_add(f_ptr + o, 1.5)
    gl.store(out_ptr + o, r)


add("g_atomics", g_atomics, dict(p_ptr="*i32", f_ptr="*fp32", out_ptr="*i32", LAY="constexpr"), dict(LAY=gl.BlockedLayout([1], [32], [4], [0])), targets=(100, 90),
    div16=("p_ptr", "f_ptr", "out_ptr"))


@gluon.jit
def g_atomic_ls(p_ptr, out_ptr):
    gl.atomic_poll(p_ptr, 1, sem="acquire", scope="gpu")
    v = gl.atomic_load(p_ptr, sem="acquire", scope="gpu")
    gl.atomic_store(out_ptr, v, sem="release", scope="sys")


add("g_atomic_ls", g_atomic_ls, dict(p_ptr="*i32", out_ptr="*i32"), {}, targets=(100, 90), div16=("p_ptr", "out_ptr"))
