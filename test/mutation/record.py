#!/usr/bin/env python3
# test/mutation/record.py - record.py FOVEA LIBRARY OUT [CASE...]: launches of our own kernels for fovea-mutate
"""Compiles block_diagonal specs, runs them on the emulator with FOVEA_EMULATE_RECORD and leaves one folder a kernel in OUT. A
CASE is target:roles:block:depth[:stages]. Each kernel gets ragged sequences and full ones; kernels that loop over work items
get one block, so that rings wrap and phases repeat."""
import json, os, shutil, subprocess, sys, tempfile
from pathlib import Path

CASES = ["sm_100a:fused:64:64", "sm_90a:fused:64:64", "sm_100a:split:64:64:2", "sm_90a:split:64:64:2",
         "sm_100a:fused:32:128", "sm_90a:fused:32:128", "sm_100a:split:32:32:3", "sm_90a:split:128:64:1",
         "sm_100a:fused:128:32", "sm_90a:fused:128:32"]
SPEC = """attention case {{
  q, k, v : bf16 [jagged offsets, 1 heads, {depth}]
  pattern : block_diagonal({block})
  emit    : forward(lse), backward
  schedule {target} {{
    roles : {roles}
{stages}  }}
}}
"""


def record(fovea, library, out, case):
    target, roles, block, depth, *stages = case.split(":")
    spec = SPEC.format(target=target, roles=roles, block=block, depth=depth, stages=f"    stages : {stages[0]}\n" if stages else "")
    inputs = [["--batch", "14" if roles == "split" else "7", "--lengths", "20:280"], ["--batch", "3", "--seq", "256"]]
    for number, options in enumerate(inputs):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "case.attn")
            path.write_text(spec)
            env = dict(os.environ, FOVEA_EMULATOR_LIB=library, FOVEA_EMULATE_RECORD=folder, FOVEA_EMULATE_DETECT="1")
            run = subprocess.run([fovea, "check", path, "--target", target, "--backward", *options], env=env, capture_output=True, text=True)
            if run.returncode or "PASS" not in run.stdout or "report of kernel" in run.stderr:
                sys.exit(f"{case}: {run.stdout[-500:]}{run.stderr[-1500:]}")
            for kernel in sorted(Path(folder).glob("0*")):
                backward = kernel.name.endswith("backward")
                if backward and roles == "split":
                    continue  # the backward kernel has one form
                to = Path(out, f"{target}-{roles}-{block}-{depth}-{'backward' if backward else 'forward'}")
                to.mkdir(parents=True, exist_ok=True)
                launch = json.loads((kernel / "launch.json").read_text())
                if "%nctaid" in (kernel / "kernel.ptx").read_text() and roles == "split":
                    launch["grid"] = [1, 1, 1]
                for buffer in launch["buffers"].values():
                    shutil.copy(kernel / buffer["npy"], to / f"{number}-{buffer['npy']}")
                    buffer["npy"] = f"{number}-{buffer['npy']}"
                (to / f"launch{number or ''}.json").write_text(json.dumps(launch))
                shutil.copy(kernel / "kernel.ptx", to / "kernel.ptx")


if __name__ == "__main__":
    fovea, library, out, *cases = sys.argv[1:]
    for case in cases or CASES:
        record(fovea, os.path.abspath(library), out, case)
