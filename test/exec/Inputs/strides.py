# test/exec/Inputs/strides.py - strides.py FOVEA TARGET: flash forward of tensors that lie otherwise in memory than one behind the other.
# Each layout must give the bits of the contiguous one, and leave what lies between the rows of an output as it was.
import ctypes as C
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from npy import read

fovea, target = sys.argv[1:3]
os.environ["FOVEA_EMULATE_DETECT"] = "1"
LIBRARY = os.environ.get("FOVEA_TEST_RUNTIME", os.path.join(os.path.dirname(os.path.abspath(fovea)), "../lib/libfovea_runtime.so"))
library, device = C.CDLL(LIBRARY), C.c_void_p()
library.fovea_error.restype = C.c_char_p
library.fovea_alloc.argtypes = [C.c_void_p, C.c_size_t, C.POINTER(C.c_void_p)]


class Tensor(C.Structure):
    """fovea_tensor of runtime/core/fovea.h."""
    _fields_ = [("name", C.c_char_p), ("data", C.c_void_p), ("dtype", C.c_char_p), ("rank", C.c_int32), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64))]


def check(status):
    if status:
        raise RuntimeError(library.fovea_error().decode())


check(library.fovea_open(os.environ.get("FOVEA_TEST_DEVICE", "emulator:" + target).encode(), C.byref(device)))


def contiguous(shape):
    return [math.prod(shape[n + 1:]) for n in range(len(shape))]


def paddedRows(shape):
    """16 elements behind the heads of each row, and a row behind those of each sequence."""
    row = math.prod(shape[-2:]) + 16
    return [*([(shape[1] + 1) * row] if len(shape) == 4 else []), row, shape[-1], 1]


def headsFirst(shape):
    """[batch, heads, rows, dim] in memory, or [heads, rows, dim]."""
    rows, heads, dim = shape[-3:]
    return [*([heads * rows * dim] if len(shape) == 4 else []), dim, rows * dim, 1]


def paddedStatistics(shape):
    row = shape[-1] + 3
    return [*([(shape[1] + 1) * row] if len(shape) == 3 else []), row, 1]


def headsFirstStatistics(shape):
    """[batch, heads, rows] in memory, or [heads, rows]: no stride is 1 but that of rows."""
    rows, heads = shape[-2:]
    return [*([heads * rows] if len(shape) == 3 else []), 1, rows]


def shared(shape):
    """One sequence's rows for all, and one head's."""
    return [*([0] if len(shape) == 4 else []), shape[-1], 0, 1]


def positions(shape, strides):
    places = [0]
    for size, stride in zip(shape, strides):
        places = [p + n * stride for p in places for n in range(size)]
    return places


def launch(module, arrays, layouts):
    """The outputs' elements, contiguous; arrays: name -> (type, shape, elements of 2 or 4 bytes or None for an output)."""
    tensors, outputs = [], []
    for name, (dtype, shape, values) in arrays.items():
        code = {"bf16": "H", "f16": "H"}.get(dtype, "I")
        strides = (layouts.get(name) or contiguous)(shape)
        places, data = positions(shape, strides), C.c_void_p()
        memory = [0x7FC0 if code == "H" else 0x7FC00000] * (max(places, default=0) + 1)  # NaN
        for place, value in zip(places, values or []):
            memory[place] = value
        content = struct.pack(f"<{len(memory)}{code}", *memory)
        check(library.fovea_alloc(device, max(len(content), 16), C.byref(data)))
        check(library.fovea_upload(device, data, content, C.c_size_t(len(content))))
        rank = len(shape)
        tensors.append(Tensor(name.encode(), data, dtype.encode(), rank, (C.c_int64 * rank)(*shape), (C.c_int64 * rank)(*strides)))
        if values is None:
            outputs.append((name, code, places, memory, data))
    check(library.fovea_launch(module, b"forward", (Tensor * len(tensors))(*tensors), len(tensors), None))
    check(library.fovea_synchronize(device))
    found = {}
    for name, code, places, memory, data in outputs:
        content = C.create_string_buffer(len(memory) * struct.calcsize(code))
        check(library.fovea_download(device, content, data, C.c_size_t(len(content))))
        after = struct.unpack(f"<{len(memory)}{code}", content.raw)
        owned = set(places)
        if any(a != m for n, (a, m) in enumerate(zip(after, memory)) if n not in owned):
            raise RuntimeError(f"{name}: what lies between its rows was written")
        found[name] = [after[p] for p in places]
    return found


def case(name, rows, heads, dims, *size, dtype="bf16", more="", schedule=""):
    with tempfile.TemporaryDirectory() as folder:
        path = lambda file: os.path.join(folder, file)
        q, kv = rows
        open(path("case.attn"), "w").write(
            f"attention case {{\n q : {dtype} [{q}, {heads[0]} heads, {dims[0]}]\n k : {dtype} [{kv}, {heads[1]} heads, {dims[0]}]\n"
            f" v : {dtype} [{kv}, {heads[1]} heads, {dims[1]}]\n {more}\n emit : forward(lse)\n"
            f" {f'schedule {target} {{ {schedule} }}' if schedule else ''}\n}}\n")
        try:
            for command in (["compile", path("case.attn"), "--target", target, "-o", folder],
                            ["eval", path("case.attn"), "--random", *size, "-o", folder]):
                done = subprocess.run([fovea, *command], capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(done.stderr)
            module, arrays = C.c_void_p(), {}
            check(library.fovea_module_load(device, path(f"case.{target}.json").encode(), C.byref(module)))
            for tensor in json.load(open(path(f"case.{target}.json")))["tensors"]:
                if not os.path.exists(path(tensor["name"] + ".npy")):
                    continue
                header, head, _ = read(path(tensor["name"] + ".npy"))
                body = open(path(tensor["name"] + ".npy"), "rb").read()[len(head):]
                kind, shape = {"<u2": "bf16", "<f2": "f16", "<i4": "i32"}.get(header["descr"]), list(header["shape"])
                if tensor["name"] in ("o", "lse"):
                    arrays[tensor["name"]] = (dtype if tensor["name"] == "o" else "f32", shape, None)
                else:
                    arrays[tensor["name"]] = (kind, shape, struct.unpack(f"<{math.prod(shape)}{'I' if kind == 'i32' else 'H'}", body))
            plain = launch(module, arrays, {})
            layouts = {"padded rows": {**dict.fromkeys("qkvo", paddedRows), "lse": paddedStatistics}, "heads first": {**dict.fromkeys("qkvo", headsFirst), "lse": headsFirstStatistics}}
            for layout, of in layouts.items():
                if launch(module, arrays, of) != plain:
                    raise RuntimeError(f"{layout}: other bits than contiguous tensors give")
            behind = {}  # what a buffer holds before its first sequence is nobody's
            for each, (kind, shape, values) in arrays.items() if rows == JAGGED else ():
                nan, row = 0x7FC0, math.prod(shape[1:])
                behind[each] = ((kind, shape, [n + 7 for n in values]) if kind == "i32" else
                                (kind, [shape[0] + 7, *shape[1:]], values and [nan] * 7 * row + list(values)))
            for each, values in launch(module, behind, {}).items() if behind else ():
                first = 7 * math.prod(arrays[each][1][1:])
                if values[first:] != plain[each] or set(values[:first]) != {0x7FC0 if each == "o" else 0x7FC00000}:
                    raise RuntimeError(f"{each}: rows before the first sequence change others or were written")
            for each in "kv":  # every place of a shared tensor holds what it was given last
                kind, shape, values = arrays[each]
                memory = dict(zip(positions(shape, shared(shape)), values))
                arrays[each] = (kind, shape, [memory[p] for p in positions(shape, shared(shape))])
            if launch(module, arrays, dict.fromkeys("kv", shared)) != launch(module, arrays, {}):
                raise RuntimeError("one head of keys for all: other bits than copies of it give")
            print(name, target, "PASS", flush=True)
        except RuntimeError as error:
            failed.append(name)
            print(name, target, "FAIL:", error, flush=True)


failed = []
DENSE, JAGGED, CACHE = ("batch, seq", "batch, seq"), ("jagged q_offsets", "jagged kv_offsets"), ("batch, queries", "batch, keys")
case("dense", DENSE, (2, 1), (64, 64), "--batch=2", "--seq=130", more="pattern : causal")
case("dense-256", DENSE, (1, 1), (256, 256), "--batch=2", "--seq=70")
case("jagged-f16-96-32", JAGGED, (2, 2), (96, 32), "--lengths=q_offsets=0,3,140", "--lengths=kv_offsets=5,0,131", dtype="f16")
case("packed", CACHE, (4, 1), (64, 64), "--batch=2", "--lengths=queries=19", "--lengths=keys=70", schedule="packed : 4")
case("packed-split", JAGGED, (4, 2), (32, 64), "--lengths=q_offsets=0,3,40", "--lengths=kv_offsets=5,0,200", schedule="packed : 2, splits : 2")
case("shared-queries", ("broadcast 40", "jagged kv_offsets"), (2, 1), (64, 32), "--lengths=kv_offsets=0,1,140")
sys.exit(len(failed) > 0)
