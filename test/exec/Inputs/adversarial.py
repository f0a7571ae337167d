# test/exec/Inputs/adversarial.py - adversarial.py FOVEA TARGET [--cold] [--staged] [CASE...]: flash forward on inputs made to break its softmax.
# Each case draws inputs, changes some rows, and compares `fovea run` with `fovea eval` (f64). Weights and outputs are rounded
# once each, by 2^-8 of themselves at most (f16: 2^-11), so an output may be off by twice that of the greatest value; what is not finite must agree. Each
# runs twice, with asynchronous work as late and as early as the ISA allows, and both must agree bit for bit. FOVEA_TEST_DEVICE: where, if not
# on the emulator. --cold: with the limit of a max-free softmax's sums lowered from 2^64 to 2 in the PTX, so that blocks take the cold path
# all the time. --staged: with weights handed on in two parts (sm_100a).
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from npy import fromBits, read, toBits, write


class Tensor:
    """Normal values of a shape [..., heads, dim]; a row is the heads of one position, of all sequences behind one another."""

    def __init__(self, shape, seed):
        draw = random.Random(seed).gauss
        self.shape, self.columns = shape, shape[-1] * shape[-2]
        self.values = [draw(0, 1) for _ in range(math.prod(shape))]

    def scale(self, rows, factor):
        for i in rows:
            for j in range(i * self.columns, (i + 1) * self.columns):
                self.values[j] *= factor

    def fill(self, rows, value, column=None):
        """All columns, or one of each head, which is the only one that is not zero then."""
        dim = self.shape[-1]
        for i in rows:
            for j in range(self.columns):
                self.values[i * self.columns + j] = value if column is None or j % dim == column else 0.0

    def write(self, path, dtype):
        bf16 = dtype == "bf16"
        write(path, "H" if bf16 else "e", self.shape, [toBits(v) for v in self.values] if bf16 else self.values)


fovea, target = sys.argv[1:3]
device = os.environ.get("FOVEA_TEST_DEVICE", "emulator:" + target)
cold, staged = ("--" + name in sys.argv for name in ("cold", "staged"))
only = [word for word in sys.argv[3:] if not word.startswith("--")]  # the first letters of cases; none: all
failed = []


def run(arguments, **environment):
    done = subprocess.run([fovea] + arguments, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def compileCold(spec, folder):
    """The manifest of a kernel that takes its cold path beyond 2."""
    run(["compile", spec, "--target", target, "-o", folder])
    base = os.path.join(folder, "adversarial." + target)
    ptx, manifest = open(base + ".ptx").read(), json.load(open(base + ".json"))
    if "0f5F800000" not in ptx:
        raise RuntimeError("the kernel has no cold path")
    ptx = ptx.replace("0f5F800000", "0f40000000")
    manifest["ptx_sha256"] = hashlib.sha256(ptx.encode()).hexdigest()
    del manifest["sha256"]  # the seal of what the compiler wrote
    open(base + ".ptx", "w").write(ptx), json.dump(manifest, open(base + ".json", "w"))
    return base + ".json"


def launch(manifest, inputs, outputs, folder, policy):
    library = os.environ.get("FOVEA_TEST_RUNTIME", os.path.join(os.path.dirname(os.path.abspath(fovea)), "../lib/libfovea_runtime.so"))
    files = [f"{name[2:]}={file}" for name, file in zip(inputs[::2], inputs[1::2])]
    done = subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "artefact.py"), library, device, manifest, folder,
                           *files, *outputs], capture_output=True, text=True,
                          env={**os.environ, "FOVEA_EMULATE_ASYNC": policy, "FOVEA_EMULATE_DETECT": "1"})
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def case(name, rows, size, change=lambda t: None, pattern="", score="", dtype="bf16", dims=(64, 64), heads=(1, 1), ownNan=None, masked=False, splits=0, sink=None, packed=0):
    """`size`: rows of one dense sequence, or of each sequence, jagged: (queries, keys), or one length for both; CACHE: (queries, keys), dense. `sink`: of each head. `change` gets the tensors by name; `ownNan`: the only rows of the output that may be NaN, and must be; `masked`: no row has a key."""
    if (only and not name.startswith(tuple(only))) or (cold and dtype == "f16"):  # f16 has a running maximum
        return
    with tempfile.TemporaryDirectory() as folder:
        path = lambda file: os.path.join(folder, file)
        q, kv = {JAGGED: ("jagged q_offsets", "jagged kv_offsets"), CACHE: ("batch, queries", "batch, seq")}.get(rows, (rows, rows))
        dense = rows in (DENSE, CACHE)
        inputs, shapes = [], []
        for side, of in enumerate((q, kv)):
            if not dense:
                file = of.split()[1]
                ends = [sum(lengths[side] if rows == JAGGED else lengths for lengths in size[:n]) for n in range(len(size) + 1)]
                write(path(file + ".npy"), "i", [len(ends)], ends)
                inputs += ["--" + file, path(file + ".npy")] if f"--{file}" not in inputs else []
            shapes.append([1, size[side] if rows == CACHE else size] if dense else [ends[-1]])
        if sink:
            write(path("sink.npy"), "f", [len(sink)], sink)
            inputs += ["--sink", path("sink.npy")]
        tensors = {"q": Tensor(shapes[0] + [heads[0], dims[0]], 1), "k": Tensor(shapes[1] + [heads[1], dims[0]], 2),
                   "v": Tensor(shapes[1] + [heads[1], dims[1]], 3)}
        change(tensors)
        for letter, tensor in tensors.items():
            tensor.write(path(letter + ".npy"), dtype)
            inputs += ["--" + letter, path(letter + ".npy")]
        words = ([f"splits : {splits}"] if splits else []) + ([f"packed : {packed}"] if packed else []) + ["staged : 32"] * staged
        schedule = f"schedule {target} {{ {', '.join(words)} }}" if words else ""
        spec = lambda sink: (
            f"attention adversarial {{\n q : {dtype} [{q}, {heads[0]} heads, {dims[0]}]\n k : {dtype} [{kv}, {heads[1]} heads, {dims[0]}]\n"
            f" v : {dtype} [{kv}, {heads[1]} heads, {dims[1]}]\n {'pattern : ' + pattern if pattern else ''}\n"
            f" {'score : ' + score if score else ''}\n {'weight : softmax(sink)' if sink else ''}\n emit : forward(lse)\n {schedule}\n}}\n")
        open(path("case.attn"), "w").write(spec(sink))
        try:
            run(["eval", path("case.attn"), *inputs, "-o", path("exact")])
            manifest = compileCold(path("case.attn"), path("cold")) if cold else None
            outputs = ["o=%s:%s" % (dtype, ",".join(map(str, shapes[0] + [heads[0], dims[1]]))), "lse=f32:%s" % ",".join(map(str, shapes[0] + [heads[0]]))]
            for policy in ("lazy", "eager"):
                if cold:
                    launch(manifest, inputs, outputs, path(policy), policy)
                    continue
                run(["run", path("case.attn"), "--target", target, "--device", device, *inputs, "-o", path(policy)],
                    FOVEA_EMULATE_ASYNC=policy, FOVEA_EMULATE_DETECT="1")
            problems = []
            if sink and set(sink) == {-math.inf}: # no sink, to the bit
                open(path("plain.attn"), "w").write(spec(None))
                at = inputs.index("--sink")
                run(["run", path("plain.attn"), "--target", target, "--device", device, *inputs[:at], *inputs[at + 2:], "-o", path("plain")])
                for output in ("o", "lse"):
                    if open(path(f"lazy/{output}.npy"), "rb").read() != open(path(f"plain/{output}.npy"), "rb").read():
                        problems.append(f"{output} with a sink of -inf is not that of softmax")
            for output in ("o", "lse"):
                header, _, got = read(path(f"lazy/{output}.npy"))
                if open(path(f"lazy/{output}.npy"), "rb").read() != open(path(f"eager/{output}.npy"), "rb").read():
                    problems.append(f"{output} of a second run differs")
                if header["descr"] == "<u2":
                    got = [fromBits(v) for v in got]
                want = read(path(f"exact/{output}.npy"))[2]
                if masked:
                    want = [0.0 if output == "o" else -math.inf] * len(want)
                finite = lambda values: [abs(v) for v in values if math.isfinite(v)]
                rounding = 2 ** -8 if dtype == "bf16" else 2 ** -11
                if output == "o":
                    most = heads[0] * [2.02 * rounding * max(finite(tensors["v"].values), default=0)]
                else:
                    most = [2e-5 * max([1, *finite(want[h::heads[0]])]) for h in range(heads[0])]
                row = heads[0] * (dims[1] if output == "o" else 1)
                for i, (g, w) in enumerate(zip(got, want)):
                    if ownNan is not None and math.isnan(g) != (i // row in ownNan):
                        problems.append(f"{output} row {i // row}: {g}, NaN belongs to {ownNan}")
                    same = (math.isnan(g) and math.isnan(w)) or g == w
                    if not same and not abs(g - w) <= most[i % row * heads[0] // row]:
                        problems.append(f"{output} row {i // row} [{i % row}]: {g}, expected {w}")
            print(name, target, "FAIL: %d problems, first: %s" % (len(problems), "; ".join(problems[:3])) if problems else "PASS", flush=True)
            if problems:
                failed.append(name)
        except RuntimeError as error:
            failed.append(name)
            print(name, target, "FAIL:", error, flush=True)


DENSE, JAGGED, SELF, CACHE = "batch, seq", "jagged", "jagged offsets", "cache"
three = 300  # keys of one sequence: three blocks of keys, which the kernel visits from the last to the first

# Keys x 60 in each block: those visited later outgrow the first maximum, or vanish beside it.
for block in range(3):
    at = range(128 * block, min(128 * block + 128, 300))
    case(f"spikes-in-block-{block}", DENSE, three, lambda t: t["k"].scale(at, 60))
case("spikes-in-block-0-f16", DENSE, three, lambda t: t["k"].scale(range(128), 60), dtype="f16")
case("one-spike-a-row", DENSE, three, lambda t: t["k"].scale([3, 131, 290], 60))
case("growing", DENSE, three, lambda t: [t["k"].scale([i], 0.2 * (300 - i)) for i in range(300)])


# Scores of -1e30: q is 1e15 in a column where k is -8e15 (scale 1/8), of one block's keys. Rows that have no other keys
# count as masked: below -2^27 / log2(e) a score is no score (passes/Lower/README.md).
def lowest(at, score=-1e30, size=three):
    def change(t):
        t["q"].fill(range(size), 1e15, column=0), t["k"].fill(range(size), 0.0), t["k"].fill(at, 8e-15 * score, column=0)
    return change


for score in (-1e30, -1e10, -1e7):
    case(f"low-scores-in-first-block{score:g}", DENSE, three, lowest(range(256, 300), score))
    case(f"low-scores-in-last-block{score:g}", DENSE, three, lowest(range(0, 128), score))
    case(f"low-scores-everywhere{score:g}", DENSE, three, lowest(range(300), score), masked=score < -1e8)

# f16 weights leave the rounding of great scores the least room.
case("low-scores-everywhere-f16", DENSE, three, lambda t: (t["q"].fill(range(300), 256.0, column=0), t["k"].fill(range(300), -305.0, column=0)),
     dtype="f16", score="s * 128")


# Infinite scores: -Inf is a key that is not seen, +Inf makes a row NaN, as in f64.
def infinite(value, at, queries=range(three), size=three):
    def change(t):
        t["q"].fill(range(size), 1.0), t["q"].fill(queries, 1.0, column=0), t["k"].fill(at, value, column=0)
    return change


case("minus-inf-in-first-block", DENSE, three, infinite(-math.inf, range(256, 300)))
case("minus-inf-in-later-block", DENSE, three, infinite(-math.inf, range(20, 100)))
case("plus-inf-in-later-block", DENSE, three, infinite(math.inf, [5]))

# Rows whose first block, or whole range, has no key; and lengths of 0 on either side.
mixed = [(140, 270), (270, 140), (0, 140), (140, 0), (1, 1)]
for name, pattern in [("full", "full"), ("window", "causal & window(40)"), ("causal", "causal"), ("top-left", "j <= i"),
                      ("prefix", "causal | prefix(40)"), ("sink-and-window", "causal & (window(30) | j < 4)"),
                      ("early-keys", "j < 100"), ("late-keys", "j > i + 100"), ("nothing", "j > i + 1000")]:
    case(f"rows-{name}", JAGGED, mixed, lambda t: t["k"].scale(range(0, 551, 7), 20), pattern=pattern)

# A NaN in one query row is that row's; one in a neighbour's keys and values is the neighbour's.
case("nan-in-a-query", DENSE, three, lambda t: t["q"].fill([137], math.nan), ownNan={137})
case("nan-in-a-query-f16", DENSE, three, lambda t: t["q"].fill([137], math.nan), dtype="f16", ownNan={137})
case("nan-in-a-causal-query", DENSE, three, lambda t: t["q"].fill([299], math.nan), pattern="causal", ownNan={299})


# Keys and values of the sequence in the middle are NaN: its own rows may be, no other.
def neighbour(t):
    for name in "kv":
        t[name].fill(range(150, 250), math.nan)


case("nan-in-a-neighbour", JAGGED, [(100, 150), (60, 100), (90, 70)], neighbour, ownNan=range(100, 160))

# Every head dim, and one of q and k that is not v's; keys that spread by a factor of 20.
for dims in [(32, 32), (64, 64), (96, 96), (128, 128), (192, 192), (256, 256), (192, 128)]:
    case("dim-%d-%d" % dims, DENSE, 200, lambda t: t["k"].scale(range(0, 200, 7), 20), dims=dims)
for dim in (128, 192, 256):
    deep = {"rows": DENSE, "size": 200, "dims": (dim, dim)}
    case(f"dim-{dim}-spikes", change=lambda t: t["k"].scale(range(64), 60), **deep)
    case(f"dim-{dim}-low-scores", change=lowest(range(100, 200), size=200), **deep)
    case(f"dim-{dim}-nan-in-a-query", change=lambda t: t["q"].fill([137], math.nan), ownNan={137}, **deep)
    case(f"dim-{dim}-plus-inf", change=infinite(math.inf, [5], range(200), 200), **deep)
    case(f"dim-{dim}-minus-inf", change=infinite(-math.inf, range(130, 200), range(200), 200), **deep)
case("grouped-heads", DENSE, 200, lambda t: t["k"].scale(range(0, 200, 7), 20), heads=(4, 2))
case("shrinking-score", DENSE, three, lambda t: t["k"].scale(range(0, 300, 7), 20), score="s * -0.2")
case("softcap", DENSE, three, lambda t: t["k"].scale(range(0, 300, 7), 60), score="softcap(s * scale, 50)")

# The same where several items share a tile's keys: parts that outgrow each other, see nothing, or hold a NaN.
for block in range(3):
    at = range(128 * block, min(128 * block + 128, 300))
    case(f"split-spikes-in-block-{block}", DENSE, three, lambda t: t["k"].scale(at, 60), splits=3)
case("split-low-scores-in-a-part", DENSE, three, lowest(range(0, 128)), splits=3)
case("split-low-scores-everywhere", DENSE, three, lowest(range(300)), splits=2, masked=True)
case("split-plus-inf", DENSE, three, infinite(math.inf, [7], range(4, 9)), splits=3)
case("split-inf-in-a-value", DENSE, three, lambda t: t["v"].values.__setitem__(20 * t["v"].columns, math.inf), splits=3)  # the last part's
case("split-minus-inf", DENSE, three, infinite(-math.inf, range(128)), splits=3)
case("split-nan-in-a-query", DENSE, three, lambda t: t["q"].fill([137], math.nan), splits=2, ownNan={137})
case("split-nan-in-a-neighbour", JAGGED, [(100, 150), (60, 100), (90, 70)], neighbour, splits=2, ownNan=range(100, 160))
for pattern in ("causal", "causal & window(40)", "causal & (window(30) | j < 4)", "j > i + 100", "j > i + 1000"):
    case(f"split-rows-{pattern}", JAGGED, mixed, lambda t: t["k"].scale(range(0, 551, 7), 20), pattern=pattern, splits=4)
case("split-dim-192-32", DENSE, 200, dims=(192, 32), splits=2)
case("split-one-key-f16", DENSE, 1, splits=32, dtype="f16")

# Heads of a group in one tile: positions, masks and what is not finite stay with their rows. Of a few queries the model packs by itself.
for queries, keys, heads in ((1, 700, (8, 1)), (1, 1, (4, 2)), (9, 300, (16, 1)), (70, 200, (4, 1))):
    case(f"packed-cache-{queries}-{keys}", CACHE, (queries, keys), lambda t: t["k"].scale(range(0, keys, 7), 20), pattern="causal", heads=heads)
for block in range(3):
    at = range(128 * block, min(128 * block + 128, 300))
    case(f"packed-spikes-in-block-{block}", DENSE, three, lambda t: t["k"].scale(at, 60), heads=(4, 2), packed=2)
case("packed-low-scores-in-first-block", DENSE, three, lowest(range(256, 300)), heads=(4, 1), packed=4)
case("packed-nan-in-a-query", DENSE, three, lambda t: t["q"].fill([137], math.nan), heads=(4, 1), packed=4, ownNan={137})
case("packed-nan-in-a-causal-query-f16", DENSE, three, lambda t: t["q"].fill([299], math.nan), pattern="causal", dtype="f16", heads=(2, 1), packed=2, ownNan={299})
case("packed-nan-in-a-neighbour", JAGGED, [(100, 150), (60, 100), (90, 70)], neighbour, heads=(4, 2), packed=2, splits=2, ownNan=range(100, 160))
for pattern in ("causal", "causal & window(40)", "causal & (window(30) | j < 4)", "j > i + 100", "j > i + 1000"):
    case(f"packed-rows-{pattern}", JAGGED, mixed, lambda t: t["k"].scale(range(0, 551, 7), 20), pattern=pattern, heads=(4, 1), packed=4)
case("packed-sink", JAGGED, [(40, 0), (30, 300), (140, 270)], lambda t: t["k"].scale(range(0, 100, 7), 20), heads=(4, 1), sink=[-math.inf, 3.0, 1e4, 1e30], packed=4)
case("packed-sink-nan", DENSE, 200, heads=(4, 2), sink=[math.nan, 0.5, math.inf, -1e30], packed=2, splits=2)

# Sinks beside the keys, below and above all of them, and where there is none; what is not finite stays in its head.
four = [-math.inf, 3.0, 1e4, 1e30]
ends = ([math.nan, 0.5, math.inf, -1e30])
blocks = {"rows": SELF, "size": [100, 0, 1, 64, 35], "pattern": "block_diagonal(32)"}
for kind, where in [("", {"rows": DENSE, "size": 200}), ("-causal-f16-128", {"rows": DENSE, "size": 200, "pattern": "causal", "dtype": "f16", "dims": (128, 128)}),
                    ("-blocks", blocks), ("-blocks-f16-128", {**blocks, "dtype": "f16", "dims": (128, 128)})]:
    grouped = (4, 4 if "blocks" in kind else 2)
    case("sink-of-each-size" + kind, heads=grouped, sink=four, **where)
    case("sink-nan" + kind, heads=grouped, sink=ends, **where)
    case("sink-none" + kind, change=lambda t: t["k"].scale(range(0, 200, 7), 20), heads=grouped, sink=4 * [-math.inf], **where)
# Added once where parts of a row are added up.
case("sink-of-split-keys", JAGGED, [(40, 0), (30, 300), (140, 270)], lambda t: t["k"].scale(range(0, 100, 7), 20), heads=(4, 2), sink=four, splits=3)
case("sink-nan-of-split-keys", DENSE, 200, heads=(4, 2), sink=ends, splits=2)
case("sink-none-of-split-keys", DENSE, three, lambda t: t["k"].scale(range(128), 60), heads=(2, 1), sink=2 * [-math.inf], splits=3)
# The first maximum is outgrown by keys, by the sink, or by both.
case("sink-spikes", DENSE, three, lambda t: t["k"].scale(range(128), 60), heads=(4, 4), sink=[-100.0, 60.0, 150.0, 400.0], dims=(128, 128))
case("sink-under-low-scores", DENSE, three, lowest(range(300)), heads=(2, 2), sink=[2.0, -9.0])
# Rows without a key: o = 0, lse = sink. Below -2^27 / log2(e) a sink is none, as a score is.
for name, pattern in [("causal", "causal"), ("late-keys", "j > i + 100"), ("nothing", "j > i + 1000")]:
    case(f"sink-rows-{name}", JAGGED, mixed, lambda t: t["k"].scale(range(0, 551, 7), 20), pattern=pattern, heads=(2, 1), sink=[1.5, -30.0])
case("sink-too-low", JAGGED, mixed, pattern="j > i + 1000", sink=[-1e9], masked=True)
sys.exit(1 if failed else 0)
