// runtime/emulator/machine/Tcgen05.h - what the tcgen05 handlers share.
#pragma once
#include "runtime/emulator/machine/Decoder.h"
#include "runtime/emulator/machine/Machine.h"
#include "runtime/emulator/machine/tensor/Memory.h"
#include "runtime/emulator/machine/tensor/Tmem.h"

namespace fovea::emulator {

Tmem &tmemOf(Warp &w);
/// Carries out the stores of the warp that still wait for their wait::st.
void flushTmemStores(Warp &w);

/// fn(address) for each group of 16 lanes whose first one is touched.
template <class F> void eachLaneGroup(const Touched &t, F fn) {
  for (uint32_t lane = (tmemLane(t.address) + 15) / 16 * 16, end = tmemLane(t.address) + t.lanes; lane < end; lane += 16)
    fn(tmemAddress(lane, tmemColumn(t.address)));
}

/// .cta_group::N, required; true for 2.
bool takeCtaGroup(Decoder &d);
/// [address] of tensor memory: a 32-bit register or constant and an offset.
struct TmemOperand { uint32_t base = 0, offset = 0; };
TmemOperand tmemOperand(Decoder &d, const Operand &o);

// Tcgen05Mma.cpp
void decodeTcgenMma(Decoder &d), decodeTcgenCp(Decoder &d), decodeTcgenShift(Decoder &d), decodeTcgenCommit(Decoder &d);

} // namespace fovea::emulator
