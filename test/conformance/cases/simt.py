# test/conformance/cases/simt.py - the code around tensor instructions (kernels/tl_misc.py, gluon_async.py)
import numpy as np
from harness import Case, given, out
from formats import decode, encode, rounded
from . import case, generator
from .operands import matrix


@case("g_packed")
def g_packed(k):
    fmt, rng = k.fmt("a_ptr"), generator(k)
    a, b, c = (matrix(rng, (1024,), fmt, exact_tf32=False) for _ in range(3))
    av, bv, cv = (decode(x, fmt) for x in (a, b, c))
    step = lambda v: rounded(v, fmt)
    r = step(step(av + bv) * step(av - cv) + step(bv * cv))
    if k["MM"]:
        r = np.maximum(np.minimum(r, av), bv)
    return Case((1,), dict(a_ptr=given(a, fmt), b_ptr=given(b, fmt), c_ptr=given(c, fmt), o_ptr=out(r, fmt)))


@case("g_smem_ops")
def g_smem_ops(k):
    rng = generator(k)
    s, idx = rng.integers(-100, 100, 128).astype(np.int32), rng.permutation(128).astype(np.int32)
    start = s.copy()
    v = s[idx]
    s[idx] = v + 1
    r = np.zeros(128, np.int32)
    for op in (np.add, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        r += s[idx]
        s[idx] = op(s[idx], v)
    s[idx] = np.where(v > 0, v, s[idx])
    return Case((1,), dict(in_ptr=given(start, "i32"), idx_ptr=given(idx, "i32"), out_ptr=out(r + s, "i32")))


@case("g_cachepol")
def g_cachepol(k):
    x = encode(generator(k).standard_normal(20480), "fp32")
    o = np.arange(1024)
    v = x[o] + x[1024 + o] + x[2048 + o]
    v = v + np.where(o < 1000, x[4096 + o], np.float32(1))
    v = v + np.where(o < 1000, x[8192 + o], np.float32(1))
    v = v + x[8192 + o] + x[16384 + o]
    return Case((1,), dict(in_ptr=given(x, "fp32"), out_ptr=out(np.tile(v, 3), "fp32", atol=1e-6)))


@case("g_atomics")
def g_atomics(k):
    rng = generator(k)
    p0, f0 = rng.integers(-50, 50, 128).astype(np.int32), encode(rng.standard_normal(128), "fp32")
    p = p0.copy()
    r = p.copy()
    p = p + 1
    for op in (np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, lambda old, new: new):
        old, p = p, op(p, r)
        r = r + old
    old, p = p, np.where(p == r, r + 1, p)  # compare and swap
    r = r + old
    return Case((1,), dict(p_ptr=out(p, "i32", init=p0), f_ptr=out(decode(f0, "fp32") + 1.5, "fp32", init=f0), out_ptr=out(r, "i32")))


@case("g_atomic_ls")
def g_atomic_ls(k):
    return Case((1,), dict(p_ptr=given(np.array([1], np.int32), "i32"), out_ptr=out(np.array([1]), "i32")))


@case("softmax")
def softmax(k):
    rows, n, stride = 3, 1000, 1008
    x = encode(3 * generator(k).standard_normal((rows, stride)), "bf16")
    v = decode(x, "bf16")[:, :n]
    e = np.exp(v - v.max(1, keepdims=True))
    y = np.zeros((rows, stride))
    y[:, :n] = e / e.sum(1, keepdims=True)
    return Case((rows,), dict(x_ptr=given(x, "bf16"), y_ptr=out(y, "bf16", atol=1e-8, init=np.zeros((rows, stride), np.uint16)), n=n, stride=stride))


@case("layernorm")
def layernorm(k):
    rng, rows, n, eps = generator(k), 3, 1500, 1e-5
    x, w, b = encode(rng.standard_normal((rows, n)), "fp16"), encode(rng.standard_normal(n), "fp32"), encode(rng.standard_normal(n), "fp32")
    v = decode(x, "fp16")
    d = v - v.mean(1, keepdims=True)
    y = d / np.sqrt((d * d).mean(1, keepdims=True) + eps) * w + b
    return Case((rows,), dict(x_ptr=given(x, "fp16"), w_ptr=given(w, "fp32"), b_ptr=given(b, "fp32"), y_ptr=out(y, "fp16", atol=1e-5), n=n, eps=eps))


@case("scans")
def scans(k):
    rng, n = generator(k), k["B"]
    x = encode(1 + 0.02 * rng.standard_normal(n), "fp32")
    i = rng.integers(-1000, 1000, n).astype(np.int32)
    h = np.append(np.bincount(i & 63, minlength=64), x.argmax() + x.argmin() + i.max() + i.min() + np.bitwise_xor.reduce(i))
    v = decode(x, "fp32")
    return Case((1,), dict(x_ptr=given(x, "fp32"), y_ptr=out(np.cumsum(v) + np.cumprod(v), "fp32", rtol=1e-5),
                           i_ptr=out(np.sort(i), "i32", init=i), h_ptr=out(h, "i32")))


@case("casts")
def casts(k):
    rng, n = generator(k), k["B"]
    a = encode(rng.uniform(0, 100, n), "fp32")
    p, q = encode(rng.standard_normal(n), "fp8e4nv"), encode(rng.standard_normal(n), "fp8e5")
    v = decode(a, "fp32")
    h = rounded(rounded(rounded(v, "fp16") + decode(p, "fp8e4nv"), "fp16") + decode(q, "fp8e5"), "fp16")
    b = rounded(v, "bf16") * rounded(h, "bf16")
    t = a.astype(np.int64)
    return Case((1,), dict(a_ptr=given(a, "fp32"), p_ptr=given(p, "fp8e4nv"), r_ptr=given(q, "fp8e5"), o_ptr=out(v, "fp8e4nv"),
                           q_ptr=out(v, "fp8e5"), h_ptr=out(h, "fp16", rtol=0), b_ptr=out(b, "bf16"), d_ptr=out(v * 1.5, "fp64"),
                           i_ptr=out(t // 7 + t % 5, "i32"), l_ptr=out(t // 7 + 2 * t, "i64")))


@case("maths")
def maths(k):
    import math
    a = encode(generator(k).uniform(0.1, 3, k["B"]), "fp32")
    v = decode(a, "fp32")
    r = np.exp(v) + np.log(v) + np.exp2(v) + np.log2(v) + np.sin(v) + np.cos(v) + np.sqrt(v) + 1 / np.sqrt(v) + np.sqrt(v) + v / 3 + v / (v + 2)
    r += np.abs(v) + np.floor(v) + np.ceil(v) + np.array([math.erf(x) for x in v]) + np.tanh(v) + v**v + 1 / (1 + np.exp(-v)) + np.clip(v, 0, 1) + v * v + v
    return Case((1,), dict(a_ptr=given(a, "fp32"), o_ptr=out(r, "fp32", rtol=4e-6)))


@case("random_numbers")
def random_numbers(k):
    """Philox-4x32-10 with key `seed` and counter `offset`; the first word as a float in [0, 1)."""
    n, seed = k["B"], 17
    c = [np.arange(n, dtype=np.uint64)] + [np.zeros(n, np.uint64) for _ in range(3)]
    key, mask = [np.uint64(seed), np.uint64(0)], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ key[0], p1 & mask, (p0 >> np.uint64(32)) ^ c[3] ^ key[1], p0 & mask]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    x = c[0].astype(np.uint32).view(np.int32).astype(np.int64)
    x = np.where(x < 0, -x - 1, x)
    return Case((1,), dict(o_ptr=out(x * 4.6566127342e-10, "fp32", rtol=1e-6)))


@case("pdl")
def pdl(k):
    x = generator(k).integers(-1000, 1000, 2 * k["B"]).astype(np.int32)
    return Case((2,), dict(x_ptr=given(x, "i32"), y_ptr=out(x + 2 + 128 + 4, "i32")))


@case("dbg")
def dbg(k):
    return Case((1,), dict(x_ptr=out(np.array([42]), "i32", init=np.array([41], np.int32)), n=100))


@case("atom")
def atom(k):
    rng, n = generator(k), k["B"]
    o = np.arange(n, dtype=np.int32)
    x0 = np.where(rng.random(n) < 0.5, o, 7).astype(np.int32)
    f0, h0 = encode(rng.standard_normal(n), "fp32"), encode(rng.standard_normal(n), "fp16")
    l0 = rng.integers(-9, 9, n)
    f = decode(f0, "fp32") + (o < 100)
    r, x = x0.copy(), np.where(x0 == o, o + 1, x0)
    r, x = r + x, np.full(n, 5, np.int32)
    r, x = r + x, np.maximum(x, r)
    for op in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.minimum):
        x = op(x, r)
    return Case((1,), dict(x_ptr=out(x, "i32", init=x0), f_ptr=out(f, "fp32", init=f0), h_ptr=out(2 * decode(h0, "fp16"), "fp16", init=h0),
                           l_ptr=out(l0 + r, "i64", init=l0), y_ptr=out(np.array([0]), "i32", init=np.array([0], np.int32))))


@case("gath")
def gath(k):
    rng, m, n = generator(k), k["M"], k["N"]
    x, i = encode(rng.standard_normal((m, n)), "fp32"), rng.integers(0, n, (m, n)).astype(np.int32)
    t = np.take_along_axis(decode(x, "fp32"), i, 1).T
    return Case((1,), dict(x_ptr=given(x, "fp32"), i_ptr=given(i, "i32"), y_ptr=out(t + 2 * t[:, ::-1], "fp32", atol=1e-6)))


@case("evict")
def evict(k):
    x = encode(generator(k).standard_normal((6, k["B"])), "fp32")
    return Case((1,), dict(x_ptr=given(x, "fp32"), y_ptr=out(np.tile(decode(x, "fp32").sum(0), (5, 1)), "fp32", atol=2e-6)))
