// runtime/emulator/machine/tensor/SparseExpand.h - structured sparse A of tcgen05.mma.sp, mma.sp and wgmma.sp
#pragma once
#include "runtime/emulator/machine/tensor/InstructionDescriptor.h"
#include "runtime/emulator/machine/tensor/Memory.h"
#include "runtime/emulator/machine/tensor/Tmem.h"
#include <string>

namespace fovea::emulator {

/// Spreads one row of k/2 stored elements to k by its 2-bit entries (PTX ISA, "Sparse matrix storage"). Every group of two
/// entries e0 < e1 says where two stored elements go among four (width 2, the 4-bit types: two pairs among four pairs);
/// tf32 (`pairs` false): one element among two, entries 0, 1 or 2, 3. Throws Fault when entries are not ascending.
template <class Entry> void spreadRow(const float *stored, float *out, unsigned k, unsigned width, bool pairs, const char *what, unsigned row, Entry entry) {
  for (unsigned group = 0, groups = pairs ? k / (4 * width) : k / 2; group != groups; ++group) {
    unsigned e0 = entry(2 * group), e1 = entry(2 * group + 1);
    if (e0 >= e1 || (!pairs && (e0 % 2 || e1 != e0 + 1)))
      throw Fault(std::string(what) + ": metadata of row " + std::to_string(row) + ", group " + std::to_string(group) + " holds " + std::to_string(e0) +
                  " and " + std::to_string(e1) + (pairs ? ", expected two ascending positions" : ", expected 0, 1 or 2, 3"));
    if (!pairs) {
      out[2 * group + e0 / 2] = stored[group];
      continue;
    }
    for (unsigned x = 0; x != width; ++x) {
      out[width * (4 * group + e0) + x] = stored[2 * width * group + x];
      out[width * (4 * group + e1) + x] = stored[width * (2 * group + 1) + x];
    }
  }
}

/// Entry e of row r (of 16) in the metadata registers of one warp (mma.sp; wgmma.sp, whose warps hold 16 rows each): eight
/// entries of a row lie in one thread, those of rows 8 to 15 in its upper half; perRow / 8 threads of each four in a row hold
/// metadata, and `selector` says which. The ISA shows this as figures only; an H200 confirms what the entries mean.
inline unsigned sparseEntry(const WarpRegister &metadata, unsigned perRow, unsigned selector, unsigned r, unsigned e) {
  return metadata.get(r % 8 * 4 + selector * (perRow / 8) + e / 8) >> (r / 8 * 16 + e % 8 * 2) & 3;
}

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
