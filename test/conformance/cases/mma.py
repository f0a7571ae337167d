# test/conformance/cases/mma.py - Gluon's tcgen05, wgmma and mma.sync kernels (kernels/gluon_mma.py, gluon_async.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import TABLES, decode, encode, pack_fp4, unpack_fp4
from . import case, generator
from .operands import codes, matrix, product


@case("g_gemm")
def g_gemm(k):
    rng, fmt, o = generator(k), k.fmt("a_desc"), k.fmt("c_desc")
    m, n, kk = 2 * k["BM"], 2 * k["BN"], 3 * k["BK"]
    a = matrix(rng, (kk, m) if k["AT"] else (m, kk), fmt)
    b = matrix(rng, (n, kk) if k["BT"] else (kk, n), fmt)
    av, bv = decode(a, fmt), decode(b, fmt)
    c, atol = product(av.T if k["AT"] else av, bv.T if k["BT"] else bv, o)
    if k["ACC"] == "fp16":  # rounded to 11 bits after each of the 3 * BK / 16 instructions
        atol = atol + (3 * k["BK"] // 16) * 2.0**-11 * 4 * np.sqrt(kk)
    return Case((2, 2), dict(a_desc=Desc(given(a, fmt)), b_desc=Desc(given(b, fmt)), c_desc=Desc(out(c, o, atol)), K=kk))


@case("g_mma_2cta", "g_mma_1cta_mcast", "g_ws_gemm")
def g_mma_2cta(k):
    rng, fmt = generator(k), k.fmt("a_desc")
    tiles = 2 if k.fn == "g_mma_2cta" else 1
    m, n, kk = tiles * k["BM"], tiles * k["BN"], 5 * k["BK"]
    a, b = matrix(rng, (m, kk), fmt), matrix(rng, (n, kk), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt).T, "bf16")
    return Case((tiles, tiles), dict(a_desc=Desc(given(a, fmt)), b_desc=Desc(given(b, fmt)), c_desc=Desc(out(c, "bf16", atol)), K=kk))


@case("g_mma_ts")
def g_mma_ts(k):
    rng, fmt = generator(k), k.fmt("a_ptr")
    a, b = matrix(rng, (k["BM"], k["BK"]), fmt), matrix(rng, (k["BN"], k["BK"]), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt).T, "fp32")
    return Case((1,), dict(a_ptr=given(a, fmt), b_desc=Desc(given(b, fmt)), c_ptr=out(c, "fp32", atol), p=5))


def scaled_operand(rng, rows, kk, fmt):
    """Bits as memory holds them, and values [rows, K]."""
    c = codes(rng, (rows, kk), fmt)
    return (pack_fp4(c) if fmt == "e2m1" else c), TABLES[fmt][c]


def scales(rng, rows, count, fmt):
    c = rng.integers(120, 134, (rows, count)).astype(np.uint8) if fmt == "u8" else encode(2.0**rng.uniform(-3, 3, (rows, count)), fmt)
    return c, TABLES["ue8m0" if fmt == "u8" else fmt][c]


def blocked(c):
    """[rows, count] to the 512-byte blocks of tcgen05.cp: [rows/128, count/4, 32, 4, 4]."""
    rows, count = c.shape
    return c.reshape(rows // 128, 4, 32, count // 4, 4).transpose(0, 3, 2, 1, 4)


def scaled(k, fa, fb, vec, scale_fmt, block):
    """Operands, scales and the product of a block-scaled kernel."""
    rng = generator(k)
    bm, bn, kk = k["BM"], k["BN"], k["BK"]
    (a, av), (b, bv) = scaled_operand(rng, bm, kk, fa), scaled_operand(rng, bn, kk, fb)
    (sa, sav), (sb, sbv) = scales(rng, bm, kk // vec, scale_fmt), scales(rng, bn, kk // vec, scale_fmt)
    c, atol = product(av * np.repeat(sav, vec, 1), (bv * np.repeat(sbv, vec, 1)).T, "fp32")
    put = (lambda s: given(blocked(s), scale_fmt)) if block else (lambda s: given(s, scale_fmt))
    return a, b, dict(as_ptr=put(sa), bs_ptr=put(sb), c_ptr=out(c, "fp32", 2 * atol))


@case("g_mma_scaled")
def g_mma_scaled(k):
    a, b, args = scaled(k, k["AT"], k["BT"], k["VEC"], k.fmt("as_ptr"), k["COPY"])
    return Case((1,), dict(a_desc=Desc(given(a, "u8")), b_desc=Desc(given(b, "u8")), **args))


@case("g_scaled_2cta")
def g_scaled_2cta(k):
    a, b, args = scaled(k, "e4m3", "e4m3", 32, "u8", False)
    return Case((1,), dict(a_desc=Desc(given(a, "u8")), b_desc=Desc(given(b, "u8")), **args))


@case("g_scaled_ts")
def g_scaled_ts(k):
    a, b, args = scaled(k, k["FMT"], k["FMTB"], k["VEC"], "u8", False)
    return Case((1,), dict(a_ptr=given(a, "u8"), b_desc=Desc(given(b, "u8")), **args))


@case("g_mma_v2")
def g_mma_v2(k):
    rng, fmt, o = generator(k), k.fmt("a_ptr"), k.fmt("c_ptr")
    a, b = matrix(rng, (k["M"], k["K"]), fmt), matrix(rng, (k["K"], k["N"]), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt), o)
    if o == "fp16":
        atol = atol + (k["K"] // 16) * 2.0**-11 * 4 * np.sqrt(k["K"])
    return Case((1,), dict(a_ptr=given(a, fmt), b_ptr=given(b, fmt), c_ptr=out(c, o, atol)))


@case("g_wgmma")
def g_wgmma(k):
    rng, fmt, o = generator(k), k.fmt("a_desc"), k.fmt("c_ptr")
    kk = k.meta["tensordesc_meta"][0]["block_size"][1]
    a, b = matrix(rng, (k["M"], kk), fmt), matrix(rng, (k["N"], kk), fmt)
    c, atol = product(decode(a, fmt), decode(b, fmt).T, o, k.chip, fmt)
    if o == "fp16":
        atol = atol + (kk // 16) * 2.0**-11 * 4 * np.sqrt(kk)
    return Case((1,), dict(a_desc=Desc(given(a, fmt)), b_desc=Desc(given(b, fmt)), c_ptr=out(c, o, atol)))
