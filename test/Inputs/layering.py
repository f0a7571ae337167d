"""layering.py ROOT: reads every include and refuses those that cross a wall; the rules are README's rooms."""
import pathlib
import re
import sys

# room -> what it may include besides itself and what lies outside the project
MAY_SEE = {
    "runtime/abi": [],
    "runtime/driver": ["runtime/abi"],
    "runtime/core": ["runtime/abi", "runtime/driver"],
    # The emulator decodes from the ISA's text: no layout code of the compiler, so that one mistake cannot hide another.
    "runtime/emulator": ["runtime/abi", "runtime/driver", "runtime/core"],
    "dialect/Layout": [],
    "dialect/Attn": [],
    "dialect/Tile": ["runtime/abi"],
    "passes": ["dialect", "runtime/abi"],
    "codegen/common": ["dialect"],
    "codegen/kernel": ["dialect", "codegen/common", "runtime/abi"],
    "codegen/sm90a": ["dialect", "codegen/common", "codegen/kernel"],
    "codegen/sm100a": ["dialect", "codegen/common", "codegen/kernel"],
    "codegen/ptx": [],
    "codegen/abi": ["runtime/abi"],
    "codegen": ["dialect", "passes", "runtime/abi"],
    "frontend/cli": ["dialect", "passes", "codegen", "runtime", "frontend"],
    "frontend": ["dialect"],
}
# (room, what its text may not name): passes know no instruction set.
MAY_NOT_NAME = [("passes", re.compile(r"\bNVVM::\w+Op\b"))]


def room_of(path):
    fitting = [room for room in MAY_SEE if path == room or path.startswith(room + "/")]
    return max(fitting, key=len, default=None)


def main(root):
    wrong, read = [], 0
    for top in ("runtime", "dialect", "passes", "codegen", "frontend"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cpp"):
                continue
            name, text = file.relative_to(root).as_posix(), file.read_text()
            read += 1
            room = room_of(name)
            if room is None:
                wrong.append(f"{name}: belongs to no room")
                continue
            for include in re.findall(r'^#include "([^"]+)"', text, re.M):
                target = include if "/" in include else name  # beside it
                if not target.startswith(("runtime/", "dialect/", "passes/", "codegen/", "frontend/")):
                    continue
                allowed = [room] + MAY_SEE[room]
                if not any(target == a or target.startswith(a + "/") for a in allowed):
                    wrong.append(f"{name}: includes {include}, which '{room}' may not see")
            for prefix, pattern in MAY_NOT_NAME:
                if name.startswith(prefix + "/") and pattern.search(text):
                    wrong.append(f"{name}: names {pattern.search(text).group()}, which '{prefix}' may not know")
    print("\n".join(wrong) if wrong else f"{read} files keep to their rooms")
    return 1 if wrong or read == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
