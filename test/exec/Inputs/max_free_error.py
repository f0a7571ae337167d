# test/exec/Inputs/max_free_error.py - max_free_error.py FOVEA TARGET: the error of a frozen maximum beside that of the running one
"""Ordinary data, both softmaxes on the same rows, against f64: the frozen maximum's root mean square error may be 1.3 times the other's."""
import json, math, subprocess, sys, tempfile
from pathlib import Path

fovea, target = sys.argv[1:]
SPEC = "attention case {{\n  q, k, v : bf16 [batch, seq, 1 heads, {depth}]\n  pattern : {pattern}\n  emit : forward(lse)\n  schedule {target} {{ softmax : {softmax} }}\n}}\n"


def decibels(spec):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.attn")
        path.write_text(spec)
        run = subprocess.run([fovea, "check", path, "--target", target, "--json", "--batch", "1", "--seq", "600"], capture_output=True, text=True)
        if run.returncode:
            sys.exit(spec + run.stdout + run.stderr)
        found = {}
        for output in json.loads(run.stdout)["outputs"]:  # of variants the worst
            name = output["output"]
            found[name] = min(found.get(name, math.inf), output["snr_db"])
        return found


bad = 0
for depth, pattern in ((64, "full"), (64, "causal"), (128, "causal"), (256, "full")):
    exact, frozen = (decibels(SPEC.format(depth=depth, pattern=pattern, target=target, softmax=softmax)) for softmax in ("exact", "max_free"))
    ratio = 10 ** ((exact["o"] - frozen["o"]) / 20)
    # lse is f32: both lie far below what a 16-bit output shows, and the approximate logarithm's steps dominate either.
    bad += ratio > 1.3 or frozen["lse"] < 140
    print(f"{depth} {pattern}: {ratio:.3f} times the error of the running maximum, lse {frozen['lse']:.0f} dB")
sys.exit(bad > 0)
