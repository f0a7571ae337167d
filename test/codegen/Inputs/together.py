# test/codegen/Inputs/together.py - how many heads' tiles go heavy first together
# `together.py MANIFEST HEADS ROWS...`: the parameter for 132 SMs and 16384 rows in all.
import json, sys
from expression import value

parameters = json.load(open(sys.argv[1]))["kernels"][0]["params"]
together = [p["value"] for p in parameters if p["kind"] == "i32"][-1]
for rows in map(int, sys.argv[3:]):
    names = {"batch": max(1, 16384 // rows), "sm_count": 132, "q.shape.1": rows, "k.shape.1": rows, "q.shape.2": int(sys.argv[2])}
    print(rows, "rows:", value(together, names), "of", names["batch"] * names["q.shape.2"])
