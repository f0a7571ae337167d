# test/device/probes/memory.py - loads, stores, atomics, ldmatrix/stmatrix, mbarrier phases
import numpy as np
from operands import bf16, f16, f32, integers, pairs
from probe import PROBES, Probe, add, entry, rng, slug, threads

ADDRESS = "  mul.wide.u32 %rd40, %r0, {size}; add.s64 %rd40, %rd0, %rd40;\n"


def loads():
    data = integers("load data", count=1024)
    for form, size, regs in (("b8", 1, "%r100"), ("u8", 1, "%r100"), ("s8", 1, "%r100"), ("b16", 2, "%h1"), ("s16", 2, "%r100"), ("b32", 4, "%r100"),
                             ("v2.b32", 8, "{%r100, %r101}"), ("v4.b32", 16, "{%r100, %r101, %r102, %r103}"), ("b64", 8, "%rd41"), ("v2.b64", 16, "{%rd41, %rd42}"),
                             ("v2.b16", 4, "{%h1, %h2}"), ("v4.u8", 4, "{%r100, %r101, %r102, %r103}")):
        after, words = "", regs.count("%r1") or 1
        if "%h1" in regs:
            after = "  cvt.u32.u16 %r100, %h1;\n" + ("  cvt.u32.u16 %r101, %h2;\n" if "%h2" in regs else "")
            words = 2 if "%h2" in regs else 1
        if "%rd41" in regs:
            after = "  mov.b64 {%r100, %r101}, %rd41;\n" + ("  mov.b64 {%r102, %r103}, %rd42;\n" if "%rd42" in regs else "")
            words = 4 if "%rd42" in regs else 2
        for prefix in ("ld.global", "ld.global.nc") if form in ("b32", "v4.b32", "b8") else ("ld.global",):
            threads("memory", slug(f"{prefix}.{form}"), f"{prefix}.{form}", ADDRESS.format(size=size) + f"  {prefix}.{form} {regs}, [%rd40];\n" + after, words, {"a": data})
        copy = "  .shared .align 16 .b8 tile[4096];\n  mov.u32 %r20, tile; mad.lo.s32 %r21, %r0, 16, %r20;\n  mul.wide.u32 %rd43, %r0, 16; add.s64 %rd43, %rd0, %rd43;\n" \
               "  ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd43]; st.shared.v4.b32 [%r21], {%r30, %r31, %r32, %r33};\n  bar.sync 0;\n"
        threads("memory", slug(f"ld.shared.{form}"), f"ld.shared.{form}", copy + f"  mad.lo.s32 %r22, %r0, {size}, %r20; ld.shared.{form} {regs}, [%r22];\n" + after, words, {"a": data})
    for q in ("relaxed.gpu", "acquire.gpu", "volatile"):
        threads("memory", slug(f"ld.{q}"), f"ld.{q}.global.b32", ADDRESS.format(size=4) + f"  ld.{q}.global.b32 %r100, [%rd40];\n", 1, {"a": data})
    threads("memory", "createpolicy_load", "ld.global.L2::cache_hint.v4.b32", ADDRESS.format(size=16) + "  createpolicy.fractional.L2::evict_last.b64 %rd44, 1.0;\n"
            "  ld.global.L2::cache_hint.v4.b32 {%r100, %r101, %r102, %r103}, [%rd40], %rd44;\n", 4, {"a": data})


def parameters():
    """Scalars of each width behind each other: the offsets are the ABI's."""
    body = "  ld.param.b32 %r10, [p1]; ld.param.b64 %rd10, [p2]; ld.param.u8 %r11, [p3]; ld.param.s16 %r12, [p4];\n  mov.b64 {%r13, %r14}, %rd10;\n" + \
        "".join(f"  st.global.b32 [%rd0+{4 * k}], %r{10 + k};\n" for k in range(5))
    add(Probe("memory", "ld_param", "ld.param.b32", entry([".param .u64 p0", ".param .b32 p1", ".param .b64 p2", ".param .u8 p3", ".param .s16 p4"], body), {}, {"out": ("uint32", (5,), "")},
              [{"buffer": "out"}, {"u32": 0x12345678}, {"u64": 0x1122334455667788}, {"u8": 200}, {"i16": -3}], block=(1, 1, 1)))


def stores():
    data = integers("store data", count=1024)
    for form, size, regs in (("b8", 1, "%r30"), ("b16", 2, "%h1"), ("b32", 4, "%r30"), ("v2.b32", 8, "{%r30, %r31}"), ("v4.b32", 16, "{%r30, %r31, %r32, %r33}"), ("b64", 8, "%rd41"),
                             ("v2.b64", 16, "{%rd41, %rd42}")):
        body = ADDRESS.format(size=16) + "  ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd40]; cvt.u16.u32 %h1, %r30; mov.b64 %rd41, {%r31, %r32}; mov.b64 %rd42, {%r30, %r33};\n"
        threads("memory", slug("st.global." + form), "st.global." + form, body + f"  mul.wide.u32 %rd43, %r0, {size}; add.s64 %rd43, %rd1, %rd43; st.global.{form} [%rd43], {regs};\n", 0, {"a": data})
        threads("memory", slug("st.shared." + form), "st.shared." + form, "  .shared .align 16 .b8 tile[512];\n  mov.u32 %r20, tile; mad.lo.s32 %r21, %r0, 16, %r20; mov.b32 %r22, 0x11223344;\n"
                "  st.shared.v4.b32 [%r21], {%r22, %r22, %r22, %r22};\n  bar.sync 0;\n" + body + f"  mad.lo.s32 %r23, %r0, {size}, %r20; st.shared.{form} [%r23], {regs};\n  bar.sync 0;\n"
                "  ld.shared.v4.b32 {%r100, %r101, %r102, %r103}, [%r21];\n", 4, {"a": data})
        PROBES[slug("st.global." + form)].outputs["out"] = ("uint8", (32 * size,), "")


def atomics():
    """Eight threads meet at every address; a value that comes back is kept only where one thread owns the address."""
    ints = {"add.u32": 4, "add.s32": 4, "min.s32": 4, "max.s32": 4, "min.u32": 4, "max.u32": 4, "and.b32": 4, "or.b32": 4, "xor.b32": 4, "inc.u32": 4, "dec.u32": 4,
            "add.u64": 8, "min.s64": 8, "max.u64": 8, "and.b64": 8, "exch.b32": 4, "exch.b64": 8, "add.f32": 4, "add.f64": 8, "add.noftz.f16x2": 4, "add.noftz.bf16x2": 4, "add.noftz.f16": 2,
            "cas.b32": 4, "cas.b64": 8, "cas.b16": 2}
    for op, size in ints.items():
        for space in ("global", "shared"):
            name = slug(f"atom.{space}.{op}")
            if "f16" in op and "x2" in op:
                start, value = pairs(f16 if ".f16" in op else bf16, name)[:32], pairs(f16 if ".f16" in op else bf16, name + " v")[:32]
            elif op == "add.f32":
                start, value = f32(name)[:32], f32(name + " v")[:32][::-1].copy()
            elif op == "add.f64":
                start, value = (rng(name + s).standard_normal(32).view(np.uint64) for s in ("", "v"))
            elif size == 2:
                start, value = f16(name)[:32], f16(name + " v")[:32][::-1].copy()
            else:
                start, value = integers(name, size * 8, count=128)[:32], integers(name + " v", size * 8, count=128)[:32]
            if op.startswith("cas"):
                start = start.copy(); start[::2] = value[::2]
            w = {2: "h", 4: "r", 8: "rd"}[size]
            b = size * 8
            body = f"  mul.wide.u32 %rd40, %r0, {size}; add.s64 %rd41, %rd0, %rd40; add.s64 %rd42, %rd1, %rd40;\n  ld.global.b{b} %{w}20, [%rd42];\n"
            at = "%rd41"
            if space == "shared":
                body += f"  .shared .align 8 .b8 tile[512];\n  mov.u32 %r21, tile; mad.lo.s32 %r21, %r0, {size}, %r21; ld.global.b{b} %{w}22, [%rd41]; st.shared.b{b} [%r21], %{w}22;\n"
                at = "%r21"
            operands = f"%{w}20" + (f", %{w}20" if op.startswith("cas") else "")
            body += f"  atom.{space}.{op} %{w}23, [{at}], {operands};\n  ld.{space}.b{b} %{w}24, [{at}];\n"
            split = {2: "cvt.u32.u16 %r{d}, %h{s};", 4: "mov.b32 %r{d}, %r{s};", 8: "mov.b64 {{%r{d}, %r{e}}}, %rd{s};"}[size]
            step = 2 if size == 8 else 1
            body += "  " + split.format(d=100, e=101, s=23) + " " + split.format(d=100 + step, e=101 + step, s=24) + "\n"
            threads("memory", name, f"atom.{space}.{op}", body, 2 * step, {"start": start, "value": value})
    for op in ("add.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32", "inc.u32"):
        name = slug("red.global." + op)
        value = integers(name, count=128)
        if op == "inc.u32":  # only one limit for an address gives one result in every order
            value = np.tile(value[:16], 8)
        threads("memory", name, "red.global." + op, "  .shared .b32 unused;\n  and.b32 %r20, %r0, 15; mul.wide.u32 %rd41, %r0, 4; add.s64 %rd41, %rd0, %rd41; ld.global.b32 %r21, [%rd41];\n"
                f"  mul.wide.u32 %rd42, %r20, 4; add.s64 %rd42, %rd1, %rd42;\n  red.global.{op} [%rd42], %r21;\n  membar.gl; bar.sync 0; ld.relaxed.gpu.global.b32 %r100, [%rd42];\n", 1,
                {"a": value, "sums": integers(name + " start", count=128)[:16]}, 128)
    name = "red_global_add_v4_f32"
    body = "  mul.wide.u32 %rd40, %r0, 16; add.s64 %rd41, %rd0, %rd40; add.s64 %rd42, %rd1, %rd40; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd41];\n" \
           "  red.global.add.v4.f32 [%rd42], {%f1, %f2, %f3, %f4};\n  membar.gl; ld.relaxed.gpu.global.b32 %r100, [%rd42]; ld.relaxed.gpu.global.b32 %r101, [%rd42+4]; ld.relaxed.gpu.global.b32 %r102, [%rd42+8]; ld.relaxed.gpu.global.b32 %r103, [%rd42+12];\n"
    values = lambda s: rng(name + s).standard_normal(128).astype(np.float32).view(np.uint32)
    threads("memory", name, "red.global.add.v4.f32", body, 4, {"a": values("a"), "sums": values("b")})


def matrices():
    data = integers("matrix data", 16, count=4096)
    fill = "  .shared .align 128 .b8 tile[8192];\n  mov.u32 %r20, tile;\n" + \
           "".join(f"  mad.lo.s32 %r21, %r0, 16, {512 * k}; add.u32 %r22, %r20, %r21; cvt.u64.u32 %rd41, %r21; add.s64 %rd41, %rd0, %rd41;"
                   " ld.global.v4.b32 {%r30, %r31, %r32, %r33}, [%rd41]; st.shared.v4.b32 [%r22], {%r30, %r31, %r32, %r33};\n" for k in range(16)) + "  bar.sync 0;\n"
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            regs = ", ".join(f"%r{100 + k}" for k in range(count))
            # rows of 48 bytes, so that no two lanes read neighbouring rows
            threads("matrix", f"ldmatrix_x{count}{slug(trans)}", f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16",
                    fill + f"  mad.lo.s32 %r23, %r0, 48, %r20;\n  ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{regs}}}, [%r23];\n", count, {"a": data})
            body = fill + "  mad.lo.s32 %r23, %r0, 48, %r20;\n" + "".join(f"  mad.lo.s32 %r{40 + k}, %r0, 8, {k * 7777}; xor.b32 %r{40 + k}, %r{40 + k}, 0x5a5a1234;\n" for k in range(count))
            sources = ", ".join(f"%r{40 + k}" for k in range(count))
            body += f"  stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r23], {{{sources}}};\n  bar.sync 0;\n  mad.lo.s32 %r23, %r0, 48, %r20;\n"
            body += "".join(f"  ld.shared.b32 %r{100 + k}, [%r23+{4 * k}];\n" for k in range(12))
            threads("matrix", f"stmatrix_x{count}{slug(trans)}", f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16", body, 12, {"a": data})


def mbarriers():
    """One thread walks a barrier through its phases and stores what each test said."""
    def walk(name, form, steps, count=2):
        body = f"  .shared .align 8 .b64 bar;\n  mov.u32 %r20, bar;\n  setp.ne.u32 %p9, %r0, 0;\n  @%p9 bra skip;\n  mbarrier.init.shared::cta.b64 [%r20], {count};\n"
        answers = 0
        for step in steps:
            if step.startswith("?"):
                body += "  " + step[1:] + f"; selp.b32 %r{100 + answers}, 1, 0, %p1;\n"
                answers += 1
            elif step.startswith("="):
                body += "  " + step[1:].replace("%out", f"%r{100 + answers}") + ";\n"
                answers += 1
            else:
                body += "  " + step + ";\n"
        stores = "".join(f"  st.global.b32 [%rd0+{4 * k}], %r{100 + k};\n" for k in range(answers))
        threads("mbarrier", name, form, body + stores + "skip:\n", 0)
        PROBES[name].outputs["out"] = ("uint32", (answers,), "")
    parity = lambda p: f"?mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r20], {p}"
    arrive = "mbarrier.arrive.shared::cta.b64 %rd10, [%r20]"
    walk("mbarrier_phases", "mbarrier.test_wait.parity.shared::cta.b64", [parity(0), parity(1), arrive, parity(0), arrive, parity(0), parity(1), arrive, arrive, parity(0), parity(1)])
    walk("mbarrier_state", "mbarrier.test_wait.shared::cta.b64", ["mbarrier.arrive.shared::cta.b64 %rd11, [%r20]", "?mbarrier.test_wait.shared::cta.b64 %p1, [%r20], %rd11",
         "mbarrier.arrive.shared::cta.b64 %rd12, [%r20]", "?mbarrier.test_wait.shared::cta.b64 %p1, [%r20], %rd11", "?mbarrier.test_wait.shared::cta.b64 %p1, [%r20], %rd12"])
    walk("mbarrier_arrive_count", "mbarrier.arrive.shared::cta.b64 count", ["mbarrier.arrive.shared::cta.b64 %rd10, [%r20], 3", parity(0), "mbarrier.arrive.shared::cta.b64 %rd10, [%r20], 2", parity(0)], 5)
    walk("mbarrier_pending_count", "mbarrier.pending_count.b64", ["mbarrier.arrive.shared::cta.b64 %rd10, [%r20]", "=mbarrier.pending_count.b64 %out, %rd10", "mbarrier.arrive.shared::cta.b64 %rd10, [%r20], 2",
         "=mbarrier.pending_count.b64 %out, %rd10"], 7)
    walk("mbarrier_arrive_drop", "mbarrier.arrive_drop.shared::cta.b64", ["mbarrier.arrive_drop.shared::cta.b64 %rd10, [%r20]", arrive, parity(0), arrive, parity(1), parity(0)])
    walk("mbarrier_no_complete", "mbarrier.arrive.noComplete.shared::cta.b64", ["mbarrier.arrive.noComplete.shared::cta.b64 %rd10, [%r20], 2", parity(0), arrive, parity(0)], 3)
    walk("mbarrier_expect_tx", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", ["mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r20], 64", arrive, arrive, parity(0),
         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r20], 48", parity(0), "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r20], 16", parity(0)])
    walk("mbarrier_arrive_expect_tx", "mbarrier.arrive.expect_tx.shared::cta.b64", ["mbarrier.arrive.expect_tx.shared::cta.b64 %rd10, [%r20], 32", arrive, parity(0),
         "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r20], 32", parity(0), parity(1)])
    walk("mbarrier_try_wait", "mbarrier.try_wait.parity.shared::cta.b64", [arrive, arrive, "?mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r20], 0", "?mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r20], 1"])


def build():
    loads()
    stores()
    parameters()
    atomics()
    matrices()
    mbarriers()
