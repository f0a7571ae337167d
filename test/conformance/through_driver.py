#!/usr/bin/env python3
# test/conformance/through_driver.py - run one launch.json through a CUDA driver: a real GPU's, or the emulator's library
"""through_driver.py [KERNEL.ptx] --launch launch.json [--driver libfovea_emulator.so]    needs NumPy only. Poison is 0xFF bytes.
With the emulator's library the launch's chip and asynchronous policy are passed on in its environment variables."""
import argparse, ctypes as C, json, os, struct, sys
from pathlib import Path
import numpy as np

TYPES = dict(u8=0, u16=1, u32=2, i32=3, s32=3, u64=4, i64=5, s64=5, f16=6, f32=7, f64=8, bf16=9, f32_ftz=10, tf32=11, tf32_ftz=12,
             b4x16=13, b4x16_p64=14, b6x16_p32=15)
SWIZZLE = {"none": 0, "32B": 1, "64B": 2, "128B": 3, "128B_atom32B": 4, "128B_atom32B_flip8B": 5, "128B_atom64B": 6}
PROMOTION = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
INTERLEAVE = {"none": 0, "16B": 1, "32B": 2}
SCALARS = dict(u8="<B", i8="<b", u16="<H", i16="<h", u32="<I", i32="<i", u64="<Q", i64="<q", f32="<f", f64="<d")
MAX_DYNAMIC_SMEM, NON_PORTABLE_CLUSTER = 8, 13  # CUfunction_attribute

cu = None  # the driver library


def check(result, what):
    if result:
        text = C.c_char_p()
        cu.cuGetErrorString(result, C.byref(text))
        sys.exit(f"{what}: {result} {text.value.decode() if text.value else ''}")


class LaunchAttribute(C.Structure):
    _fields_ = [("id", C.c_int), ("pad", C.c_int), ("value", C.c_uint * 16)]


class LaunchConfig(C.Structure):
    _fields_ = [(n, C.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "smem")] + \
               [("stream", C.c_void_p), ("attrs", C.POINTER(LaunchAttribute)), ("count", C.c_uint)]


def aligned(size, alignment=64):
    raw = C.create_string_buffer(size + alignment)
    return raw, (C.addressof(raw) + alignment - 1) // alignment * alignment


class Run:
    def __init__(self, folder, spec):
        self.folder, self.spec, self.address, self.size, self.keep = folder, spec, {}, {}, []
        for name, b in spec["buffers"].items():
            if "npy" in b: data = np.ascontiguousarray(np.load(folder / b["npy"])).tobytes()
            else: data = (b"\xff" if b.get("fill", "poison") == "poison" else b"\0") * b["bytes"]
            pointer, align = C.c_uint64(), b.get("align", 256)
            check(cu.cuMemAlloc_v2(C.byref(pointer), C.c_size_t(max(len(data), 16) + align)), "allocate " + name)
            self.address[name] = (pointer.value + align - 1) // align * align
            self.size[name] = len(data)
            if data: check(cu.cuMemcpyHtoD_v2(C.c_uint64(self.address[name]), data, C.c_size_t(len(data))), "copy " + name)

    def pointer(self, p):
        return self.address[p["buffer"]] + p.get("offset", 0)

    def tensor_map(self, m):
        n = len(m["dims"])
        raw, at = aligned(128)
        common = (C.c_void_p(at), TYPES[m["dtype"]], n, C.c_void_p(self.pointer(m)), (C.c_uint64 * n)(*m["dims"]),
                  (C.c_uint64 * max(1, n - 1))(*(m["strides"] or [0])))
        behind = ((C.c_uint32 * n)(*m.get("element_strides", [1] * n)), INTERLEAVE[m.get("interleave", "none")],
                  SWIZZLE[m.get("swizzle", "none")], PROMOTION[m.get("l2_promotion", "none")], m.get("oob_fill", "zero") == "nan")
        if "im2col" in m:
            i = m["im2col"]
            check(cu.cuTensorMapEncodeIm2col(*common, (C.c_int * (n - 2))(*i["lower"]), (C.c_int * (n - 2))(*i["upper"]), i["channels"],
                                             i["pixels"], *behind), f"im2col map of {m['buffer']}")
            return C.string_at(at, 128)
        check(cu.cuTensorMapEncodeTiled(*common, (C.c_uint32 * n)(*m["box"]), *behind), f"tensor map of {m['buffer']}")
        return C.string_at(at, 128)

    def encode(self, p):
        if "buffer" in p: return struct.pack("<Q", self.pointer(p) & (1 << 64) - 1)
        if "tensor_map" in p: return self.tensor_map(p["tensor_map"])
        if "hex" in p: return bytes.fromhex(p["hex"])
        if "struct" in p:
            s = p["struct"]
            data = bytearray(bytes.fromhex(s.get("hex", "")).ljust(s["bytes"], b"\0"))
            for f in s.get("fields", ()):
                value = self.encode({k: v for k, v in f.items() if k != "at"})
                data[f["at"]:f["at"] + len(value)] = value
            return bytes(data)
        (kind, value), = p.items()
        return struct.pack(SCALARS[kind], value)

    def launch(self, ptx, job):
        module, function, log = C.c_void_p(), C.c_void_p(), C.create_string_buffer(8192)
        options, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.addressof(log), 8192)  # error log, its size
        result = cu.cuModuleLoadDataEx(C.byref(module), Path(ptx).read_bytes() + b"\0", 2, options, values)
        if result: print(log.value.decode(), file=sys.stderr)
        check(result, f"load {ptx}")
        check(cu.cuModuleGetFunction(C.byref(function), module, job["kernel"].encode()), "find " + job["kernel"])
        smem, cluster = job.get("dynamic_smem", 0), job.get("cluster", [1, 1, 1])
        check(cu.cuFuncSetAttribute(function, MAX_DYNAMIC_SMEM, smem), f"{smem} bytes of dynamic shared memory")
        args = []
        for p in job["params"]:
            raw, at = aligned(max(16, len(data := self.encode(p))))
            C.memmove(at, data, len(data)); self.keep.append(raw); args.append(at)
        attrs = (LaunchAttribute * 1)()
        attrs[0].id = 4; attrs[0].value[0:3] = cluster
        clustered = cluster != [1, 1, 1]
        if clustered: cu.cuFuncSetAttribute(function, NON_PORTABLE_CLUSTER, 1)
        config = LaunchConfig(*job["grid"], *job["block"], smem, None, attrs, int(clustered))
        check(cu.cuLaunchKernelEx(C.byref(config), function, (C.c_void_p * len(args))(*args), None), "launch " + job["kernel"])
        check(cu.cuCtxSynchronize(), "run " + job["kernel"])

    def save(self):
        for name, b in self.spec["buffers"].items():
            if "save" not in b: continue
            data = C.create_string_buffer(self.size[name])
            check(cu.cuMemcpyDtoH_v2(data, C.c_uint64(self.address[name]), C.c_size_t(self.size[name])), "copy back " + name)
            array = np.frombuffer(data.raw, dtype=b.get("dtype", "uint8"))
            np.save(self.folder / b["save"], array.reshape(b["shape"]) if "shape" in b else array)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("ptx", nargs="?")
    p.add_argument("--launch", required=True, type=Path)
    p.add_argument("--driver", default="libcuda.so.1")
    a = p.parse_args()
    global cu
    spec, folder = json.loads(a.launch.read_text()), a.launch.resolve().parent
    os.environ.update(FOVEA_EMULATE=spec["chip"], FOVEA_EMULATE_ASYNC=spec.get("async", "lazy"), FOVEA_EMULATE_SEED=str(spec.get("seed", 1)))
    cu = C.CDLL(a.driver)
    check(cu.cuInit(0), "cuInit")
    device, context = C.c_int(), C.c_void_p()
    check(cu.cuDeviceGet(C.byref(device), 0), "device 0")
    check(cu.cuDevicePrimaryCtxRetain(C.byref(context), device), "context")
    check(cu.cuCtxSetCurrent(context), "context")
    run = Run(folder, spec)
    for job in spec.get("launches", [spec]): run.launch(folder / job["ptx"] if "ptx" in job else a.ptx, job)
    run.save()


if __name__ == "__main__": main()
