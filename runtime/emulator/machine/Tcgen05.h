// runtime/emulator/machine/Tcgen05.h - what the tcgen05 handlers share.
#pragma once
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"

namespace fovea::emulator {

Tmem &tmemOf(Warp &w);
/// Carries out the stores of the warp that still wait for their wait::st.
void flushTmemStores(Warp &w);

/// .cta_group::N, required; true for 2.
bool takeCtaGroup(Decoder &d);
/// [address] of tensor memory: a 32-bit register or constant and an offset.
struct TmemOperand { uint32_t base = 0, offset = 0; };
TmemOperand tmemOperand(Decoder &d, const Operand &o);

// Tcgen05Mma.cpp
void decodeTcgenMma(Decoder &d), decodeTcgenCp(Decoder &d), decodeTcgenShift(Decoder &d), decodeTcgenCommit(Decoder &d);

} // namespace fovea::emulator
