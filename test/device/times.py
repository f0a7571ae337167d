#!/usr/bin/env python3
# test/device/times.py - our kernels, the peers and a copy of the same bytes, interleaved in one run
"""times.py KERNELS --runtime libfovea_runtime.so --json OUT [--rounds 3] [-k WORKLOAD]: the block-diagonal workloads of the README's table.
A time is the median over rounds of the median of a round's launches, each between two CUDA events; within a round everyone takes
a turn, so that the chip's clocks are shared. Work of less than 0.2 ms is timed as the replay of a CUDA graph of 20 launches."""
import argparse, json, statistics, subprocess, sys
from pathlib import Path
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from torch_ads_block import Kernels
from check import angles, tile_list
from peers import gated, peers, rotary_backward, rotary_forward
from specs import specs


def mixed(batch, longest, fill):
    """Lengths uniform on [(2 fill - 1) longest, longest]."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(max(1, int((2 * fill - 1) * longest)), longest + 1, (batch,), generator=generator).tolist()


def short(batch):
    return torch.randint(1, 128, (batch,), generator=torch.Generator().manual_seed(1)).tolist()


def of_rows(rows, longest=2000, fill=0.7):
    """As many lengths of `mixed` as make `rows` rows; the last one is cut."""
    lengths, left = [], rows
    for length in mixed(2 * rows // longest + 1, longest, fill):
        lengths.append(min(length, left))
        left -= lengths[-1]
        if not left:
            return lengths


# name: artefact, block, heads, depth, lengths, operations
WORKLOADS = {
    "d128": ("n64_d128", 64, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "d64": ("n64_d64", 64, 4, 64, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "blocks_128": ("n128_d128", 128, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "blocks_32": ("n32_d128", 32, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "d256_h2": ("n64_d256_h2", 64, 2, 256, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "lengths_1_127": ("n64_d128", 64, 4, 128, short(25000), ("forward",)),
    "all_33": ("n64_d128", 64, 4, 128, [33] * 48285, ("forward",)),
    "one_65536": ("n64_d128", 64, 4, 128, [140] * 500 + [65536] + [140] * 10500, ("forward",)),
    "rotary_packed": ("n64_d128_rotary", 64, 3, 128, of_rows(1717000), ("backward",)),
    "rotary_packed_halves": ("n64_d128_rotary_halves", 64, 3, 128, of_rows(1717000), ("backward",)),
    "plain_h3": ("n64_d128_h3", 64, 3, 128, of_rows(1717000), ("backward",)),
    "rotary_on_load": ("n64_d128_load", 64, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "rotary_on_load_position": ("n64_d128_load_position", 64, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "gate": ("n64_d128_gate", 64, 4, 128, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "gate_d64": ("n64_d64_gate", 64, 4, 64, mixed(1152, 2000, 0.7), ("forward", "backward")),
    "split_d128": ("n64_d128_split", 64, 4, 128, mixed(1152, 2000, 0.7), ("backward",)),
    "split_d64": ("n64_d64_split", 64, 4, 64, mixed(1152, 2000, 0.7), ("backward",)),
    "blocks_128_d256": ("n128_d256", 128, 4, 256, mixed(576, 2000, 0.7), ("forward", "backward")),
    "batch_12": ("n64_d128", 64, 4, 128, mixed(12, 2000, 0.7), ("forward", "backward")),
}
TINY = 0.2  # ms


def events(run, count):
    times = []
    for _ in range(count):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(), run(), end.record()
        times.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(s.elapsed_time(e) for s, e in times)


def graph_of(run, launches=20):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(launches):
            run()
    return graph.replay, launches


def measure(runs, rounds, count=15, ungraphed=()):
    """{name: milliseconds}, everyone in turn."""
    prepared, times = {}, {name: [] for name in runs}
    for name, run in runs.items():
        for _ in range(3):
            run()
        prepared[name] = (run, 1)
        if events(run, 5) < TINY and name not in ungraphed:
            try:
                prepared[name] = graph_of(run)
            except RuntimeError:  # a peer that cannot be captured is timed launch by launch
                torch.cuda.synchronize()
    for _ in range(rounds):
        for name, (run, launches) in prepared.items():
            run()
            times[name].append(events(run, count) / launches)
    return {name: statistics.median(t) for name, t in times.items()}, {name: n for name, (_, n) in prepared.items() if n > 1}


def workload(kernels, name, rounds, runtime):
    artefact, block, heads, depth, lengths, operations = WORKLOADS[name]
    path = next(kernels.glob(f"{artefact}.*.json"))
    spec, ours = specs()[artefact], Kernels(path, runtime)
    manifest = json.loads(path.read_text())
    operations = [o for o in operations if any(k["name"] == o for k in manifest["kernels"])]
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    rows = offsets[-1]
    fresh = lambda: torch.randn(rows, heads, depth, device="cuda", dtype=torch.bfloat16)
    t = {n: fresh() for n in ("q", "k", "v", "dout")}
    t["o"] = torch.empty_like(t["q"])
    if spec.packed:
        t["dz"] = torch.empty(rows, 3 * heads * depth, device="cuda", dtype=torch.bfloat16)
    else:
        t.update({n: torch.empty_like(t["q"]) for n in ("dq", "dk", "dv")})
    if spec.gate:
        t.update({n: fresh() for n in ("gate", "residual")}, **{n: torch.empty_like(t["q"]) for n in ("dgate", "dresidual")})
    t["offsets"] = torch.tensor(offsets, device="cuda", dtype=torch.int32)
    if spec.rotary:
        t["sinu"] = angles(max(lengths) if spec.by_position else rows, depth, spec.f32_table)
    on_load = any(load for _, load in spec.rotary.values())
    gradients = ("dz",) if spec.packed else ("dq", "dk", "dv")
    uses = {"forward": ("q", "k", "v", "o") + ("sinu",) * on_load, "backward": ("q", "k", "v", "dout", *gradients) + ("sinu",) * bool(spec.rotary)}
    if spec.gate:
        uses = {"forward": uses["forward"] + ("gate", "residual"), "backward": uses["backward"] + ("gate", "dgate", "dresidual")}
    others, missing = peers(t["q"], t["k"], t["v"], offsets, block)
    flops = 4 * heads * depth * sum(min(block, e - r) ** 2 for b, e in zip(offsets[:-1], offsets[1:]) for r in range(b, e, block))
    results = []
    for operation in operations:
        names = uses[operation]
        moved = sum(t[n].numel() * t[n].element_size() for n in names)
        source, target = torch.empty(moved // 4, device="cuda", dtype=torch.bfloat16).normal_(), torch.empty(moved // 4, device="cuda", dtype=torch.bfloat16)
        launch = {n: t[n] for n in (*names, "offsets")}
        runs = {"fovea": ours.prepare(operation, **launch), "copy": lambda: target.copy_(source)}
        takes_list = any(p.get("tensor", "").startswith("tiles_") for k in manifest["kernels"] if k["name"] == operation for p in k["params"])
        if takes_list and (lists := tile_list(manifest, offsets)):
            runs["fovea_list"] = ours.prepare(operation, **launch, **lists)
        if spec.gate:
            runs.update(gated(others, Kernels(next(kernels.glob(f"n{block}_d{depth}.*.json")), runtime), t, operation))
        elif not spec.rotary:
            runs.update({n: p[operation] for n, p in others.items() if operation in p})
        elif operation == "backward":
            runs.update(rotary_backward(others, t, spec))
        else:
            plain = Kernels(next(kernels.glob(f"n{block}_d{depth}.*.json")), runtime)
            runs.update(rotary_forward(others, plain, t, spec, offsets))
        ms, graphs = measure(runs, rounds, ungraphed=others if operation == "backward" else ())  # autograd is not captured
        best = min(ms["fovea"], ms.get("fovea_list", ms["fovea"]))
        result = dict(workload=name, operation=operation, artefact=artefact, block=block, heads=heads, depth=depth, sequences=len(lengths), rows=rows, bytes=moved,
                      flops=flops * (2.5 if operation == "backward" else 1), ms={n: round(x, 5) for n, x in ms.items()}, tbps=round(moved / best / 1e9, 3),
                      copy_percent=round(100 * ms["copy"] / best, 1), timed_as_graph=graphs, missing=missing)
        results.append(result)
        print(json.dumps(result), flush=True)
    return results


def clocks():
    run = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu", "--format=csv,noheader"], capture_output=True, text=True)
    return run.stdout.strip()


def ceilings():
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    x = torch.empty(2 ** 30, device="cuda", dtype=torch.bfloat16).normal_()
    y = torch.empty_like(x)
    ms, _ = measure({"gemm": lambda: a @ b, "copy": lambda: y.copy_(x)}, 3, 10)
    return dict(gemm_bf16_8192_tflops=round(2 * 8192 ** 3 / ms["gemm"] / 1e9, 1), copy_tbps=round(2 * x.numel() * 2 / ms["copy"] / 1e9, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-k", default="")
    a = parser.parse_args()
    torch.manual_seed(0)
    report = dict(torch=torch.__version__, cudnn=torch.backends.cudnn.version(), before=clocks(), ceilings=ceilings(), rows=[])
    for name in WORKLOADS:
        if a.k in name:
            torch.cuda.empty_cache()
            try:
                report["rows"] += workload(a.kernels, name, a.rounds, a.runtime)
            except Exception as error:
                report["rows"].append(dict(workload=name, error=str(error)[:300]))
                print(name, "FAILED", error, flush=True)
    report["after"] = clocks()
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(any("error" in row for row in report["rows"]))


if __name__ == "__main__":
    main()
