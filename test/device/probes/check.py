#!/usr/bin/env python3
# test/device/probes/check.py - the emulator's answers against those of an H200
"""check.py --emulate PATH/fovea-emulate [-k SUBSTRING]: runs every probe on the emulator and compares with results/FAMILY.npz.
Bitwise, or within the bound that the probe states; where the chip refused a probe (results/refused.json), the emulator must find
an error in it too. Exit status 1 when a probe differs, fails or has no stored result, or passes though known.txt lists it."""
import argparse, json, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import generate

HERE = Path(__file__).resolve().parent
# bits of a word, of the mantissa and of the exponent; the low 13 bits of a tf32 word are no part of the number
FORMATS = {"tf32": (np.uint32, 23, 8), "f16": (np.uint16, 10, 5), "bf16": (np.uint16, 7, 8), "f32": (np.uint32, 23, 8), "f64": (np.uint64, 52, 11)}


def values(bits, fmt):
    dtype, mantissa, exponent = FORMATS[fmt]
    bits = bits.view(dtype)
    if fmt == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if fmt == "tf32":
        return (bits & np.uint32(0xffffe000)).view(np.float32).astype(np.float64)
    return bits.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[fmt]).astype(np.float64)


def ordered(bits, fmt):
    """Bit patterns as integers in the order of their values, so that a difference counts units in the last place."""
    dtype, mantissa, exponent = FORMATS[fmt]
    bits = bits.view(dtype).astype(np.int64)
    sign = np.int64(1) << (mantissa + exponent)
    return np.where(bits & sign, -(bits & (sign - 1)), bits)


def differ(p, fmt, chip, emulated):
    """Mask of the elements that disagree, and both sides for messages."""
    if p.bound is None or not fmt:
        return chip != emulated, chip, emulated
    with np.errstate(invalid="ignore", over="ignore"):
        a, b = values(chip, fmt), values(emulated, fmt)
        same = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
        if p.bound.ulps:
            same |= np.isfinite(a) & np.isfinite(b) & (np.abs(ordered(chip, fmt) - ordered(emulated, fmt)) <= p.bound.ulps)
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=0)
        same |= np.abs(a - b) <= p.bound.absolute + p.bound.relative * largest
    return ~same, a, b


def examine(p, emulator, results, refused):
    """None, or what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate.write(p, folder)
        run = subprocess.run([emulator, str(folder / "probe.ptx"), "--launch", str(folder / "launch.json")], capture_output=True, text=True, timeout=300)
        if p.name in refused:
            return None if run.returncode == 1 else f"the chip refused it ({refused[p.name]}), the emulator did not"
        if run.returncode:
            return "emulator: " + " ".join((run.stderr or run.stdout).split())[:300]
        for out, (dtype, shape, fmt) in p.outputs.items():
            key = f"{p.name}.{out}"
            if key not in results:
                return "no stored result"
            chip, emulated = results[key].reshape(-1), np.load(folder / f"out_{out}.npy").reshape(-1)
            wrong, a, b = differ(p, fmt, chip, emulated)
            if wrong.any():
                at = np.flatnonzero(wrong)
                show = lambda x: f"{x[at[0]]:.9g}" if x.dtype.kind == "f" else f"{int(x[at[0]]):#x}"
                return f"{wrong.sum()} of {wrong.size} differ, first at {at[0]}: chip {show(a)}, emulator {show(b)}" + inputs_at(p, at[0], wrong.size)
    return None


def inputs_at(p, index, count):
    return "".join(f", {n} {int(a[index]):#x}" for n, a in p.inputs.items() if a.ndim == 1 and len(a) == count)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulate", required=True)
    parser.add_argument("-k", default="")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    a = parser.parse_args()
    results = {k: v for f in sorted(a.results.glob("*.npz")) for k, v in np.load(f).items()}
    refused = json.loads((a.results / "refused.json").read_text()) if (a.results / "refused.json").exists() else {}
    chosen = generate.probes(a.k)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda p: examine(p, a.emulate, results, refused), chosen))
    known = dict(line.split(": ", 1) for line in (HERE / "known.txt").read_text().splitlines() if ": " in line) if (HERE / "known.txt").exists() else {}
    wrong = [(p, w) for p, w in zip(chosen, answers) if w and p.name not in known]
    for p, w in zip(chosen, answers):
        if w:
            print(f"{'known' if p.name in known else 'DIFFERS'} {p.name} ({p.form}): {w}")
    unexpected = [n for p, w in zip(chosen, answers) for n in [p.name] if not w and n in known]
    for n in unexpected:
        print(f"passes, but is listed in known.txt: {n}")
    print(f"{len(chosen) - sum(map(bool, answers))} of {len(chosen)} probes agree ({len({p.form for p in chosen})} distinct instruction forms)")
    sys.exit(bool(wrong or unexpected))


if __name__ == "__main__":
    main()
