// runtime/emulator/machine/tensor/SparseExpand.cpp - structured sparse A of tcgen05.mma.sp
#include "runtime/emulator/machine/tensor/SparseExpand.h"
#include <algorithm>

namespace fovea::emulator {

void expandSparse(const InstructionDescriptor &d, Tmem &tmem, uint32_t metaColumn, unsigned rows, const float *stored, float *out) {
  bool bytes = elementBits(d.a) <= 8, pairs = d.a != MmaElement::TF32;
  unsigned width = d.k == 128 ? 2 : 1; // mxf4: an entry names two neighbouring elements
  unsigned columns = bytes ? 2 : 1;
  if (d.sparsitySelector > (bytes ? 0u : 1u))
    throw Fault("tcgen05.mma.sp: sparsity selector " + std::to_string(d.sparsitySelector) + ", expected " + (bytes ? "0" : "0 or 1") +
                " for this kind");
  uint32_t first = metaColumn + d.sparsitySelector;
  tmem.checkRange(0, first, columns, "tcgen05.mma.sp (metadata)");
  std::fill_n(out, size_t(rows) * d.k, 0.0f);
  for (unsigned m = 0; m != rows; ++m) {
    auto entry = [&](unsigned e) {
      unsigned lane = bytes ? m : m / 16 * 16 + e / 8 * 8 + m % 8;
      unsigned column = bytes ? first + e / 16 : first, bit = bytes ? 2 * (e % 16) : 2 * (8 * (m / 8 % 2) + e % 8);
      tmem.noteRead(lane, column, 1);
      return tmem.row(lane)[column] >> bit & 3;
    };
    spreadRow(stored + m * d.k / 2, out + m * d.k, d.k, width, pairs, "tcgen05.mma.sp", m, entry);
  }
}

} // namespace fovea::emulator
