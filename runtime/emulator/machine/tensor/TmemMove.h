// runtime/emulator/machine/tensor/TmemMove.h - tcgen05.ld, st, cp and shift
#pragma once
#include "runtime/emulator/machine/tensor/Memory.h"
#include "runtime/emulator/machine/tensor/Tmem.h"

namespace fovea::emulator {

enum class TmemShape : uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2 };

/// One tcgen05.ld or st: shape, repeat (.xN), .pack::16b / .unpack::16b, and the column offset of .16x32bx2.
struct TmemAccess {
  TmemShape shape = TmemShape::S32x32b;
  unsigned repeat = 1;
  bool pack16 = false;
  uint32_t splitOffset = 0;
};

/// Registers per thread: N, 2N or 4N (PTX ISA, tcgen05.ld), pack16 included.
unsigned registerCount(const TmemAccess &access);

/// (lane, column) of register r of thread t relative to the base, before pack16 (which doubles the column).
struct TmemCell {
  uint32_t lane, column;
};
TmemCell cellOf(const TmemAccess &access, unsigned thread, unsigned reg);

/// Moves a warp's registers. `regs` has registerCount() entries; `warp` is the rank in the CTA, and the lanes must lie
/// in its quarter 32*(warp%4) .. +31. Throws Fault: foreign lanes, misaligned lane, columns outside an allocation.
void load(Tmem &tmem, const TmemAccess &access, uint32_t address, unsigned warp, const WarpRegister *regs);
void store(Tmem &tmem, const TmemAccess &access, uint32_t address, unsigned warp, const WarpRegister *regs);
void touched(const TmemAccess &access, uint32_t address, bool write, const TouchedFn &fn);

enum class CpShape : uint8_t { S128x256b, S128x128b, S4x256b, S64x128b, S32x128b };
enum class CpMulticast : uint8_t { None, Warpx2_02_13, Warpx2_01_23, Warpx4 };
enum class CpFormat : uint8_t { Plain, B4x16P64, B6x16P32 };

struct TmemCopy {
  CpShape shape = CpShape::S32x128b;
  CpMulticast multicast = CpMulticast::Warpx4;
  CpFormat format = CpFormat::Plain; ///< expands padded 4/6-bit groups to one byte per element
};

/// tcgen05.cp for one CTA (cta_group::2: call it for each CTA of the pair with its own memories).
void copy(Tmem &tmem, SharedSpan smem, const TmemCopy &op, uint32_t address, uint64_t descriptor);
void touched(const TmemCopy &op, uint32_t address, uint64_t descriptor, const TouchedFn &fn);

/// tcgen05.shift.down: rows of 8 columns move down one lane inside the 32 lanes from `address` on.
void shiftDown(Tmem &tmem, uint32_t address);

} // namespace fovea::emulator
