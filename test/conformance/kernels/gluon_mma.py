# test/conformance/kernels/gluon_mma.py - Gluon kernels: tcgen05 products, tensor memory
"""Gluon kernels for Blackwell: tcgen05 MMA / scaled MMA / TMEM alloc+ld+st+cp / commit."""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout, TensorMemoryScalesLayout, allocate_tensor_memory, tcgen05_mma, tcgen05_mma_scaled, tcgen05_commit,
    tcgen05_copy, tcgen05_mma_barrier_count, tma, mbarrier, fence_async_shared)

KERNELS = []


def add(name, fn, sig, const, targets=(100, ), div16=(), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=sig, constexprs=const, options=opt, div16=div16, targets=targets,
                        lang="gluon"))


TY = dict(fp16=gl.float16, bf16=gl.bfloat16, fp32=gl.float32, fp8e4nv=gl.float8e4nv, fp8e5=gl.float8e5, i8=gl.int8, u8=gl.uint8,
          i32=gl.int32)


def sl(shape, t, transposed=False, swz=None, cga=None, fp4=False):
    if swz is None:
        return gl.NVMMASharedLayout.get_default_for(shape, TY[t], transposed=transposed, cga_layout=cga, fp4_padded=fp4)
    return gl.NVMMASharedLayout(swz, TY[t].primitive_bitwidth, rank=len(shape), transposed=transposed, cga_layout=cga or [],
                                fp4_padded=fp4)


def desc(shape, t, lay):
    return f"tensordesc<{t}[{','.join(map(str, shape))}],{lay!r}>"


# --- 1-CTA GEMM: TMA load -> tcgen05.mma -> tcgen05.ld -> TMA store.  A: smem [M,K] (K-major) or [K,M]^T; same for B.
@gluon.jit
def g_gemm(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, AT: gl.constexpr, BT: gl.constexpr,
           ACC: gl.constexpr, COL: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(mbar, count=1)
    tl_: gl.constexpr = TensorMemoryLayout([min(BM, 128), BN], col_stride=COL)
    acc = allocate_tensor_memory(ACC, [BM, BN], tl_)
    pm = gl.program_id(0)
    pn = gl.program_id(1)
    use = False
    ph = 0
    for k in range(0, K, BK):
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [k, pm * BM] if AT else [pm * BM, k], bar, a)
        tma.async_load(b_desc, [pn * BN, k] if BT else [k, pn * BN], bar, b)
        mbarrier.wait(bar, ph)
        tcgen05_mma(a.permute([1, 0]) if AT else a, b.permute([1, 0]) if BT else b, acc, use_acc=use, mbarriers=[mbar])
        mbarrier.wait(mbar, ph)
        use = True
        ph ^= 1
    mbarrier.invalidate(bar)
    mbarrier.invalidate(mbar)
    c = acc.load()
    cs = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    cs.store(c.to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [pm * BM, pn * BN], cs)
    tma.store_wait(0)


def add_gemm(name, t, o, BM, BN, BK, AT=False, BT=True, ACC="fp32", swa=None, swb=None, COL=1, **opt):
    ash = [BK, BM] if AT else [BM, BK]
    bsh = [BN, BK] if BT else [BK, BN]
    add(name, g_gemm, dict(a_desc=desc(ash, t, sl(ash, t, swz=swa)), b_desc=desc(bsh, t, sl(bsh, t, swz=swb)),
                           c_desc=desc([BM, BN], o, sl([BM, BN], o)), K="i32", **{x: "constexpr" for x in ("BM", "BN", "BK", "AT", "BT", "ACC", "COL")}),
        dict(BM=BM, BN=BN, BK=BK, AT=AT, BT=BT, ACC=TY[ACC], COL=COL), **opt)


add_gemm("g_gemm_bf16_128x128x64", "bf16", "bf16", 128, 128, 64)
add_gemm("g_gemm_fp16_64x64x64", "fp16", "fp16", 64, 64, 64)
add_gemm("g_gemm_fp16_128x16x16", "fp16", "fp16", 128, 16, 16)
add_gemm("g_gemm_fp16_128x256x64", "fp16", "fp16", 128, 256, 64)
add_gemm("g_gemm_fp16_256x128x64_2mma", "fp16", "fp16", 256, 128, 64)
add_gemm("g_gemm_bf16_at", "bf16", "bf16", 128, 128, 64, AT=True)
add_gemm("g_gemm_bf16_bnn", "bf16", "bf16", 128, 128, 64, BT=False)
add_gemm("g_gemm_bf16_at_bnn", "bf16", "bf16", 128, 128, 64, AT=True, BT=False)
add_gemm("g_gemm_bf16_swz64", "bf16", "bf16", 128, 128, 64, swa=64, swb=64)
add_gemm("g_gemm_bf16_swz32", "bf16", "bf16", 128, 128, 64, swa=32, swb=32)
add_gemm("g_gemm_tf32", "fp32", "fp32", 128, 128, 32)
add_gemm("g_gemm_fp8e4m3", "fp8e4nv", "bf16", 128, 128, 64)
add_gemm("g_gemm_fp8e5m2_at", "fp8e5", "bf16", 128, 128, 64, AT=True)
add_gemm("g_gemm_i8", "i8", "i32", 128, 128, 64, ACC="i32")
add_gemm("g_gemm_fp16_acc16_c2", "fp16", "fp16", 128, 128, 64, ACC="fp16", COL=2)
add_gemm("g_gemm_bf16_w8", "bf16", "bf16", 128, 128, 64, num_warps=8)


# --- A operand from TMEM (fp16/bf16/tf32/fp8), predicates on mma and on barriers
@gluon.jit
def g_mma_ts(a_ptr, b_desc, c_ptr, p, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, T: gl.constexpr):
    nw: gl.constexpr = gl.num_warps()
    lay: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [nw, 1], [1, 0])
    rm = gl.arange(0, BM, gl.SliceLayout(1, lay))
    rk = gl.arange(0, BK, gl.SliceLayout(0, lay))
    av = gl.load(a_ptr + rm[:, None] * BK + rk[None, :])
    bits: gl.constexpr = T.primitive_bitwidth
    atl: gl.constexpr = TensorMemoryLayout([BM, BK], col_stride=1)
    at = allocate_tensor_memory(T, [BM, BK], atl)
    areg: gl.constexpr = at.get_reg_layout()
    at.store(gl.convert_layout(av, areg), pred=p > 0)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier(batch=3)
    for i in gl.static_range(3):
        mbarrier.init(bar.index(i), count=1)
    mbarrier.expect(bar.index(0), b_desc.nbytes_per_cta, pred=p > 1)
    tma.async_load(b_desc, [0, 0], bar.index(0), b, pred=p > 1)
    mbarrier.wait(bar.index(0), 0, pred=p > 1)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    tcgen05_mma(at, b.permute([1, 0]), acc, use_acc=False, pred=p > 2, mbarriers=[bar.index(1), bar.index(2)],
                mbarrier_preds=[p > 3, p > 4])
    mbarrier.wait(bar.index(1), 0, pred=p > 3)
    c = acc.load()
    cl: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [nw, 1], [1, 0])
    c = gl.convert_layout(c, cl)
    cm = gl.arange(0, BM, gl.SliceLayout(1, cl))
    cn = gl.arange(0, BN, gl.SliceLayout(0, cl))
    gl.store(c_ptr + cm[:, None] * BN + cn[None, :], c)


for _t in ("fp16", "bf16", "fp32", "fp8e4nv"):
    _bk = dict(fp32=32, fp8e4nv=128).get(_t, 64)
    add(f"g_mma_ts_{_t}", g_mma_ts, dict(a_ptr="*" + _t, b_desc=desc([64, _bk], _t, sl([64, _bk], _t)), c_ptr="*fp32", p="i32",
                                         BM="constexpr", BN="constexpr", BK="constexpr", T="constexpr"),
        dict(BM=128, BN=64, BK=_bk, T=TY[_t]), div16=("a_ptr", "c_ptr"))


# --- block-scaled MMA, scales copied smem->TMEM with tcgen05.cp (32x128b.warpx4)
@gluon.jit
def g_mma_scaled(a_desc, b_desc, as_ptr, bs_ptr, c_ptr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, AT: gl.constexpr,
                 BT: gl.constexpr, VEC: gl.constexpr, COPY: gl.constexpr, SDT: gl.constexpr):
    nw: gl.constexpr = gl.num_warps()
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mb = mbarrier.allocate_mbarrier()  # here, so that it cannot take over the scales' memory while tcgen05.cp still reads them
    mbarrier.init(bar, count=1)
    mbarrier.init(mb, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    tma.async_load(b_desc, [0, 0], bar, b)
    mbarrier.wait(bar, 0)
    SK: gl.constexpr = BK // VEC
    sca = allocate_tensor_memory(SDT, [BM, SK], TensorMemoryScalesLayout())
    scb = allocate_tensor_memory(SDT, [BN, SK], TensorMemoryScalesLayout())
    if COPY:
        ll: gl.constexpr = gl.BlockedLayout([1, 1, 1, 1, 4], [1, 1, 32, 1, 1], [1, 1, 1, nw, 1], [4, 3, 2, 1, 0])
        shl: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, order=[4, 3, 2, 1, 0])
        ia = scale_offs(BM // 128, SK // 4, ll)
        ib = scale_offs(BN // 128, SK // 4, ll)
        sa = gl.allocate_shared_memory(SDT, [BM // 128, SK // 4, 32, 4, 4], shl, gl.load(as_ptr + ia))
        sb = gl.allocate_shared_memory(SDT, [BN // 128, SK // 4, 32, 4, 4], shl, gl.load(bs_ptr + ib))
        fence_async_shared()
        sa2 = sa.permute([0, 3, 2, 1, 4]).reshape([BM, SK])
        sb2 = sb.permute([0, 3, 2, 1, 4]).reshape([BN, SK])
        tcgen05_copy(sa2, sca)
        tcgen05_copy(sb2, scb)
    else:
        la: gl.constexpr = sca.get_reg_layout()
        lb: gl.constexpr = scb.get_reg_layout()
        va = gl.load(as_ptr + gl.arange(0, BM, gl.SliceLayout(1, la))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, la))[None, :])
        vb = gl.load(bs_ptr + gl.arange(0, BN, gl.SliceLayout(1, lb))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, lb))[None, :])
        sca.store(va)
        scb.store(vb)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    tcgen05_mma_scaled(a, b.permute([1, 0]), acc, sca, scb, AT, BT, use_acc=False)
    tcgen05_commit(mb)
    mbarrier.wait(mb, 0)
    c = acc.load()
    cl: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [nw, 1], [1, 0])
    c = gl.convert_layout(c, cl)
    gl.store(c_ptr + gl.arange(0, BM, gl.SliceLayout(1, cl))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, cl))[None, :], c)


@gluon.jit
def scale_offs(R0: gl.constexpr, R1: gl.constexpr, ll: gl.constexpr):
    l4: gl.constexpr = ll
    i0 = gl.arange(0, R0, gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(3, gl.SliceLayout(4, l4)))))
    i1 = gl.arange(0, R1, gl.SliceLayout(0, gl.SliceLayout(2, gl.SliceLayout(3, gl.SliceLayout(4, l4)))))
    i2 = gl.arange(0, 32, gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(3, gl.SliceLayout(4, l4)))))
    i3 = gl.arange(0, 4, gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(4, l4)))))
    i4 = gl.arange(0, 4, gl.SliceLayout(0, gl.SliceLayout(1, gl.SliceLayout(2, gl.SliceLayout(3, l4)))))
    o = i0[:, None, None, None, None] * (R1 * 512) + i1[None, :, None, None, None] * 512
    o = o + i2[None, None, :, None, None] * 16 + i3[None, None, None, :, None] * 4 + i4[None, None, None, None, :]
    return o


def add_scaled(name, at, bt, VEC=32, COPY=True, BM=128, BN=128, BK=128, ST="u8"):
    def o(fmt, rows):
        if fmt == "e2m1":
            mixed = at != bt
            if mixed:   # e2m1 mixed with 8-bit: padded fp4 smem layout (16 fp4 -> 16 B)
                return desc([rows, BK // 2], "u8", sl([rows, BK // 2], "u8", fp4=True))
            return desc([rows, BK // 2], "u8", sl([rows, BK // 2], "u8"))
        t = dict(e4m3="fp8e4nv", e5m2="fp8e5")[fmt]
        return desc([rows, BK], t, sl([rows, BK], t))
    add(name, g_mma_scaled, dict(a_desc=o(at, BM), b_desc=o(bt, BN), as_ptr="*" + ST, bs_ptr="*" + ST, c_ptr="*fp32",
                                 **{x: "constexpr" for x in ("BM", "BN", "BK", "AT", "BT", "VEC", "COPY", "SDT")}),
        dict(BM=BM, BN=BN, BK=BK, AT=at, BT=bt, VEC=VEC, COPY=COPY, SDT=TY[ST]), div16=("as_ptr", "bs_ptr", "c_ptr"))


add_scaled("g_scaled_mxf8_cp", "e4m3", "e4m3")
add_scaled("g_scaled_mxf8_st", "e4m3", "e4m3", COPY=False)
add_scaled("g_scaled_e5m2_e4m3_cp", "e5m2", "e4m3", BN=256)
add_scaled("g_scaled_mxf4_cp", "e2m1", "e2m1", BK=256)
add_scaled("g_scaled_mxf4_st", "e2m1", "e2m1", BK=128, COPY=False)
add_scaled("g_scaled_nvf4_cp", "e2m1", "e2m1", VEC=16, BK=256, ST="fp8e4nv")
add_scaled("g_scaled_nvf4_st", "e2m1", "e2m1", VEC=16, BK=128, COPY=False, ST="fp8e4nv")
add_scaled("g_scaled_e4m3_e2m1_cp", "e4m3", "e2m1", BK=256)
add_scaled("g_scaled_e2m1_e5m2_cp", "e2m1", "e5m2", BK=256)
add_scaled("g_scaled_mxf8_cp_n64", "e4m3", "e4m3", BN=128, BM=128, BK=256)


# --- TMEM load/store, every register-layout variant that get_reg_layout exposes
@gluon.jit
def g_tmem_ldst(in_ptr, out_ptr, BM: gl.constexpr, BN: gl.constexpr, T: gl.constexpr, COL: gl.constexpr, VAR: gl.constexpr):
    nw: gl.constexpr = gl.num_warps()
    tm = allocate_tensor_memory(T, [BM, BN], TensorMemoryLayout([min(BM, 128), BN], col_stride=COL))
    lay: gl.constexpr = tm.get_reg_layout(instr_variant=VAR)
    o = gl.arange(0, BM, gl.SliceLayout(1, lay))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, lay))[None, :]
    v = gl.load(in_ptr + o)
    tm.store(v)
    w = tm.load(lay)
    gl.store(out_ptr + o, w)


def add_ldst(BM, BN, t, COL, VAR, nw=4):
    add(f"g_tmem_{VAR}_{t}_{BM}x{BN}_c{COL}_w{nw}", g_tmem_ldst, dict(in_ptr="*" + t, out_ptr="*" + t, **{x: "constexpr" for x in ("BM", "BN", "T", "COL", "VAR")}),
        dict(BM=BM, BN=BN, T=TY[t], COL=COL, VAR=VAR), num_warps=nw, div16=("in_ptr", "out_ptr"))


for _n in (1, 2, 4, 8, 16, 32, 64, 128):
    add_ldst(128, _n, "fp32", 1, "32x32b")
for _v in ("16x64b", "16x128b", "16x256b"):
    for _n in (8, 16, 32, 64, 128):
        add_ldst(128, _n, "fp32", 1, _v)
for _n in (2, 4, 8, 16, 32, 64, 128, 256):
    add_ldst(64, _n, "fp32", 1, "32x32b")   # M=64 -> the compiler infers atom 16x32bx2
add_ldst(128, 256, "fp32", 1, "32x32b")
add_ldst(128, 256, "fp32", 1, "16x64b")
add_ldst(128, 256, "fp32", 1, "16x128b")
add_ldst(128, 256, "fp32", 1, "16x256b")
add_ldst(128, 2, "fp32", 1, "16x64b")
add_ldst(128, 4, "fp32", 1, "16x64b")
add_ldst(128, 4, "fp32", 1, "16x128b")
for _v in ("16x64b", "16x128b", "16x256b"):
    add_ldst(64, 64, "fp32", 1, _v)
add_ldst(128, 64, "fp32", 1, "32x32b_splitn")
add_ldst(128, 128, "fp32", 1, "32x32b", 8)
add_ldst(128, 256, "fp32", 1, "32x32b", 8)
add_ldst(256, 64, "fp32", 1, "32x32b", 8)
for _t in ("fp16", "bf16"):
    add_ldst(128, 64, _t, 1, "32x32b")     # packed 16-bit
    add_ldst(128, 64, _t, 2, "32x32b")     # unpacked: .pack::16b / .unpack::16b
    add_ldst(128, 64, _t, 2, "16x128b")
    add_ldst(128, 64, _t, 2, "16x256b")
    add_ldst(128, 64, _t, 2, "16x64b")
    add_ldst(128, 64, _t, 1, "16x64b")
    add_ldst(128, 64, _t, 1, "16x128b")
    add_ldst(128, 64, _t, 1, "16x256b")
    add_ldst(64, 64, _t, 2, "32x32b")
    add_ldst(64, 64, _t, 1, "32x32b")
add_ldst(128, 64, "i8", 1, "32x32b")
add_ldst(128, 64, "fp8e4nv", 1, "32x32b")
add_ldst(128, 64, "i32", 1, "32x32b")


# --- TMEM descriptors: index (multi-buffer), slice, reinterpret
@gluon.jit
def g_tmem_views(in_ptr, out_ptr, idx):
    tm = allocate_tensor_memory(gl.float32, [2, 128, 64], TensorMemoryLayout([128, 64], col_stride=1))
    t = tm.index(idx)
    s = t.slice(0, 32)  # the half that the 16-bit view reads
    lay: gl.constexpr = s.get_reg_layout()
    o = gl.arange(0, 128, gl.SliceLayout(1, lay))[:, None] * 32 + gl.arange(0, 32, gl.SliceLayout(0, lay))[None, :]
    s.store(gl.load(in_ptr + o))
    r = t.reinterpret(gl.float16, [128, 64], TensorMemoryLayout([128, 64], col_stride=1))
    l2: gl.constexpr = r.get_reg_layout()
    v = r.load(l2)
    o2 = gl.arange(0, 128, gl.SliceLayout(1, l2))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, l2))[None, :]
    gl.store(out_ptr + o2, v)


add("g_tmem_views", g_tmem_views, dict(in_ptr="*fp32", out_ptr="*fp16", idx="i32"), {}, div16=("in_ptr", "out_ptr"))


# --- tcgen05.cp of a data tile (non-scale): smem -> TMEM
@gluon.jit
def g_tmem_copy(in_desc, out_ptr, BM: gl.constexpr, BN: gl.constexpr, T: gl.constexpr):
    s = gl.allocate_shared_memory(in_desc.dtype, in_desc.block_type.shape, in_desc.layout)
    bar = mbarrier.allocate_mbarrier(batch=2)
    mbarrier.init(bar.index(0), count=1)
    mbarrier.init(bar.index(1), count=1)
    mbarrier.expect(bar.index(0), in_desc.nbytes_per_cta)
    tma.async_load(in_desc, [0, 0], bar.index(0), s)
    mbarrier.wait(bar.index(0), 0)
    tm = allocate_tensor_memory(T, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    tcgen05_copy(s, tm)
    tcgen05_commit(bar.index(1))
    mbarrier.wait(bar.index(1), 0)
    lay: gl.constexpr = tm.get_reg_layout()
    o = gl.arange(0, BM, gl.SliceLayout(1, lay))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, lay))[None, :]
    gl.store(out_ptr + o, tm.load(lay))


for _t, _bm, _bn, _sw in [("fp32", 128, 32, None), ("fp32", 128, 32, 32), ("fp32", 128, 64, None)]:
    add(f"g_tmem_copy_{_t}_{_bm}x{_bn}_s{_sw}", g_tmem_copy, dict(in_desc=desc([_bm, _bn], _t, sl([_bm, _bn], _t, swz=_sw)), out_ptr="*" + _t, **{x: "constexpr" for x in ("BM", "BN", "T")}),
        dict(BM=_bm, BN=_bn, T=TY[_t]), div16=("out_ptr", ))


# --- 2-CTA MMA (cta_group::2): each CTA holds half of A rows and half of B; pair accumulates M=256
@gluon.jit
def g_mma_2cta(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, MC: gl.constexpr, TCGA: gl.constexpr,
               BLKM: gl.constexpr, BLKN: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier(two_ctas=True)
    mbar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(mbar, count=tcgen05_mma_barrier_count([a, b], MC, True))
    tml: gl.constexpr = TensorMemoryLayout([BLKM, BLKN], col_stride=1, cga_layout=TCGA, two_ctas=True)
    acc = allocate_tensor_memory(gl.float32, [BM, BN], tml)
    pm = gl.program_id(0)
    pn = gl.program_id(1)
    use = False
    ph = 0
    for k in range(0, K, BK):
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [pm * BM, k], bar, a, multicast=MC)
        tma.async_load(b_desc, [pn * BN, k], bar, b, multicast=MC)
        mbarrier.wait(bar, ph)
        tcgen05_mma(a, b.permute([1, 0]), acc, use_acc=use, multicast=MC, mbarriers=[mbar])
        mbarrier.wait(mbar, ph)
        use = True
        ph ^= 1
    c = acc.load()
    cs = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    cs.store(c.to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [pm * BM, pn * BN], cs)
    tma.store_wait(0)


def add_2cta(name, t, BM, BN, BK, acga, bcga, tcga, ccga, ctas, MC=False, BLKM=128, BLKN=None):
    add(name, g_mma_2cta, dict(a_desc=desc([BM, BK], t, sl([BM, BK], t, cga=acga)), b_desc=desc([BN, BK], t, sl([BN, BK], t, cga=bcga)),
                               c_desc=desc([BM, BN], "bf16", sl([BM, BN], "bf16", cga=ccga)), K="i32",
                               **{x: "constexpr" for x in ("BM", "BN", "BK", "MC", "TCGA", "BLKM", "BLKN")}),
        dict(BM=BM, BN=BN, BK=BK, MC=MC, TCGA=tcga, BLKM=BLKM, BLKN=BLKN or BN), num_ctas=ctas)


add_2cta("g_mma_2cta_bf16_m256n128", "bf16", 256, 128, 64, [[1, 0]], [[1, 0]], [[1, 0]], [[1, 0]], 2)
add_2cta("g_mma_2cta_bf16_m256n256", "bf16", 256, 256, 64, [[1, 0]], [[1, 0]], [[1, 0]], [[1, 0]], 2)
add_2cta("g_mma_2cta_fp8_m256n128", "fp8e4nv", 256, 128, 128, [[1, 0]], [[1, 0]], [[1, 0]], [[1, 0]], 2)
# 4 CTAs = two pairs along N, A multicast across pairs
add_2cta("g_mma_4cta_bf16_mcast", "bf16", 256, 256, 64, [[1, 0], [0, 0]], [[1, 0], [2, 0]], [[1, 0], [0, 1]], [[1, 0], [0, 1]], 4, MC=True, BLKN=128)
add_2cta("g_mma_2cta_bf16_m128n128", "bf16", 128, 128, 64, [[1, 0]], [[1, 0]], [[1, 0]], [[1, 0]], 2, BLKM=64)
add_2cta("g_mma_2cta_tf32_m256n128", "fp32", 256, 128, 32, [[1, 0]], [[1, 0]], [[1, 0]], [[1, 0]], 2)



# --- 2 CTAs, cta_group::1 MMA with TMA multicast of A and multicast commit
@gluon.jit
def g_mma_1cta_mcast(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, TCGA: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier()
    mbar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(mbar, count=tcgen05_mma_barrier_count([a, b], True, False))
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN // 2], col_stride=1, cga_layout=TCGA))
    use = False
    ph = 0
    for k in range(0, K, BK):
        mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [0, k], bar, a, multicast=True)
        tma.async_load(b_desc, [0, k], bar, b)
        mbarrier.wait(bar, ph)
        tcgen05_mma(a, b.permute([1, 0]), acc, use_acc=use)
        tcgen05_commit(mbar, descs=[a, b])
        mbarrier.wait(mbar, ph)
        use = True
        ph ^= 1
    c = acc.load()
    cs = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    cs.store(c.to(c_desc.dtype))
    fence_async_shared()
    tma.async_store(c_desc, [0, 0], cs)
    tma.store_wait(0)


add("g_mma_1cta_mcast", g_mma_1cta_mcast,
    dict(a_desc=desc([128, 64], "bf16", sl([128, 64], "bf16", cga=[[0, 0]])), b_desc=desc([256, 64], "bf16", sl([256, 64], "bf16", cga=[[1, 0]])),
         c_desc=desc([128, 256], "bf16", sl([128, 256], "bf16", cga=[[0, 1]])), K="i32", **{x: "constexpr" for x in ("BM", "BN", "BK", "TCGA")}),
    dict(BM=128, BN=256, BK=64, TCGA=[[0, 1]]), num_ctas=2)


# --- 2-CTA scaled MMA
@gluon.jit
def g_scaled_2cta(a_desc, b_desc, as_ptr, bs_ptr, c_ptr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    nw: gl.constexpr = gl.num_warps()
    a = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier(two_ctas=True)
    mb = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.init(mb, count=1)
    mbarrier.expect(bar, a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
    tma.async_load(a_desc, [0, 0], bar, a)
    tma.async_load(b_desc, [0, 0], bar, b)
    mbarrier.wait(bar, 0)
    SK: gl.constexpr = BK // 32
    sca = allocate_tensor_memory(gl.uint8, [BM, SK], TensorMemoryScalesLayout(cga_layout=[[1, 0]]))
    scb = allocate_tensor_memory(gl.uint8, [BN, SK], TensorMemoryScalesLayout(cga_layout=[[0, 0]]))
    la: gl.constexpr = sca.get_reg_layout()
    lb: gl.constexpr = scb.get_reg_layout()
    sca.store(gl.load(as_ptr + gl.arange(0, BM, gl.SliceLayout(1, la))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, la))[None, :]))
    scb.store(gl.load(bs_ptr + gl.arange(0, BN, gl.SliceLayout(1, lb))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, lb))[None, :]))
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([128, BN], col_stride=1, cga_layout=[[1, 0]], two_ctas=True))
    tcgen05_mma_scaled(a, b.permute([1, 0]), acc, sca, scb, "e4m3", "e4m3", use_acc=False, mbarriers=[mb])
    mbarrier.wait(mb, 0)
    lc: gl.constexpr = acc.get_reg_layout()
    gl.store(c_ptr + gl.arange(0, BM, gl.SliceLayout(1, lc))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, lc))[None, :], acc.load())


add("g_scaled_2cta", g_scaled_2cta,
    dict(a_desc=desc([256, 128], "fp8e4nv", sl([256, 128], "fp8e4nv", cga=[[1, 0]])), b_desc=desc([128, 128], "fp8e4nv", sl([128, 128], "fp8e4nv", cga=[[1, 0]])),
         as_ptr="*u8", bs_ptr="*u8", c_ptr="*fp32", BM="constexpr", BN="constexpr", BK="constexpr"), dict(BM=256, BN=128, BK=128), num_ctas=2)


# --- scaled MMA with A in TMEM
@gluon.jit
def g_scaled_ts(a_ptr, b_desc, as_ptr, bs_ptr, c_ptr, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, FMT: gl.constexpr, FMTB: gl.constexpr, T: gl.constexpr, AK: gl.constexpr, FP4: gl.constexpr, VEC: gl.constexpr):
    at = allocate_tensor_memory(T, [BM, AK], TensorMemoryLayout([BM, AK], col_stride=1, fp4_padded=FP4))
    areg: gl.constexpr = at.get_reg_layout()
    at.store(gl.load(a_ptr + gl.arange(0, BM, gl.SliceLayout(1, areg))[:, None] * AK + gl.arange(0, AK, gl.SliceLayout(0, areg))[None, :]))
    b = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_type.shape, b_desc.layout)
    bar = mbarrier.allocate_mbarrier(batch=2)
    mbarrier.init(bar.index(0), count=1)
    mbarrier.init(bar.index(1), count=1)
    mbarrier.expect(bar.index(0), b_desc.nbytes_per_cta)
    tma.async_load(b_desc, [0, 0], bar.index(0), b)
    mbarrier.wait(bar.index(0), 0)
    SK: gl.constexpr = BK // VEC
    sca = allocate_tensor_memory(gl.uint8, [BM, SK], TensorMemoryScalesLayout())
    scb = allocate_tensor_memory(gl.uint8, [BN, SK], TensorMemoryScalesLayout())
    la: gl.constexpr = sca.get_reg_layout()
    lb: gl.constexpr = scb.get_reg_layout()
    sca.store(gl.load(as_ptr + gl.arange(0, BM, gl.SliceLayout(1, la))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, la))[None, :]))
    scb.store(gl.load(bs_ptr + gl.arange(0, BN, gl.SliceLayout(1, lb))[:, None] * SK + gl.arange(0, SK, gl.SliceLayout(0, lb))[None, :]))
    acc = allocate_tensor_memory(gl.float32, [BM, BN], TensorMemoryLayout([BM, BN], col_stride=1))
    tcgen05_mma_scaled(at, b.permute([1, 0]), acc, sca, scb, FMT, FMTB, use_acc=False, mbarriers=[bar.index(1)])
    mbarrier.wait(bar.index(1), 0)
    lc: gl.constexpr = acc.get_reg_layout()
    gl.store(c_ptr + gl.arange(0, BM, gl.SliceLayout(1, lc))[:, None] * BN + gl.arange(0, BN, gl.SliceLayout(0, lc))[None, :], acc.load())


_ts = {x: "constexpr" for x in ("BM", "BN", "BK", "FMT", "FMTB", "T", "AK", "FP4", "VEC")}
add("g_scaled_ts_mxf8", g_scaled_ts, dict(a_ptr="*fp8e4nv", b_desc=desc([128, 128], "fp8e4nv", sl([128, 128], "fp8e4nv")), as_ptr="*u8", bs_ptr="*u8", c_ptr="*fp32", **_ts),
    dict(BM=128, BN=128, BK=128, FMT="e4m3", FMTB="e4m3", T=gl.float8e4nv, AK=128, FP4=False, VEC=32), div16=("a_ptr", "as_ptr", "bs_ptr", "c_ptr"))
add("g_scaled_ts_mxf4", g_scaled_ts, dict(a_ptr="*u8", b_desc=desc([128, 64], "u8", sl([128, 64], "u8")), as_ptr="*u8", bs_ptr="*u8", c_ptr="*fp32", **_ts),
    dict(BM=128, BN=128, BK=128, FMT="e2m1", FMTB="e2m1", T=gl.uint8, AK=64, FP4=False, VEC=32), div16=("a_ptr", "as_ptr", "bs_ptr", "c_ptr"))
