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

POISON = 7.0
FIRST = 7  # rows before the first sequence


def lengths_for(block):
    return [0, 1, block - 1, block, block + 1, 3, 0, 200, 64, 65, 127, 128, 129, 15, 16, 17, 33, 5]


def exact(q, k, v, do, offsets, block):
    """o, lse, dq, dk, dv in f64 on the GPU, NaN outside of the sequences."""
    rows, heads, depth = q.shape
    names = ("o", "lse", "dq", "dk", "dv")
    out = {n: torch.full((rows, heads) if n == "lse" else q.shape, math.nan, device="cuda", dtype=torch.float64) for n in names}
    for begin, end in zip(offsets[:-1], offsets[1:]):
        for r in range(begin, end, block):
            s = slice(r, min(r + block, end))
            Q, K, V = (x[s].double().transpose(0, 1).detach().requires_grad_(True) for x in (q, k, v))
            scores = Q @ K.transpose(1, 2) / math.sqrt(depth)
            o = scores.softmax(-1) @ V
            grads = torch.autograd.grad(o, (Q, K, V), do[s].double().transpose(0, 1))
            out["lse"][s] = scores.detach().logsumexp(-1).T
            for n, g in zip(("o", "dq", "dk", "dv"), (o.detach(), *grads)):
                out[n][s] = g.transpose(0, 1)
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


def check(kernels, manifest, block):
    heads, depth = manifest["tensors"][0]["shape"][1:]
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[manifest["tensors"][0]["dtype"]]
    operations = {kernel["name"] for kernel in manifest["kernels"]}
    offsets = [FIRST]
    for length in lengths_for(block):
        offsets.append(offsets[-1] + length)
    rows = offsets[-1] + 9
    q, k, v, do = packed(rows, heads, depth, dtype, 4)
    for x in (q, k, v, do):
        x[:FIRST], x[offsets[-1]:] = math.nan, math.inf
        x[offsets[5]:offsets[6]] = math.nan
        if block < 128:
            x[offsets[7] + block] = math.nan
    inside = torch.zeros(rows, dtype=torch.bool, device="cuda")
    inside[FIRST:offsets[-1]] = True
    want = exact(q, k, v, do, offsets, block)
    poisoned = lambda *shape, dtype=dtype: torch.full(shape, POISON, device="cuda", dtype=dtype)
    results = {}
    lists = tile_list(manifest, offsets)
    for tag, width, more in [("", torch.int32, {}), (" (i64)", torch.int64, {})] + ([(" (list)", torch.int32, lists)] if lists else []):
        table = torch.tensor(offsets, device="cuda", dtype=width)
        o, lse = poisoned(rows, heads, depth), poisoned(rows, heads, dtype=torch.float32)
        kernels.launch("forward", q=q, k=k, v=v, o=o, lse=lse, offsets=table, **more)
        results["o" + tag], results["lse" + tag] = compare(o, want["o"], inside), compare(lse, want["lse"], inside)
        if "backward" not in operations:
            continue
        grads = {n: poisoned(rows, heads, depth) for n in ("dq", "dk", "dv")}
        run = kernels.prepare("backward", q=q, k=k, v=v, dout=do, offsets=table, **grads, **more)
        run()
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
            results = check(Kernels(path, a.runtime), json.loads(path.read_text()), int(re.match(r"n(\d+)", path.name)[1]))
        except Exception as error:
            results = {"error": str(error)}
        good = all(passes(n, r) for n, r in results.items())
        failed += not good
        report[path.stem] = {"pass": good, **{n: r if isinstance(r, str) else round(r, 1) for n, r in results.items()}}
        print("ok  " if good else "FAIL", path.stem, report[path.stem], flush=True)
    print(f"{len(report) - failed} of {len(report)} artefacts are right")
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(bool(failed or not report))


if __name__ == "__main__":
    main()
