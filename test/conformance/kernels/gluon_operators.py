# test/conformance/kernels/gluon_operators.py - Gluon kernels: whole operators, warp-specialised and pipelined
"""Attention on both chips, a persistent product of CTA pairs under cluster launch control, mxfp4 products whose scales come by TMA,
a product of gathered rows that scatters its own, and a product of a Hopper cluster that shares B."""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell as bw
from triton.experimental.gluon.language.nvidia import hopper as hp
from triton.experimental.gluon.language.nvidia.blackwell import tma, mbarrier, clc, fence_async_shared, cluster

KERNELS = []
TY = dict(fp16=gl.float16, bf16=gl.bfloat16, fp32=gl.float32, u8=gl.uint8)


def add(name, fn, sig, const, targets=(100, ), div16=(), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=dict(sig, **{c: "constexpr" for c in const}), constexprs=const, options=opt, div16=div16, targets=targets, lang="gluon"))


def sl(shape, t, swz=None, cga=None):
    if swz is None:
        return gl.NVMMASharedLayout.get_default_for(shape, TY[t], cga_layout=cga)
    return gl.NVMMASharedLayout(swz, TY[t].primitive_bitwidth, rank=len(shape), cga_layout=cga or [])


def desc(shape, t, lay=None):
    return f"tensordesc<{t}[{','.join(map(str, shape))}],{lay or sl(shape, t)!r}>"


# --- attention: one warp loads, one issues tcgen05, four take the softmax; S, P and O in tensor memory
@gluon.jit
def attention_load(q_desc, k_desc, v_desc, q, k, v, q_full, k_full, k_empty, v_full, v_empty, n, BK: gl.constexpr, NB: gl.constexpr):
    mbarrier.expect(q_full, q_desc.nbytes_per_cta)
    tma.async_load(q_desc, [gl.program_id(0) * q_desc.block_type.shape[0], 0], q_full, q)
    slot = 0
    phase = 1
    for j in range(0, n, BK):
        mbarrier.wait(k_empty.index(slot), phase)
        mbarrier.expect(k_full.index(slot), k_desc.nbytes_per_cta)
        tma.async_load(k_desc, [j, 0], k_full.index(slot), k.index(slot))
        mbarrier.wait(v_empty.index(slot), phase)
        mbarrier.expect(v_full.index(slot), v_desc.nbytes_per_cta)
        tma.async_load(v_desc, [j, 0], v_full.index(slot), v.index(slot))
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1


@gluon.jit
def attention_products(q, k, v, s, p, o, q_full, k_full, k_empty, v_full, v_empty, s_full, s_empty, p_full, o_full, n, BK: gl.constexpr, NB: gl.constexpr):
    mbarrier.wait(q_full, 0)
    slot = 0
    phase = 0
    turn = 0
    more = False
    for j in range(0, n, BK):
        mbarrier.wait(k_full.index(slot), phase)
        mbarrier.wait(s_empty, turn ^ 1)
        bw.tcgen05_mma(q, k.index(slot).permute([1, 0]), s, use_acc=False, mbarriers=[k_empty.index(slot), s_full])
        mbarrier.wait(v_full.index(slot), phase)
        mbarrier.wait(p_full, turn)
        bw.tcgen05_mma(p, v.index(slot), o, use_acc=more, mbarriers=[v_empty.index(slot), o_full])
        more = True
        turn ^= 1
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1


@gluon.jit
def attention_softmax(o_desc, lse_ptr, s, p, o, s_full, s_empty, p_full, o_full, n, scale, BM: gl.constexpr, BK: gl.constexpr):
    lay: gl.constexpr = s.get_reg_layout()
    out: gl.constexpr = o.get_reg_layout()
    rows: gl.constexpr = gl.SliceLayout(1, lay)
    top = gl.full([BM], -float("inf"), gl.float32, rows)
    total = gl.full([BM], 0.0, gl.float32, rows)
    turn = 0
    for j in range(0, n, BK):
        mbarrier.wait(s_full, turn)
        x = s.load(lay)
        mbarrier.arrive(s_empty, count=1)
        x = gl.where((j + gl.arange(0, BK, gl.SliceLayout(0, lay)) < n)[None, :], x * scale, -float("inf"))
        new = gl.maximum(top, gl.max(x, 1))
        shrink = gl.exp2(top - new)
        e = gl.exp2(x - new[:, None])
        total = total * shrink + gl.sum(e, 1)
        top = new
        if j > 0:
            mbarrier.wait(o_full, turn ^ 1)
            o.store(o.load(out) * gl.convert_layout(shrink, gl.SliceLayout(1, out))[:, None])
        p.store(gl.convert_layout(e.to(gl.bfloat16), p.get_reg_layout()))
        mbarrier.arrive(p_full, count=1)
        turn ^= 1
    mbarrier.wait(o_full, turn ^ 1)
    y = o.load(out) / gl.convert_layout(total, gl.SliceLayout(1, out))[:, None]
    tile = gl.allocate_shared_memory(o_desc.dtype, o_desc.block_type.shape, o_desc.layout)
    tile.store(y.to(gl.bfloat16))
    fence_async_shared()
    tma.async_store(o_desc, [gl.program_id(0) * BM, 0], tile)
    gl.store(lse_ptr + gl.program_id(0) * BM + gl.arange(0, BM, rows), top + gl.log2(total))
    tma.store_wait(0)


@gluon.jit
def op_attention(q_desc, k_desc, v_desc, o_desc, lse_ptr, n, scale, BM: gl.constexpr, BK: gl.constexpr, D: gl.constexpr, NB: gl.constexpr):
    q = gl.allocate_shared_memory(gl.bfloat16, [BM, D], q_desc.layout)
    k = gl.allocate_shared_memory(gl.bfloat16, [NB, BK, D], k_desc.layout)
    v = gl.allocate_shared_memory(gl.bfloat16, [NB, BK, D], v_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=2 * NB)
    empty = mbarrier.allocate_mbarrier(batch=2 * NB)
    one = mbarrier.allocate_mbarrier(batch=5)
    for i in gl.static_range(2 * NB):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    for i in gl.static_range(5):
        mbarrier.init(one.index(i), count=1)
    s = bw.allocate_tensor_memory(gl.float32, [BM, BK], bw.TensorMemoryLayout([BM, BK], col_stride=1))
    p = bw.allocate_tensor_memory(gl.bfloat16, [BM, BK], bw.TensorMemoryLayout([BM, BK], col_stride=1))
    o = bw.allocate_tensor_memory(gl.float32, [BM, D], bw.TensorMemoryLayout([BM, D], col_stride=1))
    k_full, v_full, k_empty, v_empty = full.slice(0, NB), full.slice(NB, NB), empty.slice(0, NB), empty.slice(NB, NB)
    q_full, s_full, s_empty, p_full, o_full = one.index(0), one.index(1), one.index(2), one.index(3), one.index(4)
    gl.warp_specialize([(attention_softmax, (o_desc, lse_ptr, s, p, o, s_full, s_empty, p_full, o_full, n, scale, BM, BK)),
                        (attention_load, (q_desc, k_desc, v_desc, q, k, v, q_full, k_full, k_empty, v_full, v_empty, n, BK, NB)),
                        (attention_products, (q, k, v, s, p, o, q_full, k_full, k_empty, v_full, v_empty, s_full, s_empty, p_full, o_full, n, BK, NB))],
                       [1, 1], [24, 24])


for _d, _bk in ((64, 128), (128, 64)):
    add(f"op_attention_d{_d}", op_attention, dict(q_desc=desc([128, _d], "bf16"), k_desc=desc([_bk, _d], "bf16"), v_desc=desc([_bk, _d], "bf16"), o_desc=desc([128, _d], "bf16"),
                                                  lse_ptr="*fp32", n="i32", scale="fp32"), dict(BM=128, BK=_bk, D=_d, NB=2), div16=("lse_ptr", ))


# --- attention on Hopper: one warp loads, two warp groups compute, weights as the register operand of wgmma
@gluon.jit
def hopper_load(q_desc, k_desc, v_desc, q, k, v, q_full, full, empty, n, BK: gl.constexpr, NB: gl.constexpr):
    for g in gl.static_range(2):
        mbarrier.expect(q_full.index(g), q_desc.nbytes_per_cta)
        tma.async_load(q_desc, [gl.program_id(0) * 128 + g * 64, 0], q_full.index(g), q.index(g))
    slot = 0
    phase = 1
    for j in range(0, n, BK):
        mbarrier.wait(empty.index(slot), phase)
        mbarrier.expect(full.index(slot), k_desc.nbytes_per_cta + v_desc.nbytes_per_cta)
        tma.async_load(k_desc, [j, 0], full.index(slot), k.index(slot))
        tma.async_load(v_desc, [j, 0], full.index(slot), v.index(slot))
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1


@gluon.jit
def hopper_group(o_desc, q, k, v, q_full, full, empty, n, scale, G: gl.constexpr, BK: gl.constexpr, D: gl.constexpr, NB: gl.constexpr):
    sl_: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BK, 16])
    ol: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    rows: gl.constexpr = gl.SliceLayout(1, sl_)
    top = gl.full([64], -float("inf"), gl.float32, rows)
    total = gl.full([64], 0.0, gl.float32, rows)
    acc = gl.full([64, D], 0.0, gl.float32, ol)
    mbarrier.wait(q_full.index(G), 0)
    slot = 0
    phase = 0
    for j in range(0, n, BK):
        mbarrier.wait(full.index(slot), phase)
        x = hp.warpgroup_mma(q.index(G), k.index(slot).permute([1, 0]), gl.full([64, BK], 0.0, gl.float32, sl_), use_acc=False, is_async=True)
        x = hp.warpgroup_mma_wait(0, deps=[x])
        x = gl.where((j + gl.arange(0, BK, gl.SliceLayout(0, sl_)) < n)[None, :], x * scale, -float("inf"))
        new = gl.maximum(top, gl.max(x, 1))
        shrink = gl.exp2(top - new)
        e = gl.exp2(x - new[:, None])
        total = total * shrink + gl.sum(e, 1)
        top = new
        acc = acc * gl.convert_layout(shrink, gl.SliceLayout(1, ol))[:, None]
        weights = gl.convert_layout(e.to(gl.bfloat16), gl.DotOperandLayout(0, ol, 2))
        acc = hp.warpgroup_mma(weights, v.index(slot), acc, is_async=True)
        acc = hp.warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(slot), count=1)
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1
    y = acc / gl.convert_layout(total, gl.SliceLayout(1, ol))[:, None]
    q.index(G).store(y.to(gl.bfloat16))  # over the queries, which nobody reads any more
    fence_async_shared()
    tma.async_store(o_desc, [gl.program_id(0) * 128 + G * 64, 0], q.index(G))
    tma.store_wait(0)


@gluon.jit
def op_attention_hopper(q_desc, k_desc, v_desc, o_desc, n, scale, BK: gl.constexpr, D: gl.constexpr, NB: gl.constexpr):
    q = gl.allocate_shared_memory(gl.bfloat16, [2, 64, D], q_desc.layout)
    k = gl.allocate_shared_memory(gl.bfloat16, [NB, BK, D], k_desc.layout)
    v = gl.allocate_shared_memory(gl.bfloat16, [NB, BK, D], v_desc.layout)
    q_full = mbarrier.allocate_mbarrier(batch=2)
    full = mbarrier.allocate_mbarrier(batch=NB)
    empty = mbarrier.allocate_mbarrier(batch=NB)
    for i in gl.static_range(2):
        mbarrier.init(q_full.index(i), count=1)
    for i in gl.static_range(NB):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=2)
    gl.warp_specialize([(hopper_group, (o_desc, q, k, v, q_full, full, empty, n, scale, 0, BK, D, NB)),
                        (hopper_group, (o_desc, q, k, v, q_full, full, empty, n, scale, 1, BK, D, NB)),
                        (hopper_load, (q_desc, k_desc, v_desc, q, k, v, q_full, full, empty, n, BK, NB))], [4, 1], [240, 24])


add("op_attention_hopper", op_attention_hopper, dict(q_desc=desc([64, 64], "bf16"), k_desc=desc([64, 64], "bf16"), v_desc=desc([64, 64], "bf16"), o_desc=desc([64, 64], "bf16"), n="i32",
                                                     scale="fp32"), dict(BK=64, D=64, NB=3), targets=(90, ))


# --- persistent product of CTA pairs: tiles by cluster launch control, two stages of loads ahead of tcgen05.mma.cta_group::2
@gluon.jit
def op_clc_pairs(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr, SL: gl.constexpr):
    a = gl.allocate_shared_memory(a_desc.dtype, [NB] + a_desc.block_type.shape, a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [NB] + b_desc.block_type.shape, b_desc.layout)
    tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    next_tile = gl.allocate_shared_memory(gl.int64, [2], SL)
    full = mbarrier.allocate_mbarrier(batch=NB, two_ctas=True)
    done = mbarrier.allocate_mbarrier(batch=NB)
    known = mbarrier.allocate_mbarrier()
    for i in gl.static_range(NB):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(done.index(i), count=1)
    mbarrier.init(known, count=1)
    acc = bw.allocate_tensor_memory(gl.float32, [BM, BN], bw.TensorMemoryLayout([128, BN], col_stride=1, cga_layout=[[1, 0]], two_ctas=True))
    m = gl.program_id(0)
    n = gl.program_id(1)
    loaded = 0
    used = 0
    turn = 0
    more = True
    while more:
        cluster.barrier()
        mbarrier.expect(known, 16)
        clc.try_cancel(next_tile, known)
        for k in range(0, K + BK * (NB - 1), BK):
            if k < K:  # a load, as soon as the product that last read its slot is done
                mbarrier.wait(done.index(loaded % NB), (loaded // NB & 1) ^ 1)
                mbarrier.expect(full.index(loaded % NB), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
                tma.async_load(a_desc, [m * BM, k], full.index(loaded % NB), a.index(loaded % NB))
                tma.async_load(b_desc, [n * BN, k], full.index(loaded % NB), b.index(loaded % NB))
                loaded += 1
            if k >= BK * (NB - 1):
                mbarrier.wait(full.index(used % NB), used // NB & 1)
                bw.tcgen05_mma(a.index(used % NB), b.index(used % NB).permute([1, 0]), acc, use_acc=k > BK * (NB - 1), mbarriers=[done.index(used % NB)])
                used += 1
        mbarrier.wait(done.index((used - 1) % NB), (used - 1) // NB & 1)
        tma.store_wait(0)
        tile.store(acc.load().to(c_desc.dtype))
        fence_async_shared()
        tma.async_store(c_desc, [m * BM, n * BN], tile)
        mbarrier.wait(known, turn)
        turn ^= 1
        r = clc.load_result(next_tile)
        more = r.is_canceled()
        if more:
            m = r.program_id(0)
            n = r.program_id(1)
    tma.store_wait(0)


_pair = [[1, 0]]
add("op_clc_pairs", op_clc_pairs, dict(a_desc=desc([256, 64], "bf16", sl([256, 64], "bf16", cga=_pair)), b_desc=desc([128, 64], "bf16", sl([128, 64], "bf16", cga=_pair)),
                                       c_desc=desc([256, 128], "bf16", sl([256, 128], "bf16", cga=_pair)), K="i32"),
    dict(BM=256, BN=128, BK=64, NB=2, SL=gl.SwizzledSharedLayout(1, 1, 1, [0], cga_layout=[[0]])), num_ctas=2)


# --- mxfp4: operands and scales by TMA through a ring, scales to tensor memory by tcgen05.cp
@gluon.jit
def mx_load(a_desc, b_desc, as_desc, bs_desc, a, b, sa, sb, full, empty, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr):
    slot = 0
    phase = 1
    for k in range(0, K, BK):
        mbarrier.wait(empty.index(slot), phase)
        mbarrier.expect(full.index(slot), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta + as_desc.nbytes_per_cta + bs_desc.nbytes_per_cta)
        tma.async_load(a_desc, [gl.program_id(0) * BM, k // 2], full.index(slot), a.index(slot))
        tma.async_load(b_desc, [gl.program_id(1) * BN, k // 2], full.index(slot), b.index(slot))
        tma.async_load(as_desc, [0, gl.program_id(0) * (BM // 128), k // 128, 0, 0], full.index(slot), sa.index(slot))
        tma.async_load(bs_desc, [0, gl.program_id(1) * (BN // 128), k // 128, 0, 0], full.index(slot), sb.index(slot))
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1


@gluon.jit
def mx_products(a, b, sa, sb, ta, tb, acc, full, empty, done, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr):
    slot = 0
    phase = 0
    more = False
    for k in range(0, K, BK):
        mbarrier.wait(full.index(slot), phase)
        bw.tcgen05_copy(sa.index(slot).reshape([BM // 128, BK // 128, 32, 4, 4]).permute([0, 3, 2, 1, 4]).reshape([BM, BK // 32]), ta)
        bw.tcgen05_copy(sb.index(slot).reshape([BN // 128, BK // 128, 32, 4, 4]).permute([0, 3, 2, 1, 4]).reshape([BN, BK // 32]), tb)
        bw.tcgen05_mma_scaled(a.index(slot), b.index(slot).permute([1, 0]), acc, ta, tb, "e2m1", "e2m1", use_acc=more)
        bw.tcgen05_commit(empty.index(slot))
        more = True
        slot += 1
        if slot == NB:
            slot = 0
            phase ^= 1
    bw.tcgen05_commit(done)


@gluon.jit
def mx_store(c_desc, acc, done, BM: gl.constexpr, BN: gl.constexpr):
    mbarrier.wait(done, 0)
    tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    for part in gl.static_range(BN // c_desc.block_type.shape[1]):
        tma.store_wait(0)
        tile.store(acc.slice(part * c_desc.block_type.shape[1], c_desc.block_type.shape[1]).load().to(c_desc.dtype))
        fence_async_shared()
        tma.async_store(c_desc, [gl.program_id(0) * BM, gl.program_id(1) * BN + part * c_desc.block_type.shape[1]], tile)
    tma.store_wait(0)


@gluon.jit
def op_mxfp4(a_desc, b_desc, as_desc, bs_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr):
    a = gl.allocate_shared_memory(gl.uint8, [NB, BM, BK // 2], a_desc.layout)
    b = gl.allocate_shared_memory(gl.uint8, [NB, BN, BK // 2], b_desc.layout)
    sa = gl.allocate_shared_memory(gl.uint8, [NB] + as_desc.block_type.shape, as_desc.layout)
    sb = gl.allocate_shared_memory(gl.uint8, [NB] + bs_desc.block_type.shape, bs_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=NB)
    empty = mbarrier.allocate_mbarrier(batch=NB)
    done = mbarrier.allocate_mbarrier()
    for i in gl.static_range(NB):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    mbarrier.init(done, count=1)
    ta = bw.allocate_tensor_memory(gl.uint8, [BM, BK // 32], bw.TensorMemoryScalesLayout())
    tb = bw.allocate_tensor_memory(gl.uint8, [BN, BK // 32], bw.TensorMemoryScalesLayout())
    acc = bw.allocate_tensor_memory(gl.float32, [BM, BN], bw.TensorMemoryLayout([BM, BN], col_stride=1))
    gl.warp_specialize([(mx_store, (c_desc, acc, done, BM, BN)), (mx_load, (a_desc, b_desc, as_desc, bs_desc, a, b, sa, sb, full, empty, K, BM, BN, BK, NB)),
                        (mx_products, (a, b, sa, sb, ta, tb, acc, full, empty, done, K, BM, BN, BK, NB))], [1, 1], [48, 48])


_s = lambda rows: desc([1, rows // 128, 2, 2, 256], "u8", sl([1, rows // 128, 2, 2, 256], "u8", swz=0))
add("op_mxfp4", op_mxfp4, dict(a_desc=desc([128, 128], "u8"), b_desc=desc([256, 128], "u8"), as_desc=_s(128), bs_desc=_s(256), c_desc=desc([128, 64], "bf16"), K="i32"),
    dict(BM=128, BN=256, BK=256, NB=3))


# --- a mixture of experts' layer: rows gathered by TMA, multiplied, and scattered where they came from
@gluon.jit
def op_gathered(x_desc, w_desc, y_desc, index_ptr, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LAY: gl.constexpr):
    a = gl.allocate_shared_memory(gl.bfloat16, [2, BM, BK], x_desc.layout)
    b = gl.allocate_shared_memory(gl.bfloat16, [2, BN, BK], w_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=2)
    done = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(done.index(i), count=1)
    acc = bw.allocate_tensor_memory(gl.float32, [BM, BN], bw.TensorMemoryLayout([BM, BN], col_stride=1))
    rows = gl.load(index_ptr + gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(0, LAY)))
    step = 0
    for k in range(0, K, BK):
        slot = step & 1
        mbarrier.wait(done.index(slot), (step >> 1 & 1) ^ 1)
        mbarrier.expect(full.index(slot), BM * BK * 2 + w_desc.nbytes_per_cta)
        tma.async_gather(x_desc, rows, k, full.index(slot), a.index(slot))
        tma.async_load(w_desc, [0, k], full.index(slot), b.index(slot))
        mbarrier.wait(full.index(slot), step >> 1 & 1)
        bw.tcgen05_mma(a.index(slot), b.index(slot).permute([1, 0]), acc, use_acc=k > 0, mbarriers=[done.index(slot)])
        step += 1
    mbarrier.wait(done.index(step - 1 & 1), (step - 1) >> 1 & 1)
    tile = gl.allocate_shared_memory(gl.bfloat16, [BM, BN], y_desc.layout)
    tile.store(acc.load().to(gl.bfloat16))
    fence_async_shared()
    tma.async_scatter(y_desc, rows, 0, tile)
    tma.store_wait(0)


_row = desc([1, 64], "bf16", sl([1, 64], "bf16", swz=128))
add("op_gathered", op_gathered, dict(x_desc=_row, w_desc=desc([64, 64], "bf16"), y_desc=_row, index_ptr="*i32", K="i32"),
    dict(BM=128, BN=64, BK=64, LAY=gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0])), div16=("index_ptr", ))


# --- Hopper: a cluster of two blocks, rows of A apart, B by multicast, one product of wgmma in flight
@gluon.jit
def op_shared_b(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, NB: gl.constexpr, ML: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [NB, BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [NB, BN, BK], b_desc.layout)
    full = mbarrier.allocate_mbarrier(batch=NB)
    for i in gl.static_range(NB):
        mbarrier.init(full.index(i), count=1)
    cluster.barrier()
    acc = hp.warpgroup_mma_init(gl.full([BM, BN], 0.0, gl.float32, ML))
    step = 0
    for k in range(0, K, BK):
        slot = step % NB
        acc = hp.warpgroup_mma_wait(0, deps=[acc])
        cluster.barrier()  # both blocks are done with the slot
        mbarrier.expect(full.index(slot), a_desc.nbytes_per_cta + b_desc.nbytes_per_cta)
        tma.async_load(a_desc, [gl.program_id(0) * BM, k], full.index(slot), a.index(slot))
        tma.async_load(b_desc, [gl.program_id(1) * BN, k], full.index(slot), b.index(slot), multicast=True)
        mbarrier.wait(full.index(slot), step // NB & 1)
        acc = hp.warpgroup_mma(a.index(slot), b.index(slot).permute([1, 0]), acc, is_async=True)
        step += 1
    acc = hp.warpgroup_mma_wait(0, deps=[acc])
    tile = gl.allocate_shared_memory(gl.float16, c_desc.block_type.shape, c_desc.layout)
    tile.store(acc.to(gl.float16))
    fence_async_shared()
    tma.async_store(c_desc, [gl.program_id(0) * BM, gl.program_id(1) * BN], tile)
    tma.store_wait(0)
    cluster.barrier()


add("op_shared_b", op_shared_b, dict(a_desc=desc([128, 64], "fp16", sl([128, 64], "fp16", cga=_pair)), b_desc=desc([128, 64], "fp16", sl([128, 64], "fp16", cga=[[0, 0]])),
                                     c_desc=desc([128, 128], "fp16", sl([128, 128], "fp16", cga=_pair)), K="i32"),
    dict(BM=128, BN=128, BK=64, NB=2, ML=gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16], cga_layout=_pair)), targets=(90, ), num_ctas=2)
