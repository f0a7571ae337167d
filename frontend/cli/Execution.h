// frontend/cli/Execution.h - runs one operation of a compiled spec on host arrays.
#pragma once

#include "frontend/cli/Inputs.h"
#include "runtime/core/Module.h"

namespace fovea {

/// An output to allocate: what the kernel writes, contiguous.
struct OutputShape {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<bool> owned; ///< of each element: whether a sequence owns it
};

/// Copies the inputs to the device, fills the outputs with `fill` bytes, launches `operation` (in this `variant` of it, if one is
/// named), waits, and copies the outputs back. Offsets among the inputs are checked by value first. Inputs that the manifest does not know are left
/// at home.
Expected<Arrays> execute(const Module &module, const std::string &operation, const Arrays &inputs,
                         const std::vector<OutputShape> &outputs, unsigned char fill, const std::string &variant = "");

/// The outputs of `spec` for these inputs, in the order of its `attn.yield`.
Expected<std::vector<OutputShape>> outputShapes(attn::SpecOp spec, const Arrays &inputs);

} // namespace fovea
