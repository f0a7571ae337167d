# test/conformance/kernels/tl_attention.py - Triton kernels: attention forward, backward, jagged; block-scaled products
"""The usual online-softmax loop, written for conformance and not for speed."""
import triton
import triton.language as tl

KERNELS = []


def add(name, fn, sig, const, div16=(), targets=(100, 90), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=dict(sig, **{c: "constexpr" for c in const}), constexprs=const, options=opt,
                        div16=div16, targets=targets, lang="triton"))


@triton.jit
def attention_forward(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                      CAUSAL: tl.constexpr, WS: tl.constexpr):
    block = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * n * D
    rows = block * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (block + 1) * BM if CAUSAL else n
    for start in tl.range(0, end, BN, warp_specialize=WS):
        k = tl.load(k_ptr + base + (start + cols)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + base + (start + cols)[:, None] * D + d[None, :])
        s = tl.dot(q, k.T) * (scale * 1.4426950408889634)
        if CAUSAL:
            s = tl.where(rows[:, None] >= start + cols[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        fix = tl.exp2(top - new)
        total = total * fix + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v, acc * fix[:, None])
        top = new
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty))
    tl.store(lse_ptr + tl.program_id(1) * n + rows, top * 0.6931471805599453 + tl.log(total))


_fwd = dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", o_ptr="*bf16", lse_ptr="*fp32", n="i32", scale="fp32")
_fdiv = ("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr", "n")
for _d, _bm, _bn, _c in [(64, 64, 64, False), (64, 128, 64, True), (128, 128, 128, False), (128, 128, 64, True), (32, 64, 32, True)]:
    add(f"attn_fwd_d{_d}_m{_bm}_n{_bn}{'_causal' if _c else ''}", attention_forward, _fwd,
        dict(BM=_bm, BN=_bn, D=_d, CAUSAL=_c, WS=False), _fdiv)
add("attn_fwd_d64_w8", attention_forward, _fwd, dict(BM=128, BN=128, D=64, CAUSAL=False, WS=False), _fdiv, num_warps=8)


@triton.jit
def attention_forward_tma(q_desc, k_desc, v_desc, o_desc, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
                          CAUSAL: tl.constexpr, WS: tl.constexpr):
    block = tl.program_id(0)
    base = tl.program_id(1) * n
    rows = block * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    q = q_desc.load([base + block * BM, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = (block + 1) * BM if CAUSAL else n
    for start in tl.range(0, end, BN, warp_specialize=WS):
        k = k_desc.load([base + start, 0])
        s = tl.dot(q, k.T) * (scale * 1.4426950408889634)
        if CAUSAL:
            s = tl.where(rows[:, None] >= start + cols[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        fix = tl.exp2(top - new)
        total = total * fix + tl.sum(p, 1)
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(v.dtype), v, acc * fix[:, None])
        top = new
    o_desc.store([base + block * BM, 0], (acc / total[:, None]).to(tl.bfloat16))


for _d, _bm, _bn, _c, _ws in [(64, 128, 64, False, False), (64, 128, 128, False, True), (128, 128, 128, True, False), (128, 128, 64, False, True),
                              (64, 128, 64, True, True)]:
    add(f"attn_tma_d{_d}_m{_bm}_n{_bn}{'_causal' if _c else ''}{'_ws' if _ws else ''}", attention_forward_tma,
        dict(q_desc=f"tensordesc<bf16[{_bm},{_d}]>", k_desc=f"tensordesc<bf16[{_bn},{_d}]>", v_desc=f"tensordesc<bf16[{_bn},{_d}]>",
             o_desc=f"tensordesc<bf16[{_bm},{_d}]>", n="i32", scale="fp32"),
        dict(BM=_bm, BN=_bn, D=_d, CAUSAL=_c, WS=_ws), ("n",), targets=(100,) if _ws else (100, 90))


@triton.jit
def attention_jagged(q_ptr, k_ptr, v_ptr, o_ptr, starts_ptr, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    first = tl.load(starts_ptr + tl.program_id(1))
    last = tl.load(starts_ptr + tl.program_id(1) + 1)
    rows = first + tl.program_id(0) * BM + tl.arange(0, BM)
    if first + tl.program_id(0) * BM < last:
        cols = tl.arange(0, BN)
        d = tl.arange(0, D)
        q = tl.load(q_ptr + rows[:, None] * D + d[None, :], mask=rows[:, None] < last, other=0.0)
        top = tl.full((BM,), -float("inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        for start in range(first, last, BN):
            live = start + cols < last
            k = tl.load(k_ptr + (start + cols)[:, None] * D + d[None, :], mask=live[:, None], other=0.0)
            v = tl.load(v_ptr + (start + cols)[:, None] * D + d[None, :], mask=live[:, None], other=0.0)
            s = tl.where(live[None, :], tl.dot(q, k.T) * (scale * 1.4426950408889634), -float("inf"))
            new = tl.maximum(top, tl.max(s, 1))
            p = tl.exp2(s - new[:, None])
            fix = tl.exp2(top - new)
            total = total * fix + tl.sum(p, 1)
            acc = tl.dot(p.to(v.dtype), v, acc * fix[:, None])
            top = new
        tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.bfloat16), mask=rows[:, None] < last)


add("attn_jagged_d64", attention_jagged, dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", o_ptr="*bf16", starts_ptr="*i32", scale="fp32"),
    dict(BM=64, BN=64, D=64), ("q_ptr", "k_ptr", "v_ptr", "o_ptr"))


@triton.jit
def attention_backward(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, n, scale, BM: tl.constexpr,
                       BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    block = tl.program_id(0)
    cols = block * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    k = tl.load(k_ptr + cols[:, None] * D + d[None, :])
    v = tl.load(v_ptr + cols[:, None] * D + d[None, :])
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    begin = block * BN // BM * BM if CAUSAL else 0
    for start in range(begin, n, BM):
        rows = start + tl.arange(0, BM)
        q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
        do = tl.load(do_ptr + rows[:, None] * D + d[None, :])
        s = tl.dot(q, k.T) * scale - tl.load(lse_ptr + rows)[:, None]
        p = tl.exp(s)
        if CAUSAL:
            p = tl.where(rows[:, None] >= cols[None, :], p, 0.0)
        dv = tl.dot(p.to(do.dtype).T, do, dv)
        dp = tl.dot(do, v.T)
        ds = (p * (dp - tl.load(delta_ptr + rows)[:, None])).to(q.dtype)
        dk = tl.dot(ds.T, q, dk)
        dq = tl.dot(ds, k) * scale
        tl.atomic_add(dq_ptr + rows[:, None] * D + d[None, :], dq, sem="relaxed")
    tl.store(dk_ptr + cols[:, None] * D + d[None, :], (dk * scale).to(tl.bfloat16))
    tl.store(dv_ptr + cols[:, None] * D + d[None, :], dv.to(tl.bfloat16))


for _d, _bm, _bn, _c in [(64, 64, 64, False), (64, 64, 128, True), (128, 64, 64, True)]:
    add(f"attn_bwd_d{_d}_m{_bm}_n{_bn}{'_causal' if _c else ''}", attention_backward,
        dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", do_ptr="*bf16", lse_ptr="*fp32", delta_ptr="*fp32", dq_ptr="*fp32", dk_ptr="*bf16",
             dv_ptr="*bf16", n="i32", scale="fp32"), dict(BM=_bm, BN=_bn, D=_d, CAUSAL=_c),
        ("q_ptr", "k_ptr", "v_ptr", "do_ptr", "lse_ptr", "delta_ptr", "dq_ptr", "dk_ptr", "dv_ptr", "n"))


@triton.jit
def dot_scaled(a_ptr, b_ptr, as_ptr, bs_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FA: tl.constexpr,
               FB: tl.constexpr, VEC: tl.constexpr):
    PA: tl.constexpr = 2 if FA == "e2m1" else 1
    PB: tl.constexpr = 2 if FB == "e2m1" else 1
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // PA)
    kb = tl.arange(0, BK // PB)
    ks = tl.arange(0, BK // VEC)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * (K // PA) + k // PA + ka[None, :])
        b = tl.load(b_ptr + cols[:, None] * (K // PB) + k // PB + kb[None, :])
        sa = tl.load(as_ptr + rows[:, None] * (K // VEC) + k // VEC + ks[None, :])
        sb = tl.load(bs_ptr + cols[:, None] * (K // VEC) + k // VEC + ks[None, :])
        acc = tl.dot_scaled(a, sa, FA, b.T, sb, FB, acc)
    tl.store(c_ptr + rows[:, None] * BN + cols[None, :], acc)


for _a, _b, _v, _s in [("e4m3", "e4m3", 32, "u8"), ("e5m2", "e4m3", 32, "u8"), ("e2m1", "e2m1", 32, "u8"), ("e4m3", "e2m1", 32, "u8"),
                       ("e2m1", "e2m1", 16, "fp8e4nv")]:
    _t = dict(e4m3="fp8e4nv", e5m2="fp8e5", e2m1="u8")
    add(f"dot_scaled_{_a}_{_b}_v{_v}", dot_scaled, dict(a_ptr="*" + _t[_a], b_ptr="*" + _t[_b], as_ptr="*" + _s, bs_ptr="*" + _s, c_ptr="*fp32", K="i32"),
        dict(BM=128, BN=128, BK=128, FA=_a, FB=_b, VEC=_v), ("a_ptr", "b_ptr", "as_ptr", "bs_ptr", "c_ptr", "K"), targets=(100, 90))
