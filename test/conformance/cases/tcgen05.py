# test/conformance/cases/tcgen05.py - every tcgen05 form that NVVM can print, written as PTX here, one instruction a kernel
"""No compiler at hand emits most of these forms. Each kernel fills shared and tensor memory from images, issues one instruction,
waits for it, and writes all of tensor memory back: so what must not change is checked as well. Operands are small integers,
products are exact, the comparison is of bits. The expected images follow the ISA's tables, written again in NumPy."""
import itertools
import numpy as np
from harness import Case, Kernel, given, out
from formats import TABLES, encode
from . import case, generator

LANES, COLUMNS = 128, 512
FORMS = {}  # kernel name -> (PTX text of the instruction, model)

HEADER = """.version 8.8
.target sm_100a
.address_size 64
.visible .entry form(.param .u64 cells_in, .param .u64 shared_in, .param .u64 cells_out)
.reqntid 128{cluster}
{{
  .reg .pred %p<10>;
  .reg .b32 %r<40>, %v<130>;
  .reg .b64 %rd<20>;
  .shared .align 1024 .b8 image[{shared}];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  shr.u32 %r2, %r0, 5;
  setp.eq.u32 %p0, %r2, 0;
  setp.eq.u32 %p1, %r0, 0;
  ld.param.u64 %rd0, [cells_in];
  ld.param.u64 %rd1, [shared_in];
  ld.param.u64 %rd2, [cells_out];
  // this thread's row of the images: (cta * 128 + thread) * 512 cells
  mad.lo.u32 %r3, %r1, 128, %r0;
  mul.wide.u32 %rd3, %r3, 2048;
  add.u64 %rd0, %rd0, %rd3;
  @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  mov.u32 %r4, slot;
  @%p0 tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%r4], 512;
  @%p0 tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
  // shared image: thread t copies 16-byte pieces t, t + 128, ...
  mul.lo.u32 %r5, %r1, {shared};
  cvt.u64.u32 %rd4, %r5;
  add.u64 %rd1, %rd1, %rd4;
  mov.u32 %r6, image;
  shl.b32 %r7, %r0, 4;
COPY:
  add.u32 %r8, %r6, %r7;
  cvt.u64.u32 %rd5, %r7;
  add.u64 %rd5, %rd1, %rd5;
  ld.global.v4.u32 {{%v0, %v1, %v2, %v3}}, [%rd5];
  st.shared.v4.b32 [%r8], {{%v0, %v1, %v2, %v3}};
  add.u32 %r7, %r7, 2048;
  setp.lt.u32 %p2, %r7, {shared};
  @%p2 bra COPY;
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r9, [slot];       // base of tensor memory
  and.b32 %r10, %r2, 3;
  shl.b32 %r10, %r10, 21;
  add.u32 %r10, %r9, %r10;         // this warp's quarter
  mov.u32 %r11, 0;
FILL:
  mul.wide.u32 %rd6, %r11, 4;
  add.u64 %rd6, %rd0, %rd6;
{fill_loads}
  add.u32 %r12, %r10, %r11;
  tcgen05.st.sync.aligned.32x32b.x32.b32 [%r12], {{{fill}}};
  add.u32 %r11, %r11, 32;
  setp.lt.u32 %p3, %r11, 512;
  @%p3 bra FILL;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  {sync}
  tcgen05.fence::after_thread_sync;
"""
FOOTER = """
  tcgen05.fence::before_thread_sync;
  {sync}
  tcgen05.fence::after_thread_sync;
  mul.wide.u32 %rd3, %r3, 2048;
  add.u64 %rd2, %rd2, %rd3;
  mov.u32 %r11, 0;
DUMP:
  add.u32 %r12, %r10, %r11;
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{fill}}}, [%r12];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd6, %r11, 4;
  add.u64 %rd6, %rd2, %rd6;
{dump_stores}
  add.u32 %r11, %r11, 32;
  setp.lt.u32 %p3, %r11, 512;
  @%p3 bra DUMP;
  tcgen05.fence::before_thread_sync;
  {sync}
  @%p0 tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r9, 512;
  ret;
}}
"""
FILL = ", ".join(f"%v{i}" for i in range(32))
QUADS = [(i, f"{{%v{i}, %v{i + 1}, %v{i + 2}, %v{i + 3}}}") for i in range(0, 32, 4)]


def program(body, group, shared):
    sync = "bar.sync 0;" if group == 1 else "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;"
    facts = dict(group=group, shared=shared, sync=sync, fill=FILL,
                 cluster="" if group == 1 else "\n.explicitcluster\n.reqnctapercluster 2, 1, 1",
                 fill_loads="\n".join(f"  ld.global.v4.u32 {q}, [%rd6+{4 * i}];" for i, q in QUADS),
                 dump_stores="\n".join(f"  st.global.v4.b32 [%rd6+{4 * i}], {q};" for i, q in QUADS))
    return HEADER.format(**facts) + body + FOOTER.format(**facts)


def issued(text, group, alone=False):
    """The body that one thread (of CTA 0) runs: the instruction, a commit to every CTA (alone: to the issuing one, and only that
    waits), and the wait. Descriptors: %rd10 and %rd11
    hold start addresses (>> 4) of the image and of its second half."""
    multicast = "" if group == 1 or alone else ".multicast::cluster"
    return f"""
  and.b32 %r13, %r6, 0x3FFFF;
  shr.u32 %r13, %r13, 4;
  cvt.u64.u32 %rd10, %r13;
  add.u64 %rd11, %rd10, {HALF // 16};
  setp.ne.u32 %p4, %r0, %r0;
  setp.eq.u32 %p5, %r0, %r0;
  or.b32 %r14, %r0, %r1;
  setp.eq.u32 %p6, %r14, 0;
  @!%p6 bra ISSUED;
{text}
  mov.b16 %h, 3;
  tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [bar]{", %h" if multicast else ""};
ISSUED:
  setp.ne.u32 %p8, %r1, 0;
  {"@%p8 bra WAITED;" if alone else ""}
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p7, [bar], 0;
  @!%p7 bra WAIT;
WAITED:
""".replace("  mov.b16 %h, 3;\n", "" if not multicast else "  .reg .b16 %h;\n  mov.b16 %h, 3;\n")


HALF, SHARED = 16384, 32768


class Form(Kernel):
    """A kernel whose PTX is made here."""

    def __init__(self, name, text, group):
        super().__init__("tcgen05", name, dict(chip="sm_100a", function="tcgen05_form", signature={}, constexprs={}, meta=dict(
            name="form", num_warps=4, num_ctas=group, shared=0)))
        self.text = text

    def ptx(self):
        return self.text.encode()


def kernels():
    for name, (text, group, _) in FORMS.items():
        yield Form(name, text, group)


@case("tcgen05_form")
def tcgen05_form(k):
    _, group, model = FORMS[k.name]
    rng = generator(k)
    cells = rng.integers(0, 2**32, (group, LANES, COLUMNS), dtype=np.uint32)
    shared = rng.integers(0, 256, (group, SHARED)).astype(np.uint8)
    result = model(rng, cells, shared)
    args = dict(cells_in=given(cells, "u32"), shared_in=given(shared, "u8"), cells_out=out(result, "u32"))
    return Case((1,), args, [{"buffer": "cells_in"}, {"buffer": "shared_in"}, {"buffer": "cells_out"}])


# ------------------------------------------------------------------------------------------------------------ ld and st
def cells_of(shape, registers, split):
    """(lane, column) of register r of thread t."""
    t, r = np.meshgrid(np.arange(32), np.arange(registers), indexing="ij")
    return {"32x32b": (t, r), "16x64b": (8 * (t % 2) + t // 4, t // 2 % 2 + 2 * r), "16x128b": (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2)),
            "16x256b": (t // 4 + 8 * (r // 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r // 4)), "16x32bx2": (t % 16, r + split * (t // 16))}[shape]


def add_moves():
    """Each warp moves cells of its quarter from column 3 or 0 on (lane 16 for the shapes of 16 lanes) to or from column 256 up. A load's registers
    are stored there by 32x32b; a store takes its registers from there."""
    for shape, scale in (("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1)):
        for repeat in (1, 2, 4, 8, 16, 32, 64, 128):
            n = repeat * scale
            if n > 128:
                continue
            for packed in (False, True):
                wide = n * (2 if packed else 1) * (1 if shape == "32x32b" else 2)  # columns covered
                split = n * (2 if packed else 1)
                lane = 0 if shape == "32x32b" else 16
                add_move(shape, repeat, n, packed, lane, split, 3 if wide <= 250 else 0)


def add_move(shape, repeat, n, packed, lane, split, first):
    regs = "{" + ", ".join(f"%v{i}" for i in range(n)) + "}"
    offset = f", {split}" if shape == "16x32bx2" else ""
    sixteen = lambda word: f".{word}::16b" if packed else ""
    prologue = f"  add.u32 %r20, %r10, {lane << 16 | first};\n  add.u32 %r21, %r10, 256;\n"
    park = f"tcgen05.{{}}.sync.aligned.32x32b.x{n}.b32"
    load = prologue + f"""  tcgen05.ld.sync.aligned.{shape}.x{repeat}{sixteen("pack")}.b32 {regs}, [%r20]{offset};
  tcgen05.wait::ld.sync.aligned;
  {park.format("st")} [%r21], {regs};
  tcgen05.wait::st.sync.aligned;
"""
    store = prologue + f"""  {park.format("ld")} {regs}, [%r21];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.st.sync.aligned.{shape}.x{repeat}{sixteen("unpack")}.b32 [%r20]{offset}, {regs};
  tcgen05.wait::st.sync.aligned;
"""
    lanes, columns = cells_of(shape, n, 0 if packed else split)
    if packed:  # two columns a register; the split counts physical columns
        columns = 2 * columns + (split * (np.arange(32) // 16)[:, None] if shape == "16x32bx2" else 0)

    def model(store):
        def apply(_, cells, __):
            result = cells.copy()
            for quarter in range(4):
                l, c = 32 * quarter + lane + lanes, first + columns
                rows = 32 * quarter + np.arange(32)[:, None]
                registers = np.arange(n)[None, :]
                if store:
                    v = cells[0, rows, 256 + registers]
                    result[0, l, c] = v & 0xFFFF if packed else v
                    if packed:
                        result[0, l, c + 1] = v >> 16
                else:
                    v = cells[0, l, c] & 0xFFFF | cells[0, l, c + 1] << 16 if packed else cells[0, l, c]
                    result[0, rows, 256 + registers] = v
            return result
        return apply
    tail = f"{shape}_x{repeat}{'_16b' if packed else ''}"
    FORMS[f"ld_{tail}"] = (program(load, 1, SHARED), 1, model(False))
    FORMS[f"st_{tail}"] = (program(store, 1, SHARED), 1, model(True))


# ------------------------------------------------------------------------------------------------------------ cp and shift
def expanded(units, fmt):
    """16-byte units to 16 bytes: 4-bit elements to bits 5:2, 6-bit elements to bits 5:0, packed low first."""
    if not fmt:
        return units
    width = 4 if "b4" in fmt else 6
    bits = np.unpackbits(units, axis=-1, bitorder="little")[..., :16 * width].reshape(*units.shape[:-1], 16, width)
    return ((bits << np.arange(width, dtype=np.uint8)).sum(-1) << (2 if width == 4 else 0)).astype(np.uint8)


def add_copies():
    targets = {"128x256b": lambda r: [r], "128x128b": lambda r: [r], "4x256b": lambda r: [32 * r],
               "64x128b.warpx2::02_13": lambda r: [r, r + 64], "64x128b.warpx2::01_23": lambda r: [r % 32 + 64 * (r // 32), r % 32 + 64 * (r // 32) + 32],
               "32x128b.warpx4": lambda r: [r, r + 32, r + 64, r + 96]}
    for (shape, lanes), fmt, group in itertools.product(targets.items(), ("", ".b8x16.b4x16_p64", ".b8x16.b6x16_p32"), (1, 2)):
        rows, units = int(shape.split("x")[0]), 2 if "256b" in shape else 1
        leading, stride = 4096, 128  # no swizzle: 16-byte rows in groups of 8, the second unit 4 KiB on
        text = f"""  or.b64 %rd12, %rd10, {1 << 46 | stride // 16 << 32 | leading // 16 << 16};
  add.u32 %r20, %r9, 40;
  tcgen05.cp.cta_group::{group}.{shape}{fmt} [%r20], %rd12;"""

        def model(_, cells, shared, rows=rows, units=units, lanes=lanes, fmt=fmt):
            result = cells.copy()
            for cta, r, u in itertools.product(range(len(cells)), range(rows), range(units)):
                at = r // 8 * 128 + r % 8 * 16 + u * 4096
                result[cta, lanes(r), 40 + 4 * u:44 + 4 * u] = expanded(shared[cta, at:at + 16], fmt).view(np.uint32)
            return result
        FORMS[f"cp{group}_{shape}{fmt}"] = (program(issued(text, group), group, SHARED), group, model)
    for group in (1, 2):
        def model(_, cells, __):
            result = cells.copy()
            result[:, 64:95, 8:16] = cells[:, 65:96, 8:16]
            return result
        text = f"  add.u32 %r20, %r9, {64 << 16 | 8};\n  tcgen05.shift.cta_group::{group}.down [%r20];"
        FORMS[f"shift{group}"] = (program(issued(text, group, alone=True), group, SHARED), group, model)


# ------------------------------------------------------------------------------------------------------------ mma
TYPES = {"f16": ("bf16", 16, 16, 1), "tf32": ("tf32", 8, 32, 2), "f8f6f4": ("e4m3", 32, 8, 0), "i8": ("s8", 32, 8, 1), "mxf8f6f4": ("e4m3", 32, 8, 0),
         "mxf4": ("e2m1", 64, 4, 1), "mxf4nvf4": ("e2m1", 64, 4, 1)}


def codes_of(values, fmt):
    if fmt == "bf16":
        return encode(values, fmt)
    if fmt == "tf32":
        return values.astype(np.float32).view(np.uint32)
    if fmt == "s8":
        return values.astype(np.int8).view(np.uint8)
    return encode(values, fmt)


def row_bytes(values, fmt):
    """[rows, k] small values to the bytes of each row, K contiguous."""
    c = codes_of(values, fmt)
    if fmt == "e2m1":
        c = c[:, 0::2] | c[:, 1::2] << 4
    return np.ascontiguousarray(c).view(np.uint8).reshape(len(values), -1)


def put_k_major(shared, start, rows):
    """128-byte swizzle: row r at 128 r, its 16-byte pieces exchanged by r mod 8."""
    for r, data in enumerate(rows):
        for piece in range(len(data) // 16):
            at = start + 128 * r + 16 * (piece ^ r % 8)
            shared[at:at + 16] = data[16 * piece:16 * piece + 16]


def place(m, n, i, j, ws, group):
    """CTA, lane and column of D."""
    if ws:
        runs = 128 // m
        return 0, i + m * (j // (n // runs)), j % (n // runs)
    if group == 2:
        return (i // 128, i % 128, j) if m == 256 else (i // 64, i % 64 + 64 * (j // (n // 2)), j % (n // 2))
    return (0, i, j) if m == 128 else (0, 32 * (i // 16) + i % 16, j)


def add_mma(name, opcode, kind, group=1, m=None, n=64, ts=False, ashift=False, ws=False, sparse=False, scales=0, tail="", mask=None, scale_d=0,
            negate=0, zero=None):
    fmt, k, bits, code = TYPES[kind]
    m = m or 128 * group
    stored = k
    k *= 2 if sparse else 1
    idesc = n // 8 << 17 | m // 16 << 24 | code << 7 | code << 10 | sparse << 2 | negate << 13
    idesc |= 1 << 23 if scales else (2 if kind == "i8" else 1) << 4
    D, A, SFA, SFB, META = 128, 8, 32, 48, 24
    a = "[%r22]" if ts else "%rd12"
    meta = ", [%r25]" if sparse else ""
    sf = ", [%r23], [%r24]" if scales else ""
    lanes = ""
    if mask:
        lanes = "{" + ", ".join(f"%r{30 + w}" for w in range(4 * group)) + "}, "
    text = "\n".join(f"  mov.b32 %r{30 + w}, {x};" for w, x in enumerate(mask or [])) + f"""
  or.b64 %rd12, %rd10, {2 << 61 | 1 << 46 | 64 << 32 | 1 << 16};
  or.b64 %rd13, %rd11, {2 << 61 | 1 << 46 | 64 << 32 | 1 << 16};
  add.u32 %r20, %r9, {D};
  add.u32 %r22, %r9, {A};
  add.u32 %r23, %r9, {SFA};
  add.u32 %r24, %r9, {SFB};
  add.u32 %r25, %r9, {META};
  mov.b32 %r26, {idesc};{f"{chr(10)}  mov.b64 %rd14, {zero};" if zero is not None else ""}
  {opcode} [%r20], {a}, %rd13{meta}, %r26{sf}, {lanes}%p5{tail};"""

    def model(rng, cells, shared):
        local, columns = m // group, n // group
        integers = lambda shape: rng.integers(-2, 3, shape).astype(np.float64)
        av, bv = integers((m, stored)), integers((n, k))
        for cta in range(group):
            rows = av[cta * local:][:local]
            if ts:
                data = row_bytes(rows, fmt).view(np.uint32)
                for i in range(local):
                    for copy in range(2 if group == 2 and m == 128 else 1):  # layout B: both halves of the lanes hold A
                        cells[cta, i + 64 * copy if m // group == 64 and group == 2 else place(m, n, i, 0, ws, 1)[1] if group == 1 else i, A:A + 8] = data[i]
            else:
                put_k_major(shared[cta], 0, row_bytes(rows, fmt))
            put_k_major(shared[cta], HALF, row_bytes(bv[cta * columns:][:columns], fmt))
        if ashift:  # row r takes row r + 1 inside 32 rows; the last keeps its own
            order = np.arange(m)
            av = av[np.where(order % 32 == 31, order, order + 1)]
        full = av
        if sparse:
            full = np.zeros((m, k))
            width = 2 if kind in ("mxf4", "mxf4nvf4") else 1  # an entry names a pair of 4-bit elements
            groups = stored if kind == "tf32" else stored // (2 * width)
            for i, g in itertools.product(range(m), range(groups)):
                pair = (0, 1) if kind == "tf32" and rng.integers(2) else (2, 3) if kind == "tf32" else tuple(sorted(rng.choice(4, 2, replace=False)))
                if kind == "tf32":
                    full[i, 2 * g + pair[0] // 2] = av[i, g]
                else:
                    for half in range(2):
                        to = width * (4 * g + pair[half])
                        full[i, to:to + width] = av[i, width * (2 * g + half):][:width]
                for e, position in zip((2 * g, 2 * g + 1), pair):
                    row = i % local
                    if bits <= 8:
                        lane, column, bit = row, META + e // 16, e % 16 * 2
                    else:
                        lane, column, bit = row // 16 * 16 + e // 8 * 8 + row % 8, META, 16 * (row % 16 // 8) + e % 8 * 2
                    cell = cells[i // local, lane]
                    cell[column] = np.uint32(int(cell[column]) & ~(3 << bit) | int(position) << bit)
        if scales:
            sa, sb = rng.integers(126, 130, (m, scales)), rng.integers(126, 130, (n, scales))
            for s in range(scales):
                for i in range(m):
                    for q in range(4):
                        write_byte(cells[i // local], 32 * q + i % 32, SFA + i % local // 32, s, sa[i, s])
                for j, cta, q in itertools.product(range(n), range(group), range(4)):
                    write_byte(cells[cta], 32 * q + j % 32, SFB + j // 32, s, sb[j, s])
            full = full * np.repeat(2.0**(sa - 127), k // scales, 1)
            bv = bv * np.repeat(2.0**(sb - 127), k // scales, 1)
        if zero is not None and zero >> 39 & 1:
            skip, use = (zero >> 40 & 255) + 1, (zero >> 48 & 255) + 1
            first = zero >> 32 & 1
            wave = np.tile(np.repeat([first, 1 - first], [skip if first else use, use if first else skip]), n)[zero & 255:][:n]
            bv = np.where(wave[:, None] == 1, 0, bv)
        product = full @ bv.T * (-1 if negate in (1, 2) else 1)
        old = rng.integers(-1000, 1000, (m, n))
        result_dtype = np.int32 if kind == "i8" else np.float32
        where = [[place(m, n, i, j, ws, group) for j in range(n)] for i in range(m)]
        for i, j in itertools.product(range(m), range(n)):
            cta, lane, column = where[i][j]
            cells[cta, lane, D + column] = np.array(old[i, j], result_dtype).view(np.uint32)
        result = cells.copy()
        for i, j in itertools.product(range(m), range(n)):
            cta, lane, column = where[i][j]
            if mask and mask[4 * cta + lane // 32] >> lane % 32 & 1:
                continue
            value = product[i, j] + old[i, j] * 2.0**-scale_d
            result[cta, lane, D + column] = np.array(value).astype(result_dtype).view(np.uint32)
        return result
    FORMS[name] = (program(issued(text, group), group, SHARED), group, model)


def write_byte(cells, lane, column, byte, value):
    cells[lane, column] = np.uint32(int(cells[lane, column]) & ~(255 << 8 * byte) | int(value) << 8 * byte)


def add_products():
    for group, kind in itertools.product((1, 2), ("f16", "tf32", "f8f6f4", "i8")):
        for sp in ("", ".sp"):
            base = f"tcgen05.mma{sp}.cta_group::{group}.kind::{kind}"
            label = f"mma{sp}{group}_{kind}"
            common = dict(kind=kind, group=group, sparse=bool(sp))
            for collector in ("discard", "fill", "use", "lastuse") if kind == "f16" else ("discard",):
                add_mma(f"{label}_{collector}", f"{base}.collector::a::{collector}", **common)
            add_mma(f"{label}_ts", base, ts=True, **common)
            add_mma(f"{label}_ashift", f"{base}.ashift.collector::a::discard", ts=True, ashift=True, **common)
            if not sp:
                add_mma(f"{label}_half", base, m=64 * group, n=32, **common)
                add_mma(f"{label}_half_ts", base, m=64 * group, n=32, ts=True, **common)
                add_mma(f"{label}_lanes", base, mask=[0x80000001, 0, 0xFFFF0000, 0x0F0F0F0F, 1, 2, 4, 8][:4 * group], **common)
                if kind != "i8":
                    add_mma(f"{label}_negate", base, negate=1, **common)
                if kind in ("f16", "tf32"):
                    add_mma(f"{label}_scale_d", base, scale_d=3, tail=", 3", **common)
    for group in (1, 2):
        for kind, spellings in (("mxf8f6f4", (("", 1), (".block32", 1), (".scale_vec::1X", 1))), ("mxf4", (("", 2), (".block32", 2), (".scale_vec::2X", 2))),
                                ("mxf4nvf4", ((".block16", 4), (".block32", 2), (".scale_vec::4X", 4), (".scale_vec::2X", 2)))):
            for spelling, scales in spellings:
                if group == 1 and "X" in spelling:  # the collector is optional
                    add_mma(f"mma_{kind}{spelling.replace('::', '')}_bare", f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{spelling}", kind=kind, scales=scales)
                for sp in ("", ".sp"):
                    base = f"tcgen05.mma{sp}.cta_group::{group}.kind::{kind}.block_scale{spelling}.collector::a::discard"
                    add_mma(f"mma{sp}{group}_{kind}{spelling.replace('::', '')}", base, kind=kind, group=group, scales=scales, sparse=bool(sp))
    for kind in ("f16", "tf32", "f8f6f4", "i8"):
        for sp in ("", ".sp"):
            for collector in ("b0::discard", "b1::fill", "b2::use", "b3::lastuse") if kind == "f16" else ("b0::discard",):
                add_mma(f"mma.ws{sp}_{kind}_{collector[:2]}", f"tcgen05.mma.ws{sp}.cta_group::1.kind::{kind}.collector::{collector}", kind=kind, ws=True,
                        sparse=bool(sp))
        for m in (32, 64):
            add_mma(f"mma.ws_{kind}_m{m}", f"tcgen05.mma.ws.cta_group::1.kind::{kind}", kind=kind, ws=True, m=m)
    add_mma("mma.ws_f16_zero", "tcgen05.mma.ws.cta_group::1.kind::f16", kind="f16", ws=True, tail=", %rd14", zero=1 | 1 << 32 | 1 << 39 | 2 << 40 | 4 << 48)


add_moves()
add_copies()
add_products()
