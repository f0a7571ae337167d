# test/conformance/cases/wmma.py - sparse mma and wgmma, the quad-pair mma, wmma: one instruction a kernel, written as PTX here
"""As in warp.py: integer data, exact products, bits compared, kernels for sm_90a. Where the metadata of a row lies is this file's
reading of the ISA's figures; what the entries mean was confirmed on an H200 (test/device/probes)."""
import itertools
import numpy as np
from . import warp
from .warp import BITS, FORMS, draw, fragment_a, fragment_b, fragment_c, loads, program, put, stores, vector

u32 = lambda x: np.ascontiguousarray(x).view(np.uint32)


def keep_half(rng, values, codes, fmt):
    """[m, k] dense: zeroes half of it. Returns the dense values, the kept codes [m, k / 2] and the 2-bit entries of each row."""
    m, k = values.shape
    width = 2 if fmt in ("s4", "u4") else 1   # an entry names a pair of 4-bit elements
    dense, kept, entries = np.zeros_like(values), [], []
    for i in range(m):
        row_kept, row_entries = [], []
        if fmt == "tf32":
            for g in range(k // 2):
                e = int(rng.integers(2))
                dense[i, 2 * g + e] = values[i, 2 * g + e]
                row_kept.append(codes[i, 2 * g + e])
                row_entries += [2 * e, 2 * e + 1]
        else:
            for g in range(k // (4 * width)):
                for e in sorted(rng.choice(4, 2, replace=False)):
                    at = slice(width * (4 * g + e), width * (4 * g + e + 1))
                    dense[i, at] = values[i, at]
                    row_kept += list(codes[i, at])
                    row_entries.append(int(e))
        kept.append(row_kept)
        entries.append(row_entries)
    return dense, np.array(kept, codes.dtype), np.array(entries)


def metadata(rng, entries, selector):
    """One register [lane] for 16 rows: eight entries of row r in a thread of the group r % 8, upper half for r >= 8; the threads that
    the selector does not name hold something else."""
    regs = rng.integers(0, 2**32, 32, dtype=np.uint32)
    per_row = entries.shape[1]
    for r, t in itertools.product(range(8), range(per_row // 8)):
        word = 0
        for half, e in itertools.product(range(2), range(8)):
            word |= int(entries[r + 8 * half, 8 * t + e]) << 16 * half + 2 * e
        regs[4 * r + selector * (per_row // 8) + t] = word
    return regs


def add_sparse(k, a, b, d, ordered=True, selector=0, satfinite=False):
    kind = f"mma.sp{'::ordered_metadata' if ordered else ''}.sync.aligned.m16n8k{k}.row.col{'.satfinite' if satfinite else ''}.{d}.{a}.{b}.{d}"
    na, nb, nc = k * BITS[a] // 128, k * BITS[b] // 128, 2 if d == "f16" else 4
    body = "\n".join([loads("a", na + 1, "%rd0", 32), loads("b", nb, "%rd1", 32), loads("c", nc, "%rd2", 32),
                      f"  {kind} {vector('c', nc)}, {vector('a', na)}, {vector('b', nb)}, {vector('c', nc)}, %a{na}, {selector};", stores("c", nc, 32)])

    def build(rng):
        (av, ac), (bv, bc) = draw(rng, (16, k), a), draw(rng, (8, k), b)
        dense, kept, entries = keep_half(rng, av, ac, a)
        old = rng.integers(-100, 100, (16, 8)).astype(np.float64) + (2**31 - 2000 if satfinite else 0)
        new = dense @ bv.T + old
        if satfinite:
            new = np.minimum(new, 2**31 - 1)
        regs = np.vstack([u32(fragment_a(kept, a, 16)), metadata(rng, entries, selector)[None]])
        return [regs, u32(fragment_b(bc, b)), u32(fragment_c(old, d))], u32(fragment_c(new, d))
    FORMS[f"{kind}_{selector}"] = (program(32, body), 32, build)


for t, d in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
    for k, selectors in ((16, 4), (32, 2)):
        for selector in range(selectors):
            add_sparse(k, t, t, d, selector=selector)
    add_sparse(32, t, t, d, ordered=False)
for k, selectors in ((8, 4), (16, 2)):
    for selector in range(selectors):
        add_sparse(k, "tf32", "tf32", "f32", selector=selector)
for a, b in itertools.product(("s8", "u8"), repeat=2):
    add_sparse(32, a, b, "s32", selector=1)
    add_sparse(64, a, b, "s32")
    add_sparse(64, a, b, "s32", satfinite=True)
for a, b in itertools.product(("s4", "u4"), repeat=2):
    add_sparse(64, a, b, "s32", selector=1)
    add_sparse(128, a, b, "s32")
for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
    add_sparse(64, a, b, "f32")


# ------------------------------------------------------------------------------------------------------------ wgmma.sp
def add_sparse_wgmma(n, a, b, d, rs=False, selector=0):
    k = 512 // BITS[a]
    kind = f"m64n{n}k{k}.{d}.{a}.{b}"
    count, start_b, size = n // (4 if d == "f16" else 2), 16384, 16384 + 32768
    flags = "" if d == "s32" else ", 1, 1"
    if a in ("f16", "bf16"):
        flags += ", 0" if rs else ", 0, 0"
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
{loads("a", 5, "%rd1", 128)}
{loads("c", count, "%rd2", 128)}
  and.b32 %r5, %r1, 0x3FFFF;
  shr.u32 %r5, %r5, 4;
  cvt.u64.u32 %rd12, %r5;
  add.u64 %rd13, %rd12, {start_b // 16};
  or.b64 %rd12, %rd12, {1 << 62 | 64 << 32 | 1 << 16};
  or.b64 %rd13, %rd13, {1 << 62 | 64 << 32 | 1 << 16};
  setp.eq.u32 %p2, %r0, %r0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sp.sync.aligned.{kind} {vector("c", count)}, {left}, %rd13, %a4, {selector}, %p2{flags};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{stores("c", count, 128)}"""

    def build(rng):
        (av, ac), (bv, bc) = draw(rng, (64, k), a), draw(rng, (n, k), b)
        dense, kept, entries = keep_half(rng, av, ac, a)
        image = rng.integers(0, 256, size).astype(np.uint8)
        if not rs:
            put(image, 0, kept, a, False)
        put(image, start_b, bc, b, False)
        regs = np.concatenate([np.vstack([fragment_a(kept[16 * w:16 * w + 16], a, 16), metadata(rng, entries[16 * w:16 * w + 16], selector)[None]])
                               for w in range(4)], 1)
        old = rng.integers(-100, 100, (64, n)).astype(np.float64)
        tile = lambda v: np.concatenate([fragment_c(v[16 * w:16 * w + 16], d) for w in range(4)], 1)
        return [image, regs, tile(old)], tile(dense @ bv.T + old)
    FORMS[f"wgmma.sp.{kind}{'_rs' * rs}_{selector}"] = (program(128, body, shared=size), 128, build)


for rs in (False, True):
    for n, selector in ((8, 0), (64, 1)):
        add_sparse_wgmma(n, "f16", "f16", "f32", rs, selector)
        add_sparse_wgmma(n, "f16", "f16", "f16", rs, selector)
        add_sparse_wgmma(n, "bf16", "bf16", "f32", rs, selector)
        add_sparse_wgmma(n, "tf32", "tf32", "f32", rs, selector)
    add_sparse_wgmma(64, "e4m3", "e5m2", "f32", rs)
    add_sparse_wgmma(64, "s8", "u8", "s32", rs)


# ------------------------------------------------------------------------------------------------------------ mma.m8n8k4 of f16
def add_quad_pair(row_a, row_b, d, c):
    kind = f"mma.sync.aligned.m8n8k4.{'row' if row_a else 'col'}.{'row' if row_b else 'col'}.{d}.f16.f16.{c}"
    nd, nc = (8 if t == "f32" else 4 for t in (d, c))
    body = "\n".join([loads("a", 2, "%rd0", 32), loads("b", 2, "%rd1", 32), loads("c", nc, "%rd2", 32),
                      f"  {kind} {{{', '.join(f'%c{20 + i}' for i in range(nd))}}}, {vector('a', 2)}, {vector('b', 2)}, {vector('c', nc)};",
                      "  add.u64 %rd10, %rd3, %rd4;"] + [f"  st.global.b32 [%rd10+{128 * i}], %c{20 + i};" for i in range(nd)])

    def build(rng):
        a, b, old = rng.integers(-5, 6, (4, 8, 4)), rng.integers(-5, 6, (4, 4, 8)), rng.integers(-100, 100, (4, 8, 8))
        half = lambda v: int(np.float16(v).view(np.uint16))
        ra, rb = np.zeros((2, 32), np.uint32), np.zeros((2, 32), np.uint32)
        for lane, i in itertools.product(range(32), range(4)):
            q, t, up = lane % 16 // 4, lane % 4, 4 if lane >= 16 else 0
            ra[i // 2, lane] |= np.uint32(half(a[q, t + up, i] if row_a else a[q, i + up, t]) << 16 * (i % 2))
            rb[i // 2, lane] |= np.uint32(half(b[q, t, i + up] if row_b else b[q, i, t + up]) << 16 * (i % 2))

        def accumulators(v, kind):
            regs = np.zeros((8 if kind == "f32" else 4, 32), np.uint32)
            for lane, i in itertools.product(range(32), range(8)):
                q, t, up = lane % 16 // 4, lane % 4, 4 if lane >= 16 else 0
                if kind == "f32":
                    regs[i, lane] = np.float32(v[q, (lane & 1) + (i & 2) + up, (i & 4) + (lane & 2) + (i & 1)]).view(np.uint32)
                else:
                    regs[i // 2, lane] |= np.uint32(half(v[q, t + up, i]) << 16 * (i % 2))
            return regs
        return [ra, rb, accumulators(old, c)], accumulators(a @ b + old, d)
    FORMS[kind] = (program(32, body), 32, build)


for row_a, row_b in itertools.product((False, True), repeat=2):
    add_quad_pair(row_a, row_b, "f32", "f32")
for d, c in (("f16", "f16"), ("f32", "f16"), ("f16", "f32")):
    add_quad_pair(True, False, d, c)


# ------------------------------------------------------------------------------------------------------------ wmma
def in_memory(codes, fmt, row_major, stride):
    """[rows, columns] codes as bytes, `stride` elements from one row (or column) to the next."""
    m = codes if row_major else codes.T
    wide = np.zeros((m.shape[0], stride), codes.dtype)
    wide[:, :m.shape[1]] = m
    bits = BITS.get(fmt, 32)
    if bits == 1:
        return np.packbits(wide.astype(np.uint8), axis=1, bitorder="little").reshape(-1)
    if bits == 4:
        return (wide[:, 0::2] | wide[:, 1::2] << 4).astype(np.uint8).reshape(-1)
    return np.ascontiguousarray(wide.astype({8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.float64}[bits])).view(np.uint8).reshape(-1)


def add_wmma(m, n, k, a, b, d, row_a, row_b, row_d, padding=0, bit_op=None, satfinite=False):
    shape, order = f"m{m}n{n}k{k}", lambda row: "row" if row else "col"
    bits = lambda t: BITS.get(t, 32)
    count = lambda t, elements, ab: 8 if t == "f16" and ab else max(1, elements * bits(t) // 32 // (64 if t == "f64" else 32))
    name = lambda t: ("x", "y", "z") if t == "f64" else ("a", "b", "c")
    ra, rb, rc = (vector(name(a)[i], c) for i, c in enumerate((count(a, m * k, True), count(b, k * n, True), count(d, m * n, False))))
    stride_a, stride_b, stride_d = (k if row_a else m) + padding, (n if row_b else k) + padding, n if row_d else m
    s = lambda v: f", {v}" if padding else ""
    types = f"{d}.{d}" if a == "f16" else f"{d}.{a}.{b}.{d}"
    op = f".{bit_op}.popc" if bit_op else ""
    body = f"""  wmma.load.a.sync.aligned.{order(row_a)}.{shape}.global.{a} {ra}, [%rd0]{s(stride_a)};
  wmma.load.b.sync.aligned.{order(row_b)}.{shape}.global.{b} {rb}, [%rd1]{s(stride_b)};
  wmma.load.c.sync.aligned.{order(row_d)}.{shape}.global.{d} {rc}, [%rd2]{s(stride_d)};
  wmma.mma{op}.sync.aligned.{order(row_a)}.{order(row_b)}.{shape}.{types}{'.satfinite' if satfinite else ''} {rc}, {ra}, {rb}, {rc};
  wmma.store.d.sync.aligned.{order(row_d)}.{shape}.global.{d} [%rd3], {rc}{s(stride_d)};"""

    def build(rng):
        (av, ac), (bv, bc) = draw(rng, (m, k), a), draw(rng, (k, n), b)
        old = rng.integers(-100, 100, (m, n)).astype(np.float64) + (2**31 - 2000 if satfinite else 0)
        product = av @ bv
        if bit_op == "xor":
            product = av.sum(1)[:, None] + bv.sum(0)[None] - 2 * product
        typed = lambda v: v.astype({"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}[d])
        codes = lambda v: typed(v) if d == "f64" else typed(v).view(np.uint16 if d == "f16" else np.uint32)
        new = np.minimum(product + old, 2**31 - 1) if satfinite else product + old
        return [in_memory(ac, a, row_a, stride_a), in_memory(bc, b, row_b, stride_b), in_memory(codes(old), d, row_d, stride_d)], \
            in_memory(codes(new), d, row_d, stride_d).view(np.uint32)
    FORMS[f"wmma.{shape}.{d}.{a}.{b}.{order(row_a)}.{order(row_b)}.{order(row_d)}{op}{'.satfinite' * satfinite}{'_strided' * bool(padding)}"] = (program(32, body), 32, build)


for shape in ((16, 16, 16), (8, 32, 16), (32, 8, 16)):
    for rows in itertools.product((True, False), repeat=3):
        add_wmma(*shape, "f16", "f16", "f32", *rows)
    for a, b, d in (("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("s8", "s8", "s32"), ("u8", "u8", "s32")):
        add_wmma(*shape, a, b, d, True, False, True)
        add_wmma(*shape, a, b, d, False, True, False)
    add_wmma(*shape, "s8", "s8", "s32", True, False, True, satfinite=True)
    add_wmma(*shape, "f16", "f16", "f32", True, False, True, padding=8)
    add_wmma(*shape, "f16", "f16", "f32", False, True, False, padding=8)
for rows in itertools.product((True, False), repeat=3):
    add_wmma(16, 16, 8, "tf32", "tf32", "f32", *rows)
    add_wmma(8, 8, 4, "f64", "f64", "f64", *rows)
for t in ("s4", "u4"):
    add_wmma(8, 8, 32, t, t, "s32", True, False, True)
for bit_op in ("xor", "and"):
    add_wmma(8, 8, 128, "b1", "b1", "s32", True, False, True, bit_op=bit_op)
