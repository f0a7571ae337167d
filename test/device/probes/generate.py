#!/usr/bin/env python3
# test/device/probes/generate.py - all probes as a list; with a folder, their PTX, launch.json and inputs as files
"""generate.py [OUT] [-k SUBSTRING]: writes OUT/NAME/{probe.ptx, launch.json, INPUT.npy}; without OUT, lists names and forms.
generate.py --cover KERNEL.ptx...: instruction forms of the kernels that no probe has."""
import argparse, json, re
from pathlib import Path
import numpy as np
import convert, copies, matrix, memory, probe, scalar, warp


def probes(select=""):
    if not probe.PROBES:
        for module in (scalar, convert, warp, memory, copies, matrix):
            module.build()
    return [p for p in probe.PROBES.values() if select in p.name]


def write(p, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "probe.ptx").write_text(p.ptx)
    (folder / "launch.json").write_text(json.dumps(p.launch()))
    for name, array in p.arrays().items():
        np.save(folder / f"{name}.npy", array)


def forms(ptx):
    """Opcodes with all modifiers; shared is shared::cta."""
    found = set()
    for statement in re.split(r"[;\n{}]", re.sub(r"//.*", "", ptx)):
        if match := re.match(r"\s*(?:@!?%?\w+\s+)?([a-z]\w*(?:\.[\w:]+)*)(?:\s|$)", statement):
            found.add(match[1].replace("shared::cta", "shared"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("-k", default="")
    parser.add_argument("--cover", nargs="+", type=Path)
    a = parser.parse_args()
    if a.cover:
        missing = set().union(*(forms(k.read_text()) for k in a.cover)) - set().union(*(forms(p.ptx) for p in probes()))
        print("\n".join(sorted(missing)) or "every form has a probe")
        return
    chosen = probes(a.k)
    for p in chosen:
        if a.out:
            write(p, a.out / p.name)
        else:
            print(f"{p.family:10} {p.name:40} {p.form}")
    print(f"{len(chosen)} probes, {len({p.form for p in chosen})} distinct forms")


if __name__ == "__main__":
    main()
