# test/codegen/Inputs/variants.py - which variant a launch on 132 SMs runs
# `variants.py MANIFEST BATCHxROWS...`: the names in the manifest, then the choice for each batch of dense sequences, or of jagged ones of ROWS on average.
import json, sys
from expression import value

kernels = [k for k in json.load(open(sys.argv[1]))["kernels"] if "clocks" in k]
print("variants:", *[k["variant"] for k in kernels])
for size in sys.argv[2:]:
    batch, rows = map(int, size.split("x"))
    clocks = []
    for kernel in kernels:
        names = {"batch": batch, "sm_count": 132, "q.shape.2": 8}
        for side in "qk":
            names.update({side + ".shape.0": rows * batch, side + ".shape.1": rows})
        for name, expression in kernel.get("values", []):
            names[name] = value(expression, names)
        clocks.append(value(kernel["clocks"], names))
    print(f"{size}: {kernels[clocks.index(min(clocks))]['variant']}")
