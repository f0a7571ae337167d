#!/usr/bin/env python3
# examples/torch_ads_block.py - a compiled spec as a PyTorch function, through the C interface of libfovea_runtime.so
"""fovea compile examples/ads_block.attn --target sm_90a -o out
python3 examples/torch_ads_block.py out/ads_block.sm_90a.json --runtime build/lib/libfovea_runtime.so

`Kernels` needs ctypes alone and works for any artefact; everything below it is this example. Launches go to torch's current
stream, so they are ordered with torch's own kernels, and can be captured in a CUDA graph."""
import argparse, ctypes as C, math, sys
import torch

DTYPES = {torch.bfloat16: b"bf16", torch.float16: b"f16", torch.float32: b"f32", torch.int32: b"i32", torch.int64: b"i64"}


class FoveaTensor(C.Structure):
    """fovea_tensor of runtime/core/fovea.h; strides are in elements."""
    _fields_ = [("name", C.c_char_p), ("data", C.c_void_p), ("dtype", C.c_char_p), ("rank", C.c_int32), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64))]


class Kernels:
    """The operations of one artefact on one device."""

    def __init__(self, manifest, runtime="libfovea_runtime.so", device="cuda:0"):
        self.library = C.CDLL(runtime)
        self.library.fovea_error.restype = C.c_char_p
        self.device, self.module = C.c_void_p(), C.c_void_p()
        self.check(self.library.fovea_open(device.encode(), C.byref(self.device)))
        self.check(self.library.fovea_module_load(self.device, str(manifest).encode(), C.byref(self.module)))

    def check(self, status):
        if status:
            raise RuntimeError(self.library.fovea_error().decode())

    @staticmethod
    def describe(tensors):
        array = (FoveaTensor * len(tensors))()
        for slot, (name, t) in zip(array, tensors.items()):
            n = t.dim()
            slot.name, slot.data, slot.dtype, slot.rank = name.encode(), t.data_ptr(), DTYPES[t.dtype], n
            slot.shape, slot.strides = (C.c_int64 * n)(*t.shape), (C.c_int64 * n)(*t.stride())
        return array

    @staticmethod
    def stream():
        return C.c_void_p(torch.cuda.current_stream().cuda_stream)

    def launch(self, operation, **tensors):
        """Checks the tensors and enqueues `operation`; tensors may be strided views."""
        self.check(self.library.fovea_launch(self.module, operation.encode(), self.describe(tensors), len(tensors), self.stream()))

    def prepare(self, operation, **tensors):
        """A function that enqueues `operation` on these tensors again and again without checking them again."""
        handle = C.c_void_p()
        self.check(self.library.fovea_prepare(self.module, operation.encode(), self.describe(tensors), len(tensors), C.byref(handle)))
        launch = self.library.fovea_prepared_launch

        def run():
            if launch(handle, self.stream()):
                raise RuntimeError(self.library.fovea_error().decode())
        run.tensors = tensors  # they must live as long as the launch
        return run


class AdsBlock(torch.autograd.Function):
    """Block-diagonal attention over jagged sequences: q, k, v of [rows, heads, depth], offsets of [sequences + 1]."""

    @staticmethod
    def forward(ctx, kernels, q, k, v, offsets):
        o = torch.empty_like(q)
        kernels.launch("forward", q=q, k=k, v=v, o=o, offsets=offsets)
        ctx.kernels = kernels
        ctx.save_for_backward(q, k, v, offsets)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, offsets = ctx.saved_tensors
        dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
        ctx.kernels.launch("backward", q=q, k=k, v=v, dout=do.contiguous(), dq=dq, dk=dk, dv=dv, offsets=offsets)
        return None, dq, dk, dv, None


def reference(q, k, v, offsets, block=64):
    """The same in plain torch, in f64."""
    q, k, v = (x.double() for x in (q, k, v))
    pieces = []
    for begin, end in zip(offsets[:-1], offsets[1:]):
        for row in range(begin, end, block):
            Q, K, V = (x[row:min(row + block, end)].transpose(0, 1) for x in (q, k, v))
            pieces.append(((Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1])).softmax(-1) @ V).transpose(0, 1))
    return torch.cat(pieces)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--runtime", default="build/lib/libfovea_runtime.so")
    a = parser.parse_args()
    torch.manual_seed(0)
    kernels = Kernels(a.manifest, a.runtime)
    lengths = [100, 1, 64, 300, 0, 17]
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    q, k, v = (torch.randn(offsets[-1], 4, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    do = torch.randn_like(q)
    o = AdsBlock.apply(kernels, q, k, v, torch.tensor(offsets, dtype=torch.int32, device="cuda"))
    got = [o, *torch.autograd.grad(o, (q, k, v), do)]
    exact = reference(q, k, v, offsets)
    want = [exact, *torch.autograd.grad(exact, (q, k, v), do.double())]
    worst = 1e9
    for name, g, w in zip(("o", "dq", "dk", "dv"), got, want):
        g, w = g.detach().double(), w.detach()
        snr = 20 * math.log10(w.norm() / (g - w).norm())
        worst = min(worst, snr)
        print(f"{name:3} SNR {snr:.1f} dB against torch in f64")
    sys.exit(worst < 45)


if __name__ == "__main__":
    main()
