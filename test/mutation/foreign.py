#!/usr/bin/env python3
# test/mutation/foreign.py - foreign.py OUT [KERNEL...]: launches of other compilers' kernels for fovea-mutate
"""Writes kernel.ptx and launch.json of kernels of test/conformance into one folder each."""
import json, sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance"))
from cases import BUILDERS
from harness import launch
from run import kernels

TEN = ["sm_100a/gemm_tma_host_bf16", "sm_100a/g_gemm_bf16_128x128x64", "sm_100a/g_mma_ts_bf16", "sm_100a/attn_fwd_d32_m64_n32_causal",
       "sm_100a/g_ws_gemm", "sm_100a/g_mbar", "sm_100a/g_mma_2cta_bf16_m128n128", "sm_90a/gemm_tma_host_bf16",
       "sm_90a/attn_fwd_d32_m64_n32_causal", "sm_90a/g_mbar"]


def main(out, *names):
    wanted = set(names or TEN)
    for kernel in kernels():
        name = f"{kernel.folder}/{kernel.name}"
        if name not in wanted:
            continue
        wanted.discard(name)
        folder = Path(out, name.replace("/", "-"))
        folder.mkdir(parents=True, exist_ok=True)
        spec, buffers = launch(kernel, BUILDERS[kernel.fn](kernel), ("lazy",))
        for key in ("async", "seed"):
            spec.pop(key, None)
        (folder / "kernel.ptx").write_bytes(kernel.ptx())
        (folder / "launch.json").write_text(json.dumps(spec))
        for b, buffer in buffers.items():
            if buffer.bits is not None:
                np.save(folder / f"{b}.npy", buffer.bits)
    return f"no such kernel: {', '.join(sorted(wanted))}" if wanted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
