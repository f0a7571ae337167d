# test/conformance/kernels/tl_misc.py - Triton kernels: the code around tensor instructions
"""Generic SIMT kernels: reductions, scans, sort, atomics, conversions, math, PDL, printf, assert, cluster-free.  They give the
surrounding integer/float/shuffle/shared-memory PTX that Triton emits."""
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.language.extra import cuda as tlc

KERNELS = []


def add(name, fn, sig, const, div16=(), targets=(100, 90), **opt):
    opt.setdefault("num_warps", 4)
    KERNELS.append(dict(name=name, fn=fn, signature=sig, constexprs=const, options=opt, div16=div16, targets=targets, lang="triton"))


@triton.jit
def softmax(x_ptr, y_ptr, n, stride, B: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, B)
    x = tl.load(x_ptr + r * stride + o, mask=o < n, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, 0)
    e = tl.exp(x)
    tl.store(y_ptr + r * stride + o, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=o < n)


add("misc_softmax", softmax, dict(x_ptr="*bf16", y_ptr="*bf16", n="i32", stride="i32", B="constexpr"), dict(B=1024), ("x_ptr", "y_ptr", "stride"))


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    o = tl.arange(0, B)
    m = o < n
    x = tl.load(x_ptr + r * n + o, mask=m, other=0.).to(tl.float32)
    mu = tl.sum(x, 0) / n
    d = tl.where(m, x - mu, 0.)
    rs = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    y = d * rs * tl.load(w_ptr + o, mask=m) + tl.load(b_ptr + o, mask=m)
    tl.store(y_ptr + r * n + o, y.to(tl.float16), mask=m)


add("misc_layernorm", layernorm, dict(x_ptr="*fp16", w_ptr="*fp32", b_ptr="*fp32", y_ptr="*fp16", n="i32", eps="fp32", B="constexpr"), dict(B=2048), ("x_ptr", "w_ptr", "b_ptr", "y_ptr"))


@triton.jit
def scans(x_ptr, y_ptr, i_ptr, h_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + o, tl.cumsum(x, 0) + tl.cumprod(x, 0))
    k = tl.load(i_ptr + o)
    tl.store(i_ptr + o, tl.sort(k))
    tl.store(h_ptr + tl.arange(0, 64), tl.histogram(k & 63, 64))
    tl.store(h_ptr + 64, tl.argmax(x, 0) + tl.argmin(x, 0) + tl.max(k, 0) + tl.min(k, 0) + tl.xor_sum(k, 0))


add("misc_scan_sort_hist", scans, dict(x_ptr="*fp32", y_ptr="*fp32", i_ptr="*i32", h_ptr="*i32", B="constexpr"), dict(B=512), ("x_ptr", "y_ptr", "i_ptr", "h_ptr"))


@triton.jit
def casts(a_ptr, p_ptr, r_ptr, o_ptr, q_ptr, h_ptr, b_ptr, d_ptr, i_ptr, l_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(a_ptr + o)
    tl.store(o_ptr + o, a.to(tl.float8e4nv))
    tl.store(q_ptr + o, a.to(tl.float8e5))
    h = a.to(tl.float16) + tl.load(p_ptr + o).to(tl.float16) + tl.load(r_ptr + o).to(tl.float16)
    tl.store(h_ptr + o, h)
    tl.store(b_ptr + o, a.to(tl.bfloat16) * h.to(tl.bfloat16))
    tl.store(d_ptr + o, a.to(tl.float64) * 1.5)
    tl.store(i_ptr + o, a.to(tl.int32) // 7 + a.to(tl.int32) % 5)
    tl.store(l_ptr + o, a.to(tl.int64) // 7 + a.to(tl.int8).to(tl.int64) + a.to(tl.uint32).to(tl.int64))


add("misc_casts", casts, dict(a_ptr="*fp32", p_ptr="*fp8e4nv", r_ptr="*fp8e5", o_ptr="*fp8e4nv", q_ptr="*fp8e5", h_ptr="*fp16", b_ptr="*bf16", d_ptr="*fp64", i_ptr="*i32", l_ptr="*i64", B="constexpr"), dict(B=1024),
    ("a_ptr", "p_ptr", "r_ptr", "o_ptr", "q_ptr", "h_ptr", "b_ptr", "d_ptr", "i_ptr", "l_ptr"))


@triton.jit
def maths(a_ptr, o_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    a = tl.load(a_ptr + o)
    r = tl.exp(a) + tl.log(a) + tl.exp2(a) + tl.log2(a) + tl.sin(a) + tl.cos(a) + tl.sqrt(a) + tl.rsqrt(a) + tl.sqrt_rn(a) + tl.div_rn(a, 3.0) + tl.fdiv(a, r_c(a))
    r += tl.abs(a) + tl.floor(a) + tl.ceil(a) + tl.erf(a) + libdevice.tanh(a) + libdevice.pow(a, a) + tl.sigmoid(a) + tl.clamp(a, 0.0, 1.0) + tl.fma(a, a, a)
    tl.store(o_ptr + o, r)


@triton.jit
def r_c(a):
    return a + 2.0


add("misc_math", maths, dict(a_ptr="*fp32", o_ptr="*fp32", B="constexpr"), dict(B=256), ("a_ptr", "o_ptr"))


@triton.jit
def random_numbers(o_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(o_ptr + o, tl.rand(17, o))


add("misc_random", random_numbers, dict(o_ptr="*fp32", B="constexpr"), dict(B=256), ("o_ptr",))


@triton.jit
def pdl(x_ptr, y_ptr, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tlc.gdc_wait()
    x = tl.load(x_ptr + o)
    tlc.gdc_launch_dependents()
    t = tlc.globaltimer()
    s = tlc.smid()
    tl.store(y_ptr + o, x + (s >= 0).to(tl.int32) + (t > 0).to(tl.int32) + tlc.num_threads() + tlc.num_warps())


add("misc_pdl", pdl, dict(x_ptr="*i32", y_ptr="*i32", B="constexpr"), dict(B=128), ("x_ptr", "y_ptr"), launch_pdl=True)


@triton.jit
def dbg(x_ptr, n):
    v = tl.load(x_ptr + tl.program_id(0))
    tl.device_print("v", v)
    tl.device_assert(v < n, "bad")
    tl.store(x_ptr, v + 1)


add("misc_print_assert", dbg, dict(x_ptr="*i32", n="i32"), {}, ("x_ptr", ), debug=True)


@triton.jit
def atom(x_ptr, f_ptr, h_ptr, l_ptr, y_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    m = o < 100
    tl.atomic_add(f_ptr + o, 1.0, mask=m, sem="relaxed", scope="gpu")
    tl.atomic_add(h_ptr + o, tl.load(h_ptr + o), sem="acq_rel")
    r = tl.atomic_cas(x_ptr + o, o, o + 1, sem="acquire", scope="sys")
    r += tl.atomic_xchg(x_ptr + o, 5, sem="release", scope="cta")
    r += tl.atomic_max(x_ptr + o, r)
    tl.atomic_max(f_ptr + o, tl.load(f_ptr + o))
    tl.atomic_add(l_ptr + o, r.to(tl.int64))
    tl.atomic_and(x_ptr + o, r)
    tl.atomic_or(x_ptr + o, r)
    tl.atomic_xor(x_ptr + o, r)
    tl.atomic_min(x_ptr + o, r)
    while tl.atomic_cas(y_ptr, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.atomic_xchg(y_ptr, 0)


add("misc_atomics", atom, dict(x_ptr="*i32", f_ptr="*fp32", h_ptr="*fp16", l_ptr="*i64", y_ptr="*i32", B="constexpr"), dict(B=128), ("x_ptr", "f_ptr", "h_ptr", "l_ptr", "y_ptr"))


@triton.jit
def gath(x_ptr, i_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    o = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + o)
    i = tl.load(i_ptr + o)
    g = tl.gather(x, i, 1)
    t = tl.trans(g)
    j = tl.join(t, t * 2)
    a, b = tl.split(j)
    tl.store(y_ptr + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], a + tl.flip(b, 1))


add("misc_gather_trans", gath, dict(x_ptr="*fp32", i_ptr="*i32", y_ptr="*fp32", M="constexpr", N="constexpr"), dict(M=32, N=64), ("x_ptr", "i_ptr", "y_ptr"))


@triton.jit
def evict(x_ptr, y_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    x = tl.load(x_ptr + o, eviction_policy="evict_first") + tl.load(x_ptr + B + o, eviction_policy="evict_last") + tl.load(x_ptr + 2 * B + o, cache_modifier=".ca") \
        + tl.load(x_ptr + 3 * B + o, cache_modifier=".cg") + tl.load(x_ptr + 4 * B + o, volatile=True) + tl.load(x_ptr + 5 * B + o, cache_modifier=".cv")
    tl.store(y_ptr + o, x, cache_modifier=".cs")
    tl.store(y_ptr + B + o, x, cache_modifier=".wt")
    tl.store(y_ptr + 2 * B + o, x, eviction_policy="evict_first")
    tl.store(y_ptr + 3 * B + o, x, cache_modifier=".wb")
    tl.store(y_ptr + 4 * B + o, x, cache_modifier=".cg")


add("misc_evict", evict, dict(x_ptr="*fp32", y_ptr="*fp32", B="constexpr"), dict(B=512), ("x_ptr", "y_ptr"))
