#!/usr/bin/env python3
# test/conformance/through_nvcc.py - CUDA C++ of cuda/*.cu through nvcc, where it is installed, and the emulator against NumPy
"""through_nvcc.py --emulate PATH/fovea-emulate [--chip sm_100a|sm_90a] [-k SUBSTRING]    needs NumPy; exit status 77 (skipped) without nvcc.
What Triton does not emit: calls, structs by value, tables, switches, local arrays, f64, wmma fragments, cooperative groups, red.async."""
import argparse, json, shutil, subprocess, sys, tempfile
from pathlib import Path
import numpy as np

HERE = Path(__file__).resolve().parent
POLICIES = (["lazy"], ["eager"], ["random", 1], ["random", 2])


def language(rng):
    n, threads = 90, 96
    scale, shift, weight = np.float32(0.5), 2, 0.25
    table = np.array([1, -2, 4, -8, 16, -32, 64, -128], np.float32)
    floats, decisions = np.full(threads, 7, np.float32), np.full(threads, 7, np.int32)
    quotient = lambda a, b: int(np.trunc(a / b))
    for t in range(n):
        local = [table[(t + i) & 7] + np.float32(i) for i in range(9)]
        count, total = 5 + t % 5, np.float32(0)
        for i in range(count):
            total += local[(i + shift + t % 3) % count] * scale
        floats[t] = total + np.float32(weight)
        decision = [t + 1, t * 3, t - 7, t ^ 0x55, t << 2, -t, quotient(t, 3), t % 5, 0][t % 9]
        decisions[t] = decision + ord(("even", "odd")[t & 1][t % 3]) + [100, 200, 300, 400][t & 3]
    pair = {"struct": {"bytes": 16, "fields": [{"at": 0, "f32": float(scale)}, {"at": 4, "i32": shift}, {"at": 8, "f64": weight}]}}
    start = {"out": np.full(threads, 7, np.float32), "decisions": np.full(threads, 7, np.int32)}
    return dict(grid=[3, 1, 1], block=[32, 1, 1]), start, [{"buffer": "out"}, {"buffer": "decisions"}, pair, {"i32": n}], dict(out=floats, decisions=decisions), {}


def numbers(rng):
    n = 60
    x, h = rng.standard_normal(n), rng.integers(-8, 9, (n, 2)).astype(np.float16) / np.float16(4)
    out = (x * np.roll(x, -1) + np.sqrt(np.abs(x))) / (1 + x * x)
    hout = (h.astype(np.float64) * np.roll(h, -1, 0) + np.maximum(h, np.float16(0.5))).astype(np.float16)
    mask = (1 << 64) - 1
    wide = []
    for t in range(n):
        high = ((0x9E3779B97F4A7C15 * (t + 1)) & mask) * 0xD1B54A32D192ED03 >> 64
        wide.append(high ^ int(f"{t:064b}"[::-1], 2) ^ bin((0x0123456789abcdef << (t & 31)) & mask).count("1"))
    start = dict(x=x, h=h, out=np.zeros(64), hout=np.zeros((64, 2), np.float16), wide=np.zeros(64, np.uint64))
    pad = lambda a, like: np.concatenate([a, like[len(a):]])
    return dict(grid=[1, 1, 1], block=[64, 1, 1]), start, [{"buffer": b} for b in start] + [{"i32": n}], \
        dict(out=pad(out, start["out"]), hout=pad(hout, start["hout"]), wide=pad(np.array(wide, np.uint64), start["wide"])), dict(out=1e-14)


def wmma_f16(rng):
    a, b, c = rng.integers(-4, 5, (64, 48)), rng.integers(-4, 5, (48, 64)), rng.integers(-99, 100, (64, 64))
    start = dict(a=a.astype(np.float16), b=np.ascontiguousarray(b.T.astype(np.float16)), c=c.astype(np.float32))
    return dict(grid=[4, 4, 1], block=[32, 1, 1]), start, [{"buffer": b} for b in "abc"], dict(c=(2 * (a @ b) + c).astype(np.float32)), {}


def wmma_s8(rng):
    a, b = rng.integers(-128, 128, (2, 16, 16)).astype(np.int8)
    start = dict(a=a, b=b, c=np.zeros((16, 16), np.int32))
    return dict(grid=[1, 1, 1], block=[32, 1, 1]), start, [{"buffer": b} for b in "abc"], dict(c=a.astype(np.int32) @ b.astype(np.int32) + 5), {}


def cluster_sum(rng):
    x = rng.integers(-1000, 1000, (8, 256)).astype(np.int32)
    sums = x.sum(1).reshape(2, 4)
    start = dict(x=x, out=np.zeros(8, np.int32))
    return dict(grid=[8, 1, 1], block=[256, 1, 1], cluster=[4, 1, 1]), start, [{"buffer": "x"}, {"buffer": "out"}], \
        dict(out=np.repeat((sums * [1, 2, 3, 4]).sum(1), 4).astype(np.int32)), {}


def ring(rng):
    x = rng.integers(0, 1000, (4, 64)).astype(np.uint32)
    out = np.zeros((4, 64), np.uint32)
    for block in range(4):
        v = 7 + x[block ^ 1].sum(dtype=np.uint32) + np.arange(64, dtype=np.uint32) % 5
        for w in range(2):
            part = v[32 * w:32 * w + 32]
            same = np.array([(part == p).sum() for p in part], np.uint32)
            out[block, 32 * w:32 * w + 32] = part + 3 * part.min() + 5 * same + 7 * (part & 1).sum(dtype=np.uint32) + part[np.arange(32) ^ 9]
    return dict(grid=[4, 1, 1], block=[64, 1, 1], cluster=[2, 1, 1]), dict(x=x, out=np.zeros((4, 64), np.uint32)), [{"buffer": "x"}, {"buffer": "out"}], dict(out=out), {}


CASES = dict(language=(language, numbers), matrices=(wmma_f16, wmma_s8), clusters=(cluster_sum, ring))


def run(emulate, chip, ptx, case, policy, folder):
    launch, start, params, expected, tolerance = case(np.random.default_rng(1))
    buffers = {}
    for name, data in start.items():
        np.save(folder / f"{name}.npy", data)
        buffers[name] = {"npy": f"{name}.npy"}
        if name in expected:
            buffers[name].update(save=f"{name}.out.npy", dtype=data.dtype.name, shape=list(data.shape))
    spec = dict(launch, kernel=case.__name__, chip=chip, buffers=buffers, params=params)
    spec.update({"async": policy[0]}, **({"seed": policy[1]} if len(policy) > 1 else {}))
    (folder / "launch.json").write_text(json.dumps(spec))
    done = subprocess.run([emulate, str(ptx), "--launch", str(folder / "launch.json")], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return (done.stderr + done.stdout).strip()[:800]
    for name, want in expected.items():
        got = np.load(folder / f"{name}.out.npy")
        good = np.abs(got - want) <= tolerance[name] * np.abs(want) if name in tolerance else got == want
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            return f"{name}: {int((~good).sum())} of {good.size} differ, first at {at}: got {got[at]}, expected {want[at]}"
    return ""


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--emulate", required=True)
    p.add_argument("--chip", default="sm_100a", choices=["sm_100a", "sm_90a"])
    p.add_argument("-k", default="")
    a = p.parse_args()
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if not nvcc:
        print("skipped: nvcc is not installed")
        return 77
    bad = total = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source, cases in CASES.items():
            ptx = folder / f"{source}.ptx"
            made = subprocess.run([nvcc, "-ptx", "-std=c++17", f"-arch={a.chip}", str(HERE / "cuda" / f"{source}.cu"), "-o", str(ptx)], capture_output=True, text=True)
            if made.returncode:
                print(f"does not compile: {source}.cu: {made.stderr[:800]}")
                bad += 1
                continue
            for case in cases:
                if a.k not in case.__name__:
                    continue
                total += 1
                wrong = [(policy, why) for policy in POLICIES for why in [run(a.emulate, a.chip, ptx, case, policy, folder)] if why]
                bad += bool(wrong)
                print(f"{'wrong' if wrong else 'right'}: {a.chip}/{source}/{case.__name__}" + "".join(f"\n  {':'.join(map(str, p))}: {w}" for p, w in wrong[:1]), flush=True)
    print(f"{total - bad} of {total} kernels of nvcc right under {len(POLICIES)} policies")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
