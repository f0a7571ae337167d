// codegen/kernel/Rotary.h - rotary embeddings: of accumulators on their way out, and of tiles in shared memory.
#pragma once

#include "codegen/kernel/Emitter.h"

namespace fovea::codegen {

/// Takes the rotation by `table` out of f32 registers in the layout of the group (tile.regs): of columns from `col0`,
/// as many as the registers hold. Halves: `x` holds columns from `col0` on (below cols / 2), `y` those cols / 2 further.
/// Interleaved: `y` is empty.
void unrotate(Emitter &e, Value table, tile::Pairing pairing, llvm::MutableArrayRef<Value> x,
              llvm::MutableArrayRef<Value> y, uint32_t col0);

} // namespace fovea::codegen
