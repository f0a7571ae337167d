# test/conformance/cases/parallel.py - blocks that hand work to each other, formats between products (kernels/tl_parallel.py)
import math
import numpy as np
from harness import Case, Desc, given, out
from formats import decode, encode
from . import case, generator
from .attention import weights
from .operands import matrix, product


@case("lookback")
def lookback(k):
    rng, blocks, n = generator(k), 6, 5 * k["B"] + 77
    x = rng.integers(0, 1000, n).astype(np.int32)
    sums = np.cumsum(x)
    ends = np.append(sums[k["B"] - 1::k["B"]], sums[-1])
    return Case((blocks,), dict(x_ptr=given(x, "i32"), y_ptr=out(sums, "i32"), state_ptr=out((2 << 32) | ends, "i64", init=np.zeros(blocks, np.int64)),
                                ticket_ptr=out([blocks], "i32", init=np.zeros(1, np.int32)), n=n))


@case("stream_k")
def stream_k(k):
    rng, programs, (m, n), kk = generator(k), 5, (2 * k["BM"], 2 * k["BN"]), 7 * k["BK"]
    a, b = matrix(rng, (m, kk), "fp16"), matrix(rng, (kk, n), "fp16")
    c, atol = product(decode(a, "fp16"), decode(b, "fp16"), "fp16")
    steps = 7
    each = -(-4 * steps // programs)
    locks = [int(p * each % steps > 0) for p in range(programs)]  # whoever begins in a tile's middle
    return Case((programs,), dict(a_ptr=given(a, "fp16"), b_ptr=given(b, "fp16"), c_ptr=out(c, "fp16", 2 * atol), part_ptr=given(np.zeros((programs, k["BM"], k["BN"]), np.float32), "fp32"),
                                  lock_ptr=out(locks, "i32", init=np.zeros(programs, np.int32)), M=m, N=n, K=kk))


@case("scaled_fp8")
def scaled_fp8(k):
    rng, (m, n), kk, bk = generator(k), (3 * k["BM"], 2 * k["BN"]), 3 * k["BK"], k["BK"]
    a, b = matrix(rng, (m, kk), "fp8e4nv"), matrix(rng, (n, kk), "fp8e4nv")
    sa, sb = encode(rng.uniform(0.25, 4, (m, kk // bk)), "fp32"), encode(rng.uniform(0.25, 4, (n // k["BN"], kk // bk)), "fp32")
    left = decode(a, "fp8e4nv") * np.repeat(decode(sa, "fp32"), bk, 1)
    right = decode(b, "fp8e4nv") * np.repeat(np.repeat(decode(sb, "fp32"), bk, 1), k["BN"], 0)
    c, atol = product(left, right.T, "bf16", k.chip, "fp8e4nv")
    return Case((3, 2), dict(a_desc=Desc(given(a, "fp8e4nv")), b_desc=Desc(given(b, "fp8e4nv")), c_desc=Desc(out(c, "bf16", atol)), as_ptr=given(sa, "fp32"), bs_ptr=given(sb, "fp32"), K=kk))


@case("int8_attention")
def int8_attention(k):
    rng, d, rows, n = generator(k), k["D"], 2 * k["BM"], 150
    q, key = (rng.integers(-128, 128, (m, d)).astype(np.int8) for m in (rows, n))
    qs, ks = (encode(rng.uniform(0.005, 0.02, m), "fp32") for m in (rows, n))
    v = matrix(rng, (n, d), "fp16")
    p, l, _ = weights(q * decode(qs, "fp32")[:, None], key * decode(ks, "fp32")[:, None], d**-0.5, np.ones((rows, n), bool))
    vv = decode(v, "fp16")
    return Case((2,), dict(q_ptr=given(q, "i8"), k_ptr=given(key, "i8"), v_ptr=given(v, "fp16"), qs_ptr=given(qs, "fp32"), ks_ptr=given(ks, "fp32"),
                           o_ptr=out(p @ vv / l, "fp16", p @ np.abs(vv) / l * 2.0**-11), n=n, scale=float(d**-0.5 * np.log2(np.e))))  # P is rounded to f16


@case("gated_chunks")
def gated_chunks(k):
    rng, t, d, blocks = generator(k), 4 * k["C"], k["D"], 2
    q, key, v = (encode(rng.standard_normal((blocks, t, d)) / 4, "fp32") for _ in range(3))
    g = encode(-rng.uniform(0, 0.2, (blocks, t)), "fp32")
    o, bound = np.zeros((2, blocks, t, d))
    for b in range(blocks):
        state, size = np.zeros((2, d, d))
        for i in range(t):
            row = [decode(x[b, i], "fp32") for x in (q, key, v)]
            state = state * np.exp(decode(g[b, i], "fp32")) + np.outer(row[1], row[2])
            size = size * np.exp(decode(g[b, i], "fp32")) + np.abs(np.outer(row[1], row[2]))
            o[b, i], bound[b, i] = row[0] @ state, np.abs(row[0]) @ size
    return Case((blocks,), dict(q_ptr=given(q, "fp32"), k_ptr=given(key, "fp32"), v_ptr=given(v, "fp32"), g_ptr=given(g, "fp32"), o_ptr=out(o, "fp32", 8e-6 * bound), T=t))


@case("selection")
def selection(k):
    rng, rows, b, n = generator(k), 3, k["B"], k["B"] - 100
    x = rng.integers(-2**31 + 1, 2**31 - 1, (rows, n)).astype(np.int32)
    x[:, 7] = x[:, 3] = x.min(1) - 0  # the least comes more than once
    padded = np.sort(np.pad(x, ((0, 0), (0, b - n)), constant_values=-2**31), 1)
    least = np.stack([x.min(1), x.argmin(1)], 1)
    digits = np.bincount((x.view(np.uint32) >> 28).ravel(), minlength=16)
    return Case((rows,), dict(x_ptr=given(x, "i32"), best_ptr=out(padded[:, ::-1][:, :k["K"]], "i32"), sorted_ptr=out(padded, "i32"), least_ptr=out(least, "i32"),
                              digit_ptr=out(digits, "i32", init=np.zeros(16, np.int32)), n=n))


@case("sparse_rows")
def sparse_rows(k):
    rng, rows, columns = generator(k), 50, 200
    counts = rng.integers(0, 40, rows)
    counts[[0, 31, 49]] = 0
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    column, value, x = rng.integers(0, columns, start[-1]).astype(np.int32), rng.standard_normal(start[-1]), rng.standard_normal(columns)
    y = np.array([value[a:b] @ x[column[a:b]] for a, b in zip(start, start[1:])])
    return Case((2,), dict(start_ptr=given(start, "i64"), column_ptr=given(column, "i32"), value_ptr=given(value, "fp64"), x_ptr=given(x, "fp64"), y_ptr=out(y, "fp64", 1e-12), rows=rows))


@case("gelu_backward")
def gelu_backward(k):
    rng, fmt, rows, n = generator(k), k.fmt("x_ptr"), 5, 500
    x, dy, bias, db = (encode(rng.standard_normal(s), fmt) for s in ((rows, n), (rows, n), n, n))
    v = decode(x, fmt) + decode(bias, fmt)
    dx = decode(dy, fmt) * (0.5 * (1 + np.vectorize(math.erf)(v / np.sqrt(2))) + v * np.exp(-v * v / 2) / np.sqrt(2 * np.pi))
    step = 2.0**-8 if fmt == "bf16" else 2.0**-11  # each row is rounded, then each sum, in whatever order
    most = np.abs(decode(db, fmt)) + np.abs(dx).sum(0)
    return Case((rows,), dict(x_ptr=given(x, fmt), bias_ptr=given(bias, fmt), dy_ptr=given(dy, fmt), dx_ptr=out(dx, fmt, 1e-5),
                              db_ptr=out(decode(db, fmt) + dx.sum(0), fmt, 2 * rows * step * most, init=db), n=n))
