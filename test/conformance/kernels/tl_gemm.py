# test/conformance/kernels/tl_gemm.py - Triton kernels: matrix products, tensor descriptors
"""Plain tl.* GEMM kernels.  Each KERNELS entry: name, fn, signature, constexprs, options, div16 args."""
import triton
import triton.language as tl

KERNELS = []


def add(name, fn, sig, const, options=None, div16=(), targets=(100, 90), **kw):
    KERNELS.append(dict(name=name, fn=fn, signature=sig, constexprs=const, options=options or {}, div16=div16,
                        targets=targets, lang="triton", **kw))


# ---------------------------------------------------------------- (a) plain pointers
@triton.jit
def gemm_ptr(a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
             OUT: tl.constexpr, PREC: tl.constexpr, TB: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * sam + rk[None, :]
    if TB:  # B stored [N, K], K contiguous
        b = b_ptr + rn[:, None] * sbk + rk[None, :]
    else:  # B stored [K, N], N contiguous
        b = b_ptr + rk[:, None] * sbk + rn[None, :]
    acc = tl.zeros((BM, BN), OUT if (OUT == tl.int32 or OUT == tl.float64) else tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a)
        y = tl.load(b)
        if TB:
            y = y.T
        acc = tl.dot(x, y, acc, input_precision=PREC, out_dtype=acc.dtype)
        a += BK
        if TB:
            b += BK
        else:
            b += BK * sbk
    tl.store(c_ptr + rm[:, None] * scm + rn[None, :], acc.to(OUT))


def gsig(t, o):
    return dict(a_ptr="*" + t, b_ptr="*" + t, c_ptr="*" + o, M="i32", N="i32", K="i32", sam="i32", sbk="i32",
                scm="i32", BM="constexpr", BN="constexpr", BK="constexpr", OUT="constexpr", PREC="constexpr",
                TB="constexpr")


DIV = ("a_ptr", "b_ptr", "c_ptr", "M", "N", "K", "sam", "sbk", "scm")


def gc(BM, BN, BK, OUT, PREC="tf32", TB=False):
    return dict(BM=BM, BN=BN, BK=BK, OUT=OUT, PREC=PREC, TB=TB)


add("gemm_ptr_bf16", gemm_ptr, gsig("bf16", "bf16"), gc(128, 128, 64, tl.bfloat16), dict(num_warps=4), DIV)
add("gemm_ptr_bf16_nodiv", gemm_ptr, gsig("bf16", "bf16"), gc(128, 128, 64, tl.bfloat16), dict(num_warps=4))
add("gemm_ptr_bf16_w8_m128n256", gemm_ptr, gsig("bf16", "bf16"), gc(128, 256, 64, tl.bfloat16), dict(num_warps=8), DIV)
add("gemm_ptr_bf16_m64n64", gemm_ptr, gsig("bf16", "bf16"), gc(64, 64, 64, tl.bfloat16), dict(num_warps=4), DIV)
add("gemm_ptr_bf16_m256n128", gemm_ptr, gsig("bf16", "bf16"), gc(256, 128, 64, tl.bfloat16), dict(num_warps=8), DIV)
add("gemm_ptr_bf16_tb", gemm_ptr, gsig("bf16", "bf16"), gc(128, 128, 64, tl.bfloat16, TB=True), dict(num_warps=4), DIV)
add("gemm_ptr_bf16_n16", gemm_ptr, gsig("bf16", "bf16"), gc(128, 16, 64, tl.bfloat16), dict(num_warps=4), DIV)
add("gemm_ptr_bf16_cta2", gemm_ptr, gsig("bf16", "bf16"), gc(256, 128, 64, tl.bfloat16), dict(num_warps=4, num_ctas=2), DIV)
add("gemm_ptr_fp16", gemm_ptr, gsig("fp16", "fp16"), gc(128, 128, 64, tl.float16), dict(num_warps=4), DIV)
add("gemm_ptr_tf32", gemm_ptr, gsig("fp32", "fp32"), gc(128, 128, 32, tl.float32), dict(num_warps=4), DIV)
add("gemm_ptr_tf32_tb", gemm_ptr, gsig("fp32", "fp32"), gc(128, 128, 32, tl.float32, TB=True), dict(num_warps=4), DIV)
add("gemm_ptr_tf32x3", gemm_ptr, gsig("fp32", "fp32"), gc(128, 64, 32, tl.float32, "tf32x3", True), dict(num_warps=4), DIV)
add("gemm_ptr_ieee_fp32", gemm_ptr, gsig("fp32", "fp32"), gc(64, 32, 16, tl.float32, "ieee"), dict(num_warps=4), DIV)
add("gemm_ptr_fp8e4m3", gemm_ptr, gsig("fp8e4nv", "bf16"), gc(128, 128, 64, tl.bfloat16, TB=True), dict(num_warps=4), DIV)
add("gemm_ptr_fp8e4m3_nn", gemm_ptr, gsig("fp8e4nv", "bf16"), gc(128, 128, 64, tl.bfloat16), dict(num_warps=4), DIV)
add("gemm_ptr_fp8e5m2", gemm_ptr, gsig("fp8e5", "fp16"), gc(128, 128, 64, tl.float16, TB=True), dict(num_warps=4), DIV)
add("gemm_ptr_int8", gemm_ptr, gsig("i8", "i32"), gc(128, 128, 64, tl.int32, TB=True), dict(num_warps=4), DIV)
add("gemm_ptr_fp64", gemm_ptr, gsig("fp64", "fp64"), gc(32, 32, 16, tl.float64), dict(num_warps=4), DIV)


# ---------------------------------------------------------------- (b) TMA, host descriptors
@triton.jit
def gemm_tma_host(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  OUT: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a_desc.load([pm * BM, k])
        y = b_desc.load([pn * BN, k])
        acc = tl.dot(x, y.T, acc)
    c_desc.store([pm * BM, pn * BN], acc.to(OUT))


def tsig(t, o, BM, BN, BK, BNc=None):
    return dict(a_desc=f"tensordesc<{t}[{BM},{BK}]>", b_desc=f"tensordesc<{t}[{BN},{BK}]>",
                c_desc=f"tensordesc<{o}[{BM},{BNc or BN}]>", K="i32", BM="constexpr", BN="constexpr", BK="constexpr",
                OUT="constexpr")


add("gemm_tma_host_bf16", gemm_tma_host, tsig("bf16", "bf16", 128, 128, 64), dict(BM=128, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=4))
add("gemm_tma_host_tf32", gemm_tma_host, tsig("fp32", "fp32", 128, 128, 32), dict(BM=128, BN=128, BK=32, OUT=tl.float32),
    dict(num_warps=4))
add("gemm_tma_host_fp8", gemm_tma_host, tsig("fp8e4nv", "fp8e4nv", 128, 128, 128),
    dict(BM=128, BN=128, BK=128, OUT=tl.float8e4nv), dict(num_warps=4))
add("gemm_tma_host_bf16_cta2", gemm_tma_host, tsig("bf16", "bf16", 256, 128, 64),
    dict(BM=256, BN=128, BK=64, OUT=tl.bfloat16), dict(num_warps=4, num_ctas=2))
add("gemm_tma_host_bf16_cta4", gemm_tma_host, tsig("bf16", "bf16", 256, 256, 64),
    dict(BM=256, BN=256, BK=64, OUT=tl.bfloat16), dict(num_warps=4, num_ctas=4))


# ---------------------------------------------------------------- (b) TMA, device-made descriptors
@triton.jit
def gemm_tma_dev(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = a_desc.load([pm * BM, k])
        y = b_desc.load([pn * BN, k])
        acc = tl.dot(x, y.T, acc)
    c_desc.store([pm * BM, pn * BN], acc.to(tl.bfloat16))


add("gemm_tma_dev_bf16", gemm_tma_dev,
    dict(a_ptr="*bf16", b_ptr="*bf16", c_ptr="*bf16", M="i32", N="i32", K="i32", BM="constexpr", BN="constexpr",
         BK="constexpr"), dict(BM=128, BN=128, BK=64), dict(num_warps=4), ("a_ptr", "b_ptr", "c_ptr", "M", "N", "K"))


# ---------------------------------------------------------------- (c) persistent + warp specialization
@triton.jit
def gemm_persistent_ws(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                       GROUP: tl.constexpr, NSM: tl.constexpr, WS: tl.constexpr, FLAT: tl.constexpr,
                       OUT: tl.constexpr, SUB: tl.constexpr):
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    ktiles = tl.cdiv(K, BK)
    ntiles = num_m * num_n
    for tile in tl.range(tl.program_id(0), ntiles, NSM, flatten=FLAT, warp_specialize=WS):
        gid = tile // (GROUP * num_n)
        first = gid * GROUP
        gsz = min(num_m - first, GROUP)
        pm = first + (tile % gsz)
        pn = (tile % (GROUP * num_n)) // gsz
        acc = tl.zeros((BM, BN), tl.float32)
        for ki in range(ktiles):
            x = a_desc.load([pm * BM, ki * BK])
            y = b_desc.load([pn * BN, ki * BK])
            acc = tl.dot(x, y.T, acc)
        if SUB:
            t = tl.reshape(acc, (BM, 2, BN // 2))
            t = tl.permute(t, (0, 2, 1))
            t0, t1 = tl.split(t)
            c_desc.store([pm * BM, pn * BN], t0.to(OUT))
            c_desc.store([pm * BM, pn * BN + BN // 2], t1.to(OUT))
        else:
            c_desc.store([pm * BM, pn * BN], acc.to(OUT))


def psig(t, o, BM, BN, BK, SUB=False):
    return dict(a_desc=f"tensordesc<{t}[{BM},{BK}]>", b_desc=f"tensordesc<{t}[{BN},{BK}]>",
                c_desc=f"tensordesc<{o}[{BM},{BN // 2 if SUB else BN}]>", M="i32", N="i32", K="i32", BM="constexpr",
                BN="constexpr", BK="constexpr", GROUP="constexpr", NSM="constexpr", WS="constexpr", FLAT="constexpr",
                OUT="constexpr", SUB="constexpr")


def pc(BM, BN, BK, WS, FLAT, OUT, SUB=False):
    return dict(BM=BM, BN=BN, BK=BK, GROUP=8, NSM=4, WS=WS, FLAT=FLAT, OUT=OUT, SUB=SUB)


add("gemm_pers_nows_bf16", gemm_persistent_ws, psig("bf16", "bf16", 128, 128, 64), pc(128, 128, 64, False, True, tl.bfloat16),
    dict(num_warps=4))
add("gemm_pers_ws_bf16", gemm_persistent_ws, psig("bf16", "bf16", 128, 128, 64), pc(128, 128, 64, True, True, tl.bfloat16),
    dict(num_warps=4))
add("gemm_pers_ws_noflat_bf16", gemm_persistent_ws, psig("bf16", "bf16", 128, 128, 64),
    pc(128, 128, 64, True, False, tl.bfloat16), dict(num_warps=4), targets=(100,))
add("gemm_pers_ws_bf16_n256_sub", gemm_persistent_ws, psig("bf16", "bf16", 128, 256, 64, True),
    pc(128, 256, 64, True, True, tl.bfloat16, True), dict(num_warps=4))
add("gemm_pers_ws_fp8", gemm_persistent_ws, psig("fp8e4nv", "fp8e4nv", 128, 256, 128),
    pc(128, 256, 128, True, True, tl.float8e4nv), dict(num_warps=8))
add("gemm_pers_ws_bf16_cta2", gemm_persistent_ws, psig("bf16", "bf16", 256, 128, 64),
    pc(256, 128, 64, True, True, tl.bfloat16), dict(num_warps=4, num_ctas=2))


# option clc=True: the compiler converts the program_id grid into cluster-launch-control work stealing
@triton.jit
def gemm_ws_clc(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=True):
        x = a_desc.load([pm * BM, k])
        y = b_desc.load([pn * BN, k])
        acc = tl.dot(x, y.T, acc)
    c_desc.store([pm * BM, pn * BN], acc.to(OUT))


add("gemm_ws_inner_bf16", gemm_ws_clc, tsig("bf16", "bf16", 128, 128, 64), dict(BM=128, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=4), targets=(100,))
add("gemm_ws_inner_bf16_m64", gemm_ws_clc, tsig("bf16", "bf16", 64, 128, 64), dict(BM=64, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=4))
add("gemm_ws_inner_bf16_m128_w8", gemm_ws_clc, tsig("bf16", "bf16", 128, 128, 64), dict(BM=128, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=8))
add("gemm_tma_clc_bf16", gemm_tma_host, tsig("bf16", "bf16", 128, 128, 64), dict(BM=128, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=4, clc=True), targets=(100,))
add("gemm_ws_clc_bf16", gemm_ws_clc, tsig("bf16", "bf16", 128, 128, 64), dict(BM=128, BN=128, BK=64, OUT=tl.bfloat16),
    dict(num_warps=4, clc=True), targets=(100,))


# TMA gather / scatter / reduce from plain tl
@triton.jit
def tma_gather_scatter(src, dst, idx_ptr, y, BX: tl.constexpr):
    idx = tl.load(idx_ptr + tl.arange(0, BX))
    v = src.gather(idx, y)
    dst.scatter(v, idx, y)


add("tma_gather_scatter_bf16", tma_gather_scatter,
    dict(src="tensordesc<bf16[1,64]>", dst="tensordesc<bf16[1,64]>", idx_ptr="*i32", y="i32", BX="constexpr"), dict(BX=32),
    dict(num_warps=4), ("idx_ptr",), targets=(100,))


@triton.jit
def tma_reduce(dst, x_ptr, OP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    o = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    v = tl.load(x_ptr + o)
    p = tl.program_id(0)
    if OP == "add":
        dst.atomic_add([p * BM, 0], v)
    elif OP == "min":
        dst.atomic_min([p * BM, 0], v)
    elif OP == "max":
        dst.atomic_max([p * BM, 0], v)
    elif OP == "and":
        dst.atomic_and([p * BM, 0], v)
    elif OP == "or":
        dst.atomic_or([p * BM, 0], v)
    else:
        dst.atomic_xor([p * BM, 0], v)


for _t, _o in [("fp32", "add"), ("bf16", "add"), ("bf16", "min"), ("fp16", "max"), ("i32", "min"), ("i32", "and"), ("i32", "or"),
               ("i32", "xor"), ("u32", "max")]:
    add(f"tma_reduce_{_o}_{_t}", tma_reduce,
        dict(dst=f"tensordesc<{_t}[32,32]>", x_ptr="*" + _t, OP="constexpr", BM="constexpr", BN="constexpr"),
        dict(OP=_o, BM=32, BN=32), dict(num_warps=4), ("x_ptr",), need_driver=_o in ("min", "max"))


@triton.jit
def tma_copy_nd(src, dst, RANK: tl.constexpr):
    p = tl.program_id(0)
    if RANK == 1:
        dst.store([p * 256], src.load([p * 256]))
    elif RANK == 3:
        dst.store([p, 0, 0], src.load([p, 0, 0]))
    elif RANK == 4:
        dst.store([p, 0, 0, 0], src.load([p, 0, 0, 0]))
    else:
        dst.store([p, 0, 0, 0, 0], src.load([p, 0, 0, 0, 0]))


for _r, _b in [(1, "256"), (3, "2,16,32"), (4, "2,2,16,32"), (5, "1,2,2,16,32")]:
    add(f"tma_copy_{_r}d_fp16", tma_copy_nd,
        dict(src=f"tensordesc<fp16[{_b}]>", dst=f"tensordesc<fp16[{_b}]>", RANK="constexpr"), dict(RANK=_r), dict(num_warps=4))
