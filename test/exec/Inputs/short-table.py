# test/exec/Inputs/short-table.py - short-table.py FOVEA TARGET: a kernel whose indices leave a table reads 0 there, and no other memory; the meaning refuses them.
import os
import random
import subprocess
import sys
import tempfile

from npy import toBits, write

fovea, target = sys.argv[1:3]
device = os.environ.get("FOVEA_TEST_DEVICE", "emulator:" + target)
ROWS, HEADS, DIM, KNOWN = 140, 2, 64, 50
draw = random.Random(1).gauss
entries = [draw(0, 3) for _ in range(HEADS * KNOWN)]
with tempfile.TemporaryDirectory() as folder:
    path = lambda file: os.path.join(folder, file)
    for tensor in "qkv":
        write(path(tensor + ".npy"), "H", [1, ROWS, HEADS, DIM], [toBits(draw(0, 1)) for _ in range(ROWS * HEADS * DIM)])
    open(path("case.attn"), "w").write(f"attention short {{\n q, k, v : bf16 [batch, seq, {HEADS} heads, {DIM}]\n"
                                       " score : s * scale + rel[h, j - i]\n emit : forward(lse)\n}\n")
    outputs = []
    for name, length in (("short", KNOWN), ("long", ROWS)):  # 0 is what the long table says where the short one says nothing
        rows = [entries[h * KNOWN:(h + 1) * KNOWN] + [0.0] * (length - KNOWN) for h in range(HEADS)]
        write(path(name + ".npy"), "f", [HEADS, length], [v for row in rows for v in row])
        files = [word for tensor in "qkv" for word in ("--" + tensor, path(tensor + ".npy"))] + ["--rel", path(name + ".npy")]
        done = subprocess.run([fovea, "run", path("case.attn"), "--target", target, "--device", device, *files, "-o", path(name)],
                              capture_output=True, text=True, env={**os.environ, "FOVEA_EMULATE_DETECT": "1"})
        if done.returncode:
            sys.exit(done.stderr)
        outputs.append([open(path(f"{name}/{output}.npy"), "rb").read() for output in ("o", "lse")])
    print("FAIL: a short table differs from one with zeros behind it" if outputs[0] != outputs[1] else "PASS")
    meaning = subprocess.run([fovea, "eval", path("case.attn"), *files, "-o", path("exact")], capture_output=True, text=True)
    print(meaning.stderr)
    sys.exit(outputs[0] != outputs[1] or meaning.returncode != 1)
