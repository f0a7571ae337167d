# test/conformance/cases/warp.py - mma.sync, wgmma, ldmatrix and stmatrix: one instruction a kernel, written as PTX here
"""For the shapes and types that no compiler at hand emits. Integer data, exact products, bits compared. All of these kernels are for
sm_90a, so that the same files are run on an H200, where all were right."""
import itertools
import numpy as np
from harness import Case, Kernel, given, out
from formats import encode
from . import case, generator

FORMS = {}  # name -> (PTX, threads, builder(rng) -> (inputs as arrays of u32/u8, expected u32))
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}


class Form(Kernel):
    """A kernel whose PTX is made here."""

    def __init__(self, name, text, threads):
        super().__init__("warp", name, dict(chip="sm_90a", function="warp_form", signature={}, constexprs={}, meta=dict(
            name="form", num_warps=threads // 32, num_ctas=1, shared=0)))
        self.text = text

    def ptx(self):
        return self.text.encode()


def kernels():
    for name, (text, threads, _) in FORMS.items():
        yield Form(name, text, threads)


@case("warp_form")
def warp_form(k):
    inputs, expected = FORMS[k.name][2](generator(k))
    args = {f"in{i}": given(x, "u8" if x.dtype == np.uint8 else "u32") for i, x in enumerate(inputs)}
    args["result"] = out(expected, "u32")
    return Case((1,), args, [{"buffer": f"in{i}"} for i in range(len(inputs))] + [{"u64": 0}] * (3 - len(inputs)) + [{"buffer": "result"}])


def program(threads, body, registers=600, shared=0):
    return f""".version 8.4
.target sm_90a
.address_size 64
.visible .entry form(.param .u64 in0, .param .u64 in1, .param .u64 in2, .param .u64 result)
.reqntid {threads}
{{
  .reg .pred %p<4>;
  .reg .b32 %r<20>, %a<40>, %b<40>, %c<{registers}>;
  .reg .b64 %rd<20>, %x<20>, %y<20>, %z<20>;
  {f".shared .align 1024 .b8 image[{shared}];" if shared else ""}
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [in0];
  ld.param.u64 %rd1, [in1];
  ld.param.u64 %rd2, [in2];
  ld.param.u64 %rd3, [result];
  mul.wide.u32 %rd4, %r0, 4;
  mul.wide.u32 %rd5, %r0, 8;
{body}
  ret;
}}
"""


def loads(prefix, count, base, threads, wide=False):
    """Register i of thread t from word (i, t) of the array at `base`."""
    size, kind, lane = (8, "b64", "%rd5") if wide else (4, "b32", "%rd4")
    return f"  add.u64 %rd10, {base}, {lane};\n" + "\n".join(f"  ld.global.{kind} %{prefix}{i}, [%rd10+{i * threads * size}];" for i in range(count))


def stores(prefix, count, threads, wide=False):
    size, kind, lane = (8, "b64", "%rd5") if wide else (4, "b32", "%rd4")
    return f"  add.u64 %rd10, %rd3, {lane};\n" + "\n".join(f"  st.global.{kind} [%rd10+{i * threads * size}], %{prefix}{i};" for i in range(count))


def vector(prefix, count):
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def draw(rng, shape, fmt):
    """Values and codes of small integers (bits, nibbles and bytes over their whole range)."""
    if fmt in ("s8", "u8", "s4", "u4", "b1"):
        bits = BITS[fmt]
        low = -(1 << bits - 1) if fmt[0] == "s" else 0
        v = rng.integers(low, low + (1 << bits), shape)
        return v.astype(np.float64), (v & ((1 << bits) - 1)).astype(np.uint32)
    v = rng.integers(-2, 3, shape).astype(np.float64)
    codes = {"f16": lambda: v.astype(np.float16).view(np.uint16), "bf16": lambda: encode(v, "bf16"), "tf32": lambda: v.astype(np.float32).view(np.uint32),
             "e4m3": lambda: encode(v, "e4m3"), "e5m2": lambda: encode(v, "e5m2"), "f64": lambda: v}[fmt]()
    return v, codes


def fragment_a(codes, fmt, m):
    """Registers [reg, lane] of A: lane = 4 (row % 8) + k // per % 4, register = row // 8 + m / 8 * (k // (4 per))."""
    bits, (_, k) = BITS[fmt], codes.shape
    per = max(1, 32 // bits)
    regs = np.zeros((m * k * bits // 1024 // (2 if bits == 64 else 1), 32), np.float64 if bits == 64 else np.uint32)
    for i, x in itertools.product(range(m), range(k)):
        where = (i // 8 + m // 8 * (x // (4 * per)), 4 * (i % 8) + x // per % 4)
        if bits == 64:
            regs[where] = codes[i, x]
        else:
            regs[where] |= np.uint32(int(codes[i, x]) << bits * (x % per))
    return regs


def fragment_b(codes, fmt):
    """[n, k] codes: lane = 4 n + k // per % 4, register = k // (4 per)."""
    bits, (n, k) = BITS[fmt], codes.shape
    per = max(1, 32 // bits)
    regs = np.zeros((n * k * bits // 1024 // (2 if bits == 64 else 1), 32), np.float64 if bits == 64 else np.uint32)
    for j, x in itertools.product(range(n), range(k)):
        where = (x // (4 * per), 4 * j + x // per % 4)
        if bits == 64:
            regs[where] = codes[j, x]
        else:
            regs[where] |= np.uint32(int(codes[j, x]) << bits * (x % per))
    return regs


def fragment_c(values, kind):
    """Accumulators [reg, lane] of a 16 x 8k or 8 x 8 tile: pairs of columns a lane, rows 8 apart in the next registers."""
    m, n = values.shape
    half = kind == "f16"
    typed = values.astype({"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}[kind])
    regs = np.zeros((m * n // 32 // (2 if half else 1), 32), np.float64 if kind == "f64" else np.uint32)
    for i, j in itertools.product(range(m), range(n)):
        lane, group = 4 * (i % 8) + j % 8 // 2, m // 8 * (j // 8) + i // 8
        if half:
            regs[group, lane] |= np.uint32(int(typed[i, j].view(np.uint16)) << 16 * (j % 2))
        elif kind == "f64":
            regs[2 * group + j % 2, lane] = typed[i, j]
        else:
            regs[2 * group + j % 2, lane] = typed[i, j].view(np.uint32)
    return regs


# ------------------------------------------------------------------------------------------------------------ mma.sync
def add_mma(m, k, a, b, d, satfinite=False):
    wide = a == "f64"
    op = ".and.popc" if a == "b1" else ""
    name = f"m{m}n8k{k}.row.col{'.satfinite' if satfinite else ''}.{d}.{a}.{b}.{d}{op}"
    na, nb = (max(1, rows * k * BITS[t] // 1024 // (2 if wide else 1)) for rows, t in ((m, a), (8, b)))
    nc = m * 8 // 32 // (2 if d == "f16" else 1)
    names = ("x", "y", "z") if wide else ("a", "b", "c")
    body = "\n".join([loads(names[0], na, "%rd0", 32, wide), loads(names[1], nb, "%rd1", 32, wide), loads(names[2], nc, "%rd2", 32, wide),
                      f"  mma.sync.aligned.{name} {vector(names[2], nc)}, {vector(names[0], na)}, {vector(names[1], nb)}, {vector(names[2], nc)};",
                      stores(names[2], nc, 32, wide)])

    def build(rng):
        (av, ac), (bv, bc) = draw(rng, (m, k), a), draw(rng, (8, k), b)
        old = rng.integers(-100, 100, (m, 8)).astype(np.float64)
        if satfinite:
            old += 2**31 - 2000
        new = av @ bv.T + old
        if satfinite:
            new = np.minimum(new, 2**31 - 1)
        u32 = lambda x: np.ascontiguousarray(x).view(np.uint32)
        return [u32(fragment_a(ac, a, m)), u32(fragment_b(bc, b)), u32(fragment_c(old, d))], u32(fragment_c(new, d))
    FORMS["mma." + name] = (program(32, body), 32, build)


for t, d in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
    for k in (8, 16):
        add_mma(16, k, t, t, d)
for k in (4, 8):
    add_mma(16, k, "tf32", "tf32", "f32")
for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
    add_mma(16, 32, a, b, "f32")
for a, b in itertools.product(("s8", "u8"), repeat=2):
    for m, k in ((8, 16), (16, 16), (16, 32)):
        add_mma(m, k, a, b, "s32")
        add_mma(m, k, a, b, "s32", satfinite=True)
for a, b in itertools.product(("s4", "u4"), repeat=2):
    for m, k in ((8, 32), (16, 32), (16, 64)):
        add_mma(m, k, a, b, "s32")
for m, k in ((8, 128), (16, 128), (16, 256)):
    add_mma(m, k, "b1", "b1", "s32")
for m, k in ((8, 4), (16, 4), (16, 8), (16, 16)):
    add_mma(m, k, "f64", "f64", "f64")


# ------------------------------------------------------------------------------------------------------------ wgmma
def put(image, start, codes, fmt, mn_major):
    """[rows, k] codes under the 128-byte swizzle; K-major rows of 128 bytes, or MN-major rows of 64 16-bit elements, one a k."""
    rows, k = codes.shape
    if mn_major:
        for i, x in itertools.product(range(rows), range(k)):
            at = i // 64 * k * 128 + x * 128 + i % 64 * 2
            at ^= at // 128 % 8 * 16
            image[start + at:start + at + 2] = np.array([codes[i, x] & 255, codes[i, x] >> 8], np.uint8)
        return
    bits = BITS[fmt]
    for i in range(rows):
        if fmt == "b1":
            data = np.packbits(codes[i].astype(np.uint8), bitorder="little")
        else:
            data = np.ascontiguousarray(codes[i].astype({8: np.uint8, 16: np.uint16, 32: np.uint32}[bits])).view(np.uint8)
        for piece in range(len(data) // 16):
            at = start + 128 * i + 16 * (piece ^ i % 8)
            image[at:at + 16] = data[16 * piece:16 * piece + 16]


def add_wgmma(n, a, b, d, rs=False, trans=(0, 0), negate=(1, 1), scale_d=True, satfinite=False):
    k = 256 // BITS[a]
    op = ".and.popc" if a == "b1" else ""
    kind = f"m64n{n}k{k}{'.satfinite' if satfinite else ''}.{d}.{a}.{b}{op}"
    count = n // (4 if d == "f16" else 2)
    start_b, size = 16384, 16384 + 32768
    lbo = k * 128
    flags = "" if d == "s32" else f", {negate[0]}, {negate[1]}"
    if a in ("f16", "bf16"):
        flags += f", {trans[1]}" if rs else f", {trans[0]}, {trans[1]}"
    left = vector("a", 4) if rs else "%rd12"
    body = f"""  mov.u32 %r1, image;
  mov.u32 %r2, %r0;
COPY:
  shl.b32 %r3, %r2, 4;
  cvt.u64.u32 %rd6, %r3;
  add.u64 %rd6, %rd0, %rd6;
  ld.global.v4.b32 {{%a10, %a11, %a12, %a13}}, [%rd6];
  add.u32 %r4, %r1, %r3;
  st.shared.v4.b32 [%r4], {{%a10, %a11, %a12, %a13}};
  add.u32 %r2, %r2, 128;
  setp.lt.u32 %p1, %r2, {size // 16};
  @%p1 bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
{loads("a", 4, "%rd1", 128)}
{loads("c", count, "%rd2", 128)}
  and.b32 %r5, %r1, 0x3FFFF;
  shr.u32 %r5, %r5, 4;
  cvt.u64.u32 %rd12, %r5;
  add.u64 %rd13, %rd12, {start_b // 16};
  or.b64 %rd12, %rd12, {1 << 62 | 64 << 32 | lbo // 16 << 16};
  or.b64 %rd13, %rd13, {1 << 62 | 64 << 32 | lbo // 16 << 16};
  setp.{"eq" if scale_d else "ne"}.u32 %p2, %r0, %r0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.{kind} {vector("c", count)}, {left}, %rd13, %p2{flags};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{stores("c", count, 128)}"""

    def build(rng):
        (av, ac), (bv, bc) = draw(rng, (64, k), a), draw(rng, (n, k), b)
        image = rng.integers(0, 256, size).astype(np.uint8)
        if not rs:
            put(image, 0, ac, a, trans[0])
        put(image, start_b, bc, b, trans[1])
        regs = np.concatenate([fragment_a(ac[16 * w:16 * w + 16], a, 16) for w in range(4)], 1) if BITS[a] > 4 else np.zeros((4, 128), np.uint32)
        old = rng.integers(-100, 100, (64, n)).astype(np.float64) + (2**31 - 2000 if satfinite else 0)
        new = av @ bv.T * negate[0] * negate[1] + (old if scale_d else 0)
        if satfinite:
            new = np.minimum(new, 2**31 - 1)
        tile = lambda v: np.concatenate([fragment_c(v[16 * w:16 * w + 16], d) for w in range(4)], 1)
        return [image, regs, tile(old)], tile(new)
    name = f"wgmma.{kind}" + "_rs" * rs + f"_t{trans[0]}{trans[1]}" * (trans != (0, 0)) + "_neg" * (negate != (1, 1)) + "_first" * (not scale_d)
    FORMS[name] = (program(128, body, shared=size), 128, build)


for t, d in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
    for n, rs in itertools.product((8, 40, 256), (False, True)):
        add_wgmma(n, t, t, d, rs)
    for trans in ((0, 1), (1, 0), (1, 1)):
        for n in (8, 64, 128):
            add_wgmma(n, t, t, d, trans=trans)
    add_wgmma(128, t, t, d, rs=True, trans=(0, 1))
    for negate in ((-1, 1), (1, -1), (-1, -1)):
        add_wgmma(16, t, t, d, negate=negate)
    add_wgmma(16, t, t, d, scale_d=False)
for n, rs in itertools.product((8, 64, 248), (False, True)):
    add_wgmma(n, "tf32", "tf32", "f32", rs)
    for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
        add_wgmma(n, a, b, "f32", rs)
    add_wgmma(n, "e4m3", "e5m2", "f16", rs)
for a, b in itertools.product(("s8", "u8"), repeat=2):
    for n, rs in itertools.product((8, 24, 256), (False, True)):
        add_wgmma(n, a, b, "s32", rs)
    add_wgmma(8, a, b, "s32", satfinite=True)
for n in (8, 256):
    add_wgmma(n, "b1", "b1", "s32")


# ------------------------------------------------------------------------------------------------------------ ldmatrix, stmatrix
def add_matrix(count, trans, store):
    """Thread t names row t at a place of its own; fragments: row t // 4, columns 2 (t % 4) and the next (transposed: the other way)."""
    suffix = ".trans" if trans else ""
    address = """  mov.u32 %r1, image;
  mul.lo.u32 %r2, %r0, 80;
  add.u32 %r2, %r2, %r1;
  // thread t's row: 80 t, filled from word (t, 0..3)
  add.u64 %rd6, %rd0, %rd4;
"""
    fill = "\n".join(f"  ld.global.b32 %a{i}, [%rd6+{128 * i}];" for i in range(4)) + "\n  st.shared.v4.b32 [%r2], {%a0, %a1, %a2, %a3};\n  bar.sync 0;\n"
    move = f"ldmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 {vector('c', count)}, [%r2];"
    if store:
        move = f"stmatrix.sync.aligned.m8n8.x{count}{suffix}.shared.b16 [%r2], {vector('c', count)};"
        after = "  bar.sync 0;\n  ld.shared.v4.b32 {%c0, %c1, %c2, %c3}, [%r2];\n" + stores("c", 4, 32)
        body = address + fill + loads("c", count, "%rd1", 32) + f"\n  {move}\n" + after
    else:
        body = address + fill + f"  {move}\n" + stores("c", count, 32)

    def build(rng):
        words = rng.integers(0, 2**32, (4, 32), dtype=np.uint32)
        rows = np.ascontiguousarray(words.T).view(np.uint16).reshape(4, 8, 8)  # matrix, row, column
        t = np.arange(32)
        first, second = ((2 * (t % 4), t // 4), (2 * (t % 4) + 1, t // 4)) if trans else ((t // 4, 2 * (t % 4)), (t // 4, 2 * (t % 4) + 1))
        if not store:
            regs = np.stack([rows[m][first].astype(np.uint32) | rows[m][second].astype(np.uint32) << 16 for m in range(count)])
            return [words], regs
        regs = rng.integers(0, 2**32, (count, 32), dtype=np.uint32)
        rows = rows.copy()
        for m in range(count):
            rows[m][first], rows[m][second] = regs[m] & 0xFFFF, regs[m] >> 16
        return [words, regs], np.ascontiguousarray(rows.reshape(32, 8)).view(np.uint32).T.copy()
    FORMS[f"{'st' if store else 'ld'}matrix.x{count}{suffix}"] = (program(32, body, shared=4096), 32, build)


for count, trans, store in itertools.product((1, 2, 4), (False, True), (False, True)):
    add_matrix(count, trans, store)
