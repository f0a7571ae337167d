# test/device/specs.py - the specs that a GPU machine checks and times, and what a checker must know of each
from dataclasses import dataclass, field


@dataclass
class Spec:
    """block_diagonal(block). rotary: for q, k, v: None, or (pairing, whether the kernel turns the tensor on load); one table for all."""
    block: int
    depth: int
    heads: int = 4
    dtype: str = "bf16"
    rotary: dict = field(default_factory=dict)
    by_position: bool = False
    f32_table: bool = False
    packed: bool = False
    gate: bool = False  # epilogue : o * sigmoid(gate) + residual
    schedule: str = ""

    def text(self, name):
        lines = []
        for tensor in "qkv":
            origin = ""
            if tensor in self.rotary:
                pairing, on_load = self.rotary[tensor]
                words = ["sinu", pairing] + ["on_load"] * on_load + ["by_position"] * self.by_position + ["f32"] * self.f32_table
                origin = f" = rotary({', '.join(words)})"
            lines.append(f"  {tensor} : {self.dtype} [jagged offsets, {self.heads} heads, {self.depth}]{origin}")
        emit = "backward(packed dz)" if self.packed else "backward"
        epilogue = "  epilogue : o * sigmoid(gate) + residual\n" * self.gate
        schedule = f"  schedule sm_90a {{ {self.schedule} }}\n" if self.schedule else ""
        return f"attention {name} {{\n" + "\n".join(lines) + f"\n  pattern : block_diagonal({self.block})\n{epilogue}  emit : forward(lse), {emit}\n{schedule}}}\n"


def every(pairing, on_load, names="qkv"):
    return {name: (pairing, on_load) for name in names}


def specs():
    """Name -> Spec. 4 heads, 2 or 3 where the issues' tables have them; the scheduler chooses by itself, but for the split ones."""
    found = {f"n{block}_d{depth}": Spec(block, depth) for block in (16, 32, 64, 128) for depth in (32, 64, 96, 128, 192, 256)}
    found["n64_d256_h2"] = Spec(64, 256, heads=2)
    found["n64_d64_f16"] = Spec(64, 64, dtype="f16")
    found["n64_d128_f16"] = Spec(64, 128, dtype="f16")
    for depth in (64, 128):
        found[f"n64_d{depth}_split"] = Spec(64, depth, schedule="roles : split")
    found["n64_d128_h3"] = Spec(64, 128, heads=3)
    # A gated residual, whose backward also makes the gradients of gate and residual.
    for block, depth in ((64, 64), (64, 128), (64, 256), (16, 64), (128, 128)):
        found[f"n{block}_d{depth}_gate"] = Spec(block, depth, gate=True)
    found["n32_d96_gate_f16"] = Spec(32, 96, heads=2, dtype="f16", gate=True, packed=True)
    found["n64_d128_gate_rotary"] = Spec(64, 128, heads=3, rotary=every("interleaved", False), packed=True, gate=True)
    # Behind rotary embeddings: applied by the caller, gradients packed; or turned on load.
    found["n64_d128_rotary"] = Spec(64, 128, heads=3, rotary=every("interleaved", False), packed=True)
    found["n64_d128_rotary_halves"] = Spec(64, 128, heads=3, rotary=every("halves", False), packed=True)
    found["n64_d64_rotary_position"] = Spec(64, 64, rotary=every("interleaved", False), by_position=True)
    found["n32_d96_rotary_f32"] = Spec(32, 96, heads=2, dtype="f16", rotary=every("halves", False), f32_table=True, packed=True)
    found["n64_d128_load"] = Spec(64, 128, rotary=every("interleaved", True, "qk"), packed=True)
    found["n64_d128_load_position"] = Spec(64, 128, rotary=every("interleaved", True, "qk"), by_position=True, packed=True)
    found["n64_d128_load_halves"] = Spec(64, 128, rotary=every("halves", True), by_position=True)
    found["n128_d64_load_f32"] = Spec(128, 64, rotary=every("halves", True), f32_table=True, packed=True)
    found["n16_d64_load"] = Spec(16, 64, rotary={"q": ("interleaved", True), "k": ("interleaved", True), "v": ("interleaved", False)})
    return found
