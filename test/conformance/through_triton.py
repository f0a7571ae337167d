#!/usr/bin/env python3
# test/conformance/through_triton.py - Triton compiles and launches its kernels itself, unmodified, on the emulator's driver library
"""through_triton.py --library LIBFOVEA_EMULATOR.SO [--chip sm_100a|sm_90a] [-k SUBSTRING]...    needs triton and NumPy, no torch.
The kernels of kernels/*.py go through Triton's JIT and its own launcher (driver.c against cuda.h and libcuda.so.1); what they must
compute is in cases/*.py, as for run.py. Without -k: one of each kind. Exit status 77 (skipped) where triton is not installed."""
import argparse, atexit, ctypes as C, importlib.util, json, os, re, shutil, sys, tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# One kernel of each kind: elementwise, reductions, atomics, products through pointers, host and device tensor maps, persistent and
# warp specialised, clusters, attention, block scales; Gluon's tensor memory, barriers and launch control.
SELECTED = ("misc_softmax", "misc_layernorm", "misc_scan_sort_hist", "misc_atomics", "misc_math", "gemm_ptr_bf16_m64n64", "gemm_ptr_fp8e5m2",
            "gemm_tma_host_bf16", "gemm_tma_host_bf16_cta2", "gemm_tma_dev_bf16", "gemm_pers_ws_bf16", "gemm_tma_clc_bf16", "tma_reduce_add_fp32",
            "tma_copy_4d_fp16", "attn_fwd_d64_m64_n64", "attn_tma_d64_m128_n64", "attn_bwd_d64_m64_n64", "dot_scaled_e4m3_e4m3_v32",
            "g_gemm_bf16_128x128x64", "g_tma_copy_evict_first", "g_tma_mcast_2cta", "g_cp_async", "g_clc", "g_mbar", "g_wgmma_bf16")


def fresh_environment(library, chip):
    """Triton reads these when it is imported, the loader when the process starts: so the process starts anew with them."""
    folder = tempfile.mkdtemp(prefix="through-triton-")
    os.symlink(library, Path(folder) / "libcuda.so.1")
    stand_in = str(HERE / "ptx-as-cubin")
    os.environ.update(FOVEA_EMULATE=chip, TRITON_LIBCUDA_PATH=folder, TRITON_CACHE_DIR=str(Path(folder) / "cache"), TRITON_DEFAULT_FP_FUSION="1",
                      LD_LIBRARY_PATH=os.pathsep.join([folder, str(Path(library).parent), os.environ.get("LD_LIBRARY_PATH", "")]),
                      TRITON_PTXAS_PATH=stand_in, TRITON_PTXAS_BLACKWELL_PATH=stand_in, FOVEA_THROUGH_TRITON=folder)
    os.execv(sys.executable, [sys.executable, *sys.argv])


class DType:
    """What Triton asks of a tensor's dtype. One object a format: Triton remembers them by identity."""
    known = {}

    def __new__(cls, name, itemsize):
        self = cls.known.setdefault(name, super().__new__(cls))
        self.name, self.itemsize, self.is_floating_point = name, itemsize, name.startswith(("fp", "bf"))
        return self

    def __str__(self):
        return self.name


class ConstantList(list):
    """A list as a constexpr: Triton's launcher remembers kernels by their constants, so they must have a hash."""

    def __hash__(self):
        return hash(repr(self))


class DeviceArray:
    """Device memory of the driver library; Triton's launcher asks for data_ptr() and dtype only."""

    def __init__(self, cu, fmt, bits):
        self.cu, self.bits, self.dtype, self.shape = cu, bits, DType(fmt, bits.itemsize), bits.shape
        pointer = C.c_uint64()
        if cu.cuMemAlloc_v2(C.byref(pointer), C.c_size_t(max(bits.nbytes, 16))):
            raise RuntimeError("cuMemAlloc failed")
        self.pointer = pointer.value
        if cu.cuMemcpyHtoD_v2(C.c_uint64(self.pointer), bits.ctypes.data_as(C.c_void_p), C.c_size_t(bits.nbytes)):
            raise RuntimeError("cuMemcpyHtoD failed")

    def data_ptr(self):
        return self.pointer

    def read(self):
        if self.cu.cuMemcpyDtoH_v2(self.bits.ctypes.data_as(C.c_void_p), C.c_uint64(self.pointer), C.c_size_t(self.bits.nbytes)):
            raise RuntimeError("cuMemcpyDtoH failed")
        return self.bits

    def free(self):
        self.cu.cuMemFree_v2(C.c_uint64(self.pointer))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--library", required=True)
    p.add_argument("--chip", default="sm_100a", choices=["sm_100a", "sm_90a"])
    p.add_argument("-k", action="append", default=[])
    p.add_argument("--all", action="store_true", help="every kernel")
    a = p.parse_args()
    missing = [m for m in ("triton", "numpy") if not importlib.util.find_spec(m)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed for {sys.executable} (pip install triton==3.9.0 numpy)")
        return 77
    if "FOVEA_THROUGH_TRITON" not in os.environ:
        fresh_environment(Path(a.library).resolve(), a.chip)
    atexit.register(shutil.rmtree, os.environ["FOVEA_THROUGH_TRITON"], ignore_errors=True)
    sys.path.insert(0, str(HERE))
    import numpy as np
    import triton
    from triton.tools.tensor_descriptor import TensorDescriptor
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
    from cases import BUILDERS
    from formats import BITS
    from harness import Buffer, Desc, Kernel, compare
    from regenerate import load
    cu = C.CDLL("libcuda.so.1")
    triton.runtime.driver.active.get_current_device()  # makes the primary context current
    scratch = []  # device-made tensor maps lie there

    def allocate(size, alignment, stream):
        scratch.append(DeviceArray(cu, "u8", np.full(size, 0xff, np.uint8)))
        return scratch[-1]
    triton.set_allocator(allocate)
    index = json.loads((HERE / "ptx" / a.chip / "index.json").read_text())
    definitions = {k["name"]: k for f in sorted((HERE / "kernels").glob("*.py")) for k in load(f.stem)}
    chosen = [n for n in index if a.all or (any(s in n for s in a.k) if a.k else n in SELECTED)]
    bad = 0
    for name in chosen:
        kernel, definition = Kernel(a.chip, name, index[name]), definitions[name]
        case = BUILDERS[kernel.fn](kernel)
        arrays, descriptors = {}, iter(kernel.meta.get("tensordesc_meta") or [])

        def device(buffer, fmt=None):
            if id(buffer) not in arrays:
                bits = np.ascontiguousarray(buffer.bits).copy() if buffer.bits is not None else \
                    np.full(buffer.shape, 0, BITS[buffer.fmt])
                if buffer.bits is None:
                    bits.view(np.uint8)[...] = 0xff
                arrays[id(buffer)] = DeviceArray(cu, fmt or buffer.fmt, bits), buffer
            return arrays[id(buffer)][0]

        def argument(name, value):
            if isinstance(value, Buffer):  # of the type that the kernel is compiled for: its bits may be kept as bytes
                return device(value, str(definition["signature"][name]).lstrip("*"))
            if not isinstance(value, Desc):
                return value
            array = device(value.buffer)
            shape = list(array.shape)
            strides = [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
            kind = str(definition["signature"][name])
            block = [int(n) for n in re.search(r"\[([\d,]+)\]", kind)[1].split(",")]
            padding = "nan" if value.nan else "zero"
            if definition["lang"] == "gluon":
                from triton.experimental.gluon import language as gl
                names = {n: getattr(gl, n) for n in dir(gl)}
                layout = eval(kind[kind.index("],") + 2:-1], names)  # the layout's repr, from kernels/*.py
                return GluonDescriptor(array, shape, strides, block, layout, padding)
            return TensorDescriptor(array, shape, strides, block, padding)
        try:
            # Buffers with a place of their own are no parameters: their addresses stand in another buffer.
            pointed = {v.address: device(v).data_ptr() for v in case.args.values() if isinstance(v, Buffer) and v.address is not None}
            for v in case.args.values():
                if pointed and isinstance(v, Buffer) and v.fmt == "i64" and v.bits is not None:
                    v.bits = np.array([pointed.get(int(x), int(x)) for x in v.bits], np.int64)
            arguments = {n: argument(n, v) for n, v in case.args.items() if getattr(v, "address", None) is None}
            constants = {n: ConstantList(v) if isinstance(v, list) else v for n, v in definition["constexprs"].items()}
            definition["fn"][case.grid](**arguments, **constants, **definition["options"])
            problems = [compare(f"argument {buffer.fmt}{buffer.shape}", buffer, array.read()) for array, buffer in arrays.values()
                        if buffer.expect is not None]
            problems = [x for x in problems if x]
        except Exception as error:  # the next kernel still runs
            problems = [f"{type(error).__name__}: {error}"]
        for array in [array for array, _ in arrays.values()] + scratch:
            array.free()
        scratch.clear()
        bad += bool(problems)
        print(f"{'wrong' if problems else 'right'}: {a.chip}/{name} {'; '.join(problems)[:800]}", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} kernels right through Triton's own launcher")
    return bool(bad or not chosen)


if __name__ == "__main__":
    sys.exit(main())
