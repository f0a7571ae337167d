#!/usr/bin/env python3
# test/device/probes/record.py - run every probe through a CUDA driver and store the answers
"""record.py --out RESULTS [-k SUBSTRING] [--driver libcuda.so.1]: needs NumPy and a driver. Writes RESULTS/FAMILY.npz, and the
probes that the driver or the chip refused to RESULTS/refused.json. A probe that kills its context costs one restart of the worker process."""
import argparse, ctypes as C, json, os, select, subprocess, sys, tempfile, time
from pathlib import Path
import numpy as np
import generate

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "conformance"))
SECONDS = 30  # without an answer, a probe hangs


def work(root, names, library):
    import through_driver as driver
    driver.cu = C.CDLL(library)
    driver.check(driver.cu.cuInit(0), "cuInit")
    device, context = C.c_int(), C.c_void_p()
    driver.check(driver.cu.cuDeviceGet(C.byref(device), 0), "device 0")
    driver.check(driver.cu.cuDevicePrimaryCtxRetain(C.byref(context), device), "context")
    driver.check(driver.cu.cuCtxSetCurrent(context), "context")
    for name in names:
        folder = root / name
        spec = json.loads((folder / "launch.json").read_text())
        try:
            run = driver.Run(folder, spec)
            run.launch(folder / "probe.ptx", spec)
            run.save()
            print("ok", name, flush=True)
        except SystemExit as refusal:
            print("refused", name, " ".join(str(refusal).split()), flush=True)
            os._exit(1)  # after a fault the context is lost


def record(root, names, library):
    """Names that ran, and {name: refusal}."""
    done, refused, left = [], {}, list(names)
    while left:
        worker = subprocess.Popen([sys.executable, __file__, "--out", str(root), "--driver", library, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        worker.stdin.write("\n".join(left)), worker.stdin.close()
        before = len(left)
        while True:
            ready, _, _ = select.select([worker.stdout], [], [], SECONDS)
            line = worker.stdout.readline() if ready else ""
            if not line:
                if left and len(left) == before or not ready:
                    refused[left.pop(0)] = ("no answer: " if not ready else "died: ") + ("" if not ready else worker.stderr.read()[-300:])
                break
            status, name, *why = line.split(maxsplit=2)
            left.remove(name)
            if status == "ok":
                done.append(name)
            else:
                refused[name] = why[0].strip() if why else ""
                break
            if not left:
                break
        worker.kill()
        worker.wait()
    return done, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("-k", default="")
    parser.add_argument("--driver", default="libcuda.so.1")
    parser.add_argument("--worker", action="store_true")
    a = parser.parse_args()
    if a.worker:
        return work(a.out, sys.stdin.read().split(), a.driver)
    started, chosen = time.time(), generate.probes(a.k)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for p in chosen:
            generate.write(p, root / p.name)
        done, refused = record(root, [p.name for p in chosen], a.driver)
        families = {}
        for p in chosen:
            if p.name in done:
                for out in p.outputs:
                    families.setdefault(p.family, {})[f"{p.name}.{out}"] = np.load(root / p.name / f"out_{out}.npy")
    a.out.mkdir(parents=True, exist_ok=True)
    for family, arrays in families.items():
        np.savez_compressed(a.out / f"{family}.npz", **arrays)
    (a.out / "refused.json").write_text(json.dumps(refused, indent=1) + "\n")
    for name, why in refused.items():
        print(f"refused {name}: {why}")
    print(f"{len(done)} of {len(chosen)} probes ran in {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
