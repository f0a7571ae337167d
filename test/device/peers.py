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


PEERS = {"fa2_varlen": fa2, "cudnn_dense_batch": cudnn, "cudnn_padded": cudnn_padded, "fa3_varlen": fa3}


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
