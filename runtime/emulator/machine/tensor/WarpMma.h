// runtime/emulator/machine/tensor/WarpMma.h - mma.sync and mma.sp.sync of one warp
#pragma once
#include "runtime/emulator/machine/tensor/Memory.h"

namespace fovea::emulator {

enum class WarpMmaType : uint8_t { F16, BF16, TF32, F64, E4M3, E5M2, E2M3, E3M2, E2M1, S8, U8, S4, U4, B1, F32, S32 };

/// mma{.sp}.sync.aligned.mMnNkK.row.col.d.a.b.c; f64 operands take two 32-bit registers each, low half first.
struct WarpMmaForm {
  unsigned m = 16, n = 8, k = 16;
  WarpMmaType d = WarpMmaType::F32, a = WarpMmaType::F16, b = WarpMmaType::F16, c = WarpMmaType::F32;
  bool satfinite = false;
  enum class BitOp : uint8_t { Xor, And } bitOp = BitOp::Xor; ///< b1: popc of a ^ b or a & b
  bool sparse = false;                                         ///< mma.sp: A holds k / 2 elements of a row
  unsigned selector = 0;                                       ///< mma.sp: which threads hold the metadata
  bool rowA = true, rowB = false;                              ///< m8n8k4 of f16 only: any order of each
};

struct WarpMmaRegisters {
  unsigned d, a, b, c; ///< 32-bit registers per thread
};
/// Throws Fault on a shape and types that the ISA does not list.
WarpMmaRegisters checkForm(const WarpMmaForm &form);

/// `metadata` is the sparse A's (see sparseEntry).
void execute(const WarpMmaForm &form, const WarpRegister *d, const WarpRegister *a, const WarpRegister *b, const WarpRegister *c,
             WarpRegister metadata = {});

} // namespace fovea::emulator
