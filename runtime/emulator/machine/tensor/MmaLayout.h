// runtime/emulator/machine/tensor/MmaLayout.h - where tcgen05.mma keeps its rows, columns and scales
#pragma once
#include "runtime/emulator/machine/tensor/OperandGather.h"
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"

namespace fovea::emulator {

/// The data-path layout of one CTA (PTX ISA, "Data Path Layout Organization"): its rows, and the runs of columns that a
/// row is cut into. Run r of row i lies in lane laneOf(i) + r * laneStep, from D's first column on.
struct MmaLayout {
  unsigned rows;         ///< of A and D in this CTA
  unsigned runs;         ///< 1, 2 (layouts B, E) or 4 (G)
  unsigned laneStep;     ///< 64 or 32
  bool half;             ///< layouts C and F: 16 of every 32 lanes
  bool aPerRun;          ///< A in tensor memory is present once for each run (layout B)

  unsigned laneOf(unsigned row) const { return half ? 32 * (row / 16) + row % 16 : row; }
};
MmaLayout layoutOf(const MmaForm &form, unsigned m);

/// The checked addresses of an instruction. Throws Fault on a lane or scale address that the layout does not allow.
struct MmaAddresses {
  uint32_t dLane, dColumn, aLane, aColumn, sfaColumn, sfbColumn, metaColumn;
};
MmaAddresses addressesOf(const MmaForm &form, const MmaOperands &operands, const MmaLayout &layout);

/// A and B in shared memory as one CTA holds them (B: its half of a pair's columns).
SharedOperand sharedA(const MmaForm &form, const InstructionDescriptor &i, uint64_t descriptor, const MmaLayout &layout);
SharedOperand sharedB(const MmaForm &form, const InstructionDescriptor &i, uint64_t descriptor);
Packing tensorPacking(const MmaForm &form, MmaElement element);

} // namespace fovea::emulator
