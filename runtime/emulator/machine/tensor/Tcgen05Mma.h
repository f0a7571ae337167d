// runtime/emulator/machine/tensor/Tcgen05Mma.h - tcgen05.mma: all kinds, one CTA or a pair
#pragma once
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Memory.h"
#include "runtime/emulator/machine/tensor/Tmem.h"

namespace fovea::emulator {

/// Run-time operands of one tcgen05.mma.
struct MmaOperands {
  uint32_t d = 0;           ///< TMEM address
  uint64_t a = 0;           ///< matrix descriptor, or TMEM address (MmaForm::aInTmem)
  uint64_t b = 0;           ///< matrix descriptor
  uint32_t idesc = 0;
  uint32_t sfa = 0, sfb = 0; ///< TMEM addresses of the scales (block-scaled kinds)
  uint32_t sparseMeta = 0;   ///< TMEM address of the metadata (.sp)
  bool accumulate = true;    ///< enable-input-d
  unsigned scaleInputD = 0;  ///< D * 2^-s before accumulation
  uint32_t disabledLanes[8] = {}; ///< disable-output-lane; words 4-7 name the odd CTA
  uint64_t zeroColumns = 0;       ///< .ws zero-column mask descriptor
};

/// What a CTA of the pair owns. For cta_group::1 only [0] is used.
struct MmaCta {
  Tmem *tmem = nullptr;
  SharedSpan smem;
};

/// Executes one instruction on the CTA (pair): ctas[0] is the even CTA. Results follow hardware.md 2.11: sums exact to
/// f32 rounding, one rounding into D per instruction. Throws Fault on an illegal descriptor, address or layout.
void execute(const MmaForm &form, const MmaOperands &operands, MmaCta ctas[2]);

/// Everything the instruction reads and writes.
void touched(const MmaForm &form, const MmaOperands &operands, const TouchedFn &fn);

/// Cell of element (row, column) of D in layouts A-G (PTX ISA, "Data Path Layout Organization"), relative to D's base.
struct MmaPlace {
  unsigned cta, lane, column;
};
MmaPlace placeOfD(const MmaForm &form, unsigned m, unsigned n, unsigned row, unsigned column);

} // namespace fovea::emulator
