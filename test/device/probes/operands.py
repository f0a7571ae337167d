# test/device/probes/operands.py - operands that reach the corners of each number format
import numpy as np
from probe import rng

COUNT = 512


def floats(name, exponent=(127, 23), extra=(), count=COUNT):
    """Bit patterns of a binary format with the given (bias, mantissa bits): specials, neighbours of powers of two, and random."""
    r = rng(name)
    bias, mantissa = exponent
    exp_bits = (2 * bias + 1).bit_length()
    bits = exp_bits + mantissa + 1
    sign, inf = 1 << bits - 1, (2 * bias + 1) << mantissa
    one = bias << mantissa
    special = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, one, one + 1, one - 1, one + (1 << mantissa), one - (1 << mantissa),
               one + (1 << mantissa - 1), inf - 1, inf, inf | 1, inf | 1 << mantissa - 1, inf | (1 << mantissa) - 1]
    values = np.array(special + [s | sign for s in special], dtype=np.uint64)
    n = count - len(values) - len(extra)
    anything = r.integers(0, 1 << bits, n // 2, dtype=np.uint64)
    near = (r.integers(max(0, bias - 12), min(2 * bias, bias + 12) + 1, n - n // 2, dtype=np.uint64) << np.uint64(mantissa)) \
        | r.integers(0, 1 << mantissa, n - n // 2, dtype=np.uint64) | (r.integers(0, 2, n - n // 2, dtype=np.uint64) << np.uint64(bits - 1))
    everything = np.concatenate([values, np.array(list(extra), dtype=np.uint64), anything, near])
    return everything.astype({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])


def shuffled(array, name):
    return rng("order of " + name).permutation(array)


def f32(name, extra=()):
    extra = [int(np.float32(x).view(np.uint32)) for x in extra]
    return floats(name, (127, 23), extra)


def no_nan(bits):
    """f32 bits with 1.0 for every NaN."""
    return np.where((bits & np.uint32(0x7fffffff)) > 0x7f800000, np.uint32(0x3f800000), bits)


def f64(name): return floats(name, (1023, 52))
def f16(name): return floats(name, (15, 10))
def bf16(name): return floats(name, (127, 7))


def pairs(make, name):
    """Two 16-bit elements in a 32-bit word."""
    return make(name).astype(np.uint32) | shuffled(make(name + " high"), name).astype(np.uint32) << 16


def byte_range(name): return rng(name).integers(0, 256, COUNT).astype(np.uint32)


def integers(name, bits=32, nonzero=False, count=COUNT):
    r = rng(name)
    top = 1 << bits - 1
    special = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 255, 256, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]
    small = r.integers(0, 300, count // 4, dtype=np.uint64)
    rest = r.integers(0, (1 << bits) - 1, count - len(special) - len(small), dtype=np.uint64)
    shift = r.integers(0, bits, len(rest), dtype=np.uint64)
    values = np.concatenate([np.array(special, dtype=np.uint64), small, rest >> shift]).astype({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])
    values = r.permutation(values)
    return np.where(values == 0, np.ones_like(values), values) if nonzero else values
