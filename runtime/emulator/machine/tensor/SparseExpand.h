// runtime/emulator/machine/tensor/SparseExpand.h - structured sparse A of tcgen05.mma.sp
#pragma once
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Tmem.h"

namespace fovea::emulator {

/// Spreads rows x k/2 stored elements to rows x k by the metadata in tensor memory (PTX ISA, "Sparse Matrices", M = 128 or 256).
/// Every group of 4 elements keeps two, named by two 2-bit entries e0 < e1 (tf32: one of 2, entries 0, 1 or 2, 3; mxf4: two pairs
/// of the 4 pairs in 8 elements), 16 entries a column:
///   8-, 6- and 4-bit types  row m in lane m, entries in order, two columns from metaColumn on
///   f16, tf32  entry k of row m (k < 16) in column metaColumn + selector, lane m/16*16 + k/8*8 + m%8, bits
///                2*(8*(m/8%2) + k%8)
/// The 16-bit placement is what another compiler's code generator produces; the ISA shows it as a figure only. For tf32 and
/// mxf4 it is taken over and not confirmed. Throws Fault when a group's entries are not ascending.
void expandSparse(const InstructionDescriptor &d, Tmem &tmem, uint32_t metaColumn, unsigned rows, const float *stored, float *out);

} // namespace fovea::emulator
