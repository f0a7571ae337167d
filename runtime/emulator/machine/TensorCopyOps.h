// runtime/emulator/machine/TensorCopyOps.h - decoders that the opcode `cp` hands over to.
#pragma once
#include "runtime/emulator/machine/Decoder.h"

namespace fovea::emulator {
void decodeTensorCopy(Decoder &d, bool reduce);  ///< cp.async.bulk.tensor
void decodeCpAsync(Decoder &d);                  ///< cp.async without .bulk
} // namespace fovea::emulator
