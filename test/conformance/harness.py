# test/conformance/harness.py - one kernel, one launch: build launch.json, run it, compare with NumPy
"""A case says what a kernel gets and what it must compute. Outputs start poisoned, every element must have been written,
NaN never passes (unless expected), and the tolerance is one rounding of the output plus the accumulation's bound."""
import gzip, json, subprocess
from dataclasses import dataclass, field
from pathlib import Path
import numpy as np
from formats import BITS, HALF_QUANTUM, HALF_ULP, decode, encode

HERE = Path(__file__).resolve().parent
# Element types as Triton's metadata numbers them (those of tensormap.replace), and under launch.json's names.
MAP_TYPES = {0: "u8", 1: "u16", 2: "u32", 3: "i32", 4: "u64", 5: "i64", 6: "f16", 7: "f32", 9: "f64", 10: "bf16", 14: "b4x16_p64"}
SWIZZLES = ["none", "32B", "64B", "128B"]


class Kernel:
    """One compiled kernel: name, chip, arguments and constants as the compiler recorded them."""

    def __init__(self, folder, name, record):
        self.folder, self.name, self.record = folder, name, record
        self.chip = record.get("chip", folder)
        self.fn = record.get("function", record["meta"]["name"])
        self.args = {a: t for a, t in record["signature"].items() if t != "constexpr"}
        self.const, self.meta = record["constexprs"], record["meta"]

    def __getitem__(self, constant):
        """A constant as int or bool where it looks like one."""
        text = self.const[constant]
        return {"True": True, "False": False, "None": None}.get(text, int(text) if text.lstrip("-").isdigit() else text)

    def fmt(self, arg):
        """Element format of a pointer (*bf16) or tensor descriptor (tensordesc<bf16[...]...>)."""
        t = self.args[arg]
        return t[1:] if t[0] == "*" else t[t.index("<") + 1:t.index("[")]

    def ptx(self):
        return gzip.decompress((HERE / "ptx" / self.folder / f"{self.name}.ptx.gz").read_bytes())


@dataclass
class Buffer:
    """Device memory: initial bits (None: poisoned), and what must be in it afterwards."""
    fmt: str
    shape: tuple
    bits: np.ndarray = None
    expect: np.ndarray = None   # float64 or integer values; None: not checked
    atol: object = 0.0
    rtol: float = None          # default: one rounding of the format
    align: int = 256
    address: int = None         # a place of its own, for pointers that stand in other buffers

    @property
    def values(self):
        return decode(self.bits, self.fmt)


@dataclass
class Desc:
    """A host tensor map over a buffer; box and swizzle come from the compiler's metadata."""
    buffer: Buffer
    nan: bool = False


@dataclass
class Case:
    grid: tuple
    args: dict
    params: list = None         # parameters as launch.json spells them, for kernels that the compiler's records do not describe;
                                # {"buffer": name} and {"tensor_map": {"buffer": name, ...}} name entries of args


def given(bits, fmt):
    bits = np.ascontiguousarray(bits)
    return Buffer(fmt, bits.shape, bits)


def out(expect, fmt, atol=0.0, rtol=None, init=None):
    """An output: poisoned, or initialised with `init` bits and updated."""
    return Buffer(fmt, np.shape(expect), init, np.asarray(expect), atol, rtol)


def launch(kernel, case, policy):
    """launch.json as a dict, and the buffers that it names."""
    meta, buffers, params = kernel.meta, {}, []
    descriptors = iter(meta.get("tensordesc_meta") or [])

    def name_of(buffer, arg):
        for name, known in buffers.items():
            if known is buffer:
                return name
        buffers[arg] = buffer
        return arg
    if case.params is not None:
        buffers, params = dict(case.args), list(case.params)
    for arg, kind in kernel.args.items():
        value = case.args[arg]
        if isinstance(value, Desc):
            d, b = next(descriptors), value.buffer
            item = b.bits.itemsize if b.bits is not None else np.dtype(BITS[b.fmt]).itemsize
            strides = [int(np.prod(b.shape[i + 1:])) for i in range(len(b.shape))]
            dims = list(b.shape)
            dtype = MAP_TYPES[d["elem_type"]]
            if d["fp4_padded"]:
                dims[-1] *= 2
                dtype = "b4x16_p64"
            params.append({"tensor_map": dict(
                buffer=name_of(b, arg), dtype=dtype, dims=dims[::-1], strides=[s * item for s in strides[:-1]][::-1],
                box=d["block_size"][::-1],
                swizzle=SWIZZLES[d["swizzle"]], l2_promotion="128B", oob_fill="nan" if value.nan else "zero")})
            params += [{"i32": s} for s in b.shape] + [{"u64": s} for s in strides]
        elif isinstance(value, Buffer):
            params.append({"buffer": name_of(value, arg)})
        else:
            params.append({{"fp32": "f32", "fp64": "f64"}.get(kind, kind): value})
    if case.params is None:  # what no argument names, but an address in memory does
        buffers.update({name: b for name, b in case.args.items() if name not in kernel.args})
    programs, ctas = int(np.prod(case.grid)), meta["num_ctas"]
    for size, align in () if case.params is not None else (("global_scratch_size", "global_scratch_align"), ("profile_scratch_size", "profile_scratch_align")):
        if meta[size]:
            buffers[size] = Buffer("u8", (meta[size] * programs * ctas,), align=max(128, meta[align]))
            params.append({"buffer": size})
        else:
            params.append({"u64": 0})
    grid = list(case.grid) + [1] * (3 - len(case.grid))
    grid[0] *= ctas
    spec = dict(kernel=meta["name"], chip=kernel.chip, grid=grid, block=[32 * meta["num_warps"], 1, 1], cluster=[ctas, 1, 1],
                dynamic_smem=meta["shared"], buffers={}, params=params)
    spec.update({"async": policy[0]} if len(policy) == 1 else {"async": policy[0], "seed": policy[1]})
    for name, b in buffers.items():
        if b.bits is not None:
            spec["buffers"][name] = {"npy": f"{name}.npy", "align": b.align}
        else:
            spec["buffers"][name] = {"bytes": int(np.prod(b.shape)) * np.dtype(BITS[b.fmt]).itemsize, "fill": "poison", "align": b.align}
        if b.address is not None:
            spec["buffers"][name]["address"] = b.address
        if b.expect is not None:
            spec["buffers"][name].update(save=f"{name}.out.npy", dtype=np.dtype(BITS[b.fmt]).name, shape=list(b.shape))
    return spec, buffers


def compare(name, buffer, bits):
    """Empty, or what is wrong with an output."""
    got, want = decode(bits.reshape(buffer.shape), buffer.fmt), buffer.expect
    if buffer.fmt not in HALF_ULP:
        bad = bits.reshape(buffer.shape) != np.asarray(want).astype(bits.dtype)
    else:
        want = np.asarray(want, np.float64)
        rtol = 1.02 * HALF_ULP[buffer.fmt] if buffer.rtol is None else buffer.rtol
        with np.errstate(invalid="ignore"):
            close = np.abs(got - want) <= buffer.atol + rtol * np.abs(want) + (HALF_QUANTUM[buffer.fmt] if rtol else 0)
        bad = ~(close | (got == want) | (np.isnan(got) & np.isnan(want)))
    if not bad.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{name}: {int(bad.sum())} of {bad.size} elements differ, first at {where}: got {got[where]!r}, expected {np.asarray(want)[where]!r}"


def run(kernel, case, policy, emulate, folder, limit=600):
    """Runs one launch; returns (verdict, detail): 'right', 'wrong', or 'failed' with the program's message."""
    spec, buffers = launch(kernel, case, policy)
    (folder / "kernel.ptx").write_bytes(kernel.ptx())
    (folder / "launch.json").write_text(json.dumps(spec))
    for name, b in buffers.items():
        if b.bits is not None:
            np.save(folder / f"{name}.npy", b.bits)
        for old in folder.glob(f"{name}.out.npy"):
            old.unlink()
    try:
        done = subprocess.run([*emulate, str(folder / "kernel.ptx"), "--launch", str(folder / "launch.json")], cwd=folder,
                              capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "failed", f"no answer in {limit} s"
    said = (done.stderr + done.stdout).strip()
    if done.returncode:
        errors = "\n".join(line for line in said.splitlines() if line.startswith("error: "))
        return "failed", errors[:4000] or said[-2000:] or f"exit status {done.returncode}"
    problems = []
    for name, b in buffers.items():
        if b.expect is None:
            continue
        path = folder / f"{name}.out.npy"
        problems += [compare(name, b, np.load(path)) if path.exists() else f"{name}: not written"]
    problems = [p for p in problems if p]
    return ("wrong", "; ".join(problems)) if problems else ("right", said)
