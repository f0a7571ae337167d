# test/conformance/cases/boxes.py - one tensor copy a kernel: boxes, bounds, strides, swizzles, reductions, written as PTX here
"""Apart from im2col's, which stand in both chips' lists, these kernels are for sm_90a, so that the same files are run on an H200. Shared memory is filled first and written back
whole, so that gaps must stay as they were; the expected bytes are worked out element by element."""
import itertools
import numpy as np
from harness import Case, Kernel, given, out
from . import case, generator

FORMS = {}  # name -> (PTX, builder(rng) -> Case)
SIZE = 16384
TYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f16": np.float16, "f32": np.float32,
         "f64": np.float64, "bf16": np.uint16, "tf32": np.float32}
SPAN = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


class Form(Kernel):
    """A kernel whose PTX is made here."""

    def __init__(self, name, text):
        super().__init__("boxes", name, dict(chip="sm_100a" if ".target sm_100a" in text else "sm_90a", function="box_form", signature={}, constexprs={}, meta=dict(
            name="form", num_warps=4, num_ctas=1, shared=0)))
        self.text = text

    def ptx(self):
        return self.text.encode()


def kernels():
    for name, (text, _) in FORMS.items():
        yield Form(name, text)


@case("box_form")
def box_form(k):
    return FORMS[k.name][1](generator(k))


def program(copy, waits, dump):
    return f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry form(.param .align 64 .b8 map[128], .param .u64 image_in, .param .u64 result)
.reqntid 128
{{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<12>;
  .shared .align 1024 .b8 image[{SIZE}];
  .shared .align 8 .b64 bar;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  ld.param.u64 %rd0, [image_in];
  ld.param.u64 %rd1, [result];
  mov.b64 %rd2, map;
  cvta.param.u64 %rd2, %rd2;
  mov.u32 %r1, image;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  mov.u32 %r2, %r0;
FILL:
  shl.b32 %r3, %r2, 4;
  cvt.u64.u32 %rd3, %r3;
  add.u64 %rd4, %rd0, %rd3;
  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd4];
  add.u32 %r8, %r1, %r3;
  st.shared.v4.b32 [%r8], {{%r4, %r5, %r6, %r7}};
  add.u32 %r2, %r2, 128;
  setp.lt.u32 %p1, %r2, {SIZE // 16};
  @%p1 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra ISSUED;
{copy}
ISSUED:
{waits}
  bar.sync 0;
{dump}
  ret;
}}
"""


DUMP = f"""  mov.u32 %r2, %r0;
DUMP:
  shl.b32 %r3, %r2, 4;
  cvt.u64.u32 %rd3, %r3;
  add.u64 %rd4, %rd1, %rd3;
  add.u32 %r8, %r1, %r3;
  ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r8];
  st.global.v4.b32 [%rd4], {{%r4, %r5, %r6, %r7}};
  add.u32 %r2, %r2, 128;
  setp.lt.u32 %p1, %r2, {SIZE // 16};
  @%p1 bra DUMP;"""


def elements(dims, box, steps, start, swizzle, size, where, store=False):
    """(coordinates or None, shared byte offset) of every element of the box; dimensions innermost first. Stores clip the innermost
    dimension at 16 bytes: the rest of a row's last piece is written too (seen on an H200)."""
    if store:
        dims = [padded(dims[0], size) // size] + dims[1:]
    counts = [box[0]] + [-(-b // s) for b, s in zip(box[1:], steps[1:])]
    pitch = max(box[0] * size, SPAN[swizzle]) if SPAN[swizzle] else box[0] * size
    for row, outer in enumerate(itertools.product(*[range(c) for c in counts[:0:-1]])):
        at = [start[d] + i * steps[d] for d, i in zip(range(len(dims) - 1, 0, -1), outer)][::-1]
        for e in range(box[0]):
            coords = [start[0] + e] + at
            linear = where + row * pitch + e * size
            if SPAN[swizzle]:
                linear ^= (linear // 128 & SPAN[swizzle] // 16 - 1) * 16
            yield coords if all(0 <= c < n for c, n in zip(coords, dims)) else None, linear


def tensor_map(dtype, dims, box, steps, swizzle, nan, buffer):
    size = np.dtype(TYPES[dtype]).itemsize
    strides = [int(s) for s in np.cumprod([padded(dims[0], size)] + list(dims[1:-1]))] if len(dims) > 1 else []
    return {"tensor_map": dict(buffer=buffer, dtype=dtype, dims=dims, strides=strides, box=box, element_strides=steps, swizzle=swizzle,
                               oob_fill="nan" if nan else "zero")}


def padded(n, size):
    """Bytes of a row in global memory: a multiple of 16."""
    return -(-n * size // 16) * 16


def tensor(rng, dtype, dims):
    """Bytes of a tensor whose rows are padded, and a view [outer dims, row elements]."""
    size = np.dtype(TYPES[dtype]).itemsize
    shape = [*dims[:0:-1], padded(dims[0], size) // size]
    if dtype in ("f16", "f32", "f64", "tf32"):
        return rng.integers(-50, 50, shape).astype(TYPES[dtype])
    if dtype == "bf16":
        return (rng.integers(-50, 50, shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return rng.integers(0, 2**31 - 1, shape).astype(TYPES[dtype])


def coordinates(start):
    regs = ", ".join(f"%r{10 + i}" for i in range(len(start)))
    return "\n".join(f"  mov.b32 %r{10 + i}, {c};" for i, c in enumerate(start)), regs


def add_load(name, dtype, dims, box, start, steps=None, swizzle="none", nan=False, where=1024):
    steps = steps or [1] * len(dims)
    size = np.dtype(TYPES[dtype]).itemsize
    counts = [box[0]] + [-(-b // s) for b, s in zip(box[1:], steps[1:])]
    total = int(np.prod(counts)) * size
    setup, regs = coordinates(start)
    copy = f"""{setup}
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {total};
  add.u32 %r8, %r1, {where};
  cp.async.bulk.tensor.{len(dims)}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%rd2, {{{regs}}}], [bar];"""
    waits = "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n  @!%p2 bra WAIT;"

    def build(rng):
        source = tensor(rng, dtype, dims)
        image = rng.integers(0, 256, SIZE).astype(np.uint8)
        result = image.copy()
        fill = np.array([0xF7, 0x7F] * 4 if nan else [0] * 8, np.uint8)[:size]
        for coords, at in elements(dims, box, steps, start, swizzle, size, where):
            result[at:at + size] = fill if coords is None else np.frombuffer(source[tuple(coords[::-1])].tobytes(), np.uint8)
        args = dict(source=given(source.reshape(-1).view(np.uint8), "u8"), image=given(image, "u8"), result=out(result, "u8"))
        return Case((1,), args, [tensor_map(dtype, dims, box, steps, swizzle, nan, "source"), {"buffer": "image"}, {"buffer": "result"}])
    FORMS["load_" + name] = (program(copy, waits, DUMP), build)


def add_im2col(name, dtype, dims, channels, pixels, lower, upper, start, offsets, steps=None, swizzle="none", nan=False, chip="sm_90a", dst="shared::cta"):
    """Dimensions C, W, (H, (D,)) N. What is expected follows the convolution: all places of a filter's corner in order, of which the
    copy takes `pixels` from `start` on."""
    n, size, where = len(dims), np.dtype(TYPES[dtype]).itemsize, 1024
    steps = steps or [1] * n
    setup, regs = coordinates(start)
    shifts = "\n".join(f"  mov.b16 %h{k}, {o};" for k, o in enumerate(offsets))
    copy = f"""{setup}
{shifts}
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {channels * pixels * size};
  add.u32 %r8, %r1, {where};
  cp.async.bulk.tensor.{n}d.{dst}.global.im2col.mbarrier::complete_tx::bytes [%r8], [%rd2, {{{regs}}}], [bar], {{{", ".join(f"%h{k}" for k in range(n - 2))}}};"""
    waits = "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n  @!%p2 bra WAIT;"
    text = program(copy, waits, DUMP).replace(".version 8.4", ".version 8.6").replace("sm_90a", chip).replace("  .reg .b32 %r<20>;", "  .reg .b16 %h<4>;\n  .reg .b32 %r<20>;")

    def build(rng):
        source = tensor(rng, dtype, dims)
        image = rng.integers(0, 256, SIZE).astype(np.uint8)
        result = image.copy()
        fill = np.frombuffer(np.array([0x7FF7] * 4, np.uint16).tobytes() if nan else bytes(8), np.uint8)[:size]
        axes = [range(low, count + high, step) for low, high, count, step in zip(lower, upper, dims[1:-1], steps[1:-1])]
        corners = [c for image_ in range(dims[-1] + pixels) for c in itertools.product([image_], *axes[::-1])]
        first = corners.index(tuple(start[:0:-1]))
        for pixel, (image_, *corner) in enumerate(corners[first:first + pixels]):
            at = [c + o for c, o in zip(corner, offsets[::-1])]
            inside = image_ < dims[-1] and all(0 <= c < count for c, count in zip(at, dims[-2:0:-1]))
            for e in range(channels):
                c = start[0] + e
                linear = where + pixel * max(channels * size, SPAN[swizzle]) + e * size
                if SPAN[swizzle]:
                    linear ^= (linear // 128 & SPAN[swizzle] // 16 - 1) * 16
                element = source[(image_, *at, c)].tobytes() if inside and 0 <= c < dims[0] else fill.tobytes()
                result[linear:linear + size] = np.frombuffer(element, np.uint8)
        spec = tensor_map(dtype, dims, None, steps, swizzle, nan, "source")
        del spec["tensor_map"]["box"]
        spec["tensor_map"]["im2col"] = dict(lower=lower, upper=upper, channels=channels, pixels=pixels)
        args = dict(source=given(source.reshape(-1).view(np.uint8), "u8"), image=given(image, "u8"), result=out(result, "u8"))
        return Case((1,), args, [spec, {"buffer": "image"}, {"buffer": "result"}])
    FORMS["im2col_" + name] = (text, build)


def add_store(name, dtype, dims, box, start, op=None, steps=None, swizzle="none", where=1024):
    steps = steps or [1] * len(dims)
    size = np.dtype(TYPES[dtype]).itemsize
    setup, regs = coordinates(start)
    verb = f"cp.reduce.async.bulk.tensor.{len(dims)}d.global.shared::cta.{op}.tile.bulk_group" if op else f"cp.async.bulk.tensor.{len(dims)}d.global.shared::cta.tile.bulk_group"
    copy = f"""{setup}
  add.u32 %r8, %r1, {where};
  {verb} [%rd2, {{{regs}}}], [%r8];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;"""

    def build(rng):
        target, data = tensor(rng, dtype, dims), tensor(rng, dtype, [SIZE // size])
        if op in ("inc", "dec"):
            target, data = target % 7, data % 5
        result = target.copy()
        for coords, at in elements(dims, box, steps, start, swizzle, size, where, store=True):
            if coords is not None:
                x = tuple(coords[::-1])
                result[x] = reduced(op, dtype, target[x], data[at // size])
        args = dict(image=given(data.view(np.uint8), "u8"), target=out(result.reshape(-1).view(np.uint8), "u8", init=target.reshape(-1).view(np.uint8)))
        return Case((1,), args, [tensor_map(dtype, dims, box, steps, swizzle, False, "target"), {"buffer": "image"}, {"u64": 0}])
    FORMS[("store_" if not op else "reduce_") + name] = (program(copy, "", ""), build)


def reduced(op, dtype, old, new):
    if op is None:
        return new
    if dtype == "bf16":
        a, b = ((np.array([v], np.uint32) << 16).view(np.float32)[0] for v in (old, new))
        return np.uint16(np.array([{"add": a + b, "min": min(a, b), "max": max(a, b)}[op]], np.float32).view(np.uint32)[0] >> 16)
    with np.errstate(over="ignore"):
        return {"add": lambda: old + new, "min": lambda: min(old, new), "max": lambda: max(old, new), "and": lambda: old & new, "or": lambda: old | new,
                "xor": lambda: old ^ new, "inc": lambda: old * 0 if old >= new else old + old.dtype.type(1),
                "dec": lambda: new if old == 0 or old > new else old - old.dtype.type(1)}[op]()


for dtype in TYPES:
    n = 64 // np.dtype(TYPES[dtype]).itemsize
    add_load(f"{dtype}_edges", dtype, [n + 3, 10], [n, 8], [n // 2, 5])
    add_load(f"{dtype}_negative", dtype, [n, 10], [n, 8], [-n // 2, -3])
    if dtype in ("f16", "f32", "f64", "bf16", "tf32"):
        add_load(f"{dtype}_nan", dtype, [n, 5], [n, 8], [n // 2, -2], nan=True)
    add_store(f"{dtype}_edges", dtype, [n + 3, 10], [n, 8], [n // 2, 5])
for swizzle, span in SPAN.items():
    for width in (span or 64, 16):
        for where in (1024, 1024 + 384):
            add_load(f"{swizzle}_{width}_{where}", "u8", [256, 40], [width, 20], [16, 4], swizzle=swizzle, where=where)
            add_store(f"{swizzle}_{width}_{where}", "u8", [256, 40], [width, 20], [16, 4], swizzle=swizzle, where=where)
add_load("1d", "u16", [300], [256], [112])
for dtype, box in (("f32", [4, 3]), ("u64", [2, 1]), ("f64", [2, 3])):  # no multiple of 32 or 64 bytes
    add_load(f"{dtype}_small", dtype, [8, 5], box, [0, 1])
add_load("outside", "f32", [16, 16], [16, 8], [32, 100])
add_store("outside", "f32", [16, 16], [16, 8], [32, 100])
add_load("3d", "u16", [24, 5, 4], [16, 3, 2], [8, 3, -1])
add_load("4d", "u32", [8, 5, 4, 3], [8, 3, 2, 2], [0, 3, 1, 2])
add_load("5d", "u8", [32, 3, 4, 3, 5], [16, 2, 2, 2, 3], [16, 2, 3, -1, 3], swizzle="32B")
add_store("5d", "u8", [32, 3, 4, 3, 5], [16, 2, 2, 2, 3], [16, 2, 3, 1, 3], swizzle="32B")
for step in (2, 3, 7, 8):
    add_load(f"steps_{step}", "u16", [32, 40], [32, 16], [0, 3], steps=[1, step])
    add_load(f"steps_{step}_3d", "u16", [32, 20, 9], [16, 8, 5], [8, -4, 1], steps=[1, step, 2])
add_store("steps", "u16", [32, 40], [32, 16], [0, 3], steps=[1, 3])
for chip in ("sm_90a", "sm_100a"):
    tail = "" if chip == "sm_90a" else "_sm_100a"
    add_im2col("3d" + tail, "f16", [24, 9, 3], 16, 20, [-1], [-1], [8, 2, 1], [1], chip=chip)                      # runs into the last image's end
    add_im2col("4d" + tail, "bf16", [64, 9, 6, 5], 32, 64, [-1, -1], [-1, -1], [32, 7, 3, 0], [2, 1], swizzle="64B", chip=chip)
    add_im2col("5d" + tail, "f32", [8, 5, 4, 3, 4], 8, 60, [-1, -2, 0], [-1, 1, -1], [0, 3, -2, 1, 1], [1, 2, 1], swizzle="128B", chip=chip)
add_im2col("steps", "u16", [16, 8, 14, 4], 16, 32, [-1, -1], [-1, -1], [0, 5, 7, 1], [1, 1], steps=[1, 2, 2, 1])  # the ISA's figure of strides
add_im2col("steps_5d", "u8", [32, 7, 6, 5, 2], 16, 50, [0, -1, -1], [-2, -1, 0], [16, 3, 1, -1, 0], [2, 0, 1], steps=[1, 3, 2, 1, 1], swizzle="32B")
add_im2col("nan", "f32", [20, 6, 5, 2], 16, 40, [-2, -1], [1, 1], [8, -2, -1, 1], [0, 0], nan=True)
add_im2col("channels", "f16", [20, 6, 5, 2], 16, 10, [0, 0], [0, 0], [16, 2, 1, 0], [0, 1])                       # beyond the last channel
add_im2col("cluster", "u32", [8, 300, 2], 8, 256, [-100], [50], [0, 40, 0], [60], dst="shared::cluster")
for dtype, ops in (("u32", ("add", "min", "max", "inc", "dec", "and", "or", "xor")), ("i32", ("add", "min", "max", "and", "or", "xor")),
                   ("u64", ("add", "min", "max", "and", "or", "xor")), ("i64", ("min", "max")), ("f16", ("add", "min", "max")), ("bf16", ("add", "min", "max")),
                   ("f32", ("add",))):
    n = 64 // np.dtype(TYPES[dtype]).itemsize
    for op in ops:
        add_store(f"{op}_{dtype}", dtype, [n + 3, 10], [n, 8], [n // 2, 5], op=op, swizzle="64B")
