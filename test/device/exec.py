#!/usr/bin/env python3
# test/device/exec.py - the checks of test/exec on a GPU: every shape, pattern, score and schedule that the emulator is tested with
"""exec.py FOVEA [-j 8] [-k WORD] [--device cuda:0] [--runtime libfovea_runtime.so]: the RUN lines of test/exec/*-sm_90a.test that compare with f64 (`fovea check`, matrix.py,
adversarial.py, lists.py, strides.py), on a GPU instead of the emulator. One line each: PASS or FAIL, and what it ran. Exit status 1 if one fails."""
import argparse, os, re, shlex, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXEC = Path(__file__).resolve().parents[1] / "exec"
SCRIPTS = ("matrix.py", "adversarial.py", "lists.py", "strides.py")


def commands(fovea, device):
    for test in sorted(EXEC.glob("*-sm_90a.test")):
        for line in test.read_text().splitlines():
            words = shlex.split(line[4:]) if line.startswith("RUN:") else []
            while words and (words[0] == "env" or re.match(r"FOVEA_\w+=", words[0])): # the emulator's detectors
                words = words[1:]
            script = words[:1] == ["%python"] and Path(words[1]).name in SCRIPTS
            if "|" in words or not (script or words[:2] == ["%fovea", "check"]):
                continue
            if "--async" in words: # a GPU has one way
                at = words.index("--async")
                words[at:at + 2] = []
            words = [device if word.startswith("emulator:") else word for word in words]
            if script and Path(words[1]).name == "matrix.py":
                words += ([] if "--" in words else ["--"]) + ["--device", device]
            yield test.stem, [sys.executable if w == "%python" else fovea if w == "%fovea" else w.replace("%S", str(EXEC)) for w in words]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fovea")
    parser.add_argument("-j", type=int, default=8)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--runtime", help="for kernels that are changed after they were compiled; else ../lib of FOVEA")
    parser.add_argument("-k", default="", help="only tests whose name contains this")
    a = parser.parse_args()
    os.environ["FOVEA_TEST_DEVICE"] = a.device
    if a.runtime:
        os.environ["FOVEA_TEST_RUNTIME"] = str(Path(a.runtime).resolve())
    chosen = {tuple(command): test for test, command in commands(a.fovea, a.device) if a.k in test} # policies aside, some are the same
    cases = failed = 0
    with ThreadPoolExecutor(a.j) as pool:
        for (command, test), (status, output) in zip(chosen.items(), pool.map(run, chosen)):
            shown = " ".join(Path(word).name if word.startswith("/") else word for word in command if word != sys.executable)
            print(f"{'FAIL' if status else 'PASS'} {test}: {shown}"[:300], flush=True)
            cases += len(re.findall(r"\bPASS$", output, re.MULTILINE))
            if status:
                failed += 1
                print("  " + "\n  ".join(output.splitlines()[-12:]))
    print(f"{len(chosen) - failed} of {len(chosen)} command lines passed, {cases} checks in them")
    sys.exit(failed > 0)
