# test/lit.cfg.py - lit: the command-line and IR tests of every room (`ninja check-lit`)
import os
import shutil
import sys

import lit.formats

config.name = "fovea"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".attn", ".mlir", ".test", ".ptx"]
# Unit tests are CTest's; what lies in Inputs is read by tests.
config.excludes = ["Inputs", "kernels", "conformance", "unit", "bench", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fovea_build_dir, "test")

config.environment["PATH"] = os.pathsep.join([config.llvm_tools_dir, config.environment["PATH"]])
config.substitutions.append(("%examples", os.path.join(config.fovea_source_dir, "examples")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%launch_ads_block", os.path.join(config.fovea_build_dir, "bin", "launch_ads_block") + " " +
                             os.path.join(config.fovea_build_dir, "examples")))
# The longest name first: lit replaces text, so `%fovea` would eat the head of `%fovea-opt`.
for tool in ["fovea-front", "fovea-opt", "fovea"]:
    path = os.path.join(config.fovea_build_dir, "bin", tool)
    if os.path.exists(path):
        config.available_features.add(tool)
    config.substitutions.append(("%" + tool + r"\b", path))

# `// REQUIRES: ptxas` skips a test, and says so, where the CUDA toolkit is not installed.
ptxas = shutil.which("ptxas", path=os.pathsep.join([config.environment["PATH"], "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))

# `REQUIRES: emulator`: kernels are run without a GPU.
if os.path.exists(os.path.join(config.fovea_build_dir, "lib", "libfovea_emulator.so")):
    config.available_features.add("emulator")
