# test/device/probes/matrix.py - mma.sync of every type, and wgmma with every layout, major and type
"""Two probes for most products of floating elements: `_exact` has small integers, whose sums every order of accumulation gives
exactly, so it is compared bitwise and shows each element's place; `_round` has normal numbers and shows how far the sums differ."""
import numpy as np
from operands import integers
from probe import Bound, Probe, add, entry, rng, threads

# bits of an element, bits of the numbers 0, 1, -1, 2, -2 and so on in each format
SMALL = {"f16": (16, [0, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4200, 0xc200]), "bf16": (16, [0, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4040, 0xc040]),
         "tf32": (32, [0, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40400000]), "e4m3": (8, [0, 0x38, 0xb8, 0x40, 0xc0, 0x44, 0xc4]),
         "e5m2": (8, [0, 0x3c, 0xbc, 0x40, 0xc0, 0x42, 0xc2])}
WORD = {8: np.uint8, 16: np.uint16, 32: np.uint32}
# The sum of a product may be rounded and ordered in any way (ISA, "mma": accumulation of at least single precision for f16/bf16/tf32, unspecified for fp8).
ROUNDING = {"f32": 2.0 ** -20, "f16": 2.0 ** -9, "fp8": 2.0 ** -11}


def elements(kind, words, name, exact):
    r = rng(f"{name} {kind} {exact}")
    if kind in ("s8", "u8", "s4", "u4", "b1"):
        return r.integers(0, 1 << 32, words, dtype=np.uint64).astype(np.uint32)
    if kind == "f64":
        x = r.integers(-3, 4, words // 2).astype(np.float64) if exact else r.standard_normal(words // 2)
        return x.view(np.uint32)
    bits, small = SMALL[kind]
    count = words * 32 // bits
    if exact:
        return r.choice(np.array(small, dtype=WORD[bits]), count).view(np.uint32)
    x = r.standard_normal(count).astype(np.float32)
    if kind == "f16":
        return x.astype(np.float16).view(np.uint32)
    if kind == "bf16":
        return (x.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    if kind == "tf32":
        return x.view(np.uint32) & np.uint32(0xffffe000)
    low, high = (0x20, 0x48) if kind == "e4m3" else (0x30, 0x44)
    return (r.integers(low, high, count) | r.integers(0, 2, count) << 7).astype(np.uint8).view(np.uint32)


def bound_of(exact, kinds, acc):
    if exact or acc in ("s32", "f64") and exact:
        return None, ""
    if acc == "s32":
        return None, ""
    why = "ISA: order and rounding of the accumulation are unspecified"
    if acc == "f64":
        return Bound(why, relative=2.0 ** -50), "f64"
    return Bound(why, relative=ROUNDING["fp8" if set(kinds) & {"e4m3", "e5m2"} and acc == "f32" else acc]), acc


def warp_mma(shape, a, b, acc, counts, form, sparse=False):
    """counts: 32-bit registers of A, B, C."""
    for exact in ((True,) if acc == "s32" else (True, False)):
        name = "mma_" + shape + f"_{acc}_{a}_{b}" + ("_satfinite" if "satfinite" in form else "") + ("_xor" if ".xor" in form else "") + ("_sp" if sparse else "") + ("" if acc == "s32" else "_exact" if exact else "_round")
        inputs = {n: elements(k, c * 32, name + n, exact) for n, k, c in zip("abc", (a, b, "f16" if acc == "f16" else "tf32" if acc == "f32" else acc if acc == "f64" else "s8"), counts)}
        wide = acc == "f64"
        body, at = "", 40
        lists = []
        for k, c in enumerate(counts):
            regs = []
            for i in range(c // 2 if wide else c):
                size = 8 if wide else 4
                body += f"  mul.wide.u32 %rd40, %r0, {4 * c}; add.s64 %rd40, %rd{k}, %rd40; ld.global.b{size * 8} %{'rd' if wide else 'r'}{at if not wide else at - 30}, [%rd40+{size * i}];\n"
                regs.append(f"%{'rd' if wide else 'r'}{at if not wide else at - 30}")
                at += 1
            lists.append("{" + ", ".join(regs) + "}")
        c = counts[2]
        if wide:
            outs = [f"%rd{45 + i}" for i in range(c // 2)]
            after = "".join(f"  mov.b64 {{%r{100 + 2 * i}, %r{101 + 2 * i}}}, {o};\n" for i, o in enumerate(outs))
        else:
            outs, after = [f"%r{100 + i}" for i in range(c)], ""
        extra = ""
        if sparse:
            body += "  mov.b32 %r90, 0x4e4e4e4e; mad.lo.s32 %r91, %r0, 0, 0x94e4;\n"
            extra = ", %r90, 0x0"
        body += f"  {form} {{{', '.join(outs)}}}, {lists[0]}, {lists[1]}, {lists[2]}{extra};\n" + after
        bound, fmt = bound_of(exact, (a, b), acc)
        threads("mma", name, form, body, c, inputs, bound=bound, fmt=fmt)


def mma():
    for shape, a, acc, counts in (("m16n8k16", "f16", "f32", (4, 2, 4)), ("m16n8k16", "bf16", "f32", (4, 2, 4)), ("m16n8k16", "f16", "f16", (4, 2, 2)), ("m16n8k8", "f16", "f32", (2, 1, 4)),
                                  ("m16n8k8", "bf16", "f32", (2, 1, 4)), ("m16n8k8", "f16", "f16", (2, 1, 2)), ("m16n8k8", "tf32", "f32", (4, 2, 4)), ("m16n8k4", "tf32", "f32", (2, 1, 4))):
        warp_mma(shape, a, a, acc, counts, f"mma.sync.aligned.{shape}.row.col.{acc}.{a}.{a}.{acc}")
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            warp_mma("m16n8k32", a, b, "f32", (4, 2, 4), f"mma.sync.aligned.m16n8k32.row.col.f32.{a}.{b}.f32")
    for a, b in (("s8", "s8"), ("u8", "s8"), ("u8", "u8")):
        warp_mma("m16n8k32", a, b, "s32", (4, 2, 4), f"mma.sync.aligned.m16n8k32.row.col.s32.{a}.{b}.s32")
        warp_mma("m16n8k16", a, b, "s32", (2, 1, 4), f"mma.sync.aligned.m16n8k16.row.col.s32.{a}.{b}.s32")
        warp_mma("m8n8k16", a, b, "s32", (1, 1, 2), f"mma.sync.aligned.m8n8k16.row.col.s32.{a}.{b}.s32")
    warp_mma("m16n8k32", "s8", "s8", "s32", (4, 2, 4), "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
    for shape, counts in (("m8n8k4", (2, 2, 4)), ("m16n8k4", (4, 2, 8)), ("m16n8k8", (8, 4, 8)), ("m16n8k16", (16, 8, 8))):
        warp_mma(shape, "f64", "f64", "f64", counts, f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64")
    for a in ("f16", "bf16"):
        warp_mma("m16n8k32", a, a, "f32", (4, 4, 4), f"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.{a}.{a}.f32", True)


# Shared memory is 32 KiB of elements; any descriptor reads some of them, so no layout has to be built here.
SWIZZLE = {"none": 0, "128B": 1, "64B": 2, "32B": 3}


def wgmma(name, n, kind_a, kind_b, acc, swizzle="128B", registers=False, majors=(0, 0), lbo=128, sbo=1024, scales=(1, 1), exact=True, scale_d=True, offset_b=16384):
    bits = {"f16": 16, "bf16": 16, "tf32": 32}.get(kind_a, 8)
    k = 256 // bits
    form = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{acc}.{kind_a}.{kind_b}"
    count = n // 2 if acc != "f16" else n // 4
    data = np.concatenate([elements(kind_a, 4096, name + "a", exact), elements(kind_b, 4096, name + "b", exact)])
    def descriptor(register, at):
        return f"  add.u32 %r22, %r20, {at}; bfe.u32 %r22, %r22, 4, 14; cvt.u64.u32 %{register}, %r22; or.b64 %{register}, %{register}, {hex(lbo // 16 << 16 | sbo // 16 << 32 | SWIZZLE[swizzle] << 62)};\n"
    body = "  .shared .align 1024 .b8 tile[32768];\n  mov.u32 %r20, tile;\n  mov.u32 %r23, %r0;\ncopy:\n  mad.lo.s32 %r24, %r23, 16, %r20; mul.wide.u32 %rd41, %r23, 16; add.s64 %rd41, %rd0, %rd41;\n" \
           "  ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd41]; st.shared.v4.b32 [%r24], {%r30, %r31, %r32, %r33};\n  add.u32 %r23, %r23, 128; setp.lt.u32 %p1, %r23, 2048;\n  @%p1 bra copy;\n" \
           "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + descriptor("rd20", 0) + descriptor("rd21", offset_b)
    start = {"f32": "0x40a00000", "f16": "0x45004500", "s32": "11"}[acc]
    body += "".join(f"  mov.b32 %r{100 + i}, {start};\n" for i in range(count))
    a = "%rd20"
    if registers:
        body += "".join(f"  mad.lo.s32 %r24, %r0, 16, %r20; ld.shared.b32 %r{40 + i}, [%r24+{4 * i}];\n" for i in range(4))
        a = "{%r40, %r41, %r42, %r43}"
    body += f"  setp.ne.b32 %p1, {1 if scale_d else 0}, 0;\n  wgmma.fence.sync.aligned;\n"
    tail = "%p1"
    if acc != "s32":
        tail += f", {scales[0]}, {scales[1]}"
    if bits == 16:
        tail += f", {majors[1]}" if registers else f", {majors[0]}, {majors[1]}"
    body += f"  {form} {{{', '.join(f'%r{100 + i}' for i in range(count))}}}, {a}, %rd21, {tail};\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n"
    bound, fmt = bound_of(exact, (kind_a, kind_b), acc)
    layout = f" {'RS' if registers else 'SS'} {swizzle} A{'KM'[majors[0]]} B{'KM'[majors[1]]}"
    threads("wgmma", name, form + layout, body, count, {"a": data}, 128, bound=bound, fmt=fmt)


def build():
    mma()
    for swizzle in SWIZZLE:
        lbo, sbo = (128, 256) if swizzle == "none" else (16, {"32B": 256, "64B": 512, "128B": 1024}[swizzle])
        wgmma(f"wgmma_ss_{swizzle}", 64, "bf16", "bf16", "f32", swizzle, lbo=lbo, sbo=sbo)
        wgmma(f"wgmma_rs_{swizzle}", 64, "bf16", "bf16", "f32", swizzle, True, lbo=lbo, sbo=sbo)
        wgmma(f"wgmma_ss_{swizzle}_fp8", 32, "e4m3", "e4m3", "f32", swizzle, lbo=lbo, sbo=sbo)
        wgmma(f"wgmma_ss_{swizzle}_tf32", 32, "tf32", "tf32", "f32", swizzle, lbo=lbo, sbo=sbo)
        for majors in ((0, 1), (1, 0), (1, 1)):
            # M-major: LBO is the stride between repeats along M or N, SBO along K
            strides = dict(lbo=2048, sbo=1024) if swizzle == "128B" else dict(lbo=1024, sbo=512) if swizzle == "64B" else dict(lbo=512, sbo=256) if swizzle == "32B" else dict(lbo=256, sbo=1024)
            wgmma(f"wgmma_ss_{swizzle}_{majors[0]}{majors[1]}", 64, "f16", "f16", "f32", swizzle, majors=majors, **strides)
        wgmma(f"wgmma_rs_{swizzle}_01", 64, "f16", "f16", "f32", swizzle, True, (0, 1), **strides)
    for n in (8, 16, 24, 32, 40, 96, 128, 192, 256):
        wgmma(f"wgmma_n{n}", n, "bf16", "bf16", "f32", sbo=256 if n > 128 else 1024)
    for n in (16, 128):
        for mode in (True, False):
            for a, b, acc in (("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f16", "f16", "f16"), ("tf32", "tf32", "f32"), ("e4m3", "e4m3", "f32"), ("e5m2", "e4m3", "f32"), ("e4m3", "e5m2", "f32"),
                              ("e5m2", "e5m2", "f32"), ("e4m3", "e4m3", "f16"), ("s8", "s8", "s32"), ("u8", "s8", "s32"), ("s8", "u8", "s32"), ("u8", "u8", "s32")):
                if acc == "s32" and not mode:
                    continue
                wgmma(f"wgmma_{a}_{b}_{acc}_n{n}_{'exact' if mode else 'round'}", n, a, b, acc, exact=mode)
                if n == 16:
                    wgmma(f"wgmma_rs_{a}_{b}_{acc}_n{n}_{'exact' if mode else 'round'}", n, a, b, acc, registers=True, exact=mode)
    for scales in ((-1, 1), (1, -1), (-1, -1)):
        wgmma(f"wgmma_scale_{scales[0]}_{scales[1]}".replace("-", "m"), 16, "bf16", "bf16", "f32", scales=scales)
    wgmma("wgmma_first", 16, "bf16", "bf16", "f32", scale_d=False)
