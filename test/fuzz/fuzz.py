#!/usr/bin/env python3
# test/fuzz/fuzz.py - fuzz.py PTX_FUZZ [OPTION...]: ptx_fuzz on the suite's smaller kernels of both chips
import gzip, subprocess, sys, tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent
with tempfile.TemporaryDirectory() as folder:
    corpus = []
    for chip in ("sm_100a", "sm_90a"):
        for path in sorted((root / "conformance/ptx" / chip).glob("*.ptx.gz")):
            text = gzip.decompress(path.read_bytes())
            if len(text) < 60000:
                corpus.append(Path(folder, f"{chip}-{path.stem}"))
                corpus[-1].write_bytes(text)
    sys.exit(subprocess.run([sys.argv[1], *sys.argv[2:], *corpus]).returncode)
