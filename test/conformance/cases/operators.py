# test/conformance/cases/operators.py - whole operators in Gluon (kernels/gluon_operators.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import decode
from . import case, generator
from .attention import weights
from .mma import blocked, scaled_operand, scales
from .operands import matrix, product


@case("op_attention", "op_attention_hopper")
def op_attention(k):
    """The last block of keys is half empty: the copies fill it with zeros, the kernel masks it."""
    rng, d, rows, n = generator(k), k["D"], 256, 5 * k["BK"] - k["BK"] // 2
    q, key, v = (matrix(rng, (m, d), "bf16") for m in (rows, n, n))
    p, l, top = weights(decode(q, "bf16"), decode(key, "bf16"), d**-0.5, np.ones((rows, n), bool))
    args = dict(q_desc=Desc(given(q, "bf16")), k_desc=Desc(given(key, "bf16")), v_desc=Desc(given(v, "bf16")), n=n, scale=float(d**-0.5 * np.log2(np.e)),
                o_desc=Desc(out(p @ decode(v, "bf16") / l, "bf16", p @ np.abs(decode(v, "bf16")) / l * 2.0**-8)))  # P is rounded to bf16
    if k.fn == "op_attention":
        args["lse_ptr"] = out((top + np.log(l))[:, 0] * np.log2(np.e), "fp32", atol=1e-5)
    return Case((rows // 128,), args)


@case("op_clc_pairs", "op_shared_b")
def op_clc_pairs(k):
    rng, fmt, tiles, kk = generator(k), k.fmt("a_desc"), (3, 2), 5 * k["BK"]
    a, b = matrix(rng, (tiles[0] * k["BM"], kk), fmt), matrix(rng, (tiles[1] * k["BN"], kk), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt).T, fmt)
    return Case(tiles, dict(a_desc=Desc(given(a, fmt)), b_desc=Desc(given(b, fmt)), c_desc=Desc(out(c, fmt, atol)), K=kk))


@case("op_mxfp4")
def op_mxfp4(k):
    rng, (m, n), kk = generator(k), (2 * k["BM"], 2 * k["BN"]), 4 * k["BK"]
    (a, av), (b, bv) = scaled_operand(rng, m, kk, "e2m1"), scaled_operand(rng, n, kk, "e2m1")
    (sa, sav), (sb, sbv) = scales(rng, m, kk // 32, "u8"), scales(rng, n, kk // 32, "u8")
    c, atol = product(av * np.repeat(sav, 32, 1), (bv * np.repeat(sbv, 32, 1)).T, "fp32")
    tiles = lambda s: Desc(given(blocked(s).reshape(1, len(s) // 128, kk // 128, 2, 256), "u8"))
    return Case((2, 2), dict(a_desc=Desc(given(a, "u8")), b_desc=Desc(given(b, "u8")), as_desc=tiles(sa), bs_desc=tiles(sb), c_desc=Desc(out(c, "bf16", 2 * atol)), K=kk))


@case("op_gathered")
def op_gathered(k):
    rng, rows, kk, n = generator(k), 300, 3 * k["BK"], k["BN"]
    x, w, old = matrix(rng, (rows, kk), "bf16"), matrix(rng, (n, kk), "bf16"), matrix(rng, (rows, n), "bf16")
    index = rng.permutation(rows)[:2 * k["BM"]].astype(np.int32)
    c, bound = product(decode(x, "bf16")[index], decode(w, "bf16").T, "bf16")
    y, atol = decode(old, "bf16").copy(), np.zeros((rows, n))
    y[index], atol[index] = c, bound
    return Case((2,), dict(x_desc=Desc(given(x, "bf16")), w_desc=Desc(given(w, "bf16")), y_desc=Desc(out(y, "bf16", atol, init=old)), index_ptr=given(index, "i32"), K=kk))
