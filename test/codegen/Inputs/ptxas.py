"""ptxas.py FOVEA PTXAS TARGET DIR SETTINGS...: compiles block-diagonal specs, forward and backward, and gives each to ptxas.

A SETTING is N:D[:key=value...], with `rotary=WORDS` (interleaved/on_load) for a table in front of q, k and v, and the words `backward` (also
of a schedule) and `epilogue` for a gated residual. Fails when ptxas refuses a kernel, spills in one, or serialises wgmma (C7510 and its like).
"""
import pathlib
import subprocess
import sys

fovea, ptxas, target, folder = sys.argv[1:5]
spec, bad = pathlib.Path(folder) / "spec.attn", 0
for setting in sys.argv[5:]:
    n, d, *schedule = setting.split(":")
    rotary = "".join(f" = rotary(t, {s[7:].replace('/', ', ')})" for s in schedule if s.startswith("rotary="))
    words = [s for s in schedule if "=" not in s]
    schedule = [s for s in schedule if "=" in s and not s.startswith("rotary=")]
    emit = "forward(lse)" if schedule and "backward" not in words else "forward(lse), backward"
    epilogue = "  epilogue : o * sigmoid(gate) + residual\n" if "epilogue" in words else ""
    overrides = f"  schedule {target} {{ {', '.join(s.replace('=', ' : ') for s in schedule)} }}\n" if schedule else ""
    spec.write_text(f"attention x {{\n  q, k, v : bf16 [jagged offsets, 4 heads, {d}]{rotary}\n  pattern : block_diagonal({n})\n"
                    f"{epilogue}  emit : {emit}\n{overrides}}}\n")
    ptx = spec.with_suffix(".ptx")
    subprocess.run([fovea, "compile", spec, "--target", target, "--emit=ptx", "-o", ptx], check=True)
    result = subprocess.run([ptxas, f"-arch={target}", "-v", ptx, "-o", spec.with_suffix(".cubin")],
                            capture_output=True, text=True)
    report = result.stdout + result.stderr
    clean = report.count(" 0 bytes spill stores, 0 bytes spill loads")
    kernels = report.count("Compiling entry function")
    if result.returncode or clean != kernels or not kernels or "C75" in report or "serializ" in report:
        bad += 1
        print(f"{setting} {target}: {report}")
print(f"{len(sys.argv) - 5 - bad} of {len(sys.argv) - 5} specs assemble without spills")
sys.exit(bad != 0)
