# test/conformance/cases/measured.py - attention kernels that were right on an H200 (ptx/h200), with their own launch rules
import numpy as np
from harness import Case, given, out
from formats import decode, encode
from . import case, generator
from .attention import mask_of, weights

D = 128


def blocks_of(lengths, gap):
    """Row ranges (first row, rows <= 64) of sequences that lie `gap` rows apart, and the total number of rows."""
    blocks, row = [], 0
    for n in lengths:
        row += gap
        blocks += [(row + s, min(64, n - s)) for s in range(0, n, 64)]
        row += n
    return blocks, row + gap


def blockdiag(k, inputs):
    """Inputs with NaN in every row outside the blocks: they must not spread, and outputs there must stay as they were."""
    rng, heads = generator(k), 4
    blocks, t = blocks_of([64, 130, 1, 33], 5)
    outside = np.ones(t, bool)
    for first, n in blocks:
        outside[first:first + n] = False
    data = {}
    for name in inputs:
        bits = encode(rng.standard_normal((t, heads, D)), "bf16")
        bits[outside] = 0x7FC0
        data[name] = bits
    load = lambda name: {"tensor_map": dict(buffer=name, dtype="bf16", dims=[heads * D, t], strides=[2 * heads * D], box=[64, 16], swizzle="128B",
                                            l2_promotion="128B", oob_fill="zero")}
    store = lambda name: {"tensor_map": dict(buffer=name, dtype="bf16", dims=[64, t, 2 * heads], strides=[2 * heads * D, 128], box=[64, 64, 2],
                                             swizzle="128B", l2_promotion="128B", oob_fill="zero")}
    table = given(np.array([first | n << 32 for first, n in blocks], np.uint64).view(np.int64), "i64")
    return heads, blocks, t, data, load, store, table


def tail(names):
    return [{"buffer": "list"}, {"u32": 0}] + [{"buffer": n} for n in names] + [{"u64": 0}, {"u64": 0}, {"u64": 0}, {"u32": 0}]


@case("blockdiag_forward")
def blockdiag_forward(k):
    heads, blocks, t, data, load, store, table = blockdiag(k, "qkv")
    init = np.full((t, heads, D), 0x4321, np.uint16)
    want, atol = decode(init, "bf16"), np.zeros((t, heads, D))
    for first, n in blocks:
        rows = slice(first, first + n)
        for h in range(heads):
            q, key, v = (decode(data[x][rows, h], "bf16") for x in "qkv")
            p, total, _ = weights(q, key, D**-0.5, mask_of(n, n, False))
            want[rows, h] = p @ v / total
            atol[rows, h] = p @ np.abs(v) / total * 2.0**-8
    params = [load("q"), load("k"), load("v"), store("o")] + tail(["o"])
    params[5] = {"u32": len(blocks)}
    args = dict({x: given(data[x], "bf16") for x in "qkv"}, o=out(want, "bf16", atol, init=init), list=table)
    return Case((len(blocks) * heads,), args, params)


@case("blockdiag_backward")
def blockdiag_backward(k):
    heads, blocks, t, data, load, store, table = blockdiag(k, ["q", "k", "v", "do"])
    init = np.full((t, heads, D), 0x4321, np.uint16)
    want = {x: decode(init, "bf16") for x in ("dq", "dk", "dv")}
    atol = {x: np.zeros((t, heads, D)) for x in want}
    scale, slack = D**-0.5, 2.0**-7  # P and dS are rounded to bf16, and D_i is taken from the rounded P
    for first, n in blocks:
        rows = slice(first, first + n)
        for h in range(heads):
            q, key, v, do = (decode(data[x][rows, h], "bf16") for x in ("q", "k", "v", "do"))
            p, total, _ = weights(q, key, scale, mask_of(n, n, False))
            p = p / total
            dp = do @ v.T
            ds = p * (dp - (p * dp).sum(1, keepdims=True)) * scale
            want["dq"][rows, h], want["dk"][rows, h], want["dv"][rows, h] = ds @ key, ds.T @ q, p.T @ do
            big = p * (np.abs(dp) + (p * np.abs(dp)).sum(1, keepdims=True)) * scale
            atol["dq"][rows, h], atol["dk"][rows, h] = slack * (big @ np.abs(key)), slack * (big.T @ np.abs(q))
            atol["dv"][rows, h] = slack * (p.T @ np.abs(do))
    params = [load(x) for x in ("q", "k", "v", "do")] + [store(x) for x in ("dq", "dk", "dv")] + tail(["dq", "dk", "dv"])
    params[8] = {"u32": len(blocks)}
    args = {x: given(data[x], "bf16") for x in ("q", "k", "v", "do")}
    args.update({x: out(want[x], "bf16", atol[x], init=init) for x in want}, list=table)
    return Case((len(blocks) * heads,), args, params)


@case("flash_forward")
def flash_forward(k):
    rng, heads, s, batch, causal = generator(k), 16, 320, 1, k["CAUSAL"]
    data = {x: encode(rng.standard_normal((batch, s, heads, D)), "bf16") for x in "qkv"}
    want, atol, lse = np.empty((batch, s, heads, D)), np.empty((batch, s, heads, D)), np.empty((batch, heads, s))
    work = []
    for b in range(batch):
        for h in range(heads):
            q, key, v = (decode(data[x][b, :, h], "bf16") for x in "qkv")
            p, total, top = weights(q, key, D**-0.5, mask_of(s, s, causal))
            want[b, :, h] = p @ v / total
            atol[b, :, h] = p @ np.abs(v) / total * 2.0**-8
            lse[b, h] = (top + np.log(total))[:, 0]
            for row in range(0, s, 128):
                rows = min(128, s - row)
                work.append([-(-(row + rows if causal else s) // 128), row | rows // 64 << 28, h, b])
    def tensor(name, rows):
        return {"tensor_map": dict(buffer=name, dtype="bf16", dims=[64, s, 2, heads, batch], strides=[2 * heads * D, 128, 2 * D, 2 * s * heads * D],
                                   box=[64, rows, 2, 1, 1], swizzle="128B", l2_promotion="128B", oob_fill="zero")}
    params = [tensor("q", 64), tensor("k", 128), tensor("v", 128), tensor("o", 64), {"buffer": "lse"}, {"buffer": "counter"},
              {"f32": float(np.log2(np.e) * D**-0.5)}, {"i32": s}, {"i32": len(work)}, {"buffer": "work"}]
    args = dict({x: given(data[x], "bf16") for x in "qkv"}, o=out(want, "bf16", atol), lse=out(lse, "fp32", 2e-5),
                counter=out(np.array([0]), "u32", init=np.array([0], np.uint32)), work=given(np.array(work + [[0, 0, 0, 0]], np.int32), "i32"))
    return Case((min(132, len(work)),), args, params)


def fragments(values):
    """[rows, 128] as the backward adds up dQ in global memory: blocks of 64 rows; half of the columns, 16 rows, and the registers of an
    m64n64 accumulator, four at a time, of each lane."""
    out = np.empty((len(values) // 64, 2, 4, 8, 32, 4))
    for group, lane, reg in np.ndindex(8, 32, 4):
        row, column = lane // 4 + 8 * (reg // 2), 8 * group + 2 * (lane % 4) + reg % 2
        out[:, :, :, group, lane, reg] = values.reshape(-1, 4, 16, 2, 64)[:, :, row, :, column].transpose(0, 2, 1)
    return out.reshape(-1)


def paired(rows):
    """-lse and -delta as the backward reads them: of 16 rows, the four whose columns of an accumulator a thread holds, together."""
    place = np.arange(rows.shape[-1])
    thread, which = place % 16 // 4, place % 4
    return np.ascontiguousarray(rows[..., place // 16 * 16 + 2 * thread + np.where(which < 2, which, which + 6)])


@case("flash_backward")
def flash_backward(k):
    """dK, dV of three of 16 heads, and dQ / scale as f32 sums in fragment order (its preprocess and its last step are other kernels)."""
    rng, heads, s, chosen, scale, slack = generator(k), 16, 256, (0, 5, 15), D**-0.5, 2.0**-7
    data = {x: encode(rng.standard_normal((1, s, heads, D)), "bf16") for x in ("q", "k", "v", "do")}
    want, atol = ({x: np.zeros((1, s, heads, D)) for x in ("dk", "dv")} for _ in range(2))
    dq, dq_atol, nlse, ndelta = (np.zeros((1, heads, n)) for n in (s * D, s * D, s, s))
    for h in chosen:
        q, key, v, do = (decode(data[x][0, :, h], "bf16") for x in ("q", "k", "v", "do"))
        p, total, top = weights(q, key, scale, mask_of(s, s, False))
        p, dp = p / total, do @ v.T
        delta = (p * dp).sum(1, keepdims=True)
        ds, big = p * (dp - delta), p * (np.abs(dp) + np.abs(delta))
        nlse[0, h], ndelta[0, h] = -(top + np.log(total))[:, 0] * np.log2(np.e), -delta[:, 0]
        want["dk"][0, :, h], want["dv"][0, :, h] = ds.T @ q * scale, p.T @ do
        atol["dk"][0, :, h], atol["dv"][0, :, h] = slack * scale * (big.T @ np.abs(q)), slack * (p.T @ np.abs(do))
        dq[0, h], dq_atol[0, h] = fragments(ds @ key), fragments(slack * (big @ np.abs(key)))
    work = [[s // 64, row, h, 0] for h in chosen for row in range(0, s, 128)] + [[0, 0, 0, 0]]

    def tensor(name, rows):
        return {"tensor_map": dict(buffer=name, dtype="bf16", dims=[64, s, 2, heads, 1], strides=[2 * heads * D, 128, 2 * D, 2 * s * heads * D],
                                   box=[64, rows, 2, 1, 1], swizzle="128B", l2_promotion="128B", oob_fill="zero")}
    params = [tensor("q", 64), tensor("k", 128), tensor("v", 128), tensor("do", 64), tensor("dk", 16), tensor("dv", 16), {"buffer": "nlse"}, {"buffer": "ndelta"},
              {"buffer": "dq"}, {"buffer": "counter"}, {"f32": float(np.log2(np.e) * scale)}, {"f32": float(scale)}, {"i32": s}, {"i32": len(work) - 1}, {"buffer": "work"}]
    zero = np.zeros((1, s, heads, D), np.uint16)
    args = dict({x: given(data[x], "bf16") for x in data}, **{x: out(want[x], "bf16", atol[x], init=zero) for x in want},
                dq=out(dq, "fp32", dq_atol, init=np.zeros(dq.shape, np.float32)), nlse=given(paired(nlse).astype(np.float32), "fp32"),
                ndelta=given(paired(ndelta).astype(np.float32), "fp32"), work=given(np.array(work, np.int32), "i32"), counter=out(np.array([0]), "u32", init=np.array([0], np.uint32)))
    return Case((len(work) - 1,), args, params)
