// runtime/emulator/machine/tensor/MatrixMove.h - ldmatrix and stmatrix
#pragma once
#include "runtime/emulator/machine/tensor/Memory.h"

namespace fovea::emulator {

enum class MatrixShape : uint8_t { M8N8, M16N16, M8N16, M16N8 };
enum class MatrixFormat : uint8_t { B16, B8, B8FromB4x16P64, B8FromB6x16P32 };

/// {ld,st}matrix.sync.aligned.shape.num{.trans}.shared.type (PTX ISA). M16N16 (ldmatrix) and M16N8 (stmatrix) imply .trans.
struct MatrixForm {
  MatrixShape shape = MatrixShape::M8N8;
  unsigned count = 1; ///< .x1 .x2 .x4
  bool trans = false;
  MatrixFormat format = MatrixFormat::B16;
};

/// 32-bit registers per thread: count (M16N16: 2 * count); throws Fault on a form that the ISA does not list.
unsigned checkForm(const MatrixForm &form, bool store);

/// Row addresses: `address(t)` for thread t is a window offset, 16-byte aligned (M8N8 and the others: threads 0..8*count-1,
/// M16N16: 0..16*count-1). Throws Fault: misaligned or out of range.
void ldmatrix(const MatrixForm &form, SharedSpan smem, const uint32_t address[32], const WarpRegister *regs);
void stmatrix(const MatrixForm &form, SharedSpan smem, const uint32_t address[32], const WarpRegister *regs);
void touched(const MatrixForm &form, const uint32_t address[32], bool store, const TouchedFn &fn);

} // namespace fovea::emulator
