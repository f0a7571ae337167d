# test/conformance/cases/gemm.py - Triton's own matrix products (kernels/tl_gemm.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import decode, encode
from . import case, generator
from .operands import matrix, product


@case("gemm_ptr")
def gemm_ptr(k):
    rng, fmt, o = generator(k), k.fmt("a_ptr"), k.fmt("c_ptr")
    bm, bn, bk, tb = k["BM"], k["BN"], k["BK"], k["TB"]
    m, n, kk = 2 * bm, 2 * bn, 3 * bk
    exact = k["PREC"] == "tf32"
    a, b = matrix(rng, (m, kk), fmt, exact), matrix(rng, (n, kk) if tb else (kk, n), fmt, exact)
    bv = decode(b, fmt)
    c, atol = product(decode(a, fmt), bv.T if tb else bv, o, k.chip, fmt)
    if k["PREC"] == "tf32x3":
        atol = 2 * atol
    return Case((2, 2), dict(a_ptr=given(a, fmt), b_ptr=given(b, fmt), c_ptr=out(c, o, atol), M=m, N=n, K=kk, sam=kk,
                             sbk=kk if tb else n, scm=n))


def nt(k, tiles_m, tiles_n, steps):
    """A [M, K], B [N, K] through descriptors; returns the arguments and C."""
    rng, fmt, o = generator(k), k.fmt("a_desc"), k.fmt("c_desc")
    m, n, kk = tiles_m * k["BM"], tiles_n * k["BN"], steps * k["BK"]
    a, b = matrix(rng, (m, kk), fmt), matrix(rng, (n, kk), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt).T, o, k.chip, fmt)
    return dict(a_desc=Desc(given(a, fmt)), b_desc=Desc(given(b, fmt)), c_desc=Desc(out(c, o, atol)), K=kk)


@case("gemm_tma_host", "gemm_ws_clc")
def gemm_tma_host(k):
    return Case((2, 2), nt(k, 2, 2, 3))


@case("gemm_tma_dev")
def gemm_tma_dev(k):
    rng = generator(k)
    m, n, kk = 2 * k["BM"], 2 * k["BN"], 3 * k["BK"]
    a, b = matrix(rng, (m, kk), "bf16"), matrix(rng, (n, kk), "bf16")
    c, atol = product(decode(a, "bf16"), decode(b, "bf16").T, "bf16")
    return Case((2, 2), dict(a_ptr=given(a, "bf16"), b_ptr=given(b, "bf16"), c_ptr=out(c, "bf16", atol), M=m, N=n, K=kk))


@case("gemm_persistent_ws")
def gemm_persistent_ws(k):
    programs = min(k["NSM"], 6)
    args = nt(k, 3, 2, 3)
    return Case((programs,), dict(args, M=3 * k["BM"], N=2 * k["BN"]))


@case("tma_gather_scatter")
def tma_gather_scatter(k):
    return gather_scatter(k, 32)


def gather_scatter(k, count):
    rng, fmt, rows, columns, y = generator(k), k.fmt("src"), 48, 128, 64
    src, old = matrix(rng, (rows, columns), fmt), matrix(rng, (rows, columns), fmt)
    index = rng.permutation(rows)[:count].astype(np.int32)
    new = decode(old, fmt).copy()
    new[index, y:y + 64] = decode(src, fmt)[index, y:y + 64]
    return Case((1,), dict(src=Desc(given(src, fmt)), dst=Desc(out(new, fmt, init=old)), idx_ptr=given(index, "i32"), y=y))


def combine(op, old, x):
    return {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
            "xor": np.bitwise_xor}[op](old, x)


@case("tma_reduce")
def tma_reduce(k):
    return reduction(k, 2)


def reduction(k, programs):
    rng, fmt, bm, bn = generator(k), k.fmt("dst"), k["BM"], k["BN"]
    old, x = matrix(rng, (programs * bm, bn), fmt), matrix(rng, (bm, bn), fmt)
    if fmt in ("i32", "u32"):
        result = combine(k["OP"], old, np.tile(x, (programs, 1)))
    else:
        result = combine(k["OP"], decode(old, fmt), np.tile(decode(x, fmt), (programs, 1)))
    return Case((programs,), dict(dst=Desc(out(result, fmt, init=old)), x_ptr=given(x, fmt)))


@case("tma_copy_nd")
def tma_copy_nd(k):
    rng = generator(k)
    shape = {1: (700,), 3: (6, 16, 32), 4: (6, 2, 16, 32), 5: (3, 2, 2, 16, 32)}[k["RANK"]]
    src = matrix(rng, shape, "fp16")
    return Case((3,), dict(src=Desc(given(src, "fp16")), dst=Desc(out(copied(k, decode(src, "fp16")), "fp16", init=np.zeros(shape, np.float16)))))


def copied(k, values):
    """Program p copies the box at p (rank 1: at 256 p); parts beyond the tensor are clipped."""
    result = np.zeros_like(values)
    box = k.meta["tensordesc_meta"][0]["block_size"]
    for p in range(3):
        start = 256 * p if k["RANK"] == 1 else p
        window = tuple([slice(start, start + box[0])] + [slice(0, n) for n in box[1:]])
        result[window] = values[window]
    return result
