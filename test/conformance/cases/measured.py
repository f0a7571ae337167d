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
