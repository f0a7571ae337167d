# test/device/probes/scalar.py - integer, logic and floating-point arithmetic, one element per thread
import numpy as np
from operands import *
from probe import ANY_NAN, Bound, elementwise

# "max relative error / max absolute error" of the ISA's tables for the .approx forms; the emulator computes in f64 and rounds.
APPROX = {"rcp": 1, "sqrt": 2, "rsqrt": 4, "ex2": 4, "div": 4}


def ints(form, *bits, out=None, template="{form} {d}, {s};", nonzero=(), name=None):
    name = name or form.replace(".", "_")
    operands = [integers(f"{name} {k}", b, k in nonzero) for k, b in enumerate(bits)]
    elementwise("integer", form, operands, out or bits[0], template, name=name)


def integer():
    for op in ("add", "sub", "mul.lo", "min", "max"):
        for t, b in (("s32", 32), ("s64", 64)):
            ints(f"{op}.{t}", b, b)
    for form, b in (("min.u32", 32), ("max.u32", 32), ("min.u64", 64), ("max.u64", 64), ("mul.hi.s32", 32), ("mul.hi.u32", 32), ("mul.hi.s64", 64),
                    ("mul.hi.u64", 64), ("mul24.lo.s32", 32), ("mul24.hi.u32", 32), ("add.sat.s32", 32), ("sub.sat.s32", 32), ("add.u16x2", 32), ("min.s16x2", 32),
                    ("max.u16x2", 32), ("min.relu.s32", 32), ("max.relu.s32", 32), ("min.relu.s16x2", 32), ("add.u16", 16), ("mul.lo.u16", 16),
                    ("min.s16", 16), ("max.u16", 16), ("shr.s16", 16)):
        if form == "shr.s16":
            ints(form, 16, 32)
        else:
            ints(form, b, b)
    for form, b, o in (("mul.wide.s32", 32, 64), ("mul.wide.u32", 32, 64), ("mul.wide.s16", 16, 32), ("mul.wide.u16", 16, 32)):
        ints(form, b, b, out=o)
    for form, bits in (("mad.lo.s32", (32, 32, 32)), ("mad.hi.s32", (32, 32, 32)), ("mad.hi.u32", (32, 32, 32)), ("mad.lo.s64", (64, 64, 64)),
                       ("mad.hi.u64", (64, 64, 64)), ("mad.wide.u32", (32, 32, 64)), ("mad.wide.s32", (32, 32, 64)), ("mad24.lo.u32", (32, 32, 32)),
                       ("sad.u32", (32, 32, 32)), ("sad.s32", (32, 32, 32)), ("bfe.u32", (32, 32, 32)), ("bfe.s32", (32, 32, 32)),
                       ("bfi.b32", (32, 32, 32, 32)),
                       ("prmt.b32", (32, 32, 32)), ("prmt.b32.f4e", (32, 32, 32)), ("prmt.b32.b4e", (32, 32, 32)), ("prmt.b32.rc8", (32, 32, 32)),
                       ("prmt.b32.ecl", (32, 32, 32)), ("prmt.b32.ecr", (32, 32, 32)), ("prmt.b32.rc16", (32, 32, 32)),
                       ("shf.l.wrap.b32", (32, 32, 32)), ("shf.r.wrap.b32", (32, 32, 32)), ("shf.l.clamp.b32", (32, 32, 32)),
                       ("shf.r.clamp.b32", (32, 32, 32)), ("dp4a.s32.s32", (32, 32, 32)), ("dp4a.u32.u32", (32, 32, 32)),
                       ("dp4a.u32.s32", (32, 32, 32)), ("dp2a.lo.s32.s32", (32, 32, 32)), ("dp2a.hi.u32.u32", (32, 32, 32)),
                       ("slct.b32.s32", (32, 32, 32))):
        ints(form, *bits, out=64 if "wide" in form else None)
    for form, wide in (("bfe.u64", 1), ("bfe.s64", 1), ("bfi.b64", 2)):  # "restricted to the 8-bit value range": no more is asked
        operands = [integers(f"{form} {k}", 64) for k in range(wide)] + [byte_range(f"{form} position"), byte_range(f"{form} length") % 80]
        elementwise("integer", form, operands, 64)
    for form, b in (("div.s32", 32), ("div.u32", 32), ("div.s64", 64), ("div.u64", 64), ("rem.s32", 32), ("rem.u32", 32), ("rem.s64", 64), ("rem.u64", 64)):
        ints(form, b, b, nonzero=(1,))
    for form, bits in (("shl.b32", (32, 32)), ("shl.b64", (64, 32)), ("shr.u32", (32, 32)), ("shr.s32", (32, 32)), ("shr.u64", (64, 32)),
                       ("shr.s64", (64, 32)), ("and.b32", (32, 32)), ("or.b32", (32, 32)), ("xor.b32", (32, 32)), ("and.b64", (64, 64)),
                       ("or.b64", (64, 64)), ("xor.b64", (64, 64)), ("not.b32", (32,)), ("not.b64", (64,)), ("cnot.b32", (32,)), ("neg.s32", (32,)),
                       ("abs.s32", (32,)), ("abs.s64", (64,)), ("brev.b32", (32,)), ("brev.b64", (64,))):
        ints(form, *bits)
    for form, b in (("popc.b32", 32), ("popc.b64", 64), ("clz.b32", 32), ("clz.b64", 64), ("bfind.u32", 32), ("bfind.s32", 32),
                    ("bfind.u64", 64), ("bfind.s64", 64), ("bfind.shiftamt.u32", 32), ("bfind.shiftamt.s64", 64)):
        ints(form, b, out=32)
    for lut in (0x96, 0xe8, 0xca, 0x1b):
        ints("lop3.b32", 32, 32, 32, template="{form} {d}, {s}, " + hex(lut) + ";", name=f"lop3_b32_{lut:02x}")
    ints("add.cc.u32", 32, 32, 32, out=32, name="addc_u32", template="add.cc.u32 %r20, {s0}, {s1}; addc.u32 {d}, {s2}, 5;")
    ints("addc.cc.u32", 32, 32, 32, out=32, name="addc_cc_u32", template="add.cc.u32 %r20, {s0}, {s1}; addc.cc.u32 %r21, {s2}, {s1}; addc.u32 {d}, %r21, 0;")
    ints("sub.cc.u32", 32, 32, 32, out=32, name="subc_u32", template="sub.cc.u32 %r20, {s0}, {s1}; subc.u32 {d}, {s2}, 5;")
    ints("mad.lo.cc.u32", 32, 32, 32, out=32, name="madc_hi_u32", template="mad.lo.cc.u32 %r20, {s0}, {s1}, {s2}; madc.hi.u32 {d}, {s0}, {s1}, 7;")
    for t, b, ops in (("s32", 32, "eq ne lt le gt ge"), ("u32", 32, "lt le gt ge lo ls hi hs"), ("s64", 64, "lt ge"), ("u64", 64, "lt ge"), ("b32", 32, "eq ne")):
        for op in ops.split():
            ints(f"setp.{op}.{t}", b, b, out=32, template="{form} %p1, {s}; selp.b32 {d}, 1, 0, %p1;")
    ints("setp.lt.and.s32", 32, 32, out=32, template="setp.ne.b32 %p2, {s0}, 0; {form} %p1|%p3, {s}, %p2; selp.b32 {d}, 1, 0, %p1; @%p3 add.u32 {d}, {d}, 2;")
    for op in ("and", "or", "xor"):
        ints(f"{op}.pred", 32, 32, out=32, template="setp.lt.s32 %p2, {s0}, {s1}; setp.gt.u32 %p3, {s0}, 77; {form} %p1, %p2, %p3; selp.b32 {d}, 1, 0, %p1;")
    ints("not.pred", 32, out=32, template="setp.lt.s32 %p2, {s0}, 9; {form} %p1, %p2; selp.b32 {d}, 1, 0, %p1;")
    ints("setp.ne.b64", 64, 64, out=32, template="{form} %p1, {s}; selp.b32 {d}, 1, 0, %p1;")
    ints("bra.uni", 32, 32, out=32, template="mov.b32 {d}, 0;\nagain:\n  add.u32 {d}, {d}, {s0}; setp.gt.u32 %p1, {d}, 1000; @%p1 bra out; add.u32 {d}, {d}, 99; bra.uni again;\nout:")
    ints("set.gt.u32.s32", 32, 32, out=32)


def real(form, make, count, out, template="{form} {d}, {s};", bound=None, name=None, fmt=None):
    name = name or form.replace(".", "_")
    kind = form.split(".")[-1]
    operation = form.split(".")[0]
    # f64 and the halves' sign operations: which NaN comes out is not said (f32 arithmetic, min and max have a canonical NaN).
    if not bound and operation not in ("setp", "testp") and (kind == "f64" or operation in ("abs", "neg")):
        bound, fmt = Bound(ANY_NAN), kind.replace("x2", "")
    operands = [shuffled(make(f"{name} {k}"), f"{name} {k}") if k else make(name) for k in range(count)]
    elementwise("float", form, operands, out, template, fmt or "", name, bound)


def floating():
    for op in ("add", "sub", "mul"):
        for mode in ("rn", "rz", "rm", "rp", "rn.ftz", "rn.sat", "rn.ftz.sat"):
            real(f"{op}.{mode}.f32", f32, 2, 32)
        real(f"{op}.rn.f64", f64, 2, 64)
        real(f"{op}.rz.f64", f64, 2, 64)
    for mode in ("rn", "rz", "rm", "rp", "rn.ftz", "rn.sat"):
        real(f"fma.{mode}.f32", f32, 3, 32)
    for mode in ("rn", "rz", "rm", "rp"):
        real(f"fma.{mode}.f64", f64, 3, 64)
    for op in ("min", "max"):
        for form in ("f32", "ftz.f32", "NaN.f32", "ftz.NaN.f32", "xorsign.abs.f32", "NaN.xorsign.abs.f32"):
            real(f"{op}.{form}", f32, 2, 32)
        real(f"{op}.f64", f64, 2, 64)
        for form, make in (("f16x2", f16), ("NaN.f16x2", f16), ("ftz.f16x2", f16), ("bf16x2", bf16), ("NaN.bf16x2", bf16), ("xorsign.abs.bf16x2", bf16), ("NaN.xorsign.abs.f16x2", f16)):
            real(f"{op}.{form}", lambda n, m=make: pairs(m, n), 2, 32)
    for form in ("abs.f32", "abs.ftz.f32", "neg.f32", "neg.ftz.f32"):
        real(form, f32, 1, 32)
    real("abs.f64", f64, 1, 64)
    real("copysign.f32", f32, 2, 32)
    real("selp.f32", f32, 2, 32, "setp.lt.f32 %p1, {s}; {form} {d}, {s}, %p1;")
    for form in ("div.rn.f32", "div.rz.f32", "div.rn.ftz.f32"):
        real(form, f32, 2, 32)
    for form in ("rcp.rn.f32", "rcp.rz.f32", "sqrt.rn.f32", "sqrt.rm.f32", "sqrt.rn.ftz.f32"):
        real(form, f32, 1, 32)
    for form, n in (("div.rn.f64", 2), ("rcp.rn.f64", 1), ("sqrt.rn.f64", 1)):
        real(form, f64, n, 64)
    approximations()
    for op in "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split():
        real(f"setp.{op}.f32", f32, 2, 32, "{form} %p1, {s}; selp.b32 {d}, 1, 0, %p1;")
    for form, make, bits in (("setp.lt.ftz.f32", f32, 32), ("setp.leu.f64", f64, 64), ("setp.gt.f16", f16, 16), ("setp.le.bf16", bf16, 16)):
        real(form, make, 2, 32, "{form} %p1, {s}; selp.b32 {d}, 1, 0, %p1;")
    for op in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        real(f"testp.{op}.f32", f32, 1, 32, "{form} %p1, {s}; selp.b32 {d}, 1, 0, %p1;")
    halves()


def approximations():
    isa = "ISA table of maximum errors of "
    def approx(form, make, count, out, **bound):
        real(form, make, count, out, bound=Bound(isa + form, **bound), fmt={32: "f32", 16: form.split(".")[-1], 64: "f64"}[out])
    for ftz in ("", "ftz."):
        approx(f"rcp.approx.{ftz}f32", f32, 1, 32, ulps=1)
        approx(f"sqrt.approx.{ftz}f32", f32, 1, 32, ulps=2)
        approx(f"rsqrt.approx.{ftz}f32", f32, 1, 32, ulps=4)
        approx(f"ex2.approx.{ftz}f32", f32, 1, 32, ulps=4)
        approx(f"lg2.approx.{ftz}f32", f32, 1, 32, ulps=4, absolute=2.0 ** -22)
        approx(f"div.approx.{ftz}f32", small, 2, 32, ulps=4)
        approx(f"div.full.{ftz}f32", small, 2, 32, ulps=4)
    for op in ("sin", "cos"):
        approx(f"{op}.approx.f32", angles, 1, 32, absolute=2.0 ** -20)
    approx("tanh.approx.f32", f32, 1, 32, relative=2.0 ** -10.5)


def small(name):
    from probe import rng
    r = rng("small " + name)
    return (r.standard_normal(512) * np.exp2(r.integers(-20, 20, 512))).astype(np.float32).view(np.uint32)


def angles(name):
    from probe import rng
    return rng("angles " + name).uniform(-np.pi, np.pi, 512).astype(np.float32).view(np.uint32)


def halves():
    two = lambda make: lambda n: pairs(make, n)
    for op in ("add", "sub", "mul"):
        real(f"{op}.f16", f16, 2, 16)
        real(f"{op}.rn.bf16", bf16, 2, 16)
        real(f"{op}.f16x2", two(f16), 2, 32)
        real(f"{op}.rn.bf16x2", two(bf16), 2, 32)
        real(f"{op}.ftz.sat.f16x2", two(f16), 2, 32)
    for form, make in (("fma.rn.f16x2", f16), ("fma.rn.bf16x2", bf16), ("fma.rn.relu.f16x2", f16), ("fma.rn.relu.bf16x2", bf16), ("fma.rn.ftz.f16x2", f16), ("fma.rn.sat.f16x2", f16)):
        real(form, two(make), 3, 32)
    for form, make in (("neg.bf16x2", bf16), ("abs.bf16x2", bf16), ("neg.f16x2", f16), ("abs.f16x2", f16)):
        real(form, two(make), 1, 32)
    why = Bound("ISA: ex2/tanh of half types are approximations", ulps=1)
    for form, make, n in (("ex2.approx.f16", f16, 16), ("tanh.approx.f16", f16, 16), ("ex2.approx.ftz.bf16", bf16, 16), ("tanh.approx.bf16", bf16, 16)):
        real(form, make, 1, n, bound=why, fmt=form.split(".")[-1])
    for form, make in (("ex2.approx.f16x2", f16), ("ex2.approx.ftz.bf16x2", bf16), ("tanh.approx.f16x2", f16), ("tanh.approx.bf16x2", bf16)):
        real(form, two(make), 1, 32, bound=why, fmt=form.split(".")[-1][:-2])


def build():
    integer()
    floating()
