# test/conformance/cases/operands.py - random matrices in a format, and the bound of a product
import numpy as np
from formats import BITS, TABLES, decode, encode, tf32

INTEGER = ("i8", "u8", "i32", "u32", "i64", "i16")


def matrix(rng, shape, fmt, exact_tf32=True):
    """Bits of a random matrix; f32 values are exact in tf32 unless said."""
    if fmt in INTEGER:
        limit = np.iinfo(BITS[fmt])
        return rng.integers(max(limit.min, -1000), min(limit.max, 1000), shape, endpoint=True).astype(BITS[fmt])
    values = rng.standard_normal(shape)
    if fmt == "fp32" and exact_tf32:
        return tf32(values)
    return encode(values, fmt)


def codes(rng, shape, fmt):
    """Random codes of a scaled format: modest, finite."""
    if fmt == "e2m1":
        return rng.integers(0, 16, shape).astype(np.uint8)
    return encode(rng.standard_normal(shape), fmt)


def product(a, b, out_fmt, chip="", in_fmt=""):
    """C = A B in float64, and the absolute error that accumulation may have: the sum of |a||b| times a few units in the last
    place of f32. An H200 keeps about 13 fraction bits inside an fp8 instruction (measured), and so may an emulator of it."""
    c = a @ b
    if out_fmt in INTEGER:
        return c, 0.0
    unit = 1e-14 if out_fmt == "fp64" else 2.0**-12 if chip == "sm_90a" and in_fmt in ("fp8e4nv", "fp8e5") else 2e-6
    return c, unit * (np.abs(a) @ np.abs(b))
