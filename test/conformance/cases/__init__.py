# test/conformance/cases/__init__.py - the registry: kernel function name -> case builder
"""A builder takes a Kernel and returns its Case. One file per family of kernels; every kernel function has one builder."""
import zlib
import numpy as np

BUILDERS = {}


def case(*functions):
    def register(builder):
        for f in functions:
            assert f not in BUILDERS, f
            BUILDERS[f] = builder
        return builder
    return register


def generator(kernel):
    """Random numbers that depend on the kernel's name only."""
    return np.random.default_rng(zlib.crc32(kernel.name.encode()))


from . import gemm, mma, tmem, tma, simt, attention, boxes, bulk, listed, measured, operators, parallel, tcgen05, warp, wmma, workloads  # noqa: E402,F401
