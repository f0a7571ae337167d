# test/exec/Inputs/matrix.py - matrix.py FOVEA TARGET CASE... [-- OPTION...]: `fovea check` on block_diagonal specs.
# A CASE is dtype:heads:D:Dv:N[:lse], e.g. bf16:2:96:64:32:lse, also with settings of a schedule, as in
# bf16:2:64:64:64,roles=split,stages=2. Every case must end in PASS.
import os
import subprocess
import sys
import tempfile

arguments, options = sys.argv[1:], []
if "--" in arguments:
    at = arguments.index("--")
    arguments, options = arguments[:at], arguments[at + 1:]
fovea, target, cases = arguments[0], arguments[1], arguments[2:]
failed = 0
for case in cases:
    shape, *settings = case.split(",")
    dtype, heads, depth, depth_v, block, *lse = shape.split(":")
    schedule = "schedule " + target + " {\n" + "\n".join(s.replace("=", " : ") for s in settings) + "\n}"
    text = f"""attention case {{
      q, k    : {dtype} [jagged offsets, {heads} heads, {depth}]
      v       : {dtype} [jagged offsets, {heads} heads, {depth_v}]
      pattern : block_diagonal({block})
      emit    : {'forward(lse)' if lse else 'forward'}
      {schedule if settings else ''}
    }}"""
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "case.attn")
        with open(spec, "w") as file:
            file.write(text)
        run = subprocess.run([fovea, "check", spec, "--target", target, *options], capture_output=True, text=True)
    last = run.stdout.strip().splitlines()[-1:] or [""]
    ok = run.returncode == 0 and last[0] == "PASS"
    print(case, target, *options, "PASS" if ok else "FAIL")
    if not ok:
        failed += 1
        print(run.stdout, run.stderr)
sys.exit(1 if failed or not cases else 0)
