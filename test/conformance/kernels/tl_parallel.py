# test/conformance/kernels/tl_parallel.py - Triton kernels: work that blocks hand to each other, and formats between products
"""A scan with decoupled look-back, stream-K with a lock for each tile, 8-bit products with block scales and with int8 scores, a chunked
recurrence by products, selection by sorting, sparse rows, a fused backward with 16-bit atomics."""
import triton
import triton.language as tl

KERNELS = []


def add(name, fn, sig, const, div16=(), targets=(100, 90), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=dict(sig, **{c: "constexpr" for c in const}), constexprs=const, options=opt, div16=div16, targets=targets, lang="triton"))


@triton.jit
def lookback(x_ptr, y_ptr, state_ptr, ticket_ptr, n, B: tl.constexpr):
    # One pass: a block adds up its own part, then walks back over what the blocks before it have said: 1 own sum, 2 all up to here.
    tile = tl.atomic_add(ticket_ptr, 1, sem="acq_rel")
    o = tile * B + tl.arange(0, B)
    sums = tl.cumsum(tl.load(x_ptr + o, mask=o < n, other=0), 0)
    total = tl.max(sums, 0).to(tl.int64)  # of numbers that are not negative
    before = tl.full((), 0, tl.int64)
    if tile > 0:
        tl.atomic_xchg(state_ptr + tile, (1 << 32) | total, sem="release")
        at = tile - 1
        while at >= 0:
            said = tl.atomic_add(state_ptr + at, 0, sem="acquire")
            if said >> 32 > 0:
                before += said & 0xFFFFFFFF
                at = tl.where(said >> 32 == 2, -1, at - 1)
    tl.atomic_xchg(state_ptr + tile, (2 << 32) | (before + total), sem="release")
    tl.store(y_ptr + o, sums + before.to(tl.int32), mask=o < n)


add("par_lookback", lookback, dict(x_ptr="*i32", y_ptr="*i32", state_ptr="*i64", ticket_ptr="*i32", n="i32"), dict(B=256), ("x_ptr", "y_ptr", "state_ptr"))


@triton.jit
def stream_k(a_ptr, b_ptr, c_ptr, part_ptr, lock_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # All steps of all tiles, dealt evenly: whoever begins a tile in its middle leaves its part for the one that began it.
    steps = tl.cdiv(K, BK)
    all_steps = tl.cdiv(M, BM) * tl.cdiv(N, BN) * steps
    each = tl.cdiv(all_steps, tl.num_programs(0))
    at, end = tl.program_id(0) * each, tl.minimum((tl.program_id(0) + 1) * each, all_steps)
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    while at < end:
        tile, first = at // steps, at % steps
        last = tl.minimum(first + end - at, steps)
        m, n = tile // tl.cdiv(N, BN) * BM + rm, tile % tl.cdiv(N, BN) * BN + rn
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(first, last):
            k = s * BK + rk
            acc = tl.dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), tl.load(b_ptr + k[:, None] * N + n[None, :]), acc)
        place = part_ptr + tl.program_id(0) * BM * BN + rm[:, None] * BN + rn[None, :]
        if first > 0:
            tl.store(place, acc)
            tl.debug_barrier()
            tl.atomic_xchg(lock_ptr + tl.program_id(0), 1, sem="release")
        else:
            other = tl.program_id(0) + 1
            done = last
            while done < steps:  # the parts of the blocks behind
                while tl.atomic_cas(lock_ptr + other, 1, 1, sem="acquire") != 1:
                    pass
                tl.debug_barrier()
                acc += tl.load(part_ptr + other * BM * BN + rm[:, None] * BN + rn[None, :], cache_modifier=".cv")
                done += each
                other += 1
            tl.store(c_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))
        at += last - first


add("par_stream_k", stream_k, dict(a_ptr="*fp16", b_ptr="*fp16", c_ptr="*fp16", part_ptr="*fp32", lock_ptr="*i32", M="i32", N="i32", K="i32"), dict(BM=64, BN=64, BK=32),
    ("a_ptr", "b_ptr", "c_ptr", "part_ptr", "N", "K"))


@triton.jit
def scaled_fp8(a_desc, b_desc, c_desc, as_ptr, bs_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # A scale for each row and 128 columns of A, one for each 128 x 128 of B, applied to the partial sums.
    pm, pn = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        part = tl.dot(a_desc.load([pm * BM, k]), b_desc.load([pn * BN, k]).T)
        left = tl.load(as_ptr + (pm * BM + tl.arange(0, BM)) * (K // BK) + k // BK)
        acc += part * left[:, None] * tl.load(bs_ptr + pn * (K // BK) + k // BK)
    c_desc.store([pm * BM, pn * BN], acc.to(tl.bfloat16))


add("par_scaled_fp8", scaled_fp8, dict(a_desc="tensordesc<fp8e4nv[64,128]>", b_desc="tensordesc<fp8e4nv[128,128]>", c_desc="tensordesc<bf16[64,128]>", as_ptr="*fp32", bs_ptr="*fp32", K="i32"),
    dict(BM=64, BN=128, BK=128), ("as_ptr", "bs_ptr"))


@triton.jit
def int8_attention(q_ptr, k_ptr, v_ptr, qs_ptr, ks_ptr, o_ptr, n, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q, qs = tl.load(q_ptr + m[:, None] * D + d[None, :]), tl.load(qs_ptr + m)
    top, total, acc = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for j in range(0, n, BN):
        key = j + tl.arange(0, BN)
        k = tl.load(k_ptr + key[:, None] * D + d[None, :], mask=(key < n)[:, None], other=0)
        s = tl.dot(q, tl.trans(k), out_dtype=tl.int32).to(tl.float32) * (qs[:, None] * tl.load(ks_ptr + key, mask=key < n, other=0.)[None, :]) * scale
        s = tl.where((key < n)[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        e, shrink = tl.exp2(s - new[:, None]), tl.exp2(top - new)
        total, top = total * shrink + tl.sum(e, 1), new
        v = tl.load(v_ptr + key[:, None] * D + d[None, :], mask=(key < n)[:, None], other=0.)
        acc = tl.dot(e.to(tl.float16), v, acc * shrink[:, None])
    tl.store(o_ptr + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


add("par_int8_attention", int8_attention, dict(q_ptr="*i8", k_ptr="*i8", v_ptr="*fp16", qs_ptr="*fp32", ks_ptr="*fp32", o_ptr="*fp16", n="i32", scale="fp32"), dict(D=64, BM=64, BN=64),
    ("q_ptr", "k_ptr", "v_ptr", "o_ptr"))


@triton.jit
def gated_chunks(q_ptr, k_ptr, v_ptr, g_ptr, o_ptr, T, D: tl.constexpr, C: tl.constexpr):
    # S = exp(g) S + k^T v, o = q S, a chunk of C steps at a time; f32 products in three tf32.
    b, t, d = tl.program_id(0), tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, T, C):
        at = (b * T + start + t)[:, None] * D + d[None, :]
        q, k, v = tl.load(q_ptr + at), tl.load(k_ptr + at), tl.load(v_ptr + at)
        g = tl.cumsum(tl.load(g_ptr + b * T + start + t), 0)
        end = tl.sum(tl.where(t == C - 1, g, 0.), 0)
        inner = tl.dot(q, tl.trans(k), input_precision="tf32x3") * tl.where(t[:, None] >= t[None, :], tl.exp(g[:, None] - g[None, :]), 0.)
        o = tl.dot(inner, v, input_precision="tf32x3") + tl.dot(q * tl.exp(g)[:, None], state, input_precision="tf32x3")
        state = state * tl.exp(end) + tl.dot(tl.trans(k * tl.exp(end - g)[:, None]), v, input_precision="tf32x3")
        tl.store(o_ptr + at, o)


add("par_gated_chunks", gated_chunks, dict(q_ptr="*fp32", k_ptr="*fp32", v_ptr="*fp32", g_ptr="*fp32", o_ptr="*fp32", T="i32"), dict(D=32, C=32), ("q_ptr", "k_ptr", "v_ptr", "o_ptr"))


@triton.jit
def selection(x_ptr, best_ptr, sorted_ptr, least_ptr, digit_ptr, n, B: tl.constexpr, K: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=-(1 << 31))
    tl.store(best_ptr + row * K + tl.arange(0, K), tl.topk(x, K))
    tl.store(sorted_ptr + row * B + o, tl.flip(tl.sort(x, descending=True)))
    value, at = tl.min(tl.where(o < n, x, (1 << 31) - 1), 0, return_indices=True, return_indices_tie_break_left=True)
    tl.store(least_ptr + 2 * row, value)
    tl.store(least_ptr + 2 * row + 1, at)
    counts = tl.histogram((x.to(tl.uint32, bitcast=True) >> 28).to(tl.int32), 16, mask=o < n)
    tl.atomic_add(digit_ptr + tl.arange(0, 16), counts, sem="relaxed", scope="gpu")


add("par_selection", selection, dict(x_ptr="*i32", best_ptr="*i32", sorted_ptr="*i32", least_ptr="*i32", digit_ptr="*i32", n="i32"), dict(B=512, K=8), ("best_ptr", "sorted_ptr"))


@triton.jit
def sparse_rows(start_ptr, column_ptr, value_ptr, x_ptr, y_ptr, rows, W: tl.constexpr, R: tl.constexpr):
    # R rows of a matrix in CSR form, W entries of each at a time; rows end where they end.
    r = tl.program_id(0) * R + tl.arange(0, R)
    begin, end = tl.load(start_ptr + r, mask=r < rows, other=0), tl.load(start_ptr + r + 1, mask=r < rows, other=0)
    acc = tl.zeros((R,), tl.float64)
    for i in range(0, tl.max(end - begin, 0), W):
        at = begin[:, None] + i + tl.arange(0, W)[None, :]
        inside = at < end[:, None]
        column = tl.load(column_ptr + at, mask=inside, other=0)
        acc += tl.sum(tl.load(value_ptr + at, mask=inside, other=0.) * tl.load(x_ptr + column, mask=inside, other=0.), 1)
    tl.store(y_ptr + r, acc, mask=r < rows)


add("par_sparse_rows", sparse_rows, dict(start_ptr="*i64", column_ptr="*i32", value_ptr="*fp64", x_ptr="*fp64", y_ptr="*fp64", rows="i32"), dict(W=16, R=32), num_warps=2)


@triton.jit
def gelu_backward(x_ptr, bias_ptr, dy_ptr, dx_ptr, db_ptr, n, B: tl.constexpr):
    # Gradient of gelu(x + bias); the bias's is summed over rows with 16-bit atomics.
    row, o = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.).to(tl.float32) + tl.load(bias_ptr + o, mask=o < n, other=0.).to(tl.float32)
    cdf = 0.5 * (1 + tl.erf(x * 0.7071067811865476))
    dx = tl.load(dy_ptr + row * n + o, mask=o < n, other=0.).to(tl.float32) * (cdf + x * tl.exp(-0.5 * x * x) * 0.3989422804014327)
    tl.store(dx_ptr + row * n + o, dx.to(dx_ptr.dtype.element_ty), mask=o < n)
    tl.atomic_add(db_ptr + o, dx.to(db_ptr.dtype.element_ty), mask=o < n, sem="relaxed")


for _t in ("bf16", "fp16"):
    add(f"par_gelu_backward_{_t}", gelu_backward, dict(x_ptr="*" + _t, bias_ptr="*" + _t, dy_ptr="*" + _t, dx_ptr="*" + _t, db_ptr="*" + _t, n="i32"), dict(B=512),
        ("x_ptr", "bias_ptr", "dy_ptr", "dx_ptr", "db_ptr"))
