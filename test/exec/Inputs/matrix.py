# test/exec/Inputs/matrix.py - matrix.py FOVEA TARGET CASE... [-- OPTION...]: `fovea check` on block_diagonal specs.
# A CASE is dtype:heads:D:Dv:N[:lse][:backward][:packed][:sink][:tables], e.g. bf16:2:96:64:32:lse, also with origins, as in
# bf16:2:64:64:64,q=t/halves/on_load, settings of a schedule, as in bf16:2:64:64:64,roles=split,stages=2, and an epilogue, as in
# bf16:2:64:64:64:backward,epilogue=o*sigmoid(gate)+residual (a comma is written ';'). Every case
# must end in PASS, with more than 45 dB (42 dB where a rotary embedding is turned) in every gradient, and without a finding of the
# emulator's detectors, warnings included.
import json
import os
import re
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
    dtype, heads, depth, depth_v, block, *words = shape.split(":")
    origins = {s[0]: s[2:].split("/") for s in settings if s[1] == "="}
    tables = sorted({origin[0] for origin in origins.values()}) if "tables" in words else []
    settings = [s for s in settings if s[1] != "="]
    epilogue = "".join(s[len("epilogue="):].replace(";", ",") for s in settings if s.startswith("epilogue="))
    settings = [s for s in settings if not s.startswith("epilogue=")]
    elements = sorted({name for name in ("gate", "residual", "bias") if re.search(rf"\b{name}\b", epilogue)})
    schedule = "schedule " + target + " {\n" + "\n".join(s.replace("=", " : ") for s in settings) + "\n}"
    tensor = lambda name, d: (f"{name} : {dtype} [jagged offsets, {heads} heads, {d}]" +
                              (f" = rotary({', '.join(origins[name])})" if name in origins else ""))
    emit = ["forward(lse)" if "lse" in words else "forward"]
    if "backward" in words:
        options_of = (["packed dz"] if "packed" in words else []) + ["d" + table for table in tables]
        emit.append(f"backward({', '.join(options_of)})" if options_of else "backward")
    text = f"""attention case {{
      {tensor("q", depth)}
      {tensor("k", depth)}
      {tensor("v", depth_v)}
      pattern : block_diagonal({block})
      {"epilogue : " + epilogue if epilogue else ''}
      {"weight : softmax(sink)" if "sink" in words else ""}
      emit    : {", ".join(emit)}
      {schedule if settings else ''}
    }}"""
    more = ["--backward"] if "backward" in words else []
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "case.attn")
        with open(spec, "w") as file:
            file.write(text)
        run = subprocess.run([fovea, "check", spec, "--target", target, "--json", *more, *options], capture_output=True, text=True)
    ok = run.returncode == 0
    if ok:
        report = json.loads(run.stdout)
        least = 42 if origins else 45
        names = {output["output"] for output in report["outputs"]}
        wanted = {"o"} | ({"lse"} if "lse" in words else set()) | (set() if not more else {"dz"} if "packed" in words else {"dq", "dk", "dv"})
        wanted |= {"d" + name for name in elements + tables if more}
        # An exact result (no row, or one key a row) has no ratio.
        quiet = [o for o in report["outputs"] if o["output"].startswith("d") and o["snr_db"] is not None and o["snr_db"] < least and o["max_error"] > o["rounding_floor"]]
        ok = report["pass"] and names == wanted and not quiet and "fovea emulator: report" not in run.stderr
    print(case, target, *options, "PASS" if ok else "FAIL")
    if not ok:
        failed += 1
        print(run.stdout, run.stderr)
sys.exit(1 if failed or not cases else 0)
