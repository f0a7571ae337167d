# test/conformance/cases/tma.py - Gluon's tensor copies, barriers, cluster launch control (kernels/gluon_async.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import decode, encode
from . import case, generator
from .gemm import gather_scatter, reduction
from .operands import matrix


@case("g_tma_copy")
def g_tma_copy(k):
    x = matrix(generator(k), (64, 64), "fp16")
    return Case((1,), dict(src=Desc(given(x, "fp16")), dst=Desc(out(decode(x, "fp16"), "fp16", rtol=0)), p=1))


@case("g_tma_mcast")
def g_tma_mcast(k):
    x = matrix(generator(k), (64, 64), "fp16")
    return Case((1,), dict(src=Desc(given(x, "fp16")), out_ptr=out(decode(x, "fp16"), "fp16", rtol=0)))


@case("g_tma_gs")
def g_tma_gs(k):
    return gather_scatter(k, 32)


@case("g_tma_red")
def g_tma_red(k):
    return reduction(k, 1)


@case("g_tma_devdesc")
def g_tma_devdesc(k):
    m, n = 100, 64  # the second block is clipped
    x = matrix(generator(k), (m, n), "fp16")
    return Case((2,), dict(a_ptr=given(x, "fp16"), b_ptr=out(decode(x, "fp16"), "fp16", rtol=0), M=m, N=n))


@case("g_tma_devdesc3")
def g_tma_devdesc3(k):
    shape, box = (2, 20, 64), (2, 16, 64)
    x = matrix(generator(k), shape, "fp16")
    want = np.zeros(shape)
    want[:, :16] = decode(x, "fp16")[:, :16]
    return Case((1,), dict(a_ptr=given(x, "fp16"), b_ptr=out(want, "fp16", rtol=0, init=np.zeros(shape, np.float16)), L=2, M=20, N=64))


@case("g_mbar")
def g_mbar(k):
    return Case((1,), dict(out_ptr=out(np.full(128, 5), "i32"), p=5))


@case("g_st_async")
def g_st_async(k):
    x = matrix(generator(k), (256,), "i32")
    return Case((1,), dict(in_ptr=given(x, "i32"), out_ptr=out(x, "i32")))


@case("g_cp_async")
def g_cp_async(k):
    x, n = matrix(generator(k), (64, 64), "fp16"), 64 * 40 + 16
    second = np.where(np.arange(4096).reshape(64, 64) < n, x, np.float16(0))
    return Case((1,), dict(in_ptr=given(x, "fp16"), out_ptr=out(decode(x + second, "fp16"), "fp16", rtol=0), n=n))


@case("g_clc")
def g_clc(k):
    programs = 7
    return Case((programs,), dict(out_ptr=out(np.repeat(np.arange(programs), 128), "i32")))
