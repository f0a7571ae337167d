# test/conformance/cases/tmem.py - Gluon's tensor-memory loads, stores, copies and views (kernels/gluon_mma.py)
import numpy as np
from harness import Case, Desc, given, out
from formats import decode, encode
from . import case, generator
from .operands import matrix


def identity_bits(rng, shape, fmt):
    """Values whose bits must come back unchanged."""
    return matrix(rng, shape, fmt)


@case("g_tmem_ldst")
def g_tmem_ldst(k):
    fmt = k.fmt("in_ptr")
    x = identity_bits(generator(k), (k["BM"], k["BN"]), fmt)
    return Case((1,), dict(in_ptr=given(x, fmt), out_ptr=out(decode(x, fmt), fmt, rtol=0)))


@case("g_tmem_copy")
def g_tmem_copy(k):
    fmt = k.fmt("out_ptr")
    x = identity_bits(generator(k), (k["BM"], k["BN"]), fmt)
    return Case((1,), dict(in_desc=Desc(given(x, fmt)), out_ptr=out(decode(x, fmt), fmt, rtol=0)))


@case("g_tmem_views")
def g_tmem_views(k):
    x = encode(generator(k).standard_normal((128, 64)), "fp16")  # stored as 32 columns of 32 bits, read as 64 halves
    return Case((1,), dict(in_ptr=given(x.view(np.float32), "fp32"), out_ptr=out(decode(x, "fp16"), "fp16", rtol=0), idx=1))
