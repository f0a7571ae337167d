#!/usr/bin/env python3
# test/conformance/run.py - run every stored kernel through the emulator and compare with NumPy
"""run.py [--emulate PATH] [-k SUBSTRING]... [--policy lazy|eager|random:SEED]... [--jobs N] [--json FILE]
Prints one line per kernel that is not right under every policy, then the totals; the exit status is 0 when none is left.
Kernels named in known.txt must fail as recorded there: one that turns right is reported, so that the list cannot rot. With --detect
in the command, those of findings.txt must have the errors recorded there, and no other."""
import argparse, concurrent.futures, json, shlex, sys, tempfile, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from cases import BUILDERS, boxes, bulk, listed, tcgen05, warp
from harness import Kernel, run


def kernels():
    for index in sorted((HERE / "ptx").glob("*/index.json")):
        for name, record in json.loads(index.read_text()).items():
            yield Kernel(index.parent.name, name, record)
    yield from tcgen05.kernels()
    yield from warp.kernels()
    yield from boxes.kernels()
    yield from bulk.kernels()
    yield from listed.kernels()


def policy_of(text):
    name, _, seed = text.partition(":")
    return (name, int(seed)) if seed else (name,)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--emulate", default="fovea-emulate", help="command that takes KERNEL.ptx --launch launch.json")
    p.add_argument("-k", action="append", default=[])
    p.add_argument("--family", action="append", default=[], help="gemm, mma, tmem, tma, simt, attention, measured, operators, parallel, tcgen05, warp, boxes, bulk, listed, workloads (a module of cases/)")
    p.add_argument("--policy", action="append", default=[])
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--limit", type=int, default=600, help="seconds for one launch")
    p.add_argument("--json", help="write every verdict to this file")
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    policies = [policy_of(t) for t in a.policy or ["lazy", "eager", "random:1", "random:2"]]
    emulate = shlex.split(a.emulate)
    family = lambda k: BUILDERS[k.fn].__module__.rpartition(".")[2] if k.fn in BUILDERS else ""
    chosen = [k for k in kernels() if (not a.k or any(s in f"{k.folder}/{k.name}" for s in a.k)) and (not a.family or family(k) in a.family)]
    known = {}
    known_file = HERE / "known.txt"
    if known_file.exists():
        for line in known_file.read_text().splitlines():
            if line and not line.startswith("#"):
                kernel, _, why = line.partition(" ")
                known[kernel] = why
    expected = {}
    if "--detect" in emulate:
        for line in (HERE / "findings.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                kernel, error, why = (part.strip() for part in line.split("|"))
                expected.setdefault(kernel, []).append(error)
    missing = sorted({k.fn for k in chosen if k.fn not in BUILDERS})

    def check(kernel):
        verdicts, case = [], BUILDERS[kernel.fn](kernel)
        start = time.time()
        for policy in policies:
            with tempfile.TemporaryDirectory() as folder:
                verdict, detail = run(kernel, case, policy, emulate, Path(folder), a.limit)
                if errors := expected.get(f"{kernel.folder}/{kernel.name}"):
                    said = [line for line in detail.splitlines() if line.startswith("error: ")]
                    verdict = "right" if said and all(any(e in line for e in errors) for line in said) and all(any(e in line for line in said) for e in errors) else "unexpected"
                verdicts.append((":".join(map(str, policy)), verdict, detail))
        return kernel, verdicts, time.time() - start

    record, bad, right = [], 0, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for kernel, verdicts, seconds in pool.map(check, [k for k in chosen if k.fn in BUILDERS]):
            name = f"{kernel.folder}/{kernel.name}"
            fails = [(policy, verdict, detail) for policy, verdict, detail in verdicts if verdict != "right"]
            record.append(dict(kernel=name, seconds=round(seconds, 2), verdicts=[v[:2] for v in verdicts], detail=fails[0][2] if fails else ""))
            right += not fails
            if fails and name in known:
                print(f"known: {name}: {known[name]}", flush=True)
            elif fails:
                bad += 1
                policy, verdict, detail = fails[0]
                print(f"{verdict}: {name} ({', '.join(f[0] for f in fails)}): {detail}", flush=True)
            elif name in known:
                bad += 1
                print(f"right now, remove it from known.txt: {name}", flush=True)
            elif a.v:
                print(f"right: {name} ({seconds:.1f} s)", flush=True)
    for fn in missing:
        print(f"no case for kernel function {fn}")
    print(f"{right} of {len(record)} kernels right under {len(policies)} policies")
    if a.json:
        Path(a.json).write_text(json.dumps(record, indent=1))
    return bool(bad or missing or not record)


if __name__ == "__main__":
    sys.exit(main())
