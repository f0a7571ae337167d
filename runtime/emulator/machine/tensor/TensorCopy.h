// runtime/emulator/machine/tensor/TensorCopy.h - tensor (TMA) box copies between global and shared memory
#pragma once
#include "runtime/emulator/machine/tensor/Memory.h"
#include "runtime/emulator/machine/tensor/TensorMap.h"
#include <functional>

namespace fovea::emulator {

/// Where a box lies: `coords[i]` innermost first (elements, signed). gather4/scatter4: coords[0] is the column and
/// `rows` the four row coordinates of a 2-D map whose box has one row (PTX ISA, ".tile::gather4").
struct BoxPosition {
  int32_t coords[5] = {};
  bool fourRows = false;
  int32_t rows[4] = {};
  bool im2col = false;      ///< the instruction says so; the map must say the same
  uint16_t offsets[3] = {}; ///< of im2col, added to the pixels' W, H, D
};

/// A piece that is contiguous on both sides. `inBounds` false: outside the tensor (loads fill it, stores skip it).
struct BoxRun {
  uint64_t global;
  uint32_t shared; ///< physical (swizzled) window offset
  uint32_t bytes;  ///< in shared memory
  bool inBounds;
  /// Out of bounds, but in the last 16 bytes of a row of a store: written where memory exists (seen on an H200).
  bool overhang = false;
};

/// Bytes that complete_tx counts: always the full box, out-of-bounds elements included, row gaps and the padding of
/// 4- and 6-bit types not.
uint32_t boxBytes(const TensorMap &map, const BoxPosition &at);

enum class BoxDirection : uint8_t { Load, Store, Reduce };

/// Throws Fault: tile or im2col against the map, im2col from outside of the bounding box, a box that no CTA can hold, shared address not 128-byte aligned, innermost start not a multiple of 16 bytes, negative start of a
/// store, gather4/scatter4 on an unsuited map, a load-only type in a store.
void checkBox(const TensorMap &map, const BoxPosition &at, uint32_t shared, BoxDirection direction);

/// Bytes that a copy reads or writes: in global memory (`global`, only those in bounds; `count` rows, `stride` bytes from one to the
/// next), or in shared memory.
struct BoxTouch {
  bool global;
  uint64_t address;  ///< or window offset
  uint32_t bytes;
  bool inBounds;
  uint64_t stride = 0;
  uint32_t count = 1;
};
using BoxTouchFn = std::function<void(const BoxTouch &)>;
/// All bytes of the box on both sides, in pieces as large as they come and in no certain order (checkBox first).
void boxTouches(const TensorMap &map, const BoxPosition &at, uint32_t shared, BoxDirection direction, const BoxTouchFn &fn);

/// A range of shared memory that holds every run of the box; exact where it would reach beyond `limit` otherwise.
void boxRange(const TensorMap &map, const BoxPosition &at, uint32_t shared, uint32_t limit, uint32_t &begin, uint32_t &end);

void loadBox(const TensorMap &map, const BoxPosition &at, GlobalPort &global, SharedSpan smem, uint32_t shared);
void storeBox(const TensorMap &map, const BoxPosition &at, GlobalPort &global, SharedSpan smem, uint32_t shared);

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
/// Element-wise atomic reduction into global memory; throws Fault on an operation that the type does not have.
void reduceBox(const TensorMap &map, const BoxPosition &at, ReduceOp op, GlobalPort &global, SharedSpan smem, uint32_t shared);

/// One element of a bulk reduction: *to = *to (op) from, in the map's element type (also for cp.reduce.async.bulk).
void reduceElement(MapType type, ReduceOp op, void *to, const void *from);

} // namespace fovea::emulator
