# test/conformance/formats.py - the element formats of the kernels as NumPy arrays: bits in, float64 out
"""bf16, fp8 and fp4 have no NumPy type: their bits travel as uint16 and uint8, two fp4 in a byte, the low nibble first."""
import numpy as np

BITS = {"bf16": np.uint16, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "fp8e4nv": np.uint8, "fp8e5": np.uint8,
        "i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "u32": np.uint32, "i64": np.int64}
# Half a unit in the last place, relative: what one correct rounding may cost.
HALF_ULP = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 2.0**-24, "fp64": 2.0**-53, "fp8e4nv": 2.0**-4, "fp8e5": 2.0**-3}
# Half of the smallest subnormal: the same for values near zero.
HALF_QUANTUM = {"bf16": 2.0**-134, "fp16": 2.0**-25, "fp32": 2.0**-150, "fp64": 0.0, "fp8e4nv": 2.0**-10, "fp8e5": 2.0**-17}


def small_float(exponent_bits, mantissa_bits, bias, special):
    """All values of a small float by code; special: 'ieee', 'nan' (only all ones is NaN) or None."""
    code = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = np.where(code >> (exponent_bits + mantissa_bits), -1.0, 1.0)
    fraction = mantissa / 2.0**mantissa_bits
    value = np.where(exponent > 0, (1 + fraction) * 2.0**(exponent - bias), fraction * 2.0**(1.0 - bias))
    last = exponent == (1 << exponent_bits) - 1
    if special == "ieee":
        value = np.where(last, np.where(mantissa == 0, np.inf, np.nan), value)
    elif special == "nan":
        value = np.where(last & (mantissa == (1 << mantissa_bits) - 1), np.nan, value)
    return sign * value


TABLES = {"fp8e4nv": small_float(4, 3, 7, "nan"), "fp8e5": small_float(5, 2, 15, "ieee"), "e2m1": small_float(2, 1, 1, None)}
TABLES["e4m3"], TABLES["e5m2"] = TABLES["fp8e4nv"], TABLES["fp8e5"]
TABLES["ue8m0"] = np.append(2.0**(np.arange(255) - 127.0), np.nan)


def decode(bits, fmt):
    """The values of an array of bits, as float64 (integers too)."""
    bits = np.asarray(bits)
    if fmt == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if fmt in TABLES:
        return TABLES[fmt][bits]
    return bits.astype(np.float64)


def encode(values, fmt):
    """Bits of the nearest values (ties to even); saturating for fp8 and fp4."""
    values = np.asarray(values)
    if fmt == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if fmt in ("fp8e4nv", "fp8e5", "e2m1", "e4m3", "e5m2"):
        table = TABLES[fmt]
        half = len(table) // 2
        finite = np.flatnonzero(np.isfinite(table[:half]))
        grid = table[finite]
        magnitude = np.minimum(np.abs(values), grid[-1])
        high = np.clip(np.searchsorted(grid, magnitude), 1, len(grid) - 1)
        low = high - 1
        down, up = magnitude - grid[low], grid[high] - magnitude
        pick = np.where((up < down) | ((up == down) & (high % 2 == 0)), high, low)
        return (finite[pick] + np.where(np.signbit(values), half, 0)).astype(np.uint8)
    return values.astype(BITS[fmt])


def rounded(values, fmt):
    """Values after one trip through the format."""
    return decode(encode(values, fmt), fmt)


def tf32(values):
    """Values with ten mantissa bits, so that rounding and truncating agree."""
    return (np.asarray(values, np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)


def pack_fp4(codes):
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)


def unpack_fp4(packed):
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
