# test/conformance/cases/attention.py - attention forward and backward, scaled products from plain Triton (kernels/tl_attention.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import TABLES, decode, encode, rounded
from . import case, generator
from .mma import scaled_operand, scales
from .operands import matrix, product


def weights(q, key, scale, mask):
    """exp(s - max), its row sums, and log2-domain logsumexp."""
    s = np.where(mask, q @ key.T * scale, -np.inf)
    top = s.max(1, keepdims=True)
    p = np.exp(s - top)
    return p, p.sum(1, keepdims=True), top


def mask_of(n, m, causal):
    return np.tri(n, m, dtype=bool) if causal else np.ones((n, m), bool)


@case("attention_forward", "attention_forward_tma")
def attention_forward(k):
    """O = softmax(Q K^T / sqrt(D)) V; the tolerance is what rounding P to 16 bits costs."""
    rng, d, fmt = generator(k), k["D"], "bf16"
    heads, n = 2, 3 * k["BM"]
    n = (n + k["BN"] - 1) // k["BN"] * k["BN"]
    q, key, v = (matrix(rng, (heads, n, d), fmt) for _ in range(3))
    scale = 1 / np.sqrt(d)
    o, lse, atol = np.empty((heads, n, d)), np.empty((heads, n)), np.empty((heads, n, d))
    for h in range(heads):
        p, l, top = weights(decode(q[h], fmt), decode(key[h], fmt), scale, mask_of(n, n, k["CAUSAL"]))
        o[h] = p @ decode(v[h], fmt) / l
        atol[h] = p @ np.abs(decode(v[h], fmt)) / l * 2.0**-8
        lse[h] = (top + np.log(l))[:, 0]
    if k.fn == "attention_forward":
        return Case((n // k["BM"], heads), dict(q_ptr=given(q, fmt), k_ptr=given(key, fmt), v_ptr=given(v, fmt), o_ptr=out(o, fmt, atol),
                                                lse_ptr=out(lse, "fp32", atol=1e-5), n=n, scale=float(scale)))
    flat = lambda x: Desc(given(x.reshape(heads * n, d), fmt))
    return Case((n // k["BM"], heads), dict(q_desc=flat(q), k_desc=flat(key), v_desc=flat(v),
                                            o_desc=Desc(out(o.reshape(heads * n, d), fmt, atol.reshape(heads * n, d))), n=n, scale=float(scale)))


@case("attention_jagged")
def attention_jagged(k):
    rng, d, fmt = generator(k), k["D"], "bf16"
    lengths = [70, 1, 0, 128, 33]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    total, scale = int(starts[-1]), 1 / np.sqrt(d)
    q, key, v = (matrix(rng, (total, d), fmt) for _ in range(3))
    o, atol = np.empty((total, d)), np.empty((total, d))
    for a, b in zip(starts[:-1], starts[1:]):
        if a == b:
            continue
        p, l, _ = weights(decode(q[a:b], fmt), decode(key[a:b], fmt), scale, np.ones((b - a, b - a), bool))
        o[a:b] = p @ decode(v[a:b], fmt) / l
        atol[a:b] = p @ np.abs(decode(v[a:b], fmt)) / l * 2.0**-8
    return Case((2, len(lengths)), dict(q_ptr=given(q, fmt), k_ptr=given(key, fmt), v_ptr=given(v, fmt), o_ptr=out(o, fmt, atol),
                                        starts_ptr=given(starts, "i32"), scale=float(scale)))


@case("attention_backward")
def attention_backward(k):
    """dV = P^T dO, dP = dO V^T, dS = P (dP - delta), dK = dS^T Q scale, dQ = dS K scale; P from the given logsumexp."""
    rng, d, fmt = generator(k), k["D"], "bf16"
    n = 2 * max(k["BM"], k["BN"])
    scale = 1 / np.sqrt(d)
    q, key, v, do = (matrix(rng, (n, d), fmt) for _ in range(4))
    qv, kv, vv, dov = (decode(x, fmt) for x in (q, key, v, do))
    p, l, top = weights(qv, kv, scale, mask_of(n, n, k["CAUSAL"]))
    lse = (top + np.log(l))[:, 0]
    p = p / l
    delta = (dov * (p @ vv)).sum(1)
    dp = dov @ vv.T
    ds = p * (dp - delta[:, None])
    slack = 2.0**-8
    return Case((n // k["BN"],), dict(
        q_ptr=given(q, fmt), k_ptr=given(key, fmt), v_ptr=given(v, fmt), do_ptr=given(do, fmt), lse_ptr=given(lse.astype(np.float32), "fp32"),
        delta_ptr=given(delta.astype(np.float32), "fp32"),
        dq_ptr=out(ds @ kv * scale, "fp32", np.abs(ds) @ np.abs(kv) * scale * slack + 1e-6, init=np.zeros((n, d), np.float32)),
        dk_ptr=out(ds.T @ qv * scale, fmt, np.abs(ds).T @ np.abs(qv) * scale * slack + 1e-6),
        dv_ptr=out(p.T @ dov, fmt, p.T @ np.abs(dov) * slack + 1e-6), n=n, scale=float(scale)))


@case("dot_scaled")
def dot_scaled(k):
    rng, fa, fb = generator(k), k["FA"], k["FB"]
    m, n, kk = 2 * k["BM"], k["BN"], 2 * k["BK"]
    (a, av), (b, bv) = scaled_operand(rng, m, kk, fa), scaled_operand(rng, n, kk, fb)
    vec = k["VEC"]
    (sa, sav), (sb, sbv) = scales(rng, m, kk // vec, k.fmt("as_ptr")), scales(rng, n, kk // vec, k.fmt("bs_ptr"))
    c, atol = product(av * np.repeat(sav, vec, 1), (bv * np.repeat(sbv, vec, 1)).T, "fp32")
    return Case((2, 1), dict(a_ptr=given(a, "u8"), b_ptr=given(b, "u8"), as_ptr=given(sa, k.fmt("as_ptr")), bs_ptr=given(sb, k.fmt("bs_ptr")),
                             c_ptr=out(c, "fp32", 2 * atol), K=kk))
