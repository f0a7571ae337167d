// codegen/kernel/TensorMap.h - how TMA sees a tensor of a kernel (CUDA driver API, cuTensorMapEncodeTiled).
#pragma once

#include "dialect/Tile/Tile.h"
#include "runtime/abi/Manifest.h"

namespace fovea::codegen {

/// Whether any group loads the tensor, or stores to it, by TMA.
bool isLoaded(tile::KernelOp kernel, tile::TensorOp tensor);
bool isStored(tile::KernelOp kernel, tile::TensorOp tensor);

/// Distance of two heads, in elements.
Expr headStrideOf(tile::TensorOp tensor);

/// {cols, rows, heads} in boxes of one panel; or, where items loop over key blocks, {columns of a panel, rows, panels, heads,
/// batch} in boxes of a whole tile, or of a team's rows of a panel where teams store for themselves. Strides are in bytes.
ParamSpec tensorMap(tile::KernelOp kernel, tile::TensorOp tensor, bool loaded);

} // namespace fovea::codegen
