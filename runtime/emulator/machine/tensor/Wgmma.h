// runtime/emulator/machine/tensor/Wgmma.h - wgmma.mma_async of sm_90a
#pragma once
#include "runtime/emulator/machine/tensor/MatrixDescriptor.h"
#include "runtime/emulator/machine/tensor/Memory.h"

namespace fovea::emulator {

enum class WgmmaType : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 };
enum class WgmmaResult : uint8_t { F16, F32, S32 };

struct WgmmaForm {
  WgmmaType a = WgmmaType::BF16, b = WgmmaType::BF16;
  WgmmaResult d = WgmmaResult::F32;
  unsigned n = 8; ///< columns; M is 64 and K 32 bytes of A (256 bits)
  bool aInRegisters = false;
  bool negateA = false, negateB = false;
  bool transA = false, transB = false; ///< true: MN-major (16-bit types from shared memory only)
  bool satfinite = false;              ///< integer results
  bool sparse = false;                 ///< .sp: K twice as large, A holds half of it
  unsigned selector = 0;               ///< .sp: which threads hold the metadata
};

/// K of the form; throws Fault on a combination that the ISA does not list.
unsigned checkForm(const WgmmaForm &form);

/// Registers per thread of D (n/2, or n/4 for f16) and of A in registers (4).
unsigned resultRegisters(const WgmmaForm &form);

/// One instruction of a warp group. `d[w * resultRegisters() + r]` is register r of warp w (0..3), likewise `aRegs[w * 4 + r]`.
/// `scaleD` false ignores the old D. `metadata[w]` is warp w's (see sparseEntry).
void execute(const WgmmaForm &form, SharedSpan smem, uint64_t aDesc, const WarpRegister *aRegs, uint64_t bDesc, bool scaleD,
             const WarpRegister *d, const WarpRegister *metadata = nullptr);

void touched(const WgmmaForm &form, uint64_t aDesc, uint64_t bDesc, const TouchedFn &fn);

} // namespace fovea::emulator
