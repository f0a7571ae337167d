#!/usr/bin/env python3
# test/mutation/check.py - check.py FOVEA LIBRARY MUTATE: the bounded run for CI: every 6th mutant of four kernels of ours,
# and whether the inputs come everywhere in a flash kernel
import subprocess, sys, tempfile
from pathlib import Path

fovea, library, mutate = sys.argv[1:]
here = Path(__file__).resolve().parent
with tempfile.TemporaryDirectory() as out:
    subprocess.run([sys.executable, here / "record.py", fovea, library, out, "sm_100a:fused:64:64", "sm_90a:fused:64:64"], check=True)
    folders = sorted(Path(out).iterdir())
    sample = subprocess.run([mutate, "--survivors", "--every", "6", "--most", "2", *folders]).returncode
    subprocess.run([sys.executable, here / "record.py", fovea, library, out, "sm_90a:flash:window-apart-64"], check=True)
    sys.exit(sample or subprocess.run([mutate, "--unreached", Path(out, "sm_90a-flash-window-apart-64")]).returncode)
