# test/device/probes/convert.py - every kind of cvt: rounding, saturation, special values
import numpy as np
from operands import bf16, f16, f32, f64, integers, no_nan, pairs, shuffled
from probe import ANY_NAN, Bound, elementwise

HALF = [x + s for x in range(-20, 21) for s in (0, 0.5)] + [2147483647.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967295.0, 4294967296.0, 32767.5,
        65535.5, 127.5, 128.5, 255.5, 256, 448, 464, 465, 480, 57344, 61440, 65504, 65519, 65520, 2.0 ** -9, 2.0 ** -10, 1.5 * 2.0 ** -10, 2.0 ** -16, 2.0 ** -17, 2.0 ** -24, 2.0 ** -25]


def wide(name):
    return f32(name, HALF + [-x for x in HALF if x > 20])


def one(form, operand, out, template="{form} {d}, {s};"):
    kinds = form.split(".")[-2:]
    # From or to f64 a NaN keeps bits that the ISA does not speak of.
    unsaid = "f64" in kinds and all(k in ("f16", "f32", "f64", "tf32") for k in kinds)
    elementwise("convert", form, [operand], out, template, kinds[0] if unsaid else "", bound=Bound(ANY_NAN) if unsaid else None)


def build():
    for form in ("rn.f16.f32", "rz.f16.f32", "rn.ftz.f16.f32", "rn.sat.f16.f32", "rn.bf16.f32", "rz.bf16.f32", "rn.relu.f16.f32", "rn.relu.bf16.f32", "rn.satfinite.f16.f32",
                 "rn.satfinite.bf16.f32"):
        one("cvt." + form, wide(form), 16)
    for form in ("rn.f16x2.f32", "rz.f16x2.f32", "rn.relu.f16x2.f32", "rn.bf16x2.f32", "rz.bf16x2.f32", "rn.relu.bf16x2.f32", "rn.satfinite.f16x2.f32"):
        elementwise("convert", "cvt." + form, [wide(form), shuffled(wide(form + " 1"), form)], 32)
    for form in ("rna.tf32.f32", "rn.tf32.f32", "rz.tf32.f32", "rn.relu.tf32.f32", "rna.satfinite.tf32.f32"):
        # An H200 makes infinities and numbers of some NaN by .rna: the ISA leaves it open.
        operand = no_nan(wide(form)) if "rna" in form else wide(form)
        elementwise("convert", "cvt." + form, [operand], 32, formats="tf32", bound=Bound(ANY_NAN + "; the low 13 bits are no part of a tf32"))
    for form in ("e4m3x2.f32", "e5m2x2.f32", "relu.e4m3x2.f32", "relu.e5m2x2.f32"):
        parts = form.split(".")
        text = ".".join(["cvt.rn.satfinite"] + parts)
        elementwise("convert", text, [wide(form), shuffled(wide(form + " 1"), form)], 16)
    for form in ("e4m3x2.f16x2", "e5m2x2.f16x2", "relu.e4m3x2.f16x2"):
        one("cvt.rn.satfinite." + form, pairs(f16, form), 16)
    every = np.arange(65536, dtype=np.uint16)[::89][:640]
    eight = np.concatenate([np.arange(256, dtype=np.uint16) | np.arange(255, -1, -1, dtype=np.uint16) << 8, every])[:768]
    for form in ("rn.f16x2.e4m3x2", "rn.f16x2.e5m2x2", "rn.relu.f16x2.e4m3x2"):
        one("cvt." + form, eight, 32)
    one("cvt.f32.f16", f16("f32.f16"), 32)
    one("cvt.f32.bf16", bf16("f32.bf16"), 32)
    one("cvt.ftz.f32.f16", f16("ftz.f32.f16"), 32)
    one("cvt.f64.f32", f32("f64.f32"), 64)
    one("cvt.f64.f16", f16("f64.f16"), 64)
    one("cvt.f16.f64".replace("cvt", "cvt.rn"), f64("f16.f64"), 16)
    one("cvt.rn.bf16.f16", f16("bf16.f16"), 16)
    one("cvt.rn.f16.bf16", bf16("f16.bf16"), 16)
    for mode in ("rn", "rz", "rm", "rp", "rn.ftz"):
        one(f"cvt.{mode}.f32.f64", f64("f32.f64"), 32)
    for mode in ("rni", "rzi", "rmi", "rpi", "rzi.ftz"):
        one(f"cvt.{mode}.f32.f32", wide("f32.f32"), 32)
        one(f"cvt.{mode}.s32.f32", wide("s32.f32"), 32)
    one("cvt.sat.f32.f32", wide("sat"), 32)
    one("cvt.rni.f64.f64", f64("f64.f64"), 64)
    for form, operand, out in (("rzi.u32.f32", wide("u32"), 32), ("rni.u32.f32", wide("u32 "), 32), ("rzi.s64.f32", wide("s64"), 64),
                               ("rzi.u64.f32", wide("u64"), 64), ("rzi.s16.f32", wide("s16"), 16), ("rzi.u16.f32", wide("u16"), 16), ("rni.s8.f32", wide("s8"), 16), ("rni.u8.f32", wide("u8"), 16),
                               ("rzi.s32.f64", f64("s32"), 32), ("rzi.u32.f64", f64("u32"), 32), ("rzi.s64.f64", f64("s64"), 64), ("rzi.s32.f16", f16("s32"), 32), ("rni.s16.f16", f16("s16"), 16),
                               ("rzi.s32.bf16", bf16("s32b"), 32)):
        template = "{form} {d}, {s};" if out > 8 and "8.f" not in form else \
            "{form} %r20, {s}; cvt.u16.u32 {d}, %r20;"
        one("cvt." + form, operand, out, template)
    for mode in ("rn", "rz", "rm", "rp"):
        one(f"cvt.{mode}.f32.s32", integers("f32.s32"), 32)
        one(f"cvt.{mode}.f32.u64", integers("f32.u64", 64), 32)
    for form, bits, out in (("rn.f32.u32", 32, 32), ("rn.f32.s64", 64, 32), ("rn.f64.s64", 64, 64), ("rn.f64.u64", 64, 64), ("rn.f64.s32", 32, 64), ("rn.f16.s32", 32, 16),
                            ("rn.f16.u16", 16, 16), ("rn.bf16.s32", 32, 16), ("rn.bf16.u64", 64, 16)):
        one("cvt." + form, integers(form, bits), out)
    for form, bits, out in (("s64.s32", 32, 64), ("u64.u32", 32, 64), ("u32.u64", 64, 32), ("s32.s16", 16, 32), ("u32.u16", 16, 32), ("u16.u32", 32, 16), ("s32.s8", 32, 32), ("u32.u8", 32, 32),
                            ("sat.s16.s32", 32, 16), ("sat.u16.s32", 32, 16), ("sat.s32.s64", 64, 32), ("sat.u32.s32", 32, 32), ("sat.s32.u32", 32, 32), ("sat.u32.s64", 64, 32)):
        one("cvt." + form, integers(form, bits), out)
    for form in ("sat.s8.s32", "sat.u8.s32"):
        one("cvt." + form, integers(form), 32)
    elementwise("convert", "cvt.pack.sat.u8.s32.b32", [integers("pack 0"), integers("pack 1"), integers("pack 2")], 32)
    elementwise("convert", "cvt.pack.sat.s16.s32", [integers("pack16 0"), integers("pack16 1")], 32)
