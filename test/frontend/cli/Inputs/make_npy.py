# test/frontend/cli/Inputs/make_npy.py - make_npy.py FILE DESCR FORTRAN SHAPE [VALUE...]: a .npy file without NumPy
import struct
import sys

path, descr, fortran, shape = sys.argv[1:5]
shape = tuple(int(n) for n in shape.split(","))
code = {"<u2": "H", "<f4": "f", "<i4": "i", "<i8": "q"}[descr]
count = 1
for extent in shape:
    count *= extent
values = [float(v) if code == "f" else int(v) for v in sys.argv[5:]] or [0] * count
header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{count}{code}", *values))
