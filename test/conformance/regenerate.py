#!/usr/bin/env python3
# test/conformance/regenerate.py - compile kernels/*.py with Triton and Gluon, without a GPU, and store the PTX in ptx/
"""regenerate.py [-k SUBSTRING]... [--jobs N]    needs `pip install triton==3.9.0 numpy` (1 GB); the tests do not.
Each kernel x chip runs in its own process, so that a compiler assertion ends only that one. ptx/CHIP/index.json records
arguments and launch facts of every kernel; what does not compile is printed and left out."""
import argparse, concurrent.futures, gzip, importlib.util, json, os, re, shutil, subprocess, sys, tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PTXAS = shutil.which("ptxas") or ""
META = ("name", "num_warps", "num_ctas", "shared", "tmem_size", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
        "profile_scratch_align", "tensordesc_meta")


def load(module):
    spec = importlib.util.spec_from_file_location(module, HERE / "kernels" / f"{module}.py")
    loaded = sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.KERNELS


def compile_one(module, name, arch, out):
    """In a fresh process: NAME.ptx.gz and NAME.json."""
    cache = tempfile.mkdtemp(prefix="triton-")
    os.environ.update(TRITON_CACHE_DIR=cache, TRITON_DISABLE_LINE_INFO="1", TRITON_DEFAULT_FP_FUSION="1")
    if PTXAS:  # otherwise the bundled ptxas sets the PTX version
        os.environ.update(TRITON_PTXAS_BLACKWELL_PATH=PTXAS, TRITON_PTXAS_PATH=PTXAS)
    tempfile.tempdir = cache
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    kernel = next(k for k in load(module) if k["name"] == name)
    target = GPUTarget("cuda", arch, 32)
    if kernel.get("need_driver"):  # some front-end functions ask the driver for its target
        triton.runtime.driver.set_active(type("Driver", (), {"get_current_target": lambda _: target, "get_current_device": lambda _: 0})())
    if kernel["lang"] == "gluon":
        from triton.experimental.gluon._runtime import GluonASTSource as Source
    else:
        from triton.compiler import ASTSource as Source
    CUDABackend.make_cubin = lambda self, src, metadata, opt, capability: b""  # the PTX is all we want
    fn = kernel["fn"]
    attrs = {(fn.arg_names.index(a),): [["tt.divisibility", 16]] for a in kernel.get("div16", ())}
    compiled = triton.compile(Source(fn=fn, signature=dict(kernel["signature"]), constexprs=dict(kernel["constexprs"]), attrs=attrs),
                              target=target, options=dict(kernel["options"], enable_fp_fusion=True))
    meta = compiled.metadata._asdict()
    record = dict(module=module, signature={k: re.sub(r",NVMMASharedLayout.*", ">", str(v)) for k, v in kernel["signature"].items()},
                  constexprs={k: str(v) for k, v in kernel["constexprs"].items()}, meta={k: meta[k] for k in META if k in meta})
    ptx = compiled.asm["ptx"].encode()
    (Path(out) / f"{name}.ptx.gz").write_bytes(gzip.compress(ptx, 9, mtime=0))
    (Path(out) / f"{name}.json").write_text(json.dumps(record, default=str))
    shutil.rmtree(cache, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("-k", action="append", default=[])
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.one:
        return compile_one(a.one[0], a.one[1], int(a.one[2]), a.one[3])
    jobs = [(f.stem, k["name"], arch) for f in sorted((HERE / "kernels").glob("*.py")) for k in load(f.stem) for arch in k["targets"]
            if not a.k or any(s in f"{f.stem}/{k['name']}/sm_{arch}" for s in a.k)]
    staging = tempfile.mkdtemp(prefix="conformance-")

    def run(job):
        out = Path(staging) / f"sm_{job[2]}a"
        out.mkdir(exist_ok=True)
        return job, subprocess.run([sys.executable, __file__, "--one", *map(str, job), str(out)], capture_output=True, text=True)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for (module, name, arch), r in pool.map(run, jobs):
            bad += r.returncode != 0
            if r.returncode:
                why = [line for line in r.stderr.splitlines() if re.search(r"error:|Error:|Assertion", line)] or r.stderr.splitlines()
                print(f"did not compile: {module}/{name} sm_{arch}: {' '.join(why[-2:])[:300]}", flush=True)
    for chip in sorted({f"sm_{arch}a" for _, _, arch in jobs}):
        target = HERE / "ptx" / chip
        target.mkdir(parents=True, exist_ok=True)
        index_file = target / "index.json"
        index = json.loads(index_file.read_text()) if index_file.exists() and a.k else {}
        for record in (Path(staging) / chip).glob("*.json"):
            index[record.stem] = json.loads(record.read_text())
            shutil.copy(record.parent / f"{record.stem}.ptx.gz", target)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(index[name])}" for name in sorted(index))
        index_file.write_text("{\n" + lines + "\n}\n")
        for stale in target.glob("*.ptx.gz"):
            if stale.name[:-7] not in index:
                stale.unlink()
    shutil.rmtree(staging)
    print(f"{len(jobs) - bad} of {len(jobs)} kernels compiled")


if __name__ == "__main__":
    main()
