// dialect/Layout/MatrixDescriptor.h - shared-memory matrix descriptors of tcgen05.mma and wgmma.
#pragma once

#include "dialect/Layout/SmemTile.h"

#include <cstdint>
#include <vector>

namespace fovea::layout {

/// Which instruction reads the descriptor. The fields are the same; tcgen05 has the constant 1 in
/// bits 46..48 and a 3-bit swizzle code at 61 that is twice wgmma's 2-bit code at 62.
enum class TensorCore { Tcgen05, Wgmma };

/// K: the K index is contiguous in memory. MN: the M (of A) or N (of B) index is ("transposed").
enum class Major { K, MN };

/// Fields of a descriptor (PTX ISA, "Shared memory descriptor" of tcgen05 and "Matrix-descriptor"
/// of wgmma).
struct MatrixDescriptor {
  SwizzleMode swizzle = SwizzleMode::None;
  uint32_t lboBytes =
      0; ///< leading byte offset, multiple of 16; ignored by the hardware for swizzled K-major
  uint32_t sboBytes = 0; ///< stride byte offset, multiple of 16

  /// The 64-bit descriptor without its start address: OR encodeAddress(address) into it.
  uint64_t encode(TensorCore core) const;
};

/// Bits 0..13: (address & 0x3FFFF) >> 4. `address` is a shared::cta byte address or a byte
/// distance, a multiple of
/// 16. Distances may be added to a descriptor with a plain 64-bit add while the sum stays below 256
/// KiB.
constexpr uint64_t encodeAddress(uint32_t address) { return (address & 0x3FFFFu) >> 4; }

/// A tile (or a part of it) as operand A or B of a product.
struct MatrixOperand {
  MatrixDescriptor descriptor;
  Major major = Major::K;
  uint32_t mn = 0;    ///< extent along M (operand A) or N (operand B)
  uint32_t k = 0;     ///< extent along K
  uint32_t kStep = 0; ///< K elements per instruction: 32 bytes' worth (16 for bf16/f16)
  /// Byte distance from the tile base to the start of each K step, k / kStep entries; panel
  /// crossings and the sub-tile's origin are included.
  std::vector<uint32_t> stepOffsets;
};

/// The part of a tile that starts at (row0, col0) and has rows x cols elements; zero extents mean
/// "to the end".
struct SubTile {
  uint32_t row0 = 0, col0 = 0, rows = 0, cols = 0;
};

/// Describes `tile` (or `part` of it) as an operand whose tile rows are M/N and whose columns are K
/// (Major::K), or whose tile rows are K and whose columns are M/N (Major::MN). Q, K of S = Q·Kᵀ are
/// Major::K; V of O = P·V is Major::MN, as is any tile that enters a product transposed. part.row0:
/// multiple of 8 (K) or of kStep (MN). part.col0: multiple of kStep (K) or of panelCols (MN).
/// Asserts on other origins and on extents that are not multiples of 8 (rows) or kStep (K).
MatrixOperand describeOperand(const SmemTile &tile, Major major, SubTile part = {});

/// Element (i, k) of the canonical layouts, i = M or N index inside the operand and k inside one K
/// step: linear byte offset from the start address, before the swizzle. The formula of the ISA's
/// canonical layouts; the tests hold describeOperand against it.
uint32_t canonicalOffset(const MatrixDescriptor &d, Major major, uint32_t elemBytes, uint32_t i,
                         uint32_t k);

} // namespace fovea::layout
