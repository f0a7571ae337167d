# test/exec/Inputs/poison.py - poison.py FROM TO FIRST LAST: copies a 16-bit .npy, rows FIRST to LAST - 1 become NaN.
# poison.py --same A B FIRST LAST: succeeds when the two arrays agree bit for bit outside these rows.
import ast
import struct
import sys


def load(path):
    data = open(path, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10:start].decode())["shape"]
    return data[:start], bytearray(data[start:]), (len(data) - start) // shape[0]


if sys.argv[1] == "--same":
    (_, a, row), (_, b, _) = load(sys.argv[2]), load(sys.argv[3])
    first, last = int(sys.argv[4]) * row, int(sys.argv[5]) * row
    if a[:first] != b[:first] or a[last:] != b[last:]:
        sys.exit("rows outside the poisoned sequence differ")
    if a[first:last] == b[first:last]:
        sys.exit("the poison had no effect: this test proves nothing")
else:
    header, data, row = load(sys.argv[1])
    first, last = int(sys.argv[3]) * row, int(sys.argv[4]) * row
    data[first:last] = b"\xc0\x7f" * ((last - first) // 2)
    open(sys.argv[2], "wb").write(header + data)
