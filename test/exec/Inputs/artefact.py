# test/exec/Inputs/artefact.py - artefact.py RUNTIME DEVICE MANIFEST OUT NAME=FILE.npy… NAME=TYPE:SHAPE…
# Launches `forward` of what `fovea compile` wrote, through the C interface of libfovea_runtime.so; names with a type and a
# shape are outputs, written to OUT/NAME.npy.
import ctypes as C
import math
import os
import struct
import sys

from npy import read, write

TYPES = {"<u2": ("bf16", "H"), "<f2": ("f16", "e"), "<f4": ("f32", "f"), "<i4": ("i32", "i")}
CODES = dict(TYPES.values())


class Tensor(C.Structure):
    """fovea_tensor of runtime/core/fovea.h."""
    _fields_ = [("name", C.c_char_p), ("data", C.c_void_p), ("dtype", C.c_char_p), ("rank", C.c_int32), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64))]


library, device, module = C.CDLL(sys.argv[1]), C.c_void_p(), C.c_void_p()
library.fovea_error.restype = C.c_char_p
library.fovea_alloc.argtypes = [C.c_void_p, C.c_size_t, C.POINTER(C.c_void_p)]


def check(status):
    if status:
        sys.exit(library.fovea_error().decode())


check(library.fovea_open(sys.argv[2].encode(), C.byref(device)))
check(library.fovea_module_load(device, sys.argv[3].encode(), C.byref(module)))
tensors, outputs = [], []
for word in sys.argv[5:]:
    name, value = word.split("=")
    content = b""
    if value.endswith(".npy"):
        header, head, _ = read(value)
        dtype, shape, content = TYPES[header["descr"]][0], list(header["shape"]), open(value, "rb").read()[len(head):]
    else:
        dtype, shape = value.split(":")[0], [int(n) for n in value.split(":")[1].split(",")]
    size, data = math.prod(shape) * (4 if dtype in ("f32", "i32") else 2), C.c_void_p()
    check(library.fovea_alloc(device, max(size, 16), C.byref(data)))
    if content:
        check(library.fovea_upload(device, data, content, C.c_size_t(size)))
    else:
        outputs.append((name, dtype, shape, size, data))
    tensors.append(Tensor(name.encode(), data, dtype.encode(), len(shape), (C.c_int64 * len(shape))(*shape), None))
check(library.fovea_launch(module, b"forward", (Tensor * len(tensors))(*tensors), len(tensors), None))
check(library.fovea_synchronize(device))
os.makedirs(sys.argv[4], exist_ok=True)
for name, dtype, shape, size, data in outputs:
    content = C.create_string_buffer(size)
    check(library.fovea_download(device, content, data, C.c_size_t(size)))
    values = struct.unpack(f"<{math.prod(shape)}{CODES[dtype]}", content.raw[:size])
    write(os.path.join(sys.argv[4], name + ".npy"), CODES[dtype], shape, values)
