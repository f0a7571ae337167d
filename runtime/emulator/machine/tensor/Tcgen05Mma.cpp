// runtime/emulator/machine/tensor/Tcgen05Mma.cpp - tcgen05.mma: all kinds, one CTA or a pair
#include "runtime/emulator/machine/tensor/Tcgen05Mma.h"
#include "runtime/emulator/machine/tensor/DotKernel.h"
#include "runtime/emulator/machine/tensor/MmaLayout.h"
#include "runtime/emulator/machine/tensor/SparseExpand.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace fovea::emulator {
namespace {

/// Everything decoded and checked, shared by execution and footprint.
struct Plan {
  InstructionDescriptor i;
  MmaLayout layout;
  MmaAddresses at;
  unsigned ctas;
  unsigned runWidth; ///< columns of D in one run

  Plan(const MmaForm &form, const MmaOperands &operands)
      : i(decodeInstruction(form, operands.idesc)), layout(layoutOf(form, i.m)), at(addressesOf(form, operands, layout)),
        ctas(form.pair ? 2 : 1), runWidth(i.n / layout.runs) {
    if (form.sparse && layout.rows != 128)
      throw Fault("tcgen05.mma.sp with fewer than 128 rows in a CTA is not modelled");
    if (operands.scaleInputD && form.kind != MmaKind::F16 && form.kind != MmaKind::TF32)
      throw Fault("tcgen05.mma: scale-input-d needs kind::f16 or kind::tf32");
    if (operands.scaleInputD > 15)
      throw Fault("tcgen05.mma: scale-input-d is " + std::to_string(operands.scaleInputD) + ", expected 0..15");
    if (form.ashift && (!form.aInTmem || (i.m != 128 && i.m != 256)))
      throw Fault("tcgen05.mma: .ashift needs A in tensor memory and M = 128 or 256");
  }
};

/// Buffers of one host thread, reused from instruction to instruction.
struct Scratch {
  std::vector<float> a, b, c, part, scales, stored;
  std::vector<double> total;
};
Scratch &scratch() {
  static thread_local Scratch s;
  return s;
}

/// Rows of A from tensor memory, as they lie for run `run`: row i, 8 columns (32 bytes).
void gatherTmemA(const MmaForm &form, const Plan &p, Tmem &tmem, unsigned run, float *out) {
  Packing packing = tensorPacking(form, p.i.a);
  unsigned per = unitElements(p.i.a, packing);
  tmem.checkRange(0, p.at.aColumn, 8, "tcgen05.mma (A)");
  for (unsigned row = 0; row != p.layout.rows; ++row) {
    unsigned from = form.ashift && row % 32 != 31 ? row + 1 : row;
    unsigned lane = p.at.aLane + p.layout.laneOf(from) + run * p.layout.laneStep;
    tmem.noteRead(lane, p.at.aColumn, 8);
    uint8_t bytes[32];
    std::memcpy(bytes, tmem.row(lane) + p.at.aColumn, 32);
    for (unsigned unit = 0, k = storedK(p.i); unit * per < k; ++unit)
      decodeUnit(p.i.a, packing, bytes + 16 * unit, out + row * k + unit * per);
  }
}

/// The columns of B that the zero-column mask of .ws clears (PTX ISA, "Zero-Column Mask Descriptor").
std::vector<bool> zeroedColumns(uint64_t mask, unsigned m, unsigned n) {
  std::vector<bool> zeroed(n, false);
  if (!(mask >> 39 & 1))
    return zeroed;
  if (mask >> 56 & 63)
    throw Fault("tcgen05.mma.ws: a zero-column mask with a column shift is not modelled");
  unsigned parts = m == 128 ? 1 : m == 64 ? 2 : 4, width = n / parts;
  unsigned skip = unsigned(mask >> 40 & 255) + 1, use = unsigned(mask >> 48 & 255) + 1;
  for (unsigned part = 0; part != parts; ++part) {
    bool zero = mask >> (32 + part) & 1;
    unsigned left = zero ? skip : use, cut = unsigned(mask >> 8 * part & 255);
    left -= std::min(left, cut);
    for (unsigned j = 0; j != width; ++j, --left) {
      while (!left) {
        zero = !zero;
        left = zero ? skip : use;
      }
      zeroed[part * width + j] = zero;
    }
  }
  return zeroed;
}

/// b[k][n] of the whole instruction; a pair's CTAs hold half of the columns each.
void gatherB(const MmaForm &form, const MmaOperands &operands, const Plan &p, MmaCta ctas[2], float *b) {
  SharedOperand part = sharedB(form, p.i, operands.b);
  for (unsigned cta = 0; cta != p.ctas; ++cta)
    gather(ctas[cta].smem, part, b + cta * part.count, 1, p.i.n);
  if (form.ws && operands.zeroColumns) {
    auto zeroed = zeroedColumns(operands.zeroColumns, p.i.m, p.i.n);
    for (unsigned k = 0; k != p.i.k; ++k)
      for (unsigned j = 0; j != p.i.n; ++j)
        if (zeroed[j])
          b[k * p.i.n + j] = 0;
  }
}

float scaleAt(Tmem &tmem, Format format, unsigned lane, unsigned column, unsigned byte) {
  tmem.noteRead(lane, column, 1);
  return decode(format, tmem.row(lane)[column] >> 8 * byte & 255);
}
unsigned scaleByte(const MmaForm &form, unsigned id, unsigned s) { return form.scalesPerRow == 4 ? s : id + s; }

/// c = A * B with one scale per row, column and block of K. Scales are read where the data path of D's lanes reads them:
/// A's in D's own lane, B's in the 32 lanes of D's quarter (PTX ISA, "Scale Factor Layout in Tensor Memory").
void scaledProduct(const MmaForm &form, const Plan &p, Tmem &tmem, const float *a, const float *b, unsigned run, float *c) {
  Scratch &s = scratch();
  unsigned rows = p.layout.rows, n = p.i.n, blocks = form.scalesPerRow, depth = p.i.k / blocks;
  unsigned scaleColumns = (p.runWidth + 31) / 32;
  tmem.checkRange(0, p.at.sfaColumn, (rows + 31) / 32, "tcgen05.mma (scales of A)");
  tmem.checkRange(0, p.at.sfbColumn, scaleColumns, "tcgen05.mma (scales of B)");
  s.part.resize(size_t(rows) * depth);
  s.total.assign(size_t(rows) * n, 0);
  s.scales.resize(p.runWidth);
  for (unsigned block = 0; block != blocks; ++block) {
    for (unsigned row = 0; row != rows; ++row)
      std::copy_n(a + row * p.i.k + block * depth, depth, s.part.data() + row * depth);
    multiply(s.part.data(), b + size_t(block) * depth * n, c, rows, n, depth);
    unsigned loaded = ~0u;
    for (unsigned row = 0; row != rows; ++row) {
      unsigned lane = p.layout.laneOf(row) + run * p.layout.laneStep, quarter = lane / 32;
      float sa = scaleAt(tmem, p.i.scaleFormat, lane, p.at.sfaColumn + row / 32, scaleByte(form, p.i.sfaId, block));
      if (loaded != quarter)
        for (unsigned j = 0; j != p.runWidth; ++j)
          s.scales[j] = scaleAt(tmem, p.i.scaleFormat, 32 * quarter + j % 32, p.at.sfbColumn + j / 32, scaleByte(form, p.i.sfbId, block));
      loaded = quarter;
      unsigned first = run * p.runWidth;
      for (unsigned j = 0; j != p.runWidth; ++j)
        s.total[row * n + first + j] += double(c[row * n + first + j]) * (double(sa) * double(s.scales[j]));
    }
  }
  std::transform(s.total.begin(), s.total.end(), c, [](double v) { return float(v); });
}

/// One row's run of products into D's cells. Plain local values, so that the loops become vector code.
void accumulate(const Plan &p, const MmaOperands &operands, const float *__restrict c, uint32_t *__restrict d) {
  const unsigned n = p.runWidth;
  const bool add = operands.accumulate;
  const float sign = p.i.negateA != p.i.negateB ? -1.0f : 1.0f;
  const float scale = std::ldexp(1.0f, -int(operands.scaleInputD));
  switch (p.i.d) {
  case MmaResult::F32:
    if (!add)
      for (unsigned j = 0; j != n; ++j)
        d[j] = floatToBits(sign * c[j]);
    else
      for (unsigned j = 0; j != n; ++j)
        d[j] = floatToBits(bitsToFloat(d[j]) * scale + sign * c[j]);
    return;
  case MmaResult::F16:
    // The upper half of a cell is undefined after an f16 result: a NaN there catches whoever reads it.
    for (unsigned j = 0; j != n; ++j)
      d[j] = floatToF16((add ? f16ToFloat(uint16_t(d[j])) * scale : 0.0f) + sign * c[j]) | 0x7FA00000;
    return;
  case MmaResult::S32:
    for (unsigned j = 0; j != n; ++j) {
      int64_t sum = int64_t(c[j]) + (add ? int64_t(int32_t(d[j])) : 0);
      if (p.i.saturate)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      d[j] = uint32_t(sum);
    }
    return;
  }
}

void executeCta(const MmaForm &form, const MmaOperands &operands, const Plan &p, unsigned cta, MmaCta &own, const float *b) {
  Scratch &s = scratch();
  Tmem &tmem = *own.tmem;
  s.a.resize(size_t(p.layout.rows) * p.i.k);
  s.c.resize(size_t(p.layout.rows) * p.i.n);
  tmem.checkRange(0, p.at.dColumn, p.runWidth, "tcgen05.mma (D)");
  // The common form, whose rows of f32 lie one below the other: the product goes straight into them.
  const bool plainRows = p.i.d == MmaResult::F32 && p.layout.runs == 1 && !p.layout.half && p.i.negateA == p.i.negateB && !operands.scaleInputD &&
                         std::all_of(operands.disabledLanes + 4 * cta, operands.disabledLanes + 4 * cta + 4, [](uint32_t lanes) { return !lanes; });
  bool productPerRun = (form.aInTmem && p.layout.aPerRun) || form.scalesPerRow;
  for (unsigned run = 0; run != p.layout.runs; ++run) {
    if (run == 0 || productPerRun) {
      std::vector<float> &a = form.sparse ? s.stored : s.a;
      a.resize(size_t(p.layout.rows) * storedK(p.i));
      if (form.aInTmem)
        gatherTmemA(form, p, tmem, p.layout.aPerRun ? run : 0, a.data());
      else if (run == 0)
        gather(own.smem, sharedA(form, p.i, operands.a, p.layout), a.data(), storedK(p.i), 1);
      if (form.sparse)
        expandSparse(p.i, tmem, p.at.metaColumn, p.layout.rows, a.data(), s.a.data());
      if (form.scalesPerRow) {
        scaledProduct(form, p, tmem, s.a.data(), b, run, s.c.data());
      } else if (plainRows) {
        if (operands.accumulate)
          tmem.noteRead(p.at.dLane, p.at.dColumn, p.runWidth, p.layout.rows);
        multiply(s.a.data(), b, reinterpret_cast<float *>(tmem.row(p.at.dLane) + p.at.dColumn), p.layout.rows, p.i.n, p.i.k, Tmem::columns, operands.accumulate);
        tmem.markWritten(p.at.dLane, p.at.dColumn, p.runWidth, p.layout.rows);
        return;
      } else {
        multiply(s.a.data(), b, s.c.data(), p.layout.rows, p.i.n, p.i.k);
      }
    }
    for (unsigned row = 0; row != p.layout.rows; ++row) {
      unsigned lane = p.at.dLane + p.layout.laneOf(row) + run * p.layout.laneStep;
      if (operands.disabledLanes[4 * cta + lane / 32] >> lane % 32 & 1)
        continue;
      if (operands.accumulate)
        tmem.noteRead(lane, p.at.dColumn, p.runWidth);
      accumulate(p, operands, s.c.data() + row * p.i.n + run * p.runWidth, tmem.row(lane) + p.at.dColumn);
      tmem.markWritten(lane, p.at.dColumn, p.runWidth);
    }
  }
}

} // namespace

void execute(const MmaForm &form, const MmaOperands &operands, MmaCta ctas[2]) {
  Plan p(form, operands);
  Scratch &s = scratch();
  s.b.resize(size_t(p.i.k) * p.i.n);
  gatherB(form, operands, p, ctas, s.b.data());
  for (unsigned cta = 0; cta != p.ctas; ++cta)
    executeCta(form, operands, p, cta, ctas[cta], s.b.data());
}

void touched(const MmaForm &form, const MmaOperands &operands, const TouchedFn &fn) {
  Plan p(form, operands);
  auto tensor = [&](bool write, unsigned cta, unsigned lane, unsigned column, unsigned count, unsigned lanes) {
    fn({Touched::Tensor, write, uint8_t(cta), tmemAddress(lane, column), count, 0, lanes});
  };
  for (unsigned cta = 0; cta != p.ctas; ++cta) {
    touched(sharedB(form, p.i, operands.b), uint8_t(cta), fn);
    if (!form.aInTmem)
      touched(sharedA(form, p.i, operands.a, p.layout), uint8_t(cta), fn);
    for (unsigned run = 0; run != p.layout.runs; ++run)
      for (unsigned row = 0; row != p.layout.rows; row += 16) {  // whose lanes follow each other
        unsigned lane = p.layout.laneOf(row) + run * p.layout.laneStep;
        if (form.aInTmem && (run == 0 || p.layout.aPerRun))
          tensor(false, cta, p.at.aLane + lane, p.at.aColumn, 8, 16);
        if (form.scalesPerRow)
          tensor(false, cta, lane, p.at.sfaColumn + row / 32, 1, 16);
        if (form.sparse)
          tensor(false, cta, lane, p.at.metaColumn + p.i.sparsitySelector, elementBits(p.i.a) <= 8 ? 2 : 1, 16);
        unsigned target = p.at.dLane + lane;
        const uint32_t disabled = operands.disabledLanes[4 * cta + target / 32] >> target % 32 & 0xffff;
        for (unsigned k = 0, lanes; k < 16; k += lanes) {
          lanes = disabled ? 1 : 16;
          if (disabled >> k & 1)
            continue;
          if (operands.accumulate)
            tensor(false, cta, target + k, p.at.dColumn, p.runWidth, lanes);
          tensor(true, cta, target + k, p.at.dColumn, p.runWidth, lanes);
        }
      }
    if (form.scalesPerRow)
      tensor(false, cta, 0, p.at.sfbColumn, (p.runWidth + 31) / 32, Tmem::lanes);
  }
}

} // namespace fovea::emulator
