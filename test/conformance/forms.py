#!/usr/bin/env python3
# test/conformance/forms.py - which instruction forms the emulator knows: of the lists of other compilers, and of all that ptxas accepts
"""forms.py --library LIBFOVEA_EMULATOR.SO [--chip sm_100a|sm_90a]
Listed: each form of forms/listed-CHIP.txt (what Triton, Gluon and another compiler emit) must be held, by exact spelling, by a kernel that
run.py compares with NumPy. Accepted: each form of forms/grammar.txt that ptxas takes for the chip must load. What is left out stands in
forms/refused.txt with the reason, and must be refused. Exit status 77 where ptxas is missing and the listed forms are right."""
import argparse, concurrent.futures, ctypes as C, itertools, os, re, shutil, subprocess, sys, tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
REGISTERS = dict(p=".pred", h=".b16", r=".b32", d=".b64", q=".b128", f=".f32", g=".f64", b=".b8")


def spelled(text):
    """The opcodes with their modifiers."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"(?:^|[;{}\s])(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:(?:\.|::)[\w:]+)*)(?=[\s;])", text))


def listed(chip):
    return re.findall(r"^  (\S+)$", (HERE / "forms" / f"listed-{chip}.txt").read_text(), re.M)


def expand(text):
    choice = re.search(r"<([^<>]*)>", text)
    if not choice:
        yield text
        return
    for option in choice[1].split("|"):
        yield from expand(text[:choice.start()] + option + text[choice.end():])


def grammar():
    """(form, instruction with registers)."""
    def name(match):
        numbers = counter
        letter = match[0]
        if letter in "PR":
            return f"%{'p' if letter == 'P' else 'r'}{next(numbers)}|%p{next(numbers)}"
        return f"%{letter}{next(numbers)}"
    seen = set()
    for line in (HERE / "forms" / "grammar.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        for form in expand(line):
            if form not in seen:
                seen.add(form)
                counter = itertools.count(1)
                opcode, _, operands = form.partition(" ")
                yield form, f"{opcode} {re.sub(r'(?<![%.:a-zA-Z0-9_])[phrdqfgbPR](?!' + chr(92) + 'w)', name, operands)};"


def module(chip, instruction):
    registers = "\n".join(f".reg {t} %{c}<40>;" for c, t in REGISTERS.items())
    return f""".version 9.0
.target {chip}
.address_size 64
.global .align 128 .b8 gvar[256];
.visible .entry k(.param .u64 param0) {{
{registers}
.shared .align 128 .b8 svar[256];
{instruction}
ret;
}}
"""


class Emulator:
    def __init__(self, library, chip):
        os.environ["FOVEA_EMULATE"] = chip
        self.cu, self.chip = C.CDLL(library), chip
        context, device = C.c_void_p(), C.c_int()
        self.cu.cuInit(0)
        self.cu.cuDeviceGet(C.byref(device), 0)
        if self.cu.cuDevicePrimaryCtxRetain(C.byref(context), device) or self.cu.cuCtxSetCurrent(context):
            raise RuntimeError("the emulator gives no context")

    def accepts(self, instruction):
        log, loaded, function = C.create_string_buffer(1000), C.c_void_p(), C.c_void_p()
        options, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.cast(log, C.c_void_p).value, 1000)  # error log buffer and its size
        result = self.cu.cuModuleLoadDataEx(C.byref(loaded), module(self.chip, instruction).encode(), 2, options, values)
        if not result:
            result = self.cu.cuModuleGetFunction(C.byref(function), loaded, b"k")
            self.cu.cuModuleUnload(loaded)
        return not result, log.value.decode().strip()


def assembles(ptxas, chip, instruction):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(module(chip, instruction))
        f.flush()
        return not subprocess.run([ptxas, f"-arch={chip}", "-O0", f.name, "-o", "/dev/null"], capture_output=True).returncode


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--library", required=True)
    p.add_argument("--chip", default="sm_100a", choices=["sm_100a", "sm_90a"])
    a = p.parse_args()
    os.environ.pop("LD_PRELOAD", None)  # a sanitiser's runtime, for the library in this process and not for ptxas
    reasons = [line.split(" : ", 1) for line in (HERE / "forms" / "refused.txt").read_text().splitlines() if line and line[0] != "#"]
    refused = lambda form: any(re.fullmatch(pattern, form.split(" ")[0]) for pattern, _ in reasons)

    from run import kernels
    held = set().union(*(spelled(k.ptx().decode()) for k in kernels() if k.chip == a.chip))
    forms = listed(a.chip)
    missing = [f for f in forms if f not in held]
    bad = [f for f in missing if not refused(f)]
    print(f"{a.chip}: {len(forms) - len(missing)} of {len(forms)} listed forms are in kernels that are compared with NumPy; {len(missing) - len(bad)} are refused")
    for form in bad:
        print(f"  in no kernel: {form}")

    ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        print("skipped: ptxas is not installed, so what it accepts is not known")
        return 1 if bad else 77
    all_forms = list(grammar())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        accepted = list(pool.map(lambda form: assembles(ptxas, a.chip, form[1]), all_forms))
    emulator, known, left_out, total = Emulator(a.library, a.chip), 0, 0, 0
    for (form, instruction), exists in zip(all_forms, accepted):
        if not exists:
            continue
        total += 1
        takes, why = emulator.accepts(instruction)
        known += takes
        left_out += not takes and refused(form)
        if takes == refused(form):
            bad.append(form)
            print(f"  {'is in refused.txt but loads' if takes else 'does not load'}: {instruction} {why}")
    print(f"{a.chip}: {known} of the {total} forms of forms/grammar.txt that ptxas accepts load; {left_out} are refused by forms/refused.txt")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
