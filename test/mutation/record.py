#!/usr/bin/env python3
# test/mutation/record.py - record.py FOVEA LIBRARY OUT [CASE...]: launches of our own kernels for fovea-mutate
"""Compiles specs, runs them on the emulator with FOVEA_EMULATE_RECORD and leaves one folder a kernel in OUT. A
CASE is target:roles:block:depth[:stages], for block_diagonal, or target:flash:NAME of FLASH. Each block-diagonal kernel gets
ragged sequences, full ones, and the ragged ones with a list of tiles; kernels that loop over work items get one block, so
that rings wrap and phases repeat."""
import json, os, shutil, subprocess, sys, tempfile
from pathlib import Path

CASES = ["sm_100a:fused:64:64", "sm_90a:fused:64:64", "sm_100a:split:64:64:2", "sm_90a:split:64:64:2",
         "sm_100a:fused:32:128", "sm_90a:fused:32:128", "sm_100a:split:32:32:3", "sm_90a:split:128:64:1",
         "sm_100a:fused:128:32", "sm_90a:fused:128:32",
         "sm_100a:flash:dense-64", "sm_90a:flash:dense-64", "sm_90a:flash:maxfree-128", "sm_100a:flash:maxfree-64", "sm_100a:flash:causal-gqa-128",
         "sm_90a:flash:causal-gqa-128", "sm_100a:flash:window-apart-64", "sm_90a:flash:window-apart-64"]
SPEC = """attention case {{
  q, k, v : bf16 [jagged offsets, 1 heads, {depth}]
  pattern : block_diagonal({block})
  emit    : forward(lse), backward
  schedule {target} {{
    roles : {roles}
{stages}  }}
}}
"""


DENSE = [["--batch", "1", "--seq", "300"], ["--batch", "2", "--seq", "256"], ["--batch", "24", "--seq", "20"], ["--batch", "1", "--seq", "650"]]
JAGGED = [["--batch", "3", "--lengths", "100:300"], ["--batch", "1", "--seq", "256"], ["--batch", "24", "--lengths", "0:40"], ["--batch", "1", "--seq", "650"]]
# Keys in parts, and last items of 74 queries: two heads in 148 rows, of which 20 are in a second tile. (650 leaves 20 in a first one.)
SECOND = ["--batch", "1", "--seq", "714"]
# Few rows behind many keys: an item's last warp groups have none, and its diagonal crosses two key blocks.
APART = ["--batch", "3", "--lengths", "q_offsets=90,90,70", "--lengths", "kv_offsets=150,406,330"]
HEIGHTS = {"dense-64": 192, "maxfree-128": 192, "maxfree-64": 256, "causal-gqa-128": 128, "window-apart-64": 192}  # of the best tiles on sm_90a: one kernel, not its variants
# So many items that their keys are not in parts, of as many blocks as a loader frees an item's slot within.
WHOLE = [["--batch", "34", "--seq", "260"]]
FLASH = {  # tensors, pattern, score, softmax, inputs: several key blocks, full tiles, more items than any ring has slots, more blocks than slots
    "dense-64": ("q, k, v : bf16 [batch, seq, 2 heads, 64]", "full", "", "exact", DENSE),
    "maxfree-128": ("q, k, v : bf16 [batch, seq, 2 heads, 128]", "full", "", "max_free", DENSE + WHOLE),
    "maxfree-64": ("q, k, v : bf16 [batch, seq, 2 heads, 64]", "full", "", "max_free", DENSE),
    "causal-gqa-128": ("q : bf16 [jagged q_offsets, 2 heads, 128]\n  k, v : bf16 [jagged kv_offsets, 1 heads, 128]", "causal", "", "exact", JAGGED + [APART, SECOND]),
    # Queries and keys of their own lengths: the first blocks only others see, diagonals that cross two, two whole blocks in a row, and keys in
    # parts, or of 40 sequences not.
    "window-apart-64": ("q : bf16 [batch, n_q, 2 heads, 64]\n  k, v : bf16 [batch, n_k, 2 heads, 64]", "causal & window(600)", "  score : softcap(s * scale, 5)\n", "exact",
                        [["--batch", batch, "--lengths", f"n_q={q}:{q}", "--lengths", f"n_k={k}:{k}"]
                         for batch, q, k in (("1", 400, 400), ("24", 20, 20), ("1", 410, 410), ("1", 300, 530), ("1", 650, 650), ("1", 5, 400), ("1", 1000, 1000), ("40", 20, 800))])}
FLASH_SPEC = """attention case {{
  {tensors}
  pattern : {pattern}
{score}  emit    : forward(lse)
  schedule {target} {{ softmax : {softmax}{height} }}
}}
"""


def flash(fovea, library, out, target, name):
    tensors, pattern, score, softmax, inputs = FLASH[name]
    spec = FLASH_SPEC.format(tensors=tensors, pattern=pattern, score=score, target=target, softmax=softmax, height=f", tile_m : {HEIGHTS[name]}" if target == "sm_90a" else "")
    for number, options in enumerate(inputs):
        for kernel in launches(fovea, library, spec, target, options):
            if kernel.name.endswith("combine"):
                continue  # adds up what parts of the keys leave; synchronises with nobody
            if options[-1].endswith("650"):
                rise(kernel / "0.npy")
            keep(kernel, Path(out, f"{target}-flash-{name}"), number, one=True)


def rise(path):
    """K (the first buffer, in order of name) of 650 keys, times 4 from one 128 keys to those before them, as kernels go from the last
    block to the first: the running maximum grows by more than one block may add without a correction, and a max-free sum overflows."""
    data = bytearray(path.read_bytes())
    begin = 10 + int.from_bytes(data[8:10], "little")
    values = memoryview(data)[begin:].cast("H")
    width = len(values) // 650
    for k, v in enumerate(values):
        if v & 0x7f80:  # zero stays zero
            values[k] = v + (2 * (5 - k // width // 128) << 7)
    path.write_bytes(data)


def launches(fovea, library, spec, target, options):
    """The folders that one run of `fovea check` leaves, each removed when the next one is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "case.attn")
        path.write_text(spec)
        env = dict(os.environ, FOVEA_EMULATOR_LIB=library, FOVEA_EMULATE_RECORD=folder, FOVEA_EMULATE_DETECT="1")
        run = subprocess.run([fovea, "check", path, "--target", target, *options], env=env, capture_output=True, text=True)
        if run.returncode or "PASS" not in run.stdout or "report of kernel" in run.stderr:
            sys.exit(f"{spec}{run.stdout[-500:]}{run.stderr[-1500:]}")
        yield from sorted(Path(folder).glob("0*"))


def keep(kernel, to, number, one):
    """Copies a launch as input `number`; `one`: with one block."""
    to.mkdir(parents=True, exist_ok=True)
    launch = json.loads((kernel / "launch.json").read_text())
    if one:
        launch["grid"] = [1, 1, 1]
    for buffer in launch["buffers"].values():
        shutil.copy(kernel / buffer["npy"], to / f"{number}-{buffer['npy']}")
        buffer["npy"] = f"{number}-{buffer['npy']}"
    (to / f"launch{number or ''}.json").write_text(json.dumps(launch))
    shutil.copy(kernel / "kernel.ptx", to / "kernel.ptx")
    return launch


def record(fovea, library, out, case):
    target, roles, block, *rest = case.split(":")
    if roles == "flash":
        return flash(fovea, library, out, target, block)
    depth, *stages = rest
    spec = SPEC.format(target=target, roles=roles, block=block, depth=depth, stages=f"    stages : {stages[0]}\n" if stages else "")
    inputs = [["--batch", "14" if roles == "split" else "7", "--lengths", "20:280"], ["--batch", "3", "--seq", "256"]]
    for number, options in enumerate(inputs):
        for kernel in launches(fovea, library, spec, target, ["--backward", *options]):
            backward = kernel.name.endswith("backward")
            if backward and roles == "split":
                continue  # the backward kernel has one form
            to = Path(out, f"{target}-{roles}-{block}-{depth}-{'backward' if backward else 'forward'}")
            launch = keep(kernel, to, number, one=roles == "split" and "%nctaid" in (kernel / "kernel.ptx").read_text())
            if number == 0 and launch["params"][-1] == {"hex": "00" * 8}:
                listed(launch, to)


def npy(data):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(data)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def listed(launch, to):
    """The launch with a list of its tiles (runtime/core/TileList.h), which the last two parameters take: number and pointer."""
    offsets, shift, heads, batch, total, items, tiles = launch["params"][-7:]
    value = lambda p: int.from_bytes(bytes.fromhex(p["hex"]), "little")
    buffer = next(b for b in launch["buffers"].values() if b["address"] == value(offsets))
    data, width, count = (to / buffer["npy"]).read_bytes(), 1 << value(shift), value(batch)
    data = data[10 + int.from_bytes(data[8:10], "little"):]
    starts = [int.from_bytes(data[k * width:(k + 1) * width], "little") for k in range(count + 1)]
    rows = next(r for r in (64, 128) if value(total) // r + count == value(items))
    words = [row | min(rows, end - row) << 32 for begin, end in zip(starts, starts[1:]) for row in range(begin, end, rows)]
    (to / "tiles.npy").write_bytes(npy(b"".join(w.to_bytes(8, "little") for w in words)))
    launch["buffers"]["tiles"] = {"npy": "tiles.npy"}
    launch["params"][-2:] = [{"hex": len(words).to_bytes(4, "little").hex()}, {"buffer": "tiles"}]
    launch["grid"][0] = min(launch["grid"][0], len(words))
    (to / "launch2.json").write_text(json.dumps(launch))


if __name__ == "__main__":
    fovea, library, out, *cases = sys.argv[1:]
    for case in cases or CASES:
        record(fovea, os.path.abspath(library), out, case)
