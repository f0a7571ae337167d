// codegen/kernel/Fragments.h - register tiles from and to swizzled shared tiles.
#pragma once

#include "codegen/kernel/Emitter.h"

namespace fovea::codegen {

/// Packs neighbouring f32 registers (columns c, c + 1 of one row) to 16-bit pairs.
SmallVector<Value> packPairs(Emitter &e, Half type, ValueRange registers);

/// Stores fragment registers (f32, columns col0 … col0 + 2 * size) of the group's rows to the tile at `base`:
/// stmatrix of 16 x 16 blocks, 16 rows a warp. With `block`, columns count from the warp's own block of keys, which must
/// not cross a panel. The writer owes a proxy fence before TMA or the tensor core reads.
void storeFragment(Emitter &e, tile::SlotType type, Value base, ValueRange registers, uint32_t col0 = 0,
                   int64_t block = 0);

/// The same for either layout of register tiles: a row a thread stores 16 bytes at a time. `block` as above.
void storeElements(Emitter &e, tile::SlotType type, Value base, ValueRange registers, uint32_t col0 = 0, int64_t block = 0);
/// The other way round: 16-bit elements of columns [col0, col0 + count), a multiple of 16, as f32 registers.
SmallVector<Value> loadElements(Emitter &e, tile::SlotType type, Value base, uint32_t col0, uint32_t count);

} // namespace fovea::codegen
