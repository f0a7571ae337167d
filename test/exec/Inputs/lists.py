# test/exec/Inputs/lists.py - lists.py FOVEA TARGET: lists of key blocks that matter for how they are written.
# What a list means is compared with `fovea eval` (f64); a list out of order is refused by name, by `run`, too.
import math
import os
import random
import subprocess
import sys
import tempfile

from npy import fromBits, read, toBits, write

fovea, target = sys.argv[1:3]
device = os.environ.get("FOVEA_TEST_DEVICE", "emulator:" + target)
failed = []
HEADS, DIM, BLOCK = 2, 64, 64


def run(command, folder, *more):
    files = [word for name in ("q", "k", "v", "picks") for word in ("--" + name, os.path.join(folder, name + ".npy"))]
    return subprocess.run([fovea, command, os.path.join(folder, "case.attn"), *files, *more], capture_output=True, text=True,
                          env={**os.environ, "FOVEA_EMULATE_DETECT": "1"})


def case(name, rows, lists, refused="", nanIn=(), pattern=""):
    """`lists`: of query block n and head h; `nanIn`: key blocks of NaN, which nobody may have listed."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda file: os.path.join(folder, file)
        draw = random.Random(1).gauss
        for tensor in "qkv":
            values = [toBits(draw(0, 1)) for _ in range(rows * HEADS * DIM)]
            for block in nanIn if tensor != "q" else ():
                for i in range(block * BLOCK * HEADS * DIM, min((block + 1) * BLOCK, rows) * HEADS * DIM):
                    values[i] = 0x7FC0
            write(path(tensor + ".npy"), "H", [1, rows, HEADS, DIM], values)
        blocks = -(-rows // BLOCK)
        table = [lists(n, h) for n in range(blocks) for h in range(HEADS)]
        longest = max(map(len, table))
        write(path("picks.npy"), "i", [1, blocks, HEADS, longest], [v for each in table for v in each + [-1] * (longest - len(each))])
        open(path("case.attn"), "w").write(f"attention lists {{\n q, k, v : bf16 [batch, seq, {HEADS} heads, {DIM}]\n"
                                           f" pattern : blocks({BLOCK}, {BLOCK}, picks){pattern}\n emit : forward(lse)\n}}\n")
        exact = run("eval", folder, "-o", path("exact"))
        ours = run("run", folder, "--target", target, "--device", device, "-o", path("ours"))
        problem = ""
        if refused:
            for done in (exact, ours):
                if done.returncode != 1 or refused not in done.stderr:
                    problem = f"expected '{refused}', found {done.returncode}: {done.stderr}"
        elif exact.returncode or ours.returncode:
            problem = exact.stderr + ours.stderr
        else:
            for output, most in (("o", 0.04), ("lse", 1e-4)):
                header, _, got = read(path(f"ours/{output}.npy"))
                got = [fromBits(v) for v in got] if header["descr"] == "<u2" else got
                for i, (g, w) in enumerate(zip(got, read(path(f"exact/{output}.npy"))[2])):
                    if g != w and not abs(g - w) <= most:
                        problem = problem or f"{output} [{i}]: {g}, expected {w}"
        print(name, target, "FAIL: " + problem if problem else "PASS", flush=True)
        if problem:
            failed.append(name)


case("every-block", 200, lambda n, h: [0, 1, 2, 3])
case("nothing-at-all", 200, lambda n, h: [])
case("nothing-at-all-nan-everywhere", 130, lambda n, h: [], nanIn=(0, 1, 2))
case("one-head-sees-nothing", 200, lambda n, h: [n] if h else [])
case("the-last-block-alone", 200, lambda n, h: [3])
case("the-first-block-alone", 200, lambda n, h: [0])
case("nan-in-blocks-that-nobody-lists", 300, lambda n, h: [0, 2, 4], nanIn=(1, 3))
case("garbage-behind-the-end", 200, lambda n, h: [1, -7, 2 ** 31 - 1, 0])
case("far-longer-than-a-warp", 100, lambda n, h: [0, 1] + [-1] * 300)
case("first-entry-in-the-second-look", 9000, lambda n, h: list(range(h, 141, 2)) if n % 50 == 3 else [140])
case("all-of-it-beyond-the-diagonal", 200, lambda n, h: [3] if n < 3 else [0], pattern=" & causal")
case("unsorted", 200, lambda n, h: [2, 1], refused="expected key blocks below 4 in ascending order, then -1; found 1 behind a greater one in sequence 0, query block 0, head 0")
case("repeated", 200, lambda n, h: [1, 1] if n == 2 and h else [0], refused="found 1 twice in sequence 0, query block 2, head 1")
case("out-of-range", 200, lambda n, h: [4] if n == 3 else [0], refused="found 4 out of range in sequence 0, query block 3, head 0")
sys.exit(len(failed) > 0)
