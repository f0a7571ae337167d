// codegen/abi/Header.h - the typed C++ header of a compiled spec.
#pragma once

#include "runtime/abi/Manifest.h"

namespace fovea::codegen {

/// A header with one struct of typed arrays per operation (`Forward`, `Backward`), and `prepare` and `launch` for each.
/// It includes runtime headers only. `manifestFile` is the name of the manifest beside it.
std::string typedHeader(const Manifest &manifest, const std::string &manifestFile);

} // namespace fovea::codegen
