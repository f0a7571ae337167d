// runtime/emulator/machine/TensorCopyOps.h - entry of the tensor-copy decoder, called for cp.async.bulk.tensor.
#pragma once
#include "runtime/emulator/machine/Decoder.h"

namespace fovea::emulator {
void decodeTensorCopy(Decoder &d, bool reduce);
} // namespace fovea::emulator
