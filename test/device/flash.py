#!/usr/bin/env python3
# test/device/flash.py - flash forward on a GPU: every kernel against torch in f64, then its time beside FA3, FA2 and cuDNN
"""flash.py KERNELS --runtime libfovea_runtime.so [--json OUT] [--rounds 4]: KERNELS holds what `pack` compiled of SPECS.
A time is the median over rounds of the median of 3 batches of 10 launches between CUDA events; within a round everyone takes a turn. TFLOPS count
4 x pairs x heads x depth, half of the pairs under a causal mask. FA3 is the wheel fa3-fwd, where it is installed."""
import argparse, functools, json, math, statistics, sys
from pathlib import Path

DENSE = "  q : bf16 [batch, seq, {0} heads, {2}]\n  k, v : bf16 [batch, seq, {1} heads, {2}]\n  pattern : {3}\n"
JAGGED = "  q, k, v : bf16 [jagged offsets, 4 heads, {0}]\n"
POOL = "  q : bf16 [broadcast {0}, 4 heads, 128]\n  k, v : bf16 [jagged kv_offsets, 4 heads, 128]\n"
SHAPES = {"d128": (16, 16, 128), "d64": (32, 32, 64), "d256": (8, 8, 256), "gqa": (32, 8, 128), "few128": (8, 8, 128), "few64": (8, 8, 64), "few256": (4, 4, 256)}
SPECS = {f"{name}_{pattern}": DENSE.format(*SHAPES[name], pattern) for name in SHAPES if name != "gqa" for pattern in ("full", "causal")}
SPECS["gqa_causal"] = DENSE.format(*SHAPES["gqa"], "causal")
SPECS["d128_window"] = DENSE.format(*SHAPES["d128"], "causal & window(1024)")
SPECS |= {f"jagged_d{depth}": JAGGED.format(depth) for depth in (64, 128)} | {f"pool_{n}": POOL.format(n) for n in (128, 256)}
DECODE = "  q : bf16 [batch, queries, 32 heads, 128]\n  k, v : bf16 [batch, seq, 8 heads, 128]\n"
SPECS |= {"decode": DECODE} | {f"decode_{name}": DECODE + f"  schedule sm_90a {{ {words} }}\n" for name, words in
                               {"whole": "splits : 1", "unpacked": "packed : 1", "unpacked_whole": "packed : 1, splits : 1"}.items()}
BLOCKS = {"lists": (128, 128), "lists192": (192, 128)}  # queries and keys of a list's blocks
SPECS |= {f"d128_{name}": DENSE.format(*SHAPES["d128"], f"blocks({queries}, {keys}, picks)") for name, (queries, keys) in BLOCKS.items()}
SPECS["d128_exact"] = DENSE.format(*SHAPES["d128"], "full") + "  schedule sm_90a { softmax : exact }\n"


def spec(name):
    return f"attention {name} {{\n{SPECS[name]}  emit : forward(lse)\n}}\n"


def reference(q, k, v, pattern, picks=None):
    """o and lse of [batch, rows, heads, depth] in f64. `picks`: the key blocks that each block of queries sees (BLOCKS)."""
    import torch
    group, n, m = q.shape[2] // k.shape[2], q.shape[1], k.shape[1]
    q, k, v = (t.transpose(1, 2).double() for t in (q, k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)))
    s = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    distance = torch.arange(n, device="cuda")[:, None] + (m - n) - torch.arange(m, device="cuda")
    if picks is not None:
        queries, keys = BLOCKS[pattern]
        seen = torch.zeros(*picks.shape[:3], -(-m // keys) + 1, dtype=torch.bool, device="cuda").scatter_(3, picks.long() % (-(-m // keys) + 1), True)[..., :-1]
        seen = seen.transpose(1, 2).repeat_interleave(queries, 2)[:, :, :n].repeat_interleave(keys, 3)[..., :m]
        s = s.masked_fill(~seen, -math.inf)
        return (s.softmax(-1).nan_to_num(0) @ v).transpose(1, 2), s.logsumexp(-1).transpose(1, 2)
    if pattern != "full":
        s = s.masked_fill((distance < 0) | (distance > (1024 if pattern == "window" else m)), -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2), s.logsumexp(-1).transpose(1, 2)


class Bench:
    def __init__(self, a):
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
        import torch
        from torch_ads_block import Kernels
        self.torch, self.a, self.rows, self.bad = torch, a, [], 0
        self.kernels = functools.cache(lambda name: Kernels(next(a.kernels.glob(f"{name}.*json")), a.runtime))
        try:
            import fa3_fwd_interface as fa3
        except Exception as error:
            print(f"no FA3: {error!r}")
            fa3 = None
        self.fa3 = fa3

    def random(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.bfloat16)

    def ours(self, name, q, k, v, rows=None, **more):
        o = self.torch.full((*(rows or q.shape[:-1]), v.shape[-1]), math.nan, device="cuda", dtype=q.dtype)
        lse = self.torch.full(o.shape[:-1], math.nan, device="cuda")
        return self.kernels(name).prepare("forward", q=q, k=k, v=v, o=o, lse=lse, **more), o, lse

    def check(self, name, run, o, lse, exact, note):
        """20 runs bit by bit, and the error against f64: 45 dB is far from a wrong kernel's."""
        run()
        first = o.clone()
        for _ in range(20):
            run()
        same = bool((first.view(self.torch.int16) == o.view(self.torch.int16)).all())
        signal, error = exact[0].norm().item(), (o.double() - exact[0]).norm().item()
        snr = 20 * math.log10(signal / error) if error else math.inf  # rows without a key are zero on both sides
        apart = (lse.double() - exact[1]).abs()
        worst = apart[lse.double() != exact[1]].max().item() if (lse.double() != exact[1]).any() else 0.0 # -inf: a row without a key
        ok = same and snr > 45 and worst < 1e-3
        self.bad += not ok
        print(f"check {name} {note}: {snr:.1f} dB, lse {worst:.1e}, 20 runs {'equal' if same else 'DIFFER'}{'' if ok else '  WRONG'}", flush=True)
        self.rows.append({"check": name, "note": note, "snr_db": snr, "lse_error": worst, "repeatable": same})

    def milliseconds(self, run, launches=10, batches=3):
        """Launches one behind the other, so that nobody's host is on the clock unless it is slower than the GPU."""
        times, event = [], lambda: self.torch.cuda.Event(enable_timing=True)
        for n in range(1 + batches):
            begin, end = event(), event()
            begin.record(), [run() for _ in range(launches if n else 3)], end.record(), end.synchronize()
            times += [begin.elapsed_time(end) / launches] * (n > 0)
        return statistics.median(times)

    def time(self, title, flops, runs):
        for who, run in list(runs.items()):
            try:
                run()
            except RuntimeError as error:
                print(f"{title}: {who} cannot: {str(error).splitlines()[0][:120]}")
                del runs[who]
        found, turns = {who: [] for who in runs}, list(runs.items())
        for n in range(self.a.rounds):  # everyone begins a round in turn: the card gets warm
            for who, run in turns[n % len(turns):] + turns[:n % len(turns)]:
                found[who].append(self.milliseconds(run))
        ms = {who: statistics.median(t) for who, t in found.items()}
        peers = [t for who, t in ms.items() if not who.startswith("ours")]
        ratio = f"  {min(peers) / ms['ours']:.3f} x the best peer" if peers else ""
        print(f"time {title}: " + ", ".join(f"{who} {t:.4f} ms {flops / t / 1e9:.0f}" for who, t in ms.items()) + ratio, flush=True)
        self.rows.append({"time": title, "ms": ms, "tflops": {who: flops / t / 1e9 for who, t in ms.items()}})

    def cudnn(self, q, k, v, causal):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))

        def run():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                self.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
        return run

    def flex(self, q, k, v, window):
        """FlexAttention, compiled, with a block mask of the window."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j <= window), None, None, q.shape[2], k.shape[2], device="cuda")
        compiled = self.torch.compile(flex_attention, dynamic=False)
        return lambda: compiled(q, k, v, block_mask=mask)

    def copy_rate(self):
        """Bytes per second that a copy moves, of 1 GiB read and as much written."""
        a, b = (self.torch.empty(1 << 28, device="cuda") for _ in range(2))
        return 2 * 4 * a.numel() / self.milliseconds(lambda: b.copy_(a)) * 1e3

    def dense(self, shape, pattern, batch, rows, more=()):
        heads, key_heads, depth = SHAPES[shape]
        q, k, v = (self.random(batch, rows, h, depth) for h in (heads, key_heads, key_heads))
        runs = {"ours": self.ours(f"{shape}_{pattern}", q, k, v)[0]} | {f"ours {n}": self.ours(f"{shape}_{n}", q, k, v)[0] for n in more}
        causal, window = pattern != "full", (1024, 0) if pattern == "window" else (-1, -1)
        if self.fa3:
            runs["FA3"] = lambda: self.fa3.flash_attn_func(q, k, v, causal=causal, window_size=window)
        if pattern == "window":
            runs["Flex"] = self.flex(q, k, v, 1024)
        else:
            runs["cuDNN"] = self.cudnn(q, k, v, causal)
        pairs = rows * 1024 if pattern == "window" else rows * rows / (1 + causal)
        self.time(f"{shape} {pattern} {batch} x {rows}", 4 * batch * heads * pairs * depth, runs)

    def few(self, shape, pattern, batch, rows):
        """A launch of few items, as the replay of a CUDA graph of 20, so that no host is on the clock."""
        import times
        heads, _, depth = SHAPES[shape]
        q, k, v = (self.random(batch, rows, heads, depth) for _ in range(3))
        runs = {"ours": self.ours(f"{shape}_{pattern}", q, k, v)[0], "cuDNN": self.cudnn(q, k, v, pattern == "causal")}
        if self.fa3:
            runs["FA3"] = lambda: self.fa3.flash_attn_func(q, k, v, causal=pattern == "causal")
        replays, found = {who: times.graph_of(run)[0] for who, run in runs.items()}, {who: [] for who in runs}
        for _ in range(self.a.rounds):
            for who, replay in replays.items():
                replay()
                found[who].append(times.events(replay, 15) / 20)
        us = {who: 1e3 * statistics.median(t) for who, t in found.items()}
        title = f"few {shape[3:]} {pattern} {batch} x {rows}"
        print(f"{title}: " + ", ".join(f"{who} {t:.1f} us" for who, t in us.items()) + f"  {min(t for who, t in us.items() if who != 'ours') / us['ours']:.3f} x the best peer", flush=True)
        self.rows.append({"few": title, "microseconds": us})

    def picks(self, pattern, batch, rows, heads, keep):
        """Lists of key blocks: `keep` of them at random for each block of queries and head, ascending, then -1."""
        blocks, key_blocks = (-(-rows // n) for n in BLOCKS[pattern])
        chosen = self.torch.rand(batch, blocks, heads, key_blocks, device="cuda").argsort(-1)[..., :round(keep * key_blocks)].sort(-1).values
        return self.torch.cat([chosen, self.torch.full_like(chosen[..., :1], -1)], -1).to(self.torch.int32)

    def lists(self, rows):
        """Half of the tiles, beside our own dense kernel. The last head's tiles are in parts (passes/Lower/README.md); its check in f64 heats the card."""
        heads, _, depth = SHAPES["d128"]
        q, k, v = (self.random(1, rows, heads, depth) for _ in range(3))
        runs, checks, last = {}, [], (slice(None), slice(None), slice(-1, None))
        for name in BLOCKS:
            picks = self.picks(name, 1, rows, heads, 0.5)
            run, o, lse = self.ours(f"d128_{name}", q, k, v, picks=picks)
            checks.append((name, run, o, lse, picks[last]))
            runs["ours" + name.removeprefix("lists")] = run
        runs["own dense"], o, lse = self.ours("d128_full", q, k, v)
        checks.append(("full", runs["own dense"], o, lse, None))
        self.time(f"d128 lists that keep half, 1 x {rows}", 2 * heads * rows * rows * depth, runs)
        for name, run, o, lse, picks in checks:
            self.check(f"d128_{name}", run, o[last], lse[last], reference(q[last], k[last], v[last], name, picks), f"{rows} rows, the last head")

    def decode(self, batch, queries, rows):
        """Few queries, many keys: heads of a group in one tile and parts of a tile's keys, beside the same without either."""
        q, (k, v) = self.random(batch, queries, 32, 128), (self.random(batch, rows, 8, 128) for _ in range(2))
        runs, exact = {}, reference(q, k, v, "full")
        for name in ("decode", "decode_whole", "decode_unpacked", "decode_unpacked_whole"):
            run, o, lse = self.ours(name, q, k, v)
            self.check(name, run, o, lse, exact, f"{batch} x {queries} queries, {rows} keys")
            runs[name.replace("decode", "ours").replace("_", " ")] = run
        runs["cuDNN"] = self.cudnn(q, k, v, False)
        if self.fa3:
            runs["FA3"] = lambda: self.fa3.flash_attn_func(q, k, v)
        self.time(f"decode {batch} x {queries} queries, {rows} keys", 4 * batch * 32 * queries * rows * 128, runs)

    def offsets(self, batch, longest, fill):
        t = self.torch
        lengths = t.randint(max(1, int((2 * fill - 1) * longest)), longest + 1, (batch,), generator=t.Generator().manual_seed(1))
        return lengths, t.cat([t.zeros(1, dtype=t.int64), lengths.cumsum(0)]).to("cuda", t.int32)

    def jagged(self, depth, batch, longest):
        lengths, offsets = self.offsets(batch, longest, 0.7)
        q, k, v = (self.random(int(offsets[-1]), 4, depth) for _ in range(3))
        run, o, lse = self.ours(f"jagged_d{depth}", q, k, v, offsets=offsets)
        begin, end, most = int(offsets[5]), int(offsets[6]), int(lengths.max())
        part = slice(begin, end)
        self.check(f"jagged_d{depth}", run, o[None, part], lse[None, part], reference(q[None, part], k[None, part], v[None, part], "full"), "sequence 5")
        from torch.nn.attention.varlen import varlen_attn
        runs = {"ours": run, "FA2": lambda: varlen_attn(q, k, v, offsets, offsets, most, most)}
        if self.fa3:
            runs["FA3"] = lambda: self.fa3.flash_attn_varlen_func(q, k, v, offsets, offsets, most, most)
        self.time(f"jagged d{depth} B {batch} L {longest}", float((lengths.double() ** 2).sum()) * 16 * depth, runs)

    def pool(self, n, batch, longest, fill):
        lengths, offsets = self.offsets(batch, longest, fill)
        q, (k, v) = self.random(n, 4, 128), (self.random(int(offsets[-1]), 4, 128) for _ in range(2))
        run, o, lse = self.ours(f"pool_{n}", q, k, v, rows=(batch, n, 4), kv_offsets=offsets)
        part = slice(int(offsets[5]), int(offsets[6]))
        self.check(f"pool_{n}", run, o[5:6], lse[5:6], reference(q[None], k[None, part], v[None, part], "full"), "sequence 5")
        starts, most = self.torch.arange(0, batch * n + 1, n, device="cuda", dtype=self.torch.int32), int(lengths.max())
        runs = {"ours": run}
        if self.fa3:
            runs["FA3 with its copy"] = lambda: self.fa3.flash_attn_varlen_func(q.expand(batch, n, 4, 128).reshape(batch * n, 4, 128), k, v, starts, offsets, n, most)
        self.time(f"pool {n} B {batch} L {longest}", float(lengths.double().sum()) * 16 * 128 * n, runs)
        moved = 2 * (k.numel() + v.numel() + o.numel()) + 4 * lse.numel()
        print(f"pool {n}: {moved / 1e9:.2f} GB, at the rate of a copy {moved / self.copy_rate() * 1e3:.4f} ms", flush=True)
        self.rows.append({"floor": f"pool {n}", "bytes": moved, "copy_bytes_per_s": self.copy_rate()})

    def run(self):
        self.torch.manual_seed(0)
        for name in SPECS:
            shape, _, pattern = name.partition("_")
            if shape not in SHAPES:
                continue
            heads, key_heads, depth = SHAPES[shape]
            if pattern in BLOCKS:
                for rows, keep in ((1, 1), (77, 0), (1000, 0.5), (2500, 0.3)):
                    q, k, v = (self.random(2, rows, heads, depth) for _ in range(3))
                    picks = self.picks(pattern, 2, rows, heads, keep)
                    self.check(name, *self.ours(name, q, k, v, picks=picks), reference(q, k, v, pattern, picks), f"{rows} rows, {keep} of the blocks")
                continue
            for rows, scale in ((1, 1), (77, 1), (1500 if pattern == "window" else 1000, 1), (300, 60)):
                q, k, v = self.random(2, rows, heads, depth), scale * self.random(2, rows, key_heads, depth), self.random(2, rows, key_heads, depth)
                self.check(name, *self.ours(name, q, k, v), reference(q, k, v, pattern.replace("exact", "full")), f"{rows} rows, keys x {scale}")
        for shape in ("d128", "d64", "d256"):
            for pattern in ("full", "causal"):
                for rows in (1024, 4096, 16384):
                    self.dense(shape, pattern, 16384 // rows, rows, ["exact"] if (shape, pattern) == ("d128", "full") else [])
        for shape in ("few64", "few128", "few256"):
            for pattern in ("full", "causal"):
                for batch, rows in ((1, 512), (1, 1000), (1, 2048), (1, 4096), (4, 512), (4, 1024), (4, 2048), (16, 700)):
                    self.few(shape, pattern, batch, rows)
        self.dense("gqa", "causal", 4, 4096)
        self.dense("d128", "window", 1, 16384)
        self.lists(16384)
        for batch, queries in ((1, 1), (4, 1), (1, 64), (1, 128)):
            self.decode(batch, queries, 16384)
        self.jagged(128, 768, 1000), self.jagged(64, 256, 2000)
        self.pool(128, 768, 2000, 0.7), self.pool(256, 768, 1000, 0.5)
        if self.a.json:
            self.a.json.write_text(json.dumps({"gpu": self.torch.cuda.get_device_name(), "torch": self.torch.__version__, "rows": self.rows}, indent=1) + "\n")
        return self.bad > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--runtime", default="build/lib/libfovea_runtime.so")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    sys.exit(Bench(parser.parse_args()).run())
