# test/device/peers.py - what a user would pick instead, as functions that launch once; each says None where it is not installed
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BLOCK = 64


def block_offsets(offsets, block):
    """Offsets of the blocks: every block is a sequence of its own to a varlen kernel."""
    starts = [0]
    for begin, end in zip(offsets[:-1], offsets[1:]):
        starts += [min(r + block, end) for r in range(begin, end, block)]
    return torch.tensor(starts, device="cuda", dtype=torch.int32)


def fa2(q, k, v, offsets, block):
    """FlashAttention 2 of torch.nn.attention.varlen: {"forward": run, "backward": run}."""
    from torch.nn.attention.varlen import varlen_attn
    starts = block_offsets(offsets, block)
    x = [t.detach().requires_grad_(True) for t in (q, k, v)]
    run = lambda: varlen_attn(*x, starts, starts, block, block)
    return with_backward(run, x)


def with_backward(run, x):
    def forward():
        with torch.no_grad():
            run()
    state = {}

    def backward():
        if not state:
            state["o"] = run()
            state["do"] = torch.randn_like(state["o"])
        torch.autograd.grad(state["o"], x, state["do"], retain_graph=True)
    return {"forward": forward, "backward": backward}


def cudnn(q, k, v, offsets, block):
    """cuDNN on a dense batch of as many full blocks as the rows fill: no short blocks, no offsets; a floor for padding."""
    n = q.shape[0] // block
    x = [t[:n * block].view(n, block, *t.shape[1:]).transpose(1, 2).detach().requires_grad_(True) for t in (q, k, v)]

    def run():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(*x)
    return with_backward(run, x)


def cudnn_padded(q, k, v, offsets, block):
    """cuDNN on the same blocks padded to full length (each is a batch entry with a mask-free short tail of zeros). The padding itself is not timed."""
    n = sum(-(-(e - b) // block) for b, e in zip(offsets[:-1], offsets[1:]))
    x = [torch.randn(n, t.shape[1], block, t.shape[2], device="cuda", dtype=t.dtype).requires_grad_(True) for t in (q, k, v)]

    def run():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(*x)
    return with_backward(run, x)


def fa3(q, k, v, offsets, block):
    """FlashAttention 3 (a wheel with fa3_fwd_interface or flash_attn_interface), forward only."""
    try:
        from fa3_fwd_interface import flash_attn_varlen_func
    except ImportError:
        from flash_attn_interface import flash_attn_varlen_func
    starts = block_offsets(offsets, block)
    return {"forward": lambda: flash_attn_varlen_func(q, k, v, starts, starts, block, block)}


def key_blocks(offsets, block, size=128):
    """For each `size` rows, the range of key blocks that its rows' blocks touch: (first, count), and each row's block number."""
    starts = block_offsets(offsets, block).long()
    starts = starts[torch.cat([starts[1:] > starts[:-1], torch.ones(1, dtype=torch.bool, device="cuda")])]  # none without rows
    rows = int(starts[-1])
    owner = torch.bucketize(torch.arange(rows, device="cuda"), starts, right=True) - 1
    tiles = torch.arange(0, rows, size, device="cuda")
    first = starts[owner[tiles]] // size
    last = (starts[owner[torch.clamp(tiles + size - 1, max=rows - 1)] + 1] - 1) // size
    return first, last - first + 1, owner.to(torch.int32)


def flex(q, k, v, offsets, block):
    """FlexAttention, compiled, with a block mask made from the offsets (as create_block_mask would, which for a million
    rows takes the square of the number of blocks); forward only, since compiling takes seconds for each shape."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention
    torch._dynamo.config.recompile_limit = 64
    rows = q.shape[0]
    first, count, owner = key_blocks(offsets, block)
    indices = (first[:, None] + torch.arange(int(count.max()), device="cuda")).clamp(max=len(first) - 1)
    mask = BlockMask.from_kv_blocks(count.to(torch.int32)[None, None], indices.to(torch.int32)[None, None].contiguous(), BLOCK_SIZE=128,
                                    mask_mod=lambda b, h, i, j: owner[i] == owner[j], seq_lengths=(rows, rows), compute_q_blocks=False)
    compiled = torch.compile(flex_attention, dynamic=False)
    x = [t.transpose(0, 1)[None] for t in (q, k, v)]

    def forward():
        with torch.no_grad():
            return compiled(*x, block_mask=mask)
    some = slice(offsets[0], min(offsets[0] + block, offsets[1]))
    want = F.scaled_dot_product_attention(*(t[:, :, some].float() for t in x))
    if not torch.allclose(forward()[:, :, some].float(), want, atol=0.03, rtol=0.03):
        raise RuntimeError("the first block is wrong")
    return {"forward": forward}


PEERS = {"fa2_varlen": fa2, "cudnn_dense_batch": cudnn, "cudnn_padded": cudnn_padded, "fa3_varlen": fa3, "flex": flex}


def peers(q, k, v, offsets, block, names=PEERS):
    """{name: {operation: run}}, and why the others are missing."""
    found, missing = {}, {}
    for name in names:
        try:
            found[name] = PEERS[name](q, k, v, offsets, block)
            found[name]["forward"]()
        except Exception as error:
            found.pop(name, None)
            missing[name] = f"{type(error).__name__}: {error}"[:160]
    return found, missing


def eager_turn(x, table, pairing, out, back=False):
    """x [rows, heads, depth] turned into `out` in its own type, with as few torch kernels as eager needs (four); `back`: the transpose."""
    sin, cos = (t[:, None, :] for t in table.chunk(2, dim=-1))
    split = lambda t: (t[..., ::2], t[..., 1::2]) if pairing == "interleaved" else t.chunk(2, dim=-1)
    (x0, x1), (y0, y1), sign = split(x), split(out), 1 if back else -1
    torch.addcmul(x0 * cos, x1, sin, value=sign, out=y0)
    torch.addcmul(x1 * cos, x0, sin, value=-sign, out=y1)
    return out


def by_token(t, spec, offsets):
    """The rotary table with a row per token."""
    if not spec.by_position:
        return t["sinu"]
    return torch.cat([t["sinu"][:end - begin] for begin, end in zip(offsets[:-1], offsets[1:])])


def rotary_backward(others, t, spec):
    """Unfused: FlashAttention 2's backward alone, the rotation of its gradients in eager torch alone (into the packed tensor), and both."""
    if spec.by_position or "fa2_varlen" not in others:
        return {}
    attention, like = others["fa2_varlen"]["backward"], t["q"]
    gradients = {n: torch.randn_like(like) for n in spec.rotary}

    dz = torch.empty(like.shape[0], len(gradients), *like.shape[1:], device="cuda", dtype=like.dtype)

    def rotate():
        for i, (n, g) in enumerate(gradients.items()):
            eager_turn(g, t["sinu"], spec.rotary[n][0], dz[:, i], back=True)

    def both():
        attention()
        rotate()
    return {"fa2_varlen": attention, "eager_rotary": rotate, "fa2_and_eager_rotary": both}


def rotary_forward(others, plain, t, spec, offsets):
    """Unfused: our forward of what has been rotated, the rotation in eager torch alone, and both; FlashAttention 2 in its place; and our
    forward behind a copy of what is turned, which no separate pass can beat."""
    table = by_token(t, spec, offsets)
    launch = plain.prepare("forward", **{n: t[n] for n in ("q", "k", "v", "o", "offsets")})

    turned = {n: torch.empty_like(t[n]) for n in spec.rotary}

    def rotate():
        for n, y in turned.items():
            eager_turn(t[n], table, spec.rotary[n][0], y)

    def copy():
        for n, y in turned.items():
            y.copy_(t[n])
        launch()

    def both():
        rotate()
        launch()
    runs = {"fovea_plain": launch, "eager_rotary": rotate, "eager_rotary_and_fovea_plain": both, "copy_and_fovea_plain": copy}
    if "fa2_varlen" in others:
        attention = others["fa2_varlen"]["forward"]

        def unfused():
            rotate()
            attention()
        runs.update({"fa2_varlen": attention, "eager_rotary_and_fa2": unfused})
    return runs


def compiled(function, *arguments):
    """Compiled where torch.compile works here, else eager."""
    try:
        found = torch.compile(function, dynamic=False)
        found(*arguments)
        return found
    except Exception:
        return function


def gated(others, plain, t, operation):
    """Unfused: the gated residual in torch (compiled, one kernel) behind our plain forward and FlashAttention 2's, or before their backward."""
    if operation == "forward":
        arguments = t["o"], t["gate"], t["residual"]
        gate = compiled(lambda o, g, r: o * g.sigmoid() + r, *arguments)
        launch = plain.prepare("forward", **{n: t[n] for n in ("q", "k", "v", "o", "offsets")})
    else:
        def gradients(d, o, g):
            s = g.sigmoid()
            return d * s, d * o * (s - s * s)
        arguments = t["dout"], t["o"], t["gate"]
        gate = compiled(gradients, *arguments)
        launch = plain.prepare("backward", **{n: t[n] for n in ("q", "k", "v", "dout", "dq", "dk", "dv", "offsets")})
    work = lambda: gate(*arguments)

    def behind(attention):
        return lambda: (attention(), work())
    runs = {"fovea_plain": launch, "torch_gate": work, "fovea_plain_and_torch_gate": behind(launch)}
    if "fa2_varlen" in others:
        attention = others["fa2_varlen"][operation]
        runs.update({"fa2_varlen": attention, "fa2_and_torch_gate": behind(attention)})
    return runs
