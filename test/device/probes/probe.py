# test/device/probes/probe.py - what a probe is, and the frames that most probes share
"""A probe is one small kernel around one instruction form. It runs unchanged on a GPU and on the emulator; inputs come from a
seed, so only what the GPU answered is stored. A comparison is bitwise unless the probe states a bound and why."""
from dataclasses import dataclass, field
import numpy as np

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
PROBES = {}
ANY_NAN = "the ISA does not say which NaN"

@dataclass
class Bound:
    """How far apart two answers may be: `ulps` units in the last place, `absolute`, or `relative` to the largest magnitude of
    the output; with none of these, every number must have equal bits, but any NaN agrees with any NaN. `why` names the ISA's
    words."""
    why: str
    ulps: int = 0
    absolute: float = 0
    relative: float = 0


@dataclass
class Probe:
    family: str
    name: str
    form: str
    ptx: str
    inputs: dict                      # name -> array
    outputs: dict                     # name -> (NumPy dtype of the bits, shape, format for bounds)
    params: list
    grid: tuple = (1, 1, 1)
    block: tuple = (32, 1, 1)
    cluster: tuple = (1, 1, 1)
    smem: int = 0
    bound: Bound = None
    initial: dict = field(default_factory=dict)  # outputs that start with these bits

    def launch(self):
        """launch.json (test/conformance/README.md); inputs lie beside it as NAME.npy, outputs are saved as out_NAME.npy."""
        buffers = {n: {"npy": f"{n}.npy"} for n in self.inputs}
        for n, (dtype, shape, _) in self.outputs.items():
            d = np.dtype(dtype)
            b = {"npy": f"{n}.npy"} if n in self.initial else {"bytes": int(np.prod(shape)) * d.itemsize, "fill": "poison"}
            buffers[n] = {**b, "save": f"out_{n}.npy", "dtype": d.name, "shape": list(shape)}
        return dict(kernel="probe", chip="sm_90a", grid=list(self.grid), block=list(self.block), cluster=list(self.cluster),
                    dynamic_smem=self.smem, buffers=buffers, params=self.params)

    def arrays(self):
        return {**self.inputs, **self.initial}


def add(probe):
    assert probe.name not in PROBES, probe.name
    PROBES[probe.name] = probe


def rng(name):
    return np.random.default_rng(abs(hash_of(name)))


def hash_of(text):
    value = 1469598103934665603
    for c in text.encode():
        value = (value ^ c) * 1099511628211 % (1 << 63)
    return value


def slug(form):
    return form.replace("::", "_").replace(".", "_").replace(" ", "_")


def entry(params, body, extra="", attributes=""):
    """A kernel `probe` with u64 pointer parameters p0, p1, … in %rd0, %rd1, …; the thread's number is in %r0."""
    text = HEADER + extra + ".visible .entry probe(" + ", ".join(params) + f")\n{attributes}{{\n"
    text += ("  .reg .b16 %h<64>; .reg .b32 %r<600>; .reg .b64 %rd<64>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .pred %p<16>;\n")
    for k, p in enumerate(params):
        if ".u64" in p:
            text += f"  ld.param.b64 %rd{k}, [p{k}];\n"
    return text + body + "  ret;\n}\n"


WIDTH = {16: "h", 32: "r", 64: "rd"}
UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def elementwise(family, form, operands, out_bits, template="{form} {d}, {s};", formats="", name=None, bound=None, forms=None):
    """One thread per element: `operands` are equally long unsigned arrays, the result is one unsigned word each."""
    name = name or slug(form)
    count, lines, sources = len(operands[0]), "", []
    lines += "  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.s32 %r0, %r1, 128, %r0;\n"
    for k, a in enumerate(operands):
        bits = a.dtype.itemsize * 8
        reg = f"%{WIDTH[bits]}{10 + k}"
        lines += f"  mul.wide.u32 %rd40, %r0, {bits // 8}; add.s64 %rd40, %rd{k}, %rd40; ld.global.b{bits} {reg}, [%rd40];\n"
        sources.append(reg)
    d = f"%{WIDTH[max(16, out_bits)]}30"
    text = template.format(form=form, d=d, s=", ".join(sources), **{f"s{k}": r for k, r in enumerate(sources)})
    lines += "  " + text + "\n"
    lines += f"  mul.wide.u32 %rd40, %r0, {out_bits // 8}; add.s64 %rd40, %rd{len(operands)}, %rd40; st.global.b{out_bits} [%rd40], {d};\n"
    assert count % 128 == 0
    add(Probe(family, name, forms or form, entry([f".param .u64 p{k}" for k in range(len(operands) + 1)], lines),
              {f"a{k}": a for k, a in enumerate(operands)}, {"out": (UINT[out_bits].__name__, (count,), formats)},
              [{"buffer": f"a{k}"} for k in range(len(operands))] + [{"buffer": "out"}], (count // 128, 1, 1), (128, 1, 1),
              bound=bound))


def threads(family, name, form, body, words=1, inputs=None, block=32, smem=0, bound=None, fmt="", grid=1, cluster=1, extra="",
            out="uint32", initial=None, params=None):
    """A CTA of `block` threads that each store `words` words %r100, … to the output p<last>; inputs are the first parameters."""
    inputs = inputs or {}
    k = len(inputs) if params is None else len(params)
    store = f"  mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r2, %r3, {block}, %r2;\n"
    store += f"  mul.wide.u32 %rd60, %r2, {4 * words}; add.s64 %rd60, %rd{k}, %rd60;\n"
    for w in range(words):
        store += f"  st.global.b32 [%rd60+{4 * w}], %r{100 + w};\n"
    shape = (grid * block * words * 4 // np.dtype(out).itemsize,)
    declared = [f".param .u64 p{i}" for i in range(k + 1)] if params is None else params + [f".param .u64 p{k}"]
    values = [{"buffer": n} for n in inputs] if params is None else None
    add(Probe(family, name, form, entry(declared, "  mov.u32 %r0, %tid.x;\n" + body + (store if words else ""), extra),
              inputs, {"out": (out, shape, fmt)}, (values or []) + [{"buffer": "out"}], (grid, 1, 1), (block, 1, 1),
              (cluster, 1, 1), smem, bound, initial or {}))
