# test/conformance/kernels/tl_workloads.py - Triton kernels: whole operators, of kinds that the other modules do not have
"""Split-K and grouped products, convolution, 4-bit weights, paged decoding, norms with quantisation, recurrences, selection,
histograms, locks and barriers between blocks, packed inline assembly."""
import triton
import triton.language as tl

KERNELS = []


def add(name, fn, sig, const, div16=(), targets=(100, 90), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=dict(sig, **{c: "constexpr" for c in const}), constexprs=const, options=opt, div16=div16, targets=targets, lang="triton"))


@triton.jit
def splitk(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK * SPLIT)):
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.)
        acc = tl.dot(a, b, acc)
        k += BK * SPLIT
    tl.atomic_add(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N), sem="relaxed")


add("work_splitk", splitk, dict(a_ptr="*bf16", b_ptr="*bf16", c_ptr="*fp32", M="i32", N="i32", K="i32"), dict(BM=64, BN=64, BK=32, SPLIT=3), ("a_ptr", "b_ptr", "c_ptr"))


@triton.jit
def grouped(list_ptr, sizes_ptr, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # Persistent over the tiles of products whose pointers stand in memory.
    tile = tl.program_id(0)
    end = 0
    for g in range(groups):
        M, N, K = tl.load(sizes_ptr + 3 * g), tl.load(sizes_ptr + 3 * g + 1), tl.load(sizes_ptr + 3 * g + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        while tile < end + tiles:
            a = tl.load(list_ptr + 3 * g).to(tl.pointer_type(tl.float16))
            b = tl.load(list_ptr + 3 * g + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(list_ptr + 3 * g + 2).to(tl.pointer_type(tl.float16))
            m = (tile - end) // across * BM + tl.arange(0, BM)
            n = (tile - end) % across * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for k0 in range(0, K, BK):
                k = k0 + tl.arange(0, BK)
                x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.)
                y = tl.load(b + n[None, :] * K + k[:, None], mask=(n[None, :] < N) & (k[:, None] < K), other=0.)
                acc = tl.dot(x, y, acc)
            tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
            tile += tl.num_programs(0)
        end += tiles


add("work_grouped", grouped, dict(list_ptr="*i64", sizes_ptr="*i32", groups="i32"), dict(BM=64, BN=32, BK=32))


@triton.jit
def conv2d(x_ptr, w_ptr, y_ptr, H, W, C: tl.constexpr, F: tl.constexpr, BP: tl.constexpr):
    # 3 x 3, padding 1, NHWC, as a product of gathered rows.
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    r, s, c, f = p // W, p % W, tl.arange(0, C), tl.arange(0, F)
    acc = tl.zeros((BP, F), tl.float32)
    for t in tl.static_range(9):
        i, j = r + t // 3 - 1, s + t % 3 - 1
        inside = (i >= 0) & (i < H) & (j >= 0) & (j < W) & (p < H * W)
        x = tl.load(x_ptr + (i * W + j)[:, None] * C + c[None, :], mask=inside[:, None], other=0.)
        w = tl.load(w_ptr + t * C * F + c[:, None] * F + f[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + p[:, None] * F + f[None, :], tl.maximum(acc, 0.), mask=(p < H * W)[:, None])


add("work_conv2d", conv2d, dict(x_ptr="*fp16", w_ptr="*fp16", y_ptr="*fp32", H="i32", W="i32"), dict(C=32, F=64, BP=64), ("x_ptr", "w_ptr", "y_ptr"))


@triton.jit
def w4a16(a_ptr, w_ptr, s_ptr, c_ptr, M, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    # Weights of 4 bits, two in a byte along K, a scale for each column and BK rows.
    m, n, k, half = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N), tl.arange(0, BK), tl.arange(0, BK // 2)
    acc = tl.zeros((BM, N), tl.float32)
    for k0 in range(0, K, BK):
        packed = tl.load(w_ptr + n[:, None] * (K // 2) + k0 // 2 + half[None, :])
        low, high = (packed & 15).to(tl.int8) - 8, (packed >> 4).to(tl.int8) - 8
        w = tl.interleave(low.to(tl.float16), high.to(tl.float16))
        scale = tl.load(s_ptr + k0 // BK * N + n)
        a = tl.load(a_ptr + m[:, None] * K + k0 + k[None, :], mask=m[:, None] < M, other=0.)
        acc += tl.dot(a, tl.trans(w)) * scale[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=m[:, None] < M)


add("work_w4a16", w4a16, dict(a_ptr="*fp16", w_ptr="*u8", s_ptr="*fp32", c_ptr="*fp32", M="i32", K="i32"), dict(N=64, BM=32, BK=64), ("a_ptr", "w_ptr", "s_ptr", "c_ptr", "K"))


@triton.jit
def paged(q_ptr, k_ptr, v_ptr, table_ptr, len_ptr, o_ptr, l_ptr, scale, pages, D: tl.constexpr, G: tl.constexpr, P: tl.constexpr, SPLIT: tl.constexpr):
    # One token of G heads against a cache of pages of P tokens; each block takes every SPLITth page.
    b, part = tl.program_id(0), tl.program_id(1)
    g, d, t = tl.arange(0, G), tl.arange(0, D), tl.arange(0, P)
    q = tl.load(q_ptr + (b * G + g)[:, None] * D + d[None, :])
    n = tl.load(len_ptr + b)
    top, total, acc = tl.full((G,), -float("inf"), tl.float32), tl.zeros((G,), tl.float32), tl.zeros((G, D), tl.float32)
    for page in range(part, tl.cdiv(n, P), SPLIT):
        at = tl.load(table_ptr + b * pages + page) * P + t
        k = tl.load(k_ptr + at[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where((page * P + t < n)[None, :], s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        e = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        v = tl.load(v_ptr + at[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(e.to(tl.bfloat16), v)
        total = total * shrink + tl.sum(e, 1)
        top = new
    row = (b * SPLIT + part) * G + g
    tl.store(o_ptr + row[:, None] * D + d[None, :], acc / tl.where(total > 0, total, 1.)[:, None])
    tl.store(l_ptr + row, tl.where(total > 0, top + tl.log(total), -float("inf")))


add("work_paged", paged, dict(q_ptr="*bf16", k_ptr="*bf16", v_ptr="*bf16", table_ptr="*i32", len_ptr="*i32", o_ptr="*fp32", l_ptr="*fp32", scale="fp32", pages="i32"),
    dict(D=64, G=16, P=32, SPLIT=2), ("q_ptr", "k_ptr", "v_ptr", "o_ptr"))


@triton.jit
def rmsnorm_fp8(x_ptr, w_ptr, y_ptr, s_ptr, n, eps, B: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, 0) / n + eps) * tl.load(w_ptr + o, mask=o < n, other=0.)
    scale = tl.maximum(tl.max(tl.abs(y), 0), 1e-12) / 448.
    tl.store(y_ptr + row * n + o, (y / scale).to(tl.float8e4nv), mask=o < n)
    tl.store(s_ptr + row, scale)


add("work_rmsnorm_fp8", rmsnorm_fp8, dict(x_ptr="*bf16", w_ptr="*fp32", y_ptr="*fp8e4nv", s_ptr="*fp32", n="i32", eps="fp32"), dict(B=1024), ("x_ptr", "w_ptr", "y_ptr"))


@triton.jit
def cross_entropy(x_ptr, t_ptr, loss_ptr, g_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    top, total = -float("inf"), 0.0
    for i in range(0, n, B):
        o = i + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + o, mask=o < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), 0)
        top = new
    target = tl.load(t_ptr + row)
    lse = top + tl.log(total)
    tl.store(loss_ptr + row, lse - tl.load(x_ptr + row * n + target))
    for i in range(0, n, B):
        o = i + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.)
        tl.store(g_ptr + row * n + o, tl.exp(x - lse) - (o == target).to(tl.float32), mask=o < n)


add("work_cross_entropy", cross_entropy, dict(x_ptr="*fp32", t_ptr="*i64", loss_ptr="*fp32", g_ptr="*fp32", n="i32"), dict(B=256), ("x_ptr",))


@triton.jit
def compose(a1, x1, a2, x2):
    return a1 * a2, x1 * a2 + x2


@triton.jit
def recurrence(a_ptr, x_ptr, h_ptr, T: tl.constexpr, D: tl.constexpr, REVERSE: tl.constexpr):
    o = tl.program_id(0) * T * D + tl.arange(0, T)[:, None] * D + tl.arange(0, D)[None, :]
    _, h = tl.associative_scan((tl.load(a_ptr + o), tl.load(x_ptr + o)), 0, compose, reverse=REVERSE)
    tl.store(h_ptr + o, h)


add("work_recurrence", recurrence, dict(a_ptr="*fp32", x_ptr="*fp32", h_ptr="*fp32"), dict(T=128, D=16, REVERSE=False))
add("work_recurrence_reverse", recurrence, dict(a_ptr="*fp32", x_ptr="*fp32", h_ptr="*fp32"), dict(T=64, D=32, REVERSE=True), num_warps=8)


@triton.jit
def merge(m1, s1, n1, m2, s2, n2):
    n = n1 + n2
    d, share = m2 - m1, tl.where(n > 0, n2 / tl.maximum(n, 1.), 0.)
    return m1 + d * share, s1 + s2 + d * d * n1 * share, n


@triton.jit
def welford(x_ptr, mean_ptr, var_ptr, n, B: tl.constexpr, R: tl.constexpr):
    r, o = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, B)
    inside = (o < n)[None, :] & (r >= 0)[:, None]
    x = tl.load(x_ptr + r[:, None] * n + o[None, :], mask=inside, other=0.)
    mean, s, count = tl.reduce((x, tl.zeros_like(x), inside.to(tl.float32)), 1, merge)
    tl.store(mean_ptr + r, mean)
    tl.store(var_ptr + r, s / count)


add("work_welford", welford, dict(x_ptr="*fp32", mean_ptr="*fp32", var_ptr="*fp32", n="i32"), dict(B=512, R=8))


@triton.jit
def route(x_ptr, w_ptr, e_ptr, count_ptr, E: tl.constexpr, K: tl.constexpr, R: tl.constexpr):
    # The K best of E experts for each token, softmax over them, and how many tokens each expert gets.
    r, e = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, E)
    x = tl.load(x_ptr + r[:, None] * E + e[None, :])
    # Order-preserving bits, with the expert behind them.
    bits = x.to(tl.int32, bitcast=True)
    key = (bits ^ ((bits >> 31) & 0x7fffffff)).to(tl.int64) * 65536 + (E - 1 - e)[None, :]
    best = tl.topk(key, K)
    expert = E - 1 - (best & 65535).to(tl.int32)
    bits = (best >> 16).to(tl.int32)
    value = (bits ^ ((bits >> 31) & 0x7fffffff)).to(tl.float32, bitcast=True)
    weight = tl.exp(value - tl.max(value, 1)[:, None])
    weight = weight / tl.sum(weight, 1)[:, None]
    k = r[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(w_ptr + k, weight)
    tl.store(e_ptr + k, expert)
    tl.atomic_add(count_ptr + e, tl.histogram(tl.reshape(expert, (R * K,)), E))


add("work_route", route, dict(x_ptr="*fp32", w_ptr="*fp32", e_ptr="*i32", count_ptr="*i32"), dict(E=64, K=4, R=16))


@triton.jit
def hadamard(x_ptr, y_ptr, N: tl.constexpr, LOG: tl.constexpr):
    o = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + o)
    for _ in tl.static_range(LOG):
        a, b = tl.split(tl.reshape(x, (N // 2, 2)))
        x = tl.reshape(tl.permute(tl.join(a + b, a - b), (1, 0)), (N,))
    tl.store(y_ptr + o, x)


add("work_hadamard", hadamard, dict(x_ptr="*fp32", y_ptr="*fp32"), dict(N=256, LOG=8))


@triton.jit
def packed_asm(x_ptr, y_ptr, z_ptr, h_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    x, y = tl.load(x_ptr + o), tl.load(y_ptr + o)
    z = tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, 0x0f0f0f0f, 0xCA; prmt.b32 $0, $0, $1, 0x2135; bfind.u32 $0, $0;", "=&r,r,r", [x, y], tl.int32, True, 1)
    low, high = tl.inline_asm_elementwise("mul.lo.u32 $0, $2, $3; mul.hi.u32 $1, $2, $3;", "=&r,=&r,r,r", [x, y], (tl.int32, tl.int32), True, 1)
    tl.store(z_ptr + o, z)
    tl.store(z_ptr + N + o, low)
    tl.store(z_ptr + 2 * N + o, high)
    # Four halves at a time: two registers in, one byte each out.
    h = tl.load(h_ptr + o)
    b = tl.inline_asm_elementwise("{ .reg .b16 a, b; cvt.rn.satfinite.e4m3x2.f16x2 a, $1; cvt.rn.satfinite.e4m3x2.f16x2 b, $2; mov.b32 $0, {a, b}; }", "=r,r,r", [h], tl.uint8, True, 4)
    tl.store(z_ptr + 3 * N + o, b.to(tl.int32))


add("work_packed_asm", packed_asm, dict(x_ptr="*i32", y_ptr="*i32", z_ptr="*i32", h_ptr="*fp16"), dict(N=512), ("x_ptr", "y_ptr", "h_ptr"))


@triton.jit
def norm_backward(x_ptr, dy_ptr, dx_ptr, dw_ptr, lock_ptr, n, eps, B: tl.constexpr, GROUPS: tl.constexpr):
    # The weight's gradient is added up under a lock for each of GROUPS partial sums.
    row, o = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_ptr + row * n + o, mask=o < n, other=0.)
    dy = tl.load(dy_ptr + row * n + o, mask=o < n, other=0.)
    rs = tl.rsqrt(tl.sum(x * x, 0) / n + eps)
    c = tl.sum(x * dy, 0) * rs * rs / n
    tl.store(dx_ptr + row * n + o, (dy - x * c) * rs, mask=o < n)
    group = row % GROUPS
    while tl.atomic_cas(lock_ptr + group, 0, 1) == 1:
        pass
    first = tl.load(lock_ptr + GROUPS + group)
    part = dy * x * rs
    if first == 0:
        tl.atomic_xchg(lock_ptr + GROUPS + group, 1)
    else:
        part += tl.load(dw_ptr + group * n + o, mask=o < n)
    tl.store(dw_ptr + group * n + o, part, mask=o < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + group, 0)


add("work_norm_backward", norm_backward, dict(x_ptr="*fp32", dy_ptr="*fp32", dx_ptr="*fp32", dw_ptr="*fp32", lock_ptr="*i32", n="i32", eps="fp32"), dict(B=256, GROUPS=2), ("x_ptr", "dy_ptr", "dx_ptr", "dw_ptr"))


@triton.jit
def grid_barrier(x_ptr, y_ptr, flag_ptr, steps, B: tl.constexpr):
    # Every block reads its neighbour's row after all have written theirs.
    b, blocks, o = tl.program_id(0), tl.num_programs(0), tl.arange(0, B)
    v = tl.load(x_ptr + b * B + o)
    for s in range(steps):
        tl.store(y_ptr + (s % 2 * blocks + b) * B + o, v)
        tl.debug_barrier()
        tl.atomic_add(flag_ptr, 1, sem="acq_rel", scope="gpu")
        while tl.atomic_add(flag_ptr, 0, sem="acquire", scope="gpu") < (s + 1) * blocks:
            pass
        tl.debug_barrier()
        v += tl.load(y_ptr + (s % 2 * blocks + (b + 1) % blocks) * B + o, volatile=True)
    tl.store(x_ptr + b * B + o, v)


add("work_grid_barrier", grid_barrier, dict(x_ptr="*i32", y_ptr="*i32", flag_ptr="*i32", steps="i32"), dict(B=128))
