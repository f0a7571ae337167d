// runtime/emulator/machine/tensor/MatrixMove.cpp - ldmatrix and stmatrix
#include "runtime/emulator/machine/tensor/MatrixMove.h"
#include "runtime/emulator/machine/tensor/Fault.h"

namespace fovea::emulator {
namespace {

unsigned rowsOf(const MatrixForm &form) { return form.shape == MatrixShape::M16N16 ? 16 : 8; }

void checkRow(SharedSpan smem, uint32_t address, const char *what) {
  if (address % 16)
    throw Fault(std::string(what) + ": row address " + std::to_string(address) + " is not a multiple of 16");
  if (uint64_t(address) + 16 > smem.size)
    throw Fault(std::string(what) + ": row at shared offset " + std::to_string(address) + " leaves the CTA's " +
                std::to_string(smem.size) + " bytes");
}

/// One row of 16 bytes, spread from packed 4- or 6-bit elements where the form says so (e2m1 in bits 5:2, 6-bit in 5:0).
void readRow(const MatrixForm &form, const uint8_t *from, uint8_t row[16]) {
  if (form.format == MatrixFormat::B16 || form.format == MatrixFormat::B8) {
    std::memcpy(row, from, 16);
    return;
  }
  unsigned width = form.format == MatrixFormat::B8FromB4x16P64 ? 4 : 6;
  for (unsigned e = 0; e != 16; ++e) {
    unsigned bit = e * width, pair = from[bit / 8] | from[bit / 8 + 1] << 8;
    unsigned value = pair >> bit % 8 & ((1u << width) - 1);
    row[e] = uint8_t(width == 4 ? value << 2 : value);
  }
}

} // namespace

unsigned checkForm(const MatrixForm &form, bool store) {
  bool x124 = form.count == 1 || form.count == 2 || form.count == 4, legal;
  switch (form.shape) {
  case MatrixShape::M8N8:
    legal = x124 && form.format == MatrixFormat::B16;
    break;
  case MatrixShape::M16N16:
    legal = !store && (form.count == 1 || form.count == 2) && form.trans && form.format != MatrixFormat::B16;
    break;
  case MatrixShape::M8N16:
    legal = !store && x124 && !form.trans && form.format > MatrixFormat::B8;
    break;
  default:
    legal = store && x124 && form.trans && form.format == MatrixFormat::B8;
    break;
  }
  if (!legal)
    throw Fault(std::string(store ? "stmatrix" : "ldmatrix") + ": this combination of shape, .num, .trans and type does not exist");
  return form.count * (form.shape == MatrixShape::M16N16 ? 2 : 1);
}

void ldmatrix(const MatrixForm &form, SharedSpan smem, const uint32_t address[32], const WarpRegister *regs) {
  checkForm(form, false);
  unsigned rows = rowsOf(form);
  for (unsigned m = 0; m != form.count; ++m) {
    uint8_t matrix[16][16];
    for (unsigned r = 0; r != rows; ++r) {
      checkRow(smem, address[m * rows + r], "ldmatrix");
      readRow(form, smem.data + address[m * rows + r], matrix[r]);
    }
    for (unsigned t = 0; t != 32; ++t) {
      if (form.shape == MatrixShape::M16N16) { // result row t/4 (+8), columns 4*(t%4)..: the matrix' columns
        for (unsigned h = 0; h != 2; ++h) {
          uint32_t value = 0;
          for (unsigned e = 0; e != 4; ++e)
            value |= uint32_t(matrix[4 * (t % 4) + e][t / 4 + 8 * h]) << 8 * e;
          regs[2 * m + h].set(t, value);
        }
        continue;
      }
      uint32_t value;
      if (form.trans) {
        uint16_t low, high;
        std::memcpy(&low, &matrix[2 * (t % 4)][2 * (t / 4)], 2);
        std::memcpy(&high, &matrix[2 * (t % 4) + 1][2 * (t / 4)], 2);
        value = low | uint32_t(high) << 16;
      } else {
        std::memcpy(&value, &matrix[t / 4][4 * (t % 4)], 4);
      }
      regs[m].set(t, value);
    }
  }
}

void stmatrix(const MatrixForm &form, SharedSpan smem, const uint32_t address[32], const WarpRegister *regs) {
  checkForm(form, true);
  for (unsigned m = 0; m != form.count; ++m) {
    uint8_t matrix[8][16];
    for (unsigned t = 0; t != 32; ++t) {
      uint32_t value = regs[m].get(t);
      if (form.shape == MatrixShape::M16N8) { // bytes: (t/4, 2*(t%4)), (.., +1), (t/4 + 8, ..), (.., +1); stored by columns
        for (unsigned e = 0; e != 4; ++e)
          matrix[2 * (t % 4) + e % 2][t / 4 + 8 * (e / 2)] = uint8_t(value >> 8 * e);
      } else if (form.trans) {
        uint16_t low = uint16_t(value), high = uint16_t(value >> 16);
        std::memcpy(&matrix[2 * (t % 4)][2 * (t / 4)], &low, 2);
        std::memcpy(&matrix[2 * (t % 4) + 1][2 * (t / 4)], &high, 2);
      } else {
        std::memcpy(&matrix[t / 4][4 * (t % 4)], &value, 4);
      }
    }
    for (unsigned r = 0; r != 8; ++r) {
      checkRow(smem, address[m * 8 + r], "stmatrix");
      std::memcpy(smem.data + address[m * 8 + r], matrix[r], 16);
    }
  }
}

void touched(const MatrixForm &form, const uint32_t address[32], bool store, const TouchedFn &fn) {
  for (unsigned r = 0; r != form.count * rowsOf(form); ++r)
    fn({Touched::Shared, store, 0, address[r], 16});
}

} // namespace fovea::emulator
