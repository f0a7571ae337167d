#!/usr/bin/env python3
# test/device/check.py - every carried kernel on the GPU against f64, with hostile neighbours
"""check.py KERNELS --runtime libfovea_runtime.so [--json OUT]: forward and backward of each artefact in KERNELS.
What surrounds the data is hostile: rows before the first and behind the last sequence are NaN and infinite, one sequence and one
block are NaN (nothing of them may reach another block), outputs start poisoned and padding must stay so; inputs are strided views
of one packed tensor; offsets are i32 and i64 and do not start at row 0; a kernel runs with and without its tile list; the backward is repeated 20 times, bit by bit equal."""
import argparse, json, math, re, sys
from pathlib import Path
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from torch_ads_block import Kernels
from specs import specs

POISON = 7.0
FIRST = 7  # rows before the first sequence


def lengths_for(block):
    return [0, 1, block - 1, block, block + 1, 3, 0, 200, 64, 65, 127, 128, 129, 15, 16, 17, 33, 5]


def turn(x, table, pairing):
    """x [n, heads, depth] turned by the rows of a table [n, depth]: sines, then cosines."""
    sin, cos = (t[:, None, :] for t in table.chunk(2, dim=-1))
    x0, x1 = (x[..., ::2], x[..., 1::2]) if pairing == "interleaved" else x.chunk(2, dim=-1)
    y0, y1 = x0 * cos - x1 * sin, x1 * cos + x0 * sin
    return torch.stack((y0, y1), -1).flatten(-2) if pairing == "interleaved" else torch.cat((y0, y1), -1)


def turned(x, angles, rotary):
    """What the products see, so that a gradient by x is that of the tensor before the rotation."""
    if rotary is None:
        return x
    pairing, on_load = rotary
    y = turn(x, angles, pairing)
    return y if on_load else x.detach() + y - y.detach()  # the caller has turned x: only the gradient knows


def exact(q, k, v, do, offsets, block, rotary={}, table=None, by_position=False, gated=()):
    """o, lse, dq, dk, dv in f64 on the GPU, NaN outside of the sequences; dgate and dresidual if `gated` is (gate, residual)."""
    rows, heads, depth = q.shape
    names = ("o", "lse", "dq", "dk", "dv") + ("dgate", "dresidual") * bool(gated)
    out = {n: torch.full((rows, heads) if n == "lse" else q.shape, math.nan, device="cuda", dtype=torch.float64) for n in names}
    for begin, end in zip(offsets[:-1], offsets[1:]):
        for r in range(begin, end, block):
            s = slice(r, min(r + block, end))
            leaves = [x[s].double().detach().requires_grad_(True) for x in (q, k, v, *gated)]
            angles = None if table is None else table[s.start - begin:s.stop - begin] if by_position else table[s]
            Q, K, V = (turned(x, angles.double() if rotary else None, rotary.get(n)).transpose(0, 1) for n, x in zip("qkv", leaves))
            scores = Q @ K.transpose(1, 2) / math.sqrt(depth)
            o = scores.softmax(-1) @ V
            if gated:
                gate, residual = (x.transpose(0, 1) for x in leaves[3:])
                o = o * gate.sigmoid() + residual
            grads = torch.autograd.grad(o, leaves, do[s].double().transpose(0, 1))
            out["lse"][s] = scores.detach().logsumexp(-1).T
            out["o"][s] = o.detach().transpose(0, 1)
            for n, g in zip(("dq", "dk", "dv", "dgate", "dresidual"), grads):
                out[n][s] = g
    return out


def compare(got, want, inside):
    """SNR in dB, or what is wrong."""
    g, w = got[inside].double(), want[inside]
    if not bool((got[~inside] == POISON).all()):
        return "rows outside of the sequences were written"
    if not bool((g.isnan() == w.isnan()).all()):
        return "NaN reached another block, or was lost"
    valid = ~w.isnan()
    return 20 * math.log10((w[valid].norm() / (g[valid] - w[valid]).norm().clamp_min(1e-300)).item())


def packed(rows, heads, depth, dtype, pieces):
    """`pieces` strided views of one tensor, 16-byte aligned rows."""
    x = torch.randn(rows, pieces * heads * depth + 8, device="cuda", dtype=dtype)
    return [x[:, i * heads * depth:(i + 1) * heads * depth].view(rows, heads, depth) for i in range(pieces)]


def tile_list(manifest, offsets):
    """{"tiles_64": list} for a kernel that takes one (runtime/core/TileList.h), else {}."""
    for name in (t["name"] for t in manifest["tensors"]):
        if match := re.match(r"tiles_(\d+)$", name):
            rows = int(match[1])
            tiles = [r | min(rows, e - r) << 32 for b, e in zip(offsets[:-1], offsets[1:]) for r in range(b, e, rows)]
            return {name: torch.tensor(tiles, device="cuda", dtype=torch.int64)}
    return {}


def angles(rows, depth, wide):
    """A table of `rows` rows: half sines, half cosines of any angles."""
    phase = torch.rand(rows, depth // 2, device="cuda", dtype=torch.float64) * 2 * math.pi
    return torch.cat((phase.sin(), phase.cos()), -1).to(torch.float32 if wide else torch.bfloat16)


def check(kernels, manifest, spec):
    heads, depth, block = spec.heads, spec.depth, spec.block
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[spec.dtype]
    operations = {kernel["name"] for kernel in manifest["kernels"]}
    offsets = [FIRST]
    for length in lengths_for(block):
        offsets.append(offsets[-1] + length)
    rows = offsets[-1] + 9
    q, k, v, do, *gated = packed(rows, heads, depth, dtype, 6 if spec.gate else 4)
    for x in (q, k, v, do, *gated):
        x[:FIRST], x[offsets[-1]:] = math.nan, math.inf
        x[offsets[5]:offsets[6]] = math.nan
        if block < 128:
            x[offsets[7] + block] = math.nan
    table = None
    if spec.rotary:
        table = angles(200 if spec.by_position else rows, depth, spec.f32_table)
        if not spec.by_position:
            table[:FIRST], table[offsets[-1]:] = math.nan, math.inf
    tables = {} if table is None else {"sinu": table}
    forward_given = dict(tables) if any(on_load for _, on_load in spec.rotary.values()) else {}
    given = dict(tables)
    if gated:
        forward_given.update(gate=gated[0], residual=gated[1])
        given["gate"] = gated[0]
    inside = torch.zeros(rows, dtype=torch.bool, device="cuda")
    inside[FIRST:offsets[-1]] = True
    want = exact(q, k, v, do, offsets, block, spec.rotary, table, spec.by_position, gated)
    if spec.packed:
        want["dz"] = torch.cat([want[n].flatten(1) for n in ("dq", "dk", "dv")], -1)
    poisoned = lambda *shape, dtype=dtype: torch.full(shape, POISON, device="cuda", dtype=dtype)
    results = {}
    lists = tile_list(manifest, offsets)
    for tag, width, more in [("", torch.int32, {}), (" (i64)", torch.int64, {})] + ([(" (list)", torch.int32, lists)] if lists else []):
        cuts = torch.tensor(offsets, device="cuda", dtype=width)
        o, lse = poisoned(rows, heads, depth), poisoned(rows, heads, dtype=torch.float32)
        kernels.launch("forward", q=q, k=k, v=v, o=o, lse=lse, offsets=cuts, **forward_given, **more)
        results["o" + tag], results["lse" + tag] = compare(o, want["o"], inside), compare(lse, want["lse"], inside)
        if "backward" not in operations:
            continue
        # A packed gradient with other columns behind it: they are somebody else's.
        wide = poisoned(rows, 3 * heads * depth + 16)
        grads = {"dz": wide[:, :-16]} if spec.packed else {n: poisoned(rows, heads, depth) for n in ("dq", "dk", "dv")}
        if gated:
            grads.update({n: poisoned(rows, heads, depth) for n in ("dgate", "dresidual")})
        run = kernels.prepare("backward", q=q, k=k, v=v, dout=do, offsets=cuts, **grads, **given, **more)
        run()
        if spec.packed and not bool((wide[:, -16:] == POISON).all()):
            results["dz" + tag] = "columns beyond the gradient were written"
            continue
        first = {n: g.clone() for n, g in grads.items()}
        for n, g in grads.items():
            results[n + tag] = compare(g, want[n], inside)
        for _ in range(20):
            for g in grads.values():
                g.fill_(POISON)
            run()
            for n, g in grads.items():
                if not torch.equal(g.view(torch.int16), first[n].view(torch.int16)):
                    results[n + tag] = "repeated runs differ"
    return results


def passes(name, value):
    """The roundings of a 16-bit output and of P and dS leave more than 45 dB; the f32 lse more than 60."""
    return not isinstance(value, str) and value > (60 if name.startswith("lse") else 45)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("-k", default="")
    a = parser.parse_args()
    torch.manual_seed(0)
    report, failed = {}, 0
    for path in sorted(a.kernels.glob("*.json")):
        if a.k not in path.name:
            continue
        try:
            results = check(Kernels(path, a.runtime), json.loads(path.read_text()), specs()[path.name.split(".")[0]])
        except Exception as error:
            results = {"error": str(error)}
        good = all(passes(n, r) for n, r in results.items())
        failed += not good
        name = path.name.split(".")[0]
        report[name] = {"pass": good, **{n: r if isinstance(r, str) else round(r, 1) for n, r in results.items()}}
        print("ok  " if good else "FAIL", name, report[name], flush=True)
    print(f"{len(report) - failed} of {len(report)} artefacts are right")
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(bool(failed or not report))


if __name__ == "__main__":
    main()
