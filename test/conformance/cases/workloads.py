# test/conformance/cases/workloads.py - whole operators (kernels/tl_workloads.py)
import numpy as np
from harness import Case, given, out
from formats import decode, encode
from . import case, generator
from .operands import matrix, product


@case("splitk")
def splitk(k):
    rng, m, n, kk = generator(k), 100, 90, 200
    a, b = matrix(rng, (m, kk), "bf16"), matrix(rng, (kk, n), "bf16")
    c, atol = product(decode(a, "bf16"), decode(b, "bf16"), "fp32", k.chip, "bf16")
    return Case((2, 2, k["SPLIT"]), dict(a_ptr=given(a, "bf16"), b_ptr=given(b, "bf16"), c_ptr=out(c, "fp32", atol, init=np.zeros((m, n), np.float32)), M=m, N=n, K=kk))


@case("grouped")
def grouped(k):
    rng, sizes, at, pointers, extra = generator(k), [(70, 40, 64), (5, 33, 48), (130, 20, 80)], 0x3_0000_0000, [], {}
    for g, (m, n, kk) in enumerate(sizes):
        a, b = matrix(rng, (m, kk), "fp16"), matrix(rng, (n, kk), "fp16")
        c, atol = product(decode(a, "fp16"), decode(b, "fp16").T, "fp16", k.chip, "fp16")
        for name, buffer in (("a", given(a, "fp16")), ("b", given(b, "fp16")), ("c", out(c, "fp16", atol))):
            buffer.address = at
            extra[f"{name}{g}"] = buffer
            pointers.append(at)
            at += 1 << 20
    return Case((3,), dict(list_ptr=given(np.array(pointers, np.int64), "i64"), sizes_ptr=given(np.array(sizes, np.int32), "i32"), groups=len(sizes), **extra))


@case("conv2d")
def conv2d(k):
    rng, h, w, c, f = generator(k), 9, 13, k["C"], k["F"]
    x, filters = matrix(rng, (h, w, c), "fp16"), matrix(rng, (3, 3, c, f), "fp16")
    padded = np.pad(decode(x, "fp16"), ((1, 1), (1, 1), (0, 0)))
    rows = np.concatenate([padded[i:i + h, j:j + w].reshape(h * w, c) for i in range(3) for j in range(3)], 1)
    y, atol = product(rows, decode(filters, "fp16").reshape(9 * c, f), "fp32", k.chip, "fp16")
    return Case((-(-h * w // k["BP"]),), dict(x_ptr=given(x, "fp16"), w_ptr=given(filters, "fp16"), y_ptr=out(np.maximum(y, 0), "fp32", atol), H=h, W=w))


@case("w4a16")
def w4a16(k):
    rng, m, n, kk, bk = generator(k), 50, k["N"], 192, k["BK"]
    a, w, s = matrix(rng, (m, kk), "fp16"), rng.integers(0, 256, (n, kk // 2)).astype(np.uint8), encode(rng.uniform(0.1, 1, (kk // bk, n)), "fp32")
    weights = np.stack([w & 15, w >> 4], -1).reshape(n, kk).astype(np.float64) - 8
    c, atol = product(decode(a, "fp16"), weights.T * np.repeat(decode(s, "fp32"), bk, 0), "fp32", k.chip, "fp16")
    return Case((-(-m // k["BM"]),), dict(a_ptr=given(a, "fp16"), w_ptr=given(w, "u8"), s_ptr=given(s, "fp32"), c_ptr=out(c, "fp32", atol), M=m, K=kk))


@case("paged")
def paged(k):
    rng, d, g, p, split, lengths, pages = generator(k), k["D"], k["G"], k["P"], k["SPLIT"], [1, 45, 130], 5
    b = len(lengths)
    q = matrix(rng, (b, g, d), "bf16")
    cache = [matrix(rng, (b * pages * p, d), "bf16") for _ in range(2)]
    table = rng.permutation(b * pages).astype(np.int32).reshape(b, pages)
    scale, (kv, vv) = d**-0.5, (decode(c, "bf16") for c in cache)
    o, lse = np.zeros((b, split, g, d)), np.full((b, split, g), -np.inf)
    for i, n in enumerate(lengths):
        for part in range(split):
            at = np.array([table[i, t // p] * p + t % p for t in range(n) if t // p % split == part], int)
            if len(at):
                s = decode(q[i], "bf16") @ kv[at].T * scale
                e = np.exp(s - s.max(1, keepdims=True))
                o[i, part], lse[i, part] = e @ vv[at] / e.sum(1, keepdims=True), s.max(1) + np.log(e.sum(1))
    # The weights are rounded to bf16 before the second product.
    return Case((b, split), dict(q_ptr=given(q, "bf16"), k_ptr=given(cache[0], "bf16"), v_ptr=given(cache[1], "bf16"), table_ptr=given(table, "i32"),
                                 len_ptr=given(np.array(lengths, np.int32), "i32"), o_ptr=out(o, "fp32", 2.0**-8 * np.abs(vv).max()), l_ptr=out(lse, "fp32", 1e-5), scale=scale, pages=pages))


@case("rmsnorm_fp8")
def rmsnorm_fp8(k):
    rng, rows, n, eps = generator(k), 4, 900, 1e-6
    x, w = encode(rng.standard_normal((rows, n)), "bf16"), encode(rng.standard_normal(n), "fp32")
    v = decode(x, "bf16")
    y = v / np.sqrt((v * v).mean(1, keepdims=True) + eps) * decode(w, "fp32")
    scale = np.abs(y).max(1) / 448
    return Case((rows,), dict(x_ptr=given(x, "bf16"), w_ptr=given(w, "fp32"), y_ptr=out(y / scale[:, None], "fp8e4nv", atol=1e-4), s_ptr=out(scale, "fp32", rtol=1e-6), n=n, eps=eps))


@case("cross_entropy")
def cross_entropy(k):
    rng, rows, n = generator(k), 3, 700
    x, t = encode(3 * rng.standard_normal((rows, n)), "fp32"), rng.integers(0, n, rows).astype(np.int64)
    v = decode(x, "fp32")
    lse = np.log(np.exp(v - v.max(1, keepdims=True)).sum(1)) + v.max(1)
    g = np.exp(v - lse[:, None])
    g[np.arange(rows), t] -= 1
    return Case((rows,), dict(x_ptr=given(x, "fp32"), t_ptr=given(t, "i64"), loss_ptr=out(lse - v[np.arange(rows), t], "fp32", 5e-6), g_ptr=out(g, "fp32", 1e-6, 1e-5), n=n))


@case("recurrence")
def recurrence(k):
    rng, t, d, blocks = generator(k), k["T"], k["D"], 2
    a, x = encode(rng.uniform(0.5, 1, (blocks, t, d)), "fp32"), encode(rng.standard_normal((blocks, t, d)), "fp32")
    h, state = np.zeros((blocks, t, d)), np.zeros((blocks, d))
    for i in range(t)[::-1 if k["REVERSE"] else 1]:
        state = state * a[:, i] + x[:, i]
        h[:, i] = state
    return Case((blocks,), dict(a_ptr=given(a, "fp32"), x_ptr=given(x, "fp32"), h_ptr=out(h, "fp32", 1e-5, 1e-5)))


@case("welford")
def welford(k):
    rows, n = 2 * k["R"], 400
    x = encode(100 + generator(k).standard_normal((rows, n)), "fp32")
    v = decode(x, "fp32")
    return Case((2,), dict(x_ptr=given(x, "fp32"), mean_ptr=out(v.mean(1), "fp32", rtol=1e-6), var_ptr=out(v.var(1), "fp32", rtol=1e-4), n=n))


@case("route")
def route(k):
    e, best, rows = k["E"], k["K"], 2 * k["R"]
    x = encode(generator(k).standard_normal((rows, e)), "fp32")
    v = decode(x, "fp32")
    expert = np.argsort(-v, 1)[:, :best]
    chosen = np.take_along_axis(v, expert, 1)
    w = np.exp(chosen - chosen.max(1, keepdims=True))
    return Case((2,), dict(x_ptr=given(x, "fp32"), w_ptr=out(w / w.sum(1, keepdims=True), "fp32", rtol=1e-5), e_ptr=out(expert, "i32"),
                           count_ptr=out(np.bincount(expert.ravel(), minlength=e), "i32", init=np.zeros(e, np.int32))))


@case("hadamard")
def hadamard(k):
    n, rows = k["N"], 3
    x = encode(generator(k).standard_normal((rows, n)), "fp32")
    y = decode(x, "fp32")
    for _ in range(k["LOG"]):
        y = np.concatenate([y[:, 0::2] + y[:, 1::2], y[:, 0::2] - y[:, 1::2]], 1)
    return Case((rows,), dict(x_ptr=given(x, "fp32"), y_ptr=out(y, "fp32", 1e-4)))


@case("packed_asm")
def packed_asm(k):
    rng, n = generator(k), k["N"]
    x, y = (rng.integers(-2**31, 2**31, n).astype(np.int32) for _ in range(2))
    h = encode(200 * rng.standard_normal(n), "fp16")
    ux, uy = x.view(np.uint32).astype(np.uint64), y.view(np.uint32).astype(np.uint64)
    z = (ux & uy) | (~ux & np.uint64(0x0F0F0F0F))
    byte = lambda v, b: v >> np.uint64(8 * b) & np.uint64(255)
    z = byte(ux, 1) | byte(z, 3) << np.uint64(8) | byte(z, 1) << np.uint64(16) | byte(z, 2) << np.uint64(24)
    top = np.where(z > 0, np.floor(np.log2(np.maximum(z.astype(np.float64), 1))), -1).astype(np.int64)
    wrap = lambda v: v.astype(np.uint32).view(np.int32)
    z = np.concatenate([top, wrap(ux * uy & np.uint64(0xFFFFFFFF)), wrap(ux * uy >> np.uint64(32)), encode(decode(h, "fp16"), "fp8e4nv")])
    return Case((1,), dict(x_ptr=given(x, "i32"), y_ptr=given(y, "i32"), z_ptr=out(z, "i32"), h_ptr=given(h, "fp16")))


@case("norm_backward")
def norm_backward(k):
    rng, rows, n, eps, groups = generator(k), 7, 200, 1e-5, k["GROUPS"]
    x, dy = encode(rng.standard_normal((rows, n)), "fp32"), encode(rng.standard_normal((rows, n)), "fp32")
    v, g = decode(x, "fp32"), decode(dy, "fp32")
    rs = 1 / np.sqrt((v * v).mean(1, keepdims=True) + eps)
    dx = (g - v * (v * g).mean(1, keepdims=True) * rs * rs) * rs
    dw = np.stack([(g * v * rs)[i::groups].sum(0) for i in range(groups)])
    return Case((rows,), dict(x_ptr=given(x, "fp32"), dy_ptr=given(dy, "fp32"), dx_ptr=out(dx, "fp32", 1e-5), dw_ptr=out(dw, "fp32", 1e-5),
                              lock_ptr=out(np.repeat([0, 1], groups), "i32", init=np.zeros(2 * groups, np.int32)), n=n, eps=eps))


@case("grid_barrier")
def grid_barrier(k):
    blocks, steps, b = 5, 3, k["B"]
    x = generator(k).integers(-100, 100, (blocks, b)).astype(np.int32)
    v, y = x.astype(np.int64), np.zeros((2, blocks, b), np.int64)
    for s in range(steps):
        y[s % 2] = v
        v = v + np.roll(v, -1, 0)
    return Case((blocks,), dict(x_ptr=out(v, "i32", init=x), y_ptr=out(y, "i32"), flag_ptr=out(np.array([steps * blocks]), "i32", init=np.zeros(1, np.int32)), steps=steps))
