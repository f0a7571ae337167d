# test/exec/Inputs/npy.py - .npy files and bf16 for the scripts beside it, without numpy.
import struct


def read(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:start])
    code = {"<u2": "H", "<f2": "e", "<f4": "f", "<f8": "d", "<i4": "i"}[header["descr"]]
    return header, data[:start], list(struct.unpack("<%d%s" % ((len(data) - start) // struct.calcsize(code), code), data[start:]))


def toBits(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits >> 16) | 0x40 if value != value else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def fromBits(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def write(path, code, shape, values):
    descr = {"H": "<u2", "e": "<f2", "i": "<i4", "f": "<f4"}[code]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (descr, ", ".join(map(str, shape)))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                           struct.pack("<%d%s" % (len(values), code), *values))
