// dialect/Layout/Swizzle.h - the shared-memory swizzles that TMA, tcgen05 and wgmma agree on.
#pragma once

#include <cstdint>

namespace fovea::layout {

/// Swizzle modes with a 16-byte atom (PTX ISA, "Shared Memory Matrix Layout" and
/// "Tensor Swizzling Modes"). The span is the width in bytes of one swizzled row.
enum class SwizzleMode { None, B32, B64, B128 };

/// Bytes of one swizzled row: 16 (None: one core-matrix row), 32, 64 or 128.
constexpr uint32_t spanBytes(SwizzleMode mode) {
  return mode == SwizzleMode::None  ? 16
         : mode == SwizzleMode::B32 ? 32
         : mode == SwizzleMode::B64 ? 64
                                    : 128;
}

/// Which 16-byte chunks of a 128-byte line are exchanged: 0, 1, 3 or 7.
constexpr uint32_t chunkMask(SwizzleMode mode) {
  return mode == SwizzleMode::None  ? 0
         : mode == SwizzleMode::B32 ? 1
         : mode == SwizzleMode::B64 ? 3
                                    : 7;
}

/// Linear byte offset -> physical byte offset: the line number (bits 7 and up) is XORed into the
/// chunk number (bits 4..6). The hardware applies it to absolute shared addresses, so an offset
/// from a tile base may be used only when that base is a multiple of patternBytes(mode). An
/// involution.
constexpr uint32_t apply(SwizzleMode mode, uint32_t offset) {
  return offset ^ (((offset >> 7) & chunkMask(mode)) << 4);
}

/// Length of the repeating pattern, which is also the alignment a tile needs: 16 (None), 256, 512,
/// 1024.
constexpr uint32_t patternBytes(SwizzleMode mode) {
  return mode == SwizzleMode::None ? 16 : 8 * spanBytes(mode);
}

/// Value of CUtensorMapSwizzle (cuTensorMapEncodeTiled): 0, 1, 2 or 3.
constexpr uint32_t tensorMapCode(SwizzleMode mode) { return static_cast<uint32_t>(mode); }

/// "none", "32B", "64B" or "128B", as manifests and launch files spell it.
const char *name(SwizzleMode mode);

/// The widest swizzle whose span divides a row of `rowBytes` bytes; None when rowBytes is not a
/// multiple of 32.
SwizzleMode widestSwizzle(uint32_t rowBytes);

} // namespace fovea::layout
