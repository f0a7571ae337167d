// codegen/kernel/TableGradient.h - the gradient of a rotary table, of what a backward kernel left in scratch memory.
#pragma once

#include "codegen/common/Registers.h"
#include "codegen/kernel/Parameters.h"

namespace fovea::codegen {

/// dsin[m] = sum g1 x0 - g0 x1 and dcos[m] = sum g0 x0 + g1 x1 (attn.rotary_table_grad) over the tensors that a table turns,
/// their heads, and, where the table has a row per position, the sequences that reach it. g is the gradient of the turned
/// tensor, f32 [rows of all sequences, heads, cols] in scratch memory (tile.store_scratch).
struct TableGradient {
  struct Source {
    std::string tensor;   ///< x, as it was before it was turned: an input [rows, heads, cols]
    std::string scratch;  ///< g
    bool interleaved;     ///< pairs (2m, 2m + 1), else (m, m + cols / 2)
  };
  std::string entry;      ///< of the kernel; of a second one with "_sum" behind it
  std::string output;     ///< [rows or positions, cols]: sines, then cosines
  std::string offsets;
  bool isF32;             ///< element type of the output, else bf16
  bool byPosition;
  int64_t heads, cols;    ///< cols: a multiple of 4
  Half half;              ///< element type of x
  std::vector<Source> sources;
};

/// The kernels, in order of launch. A row per token: one. A row per position: one whose CTAs add up the sequences of a
/// part each, and one that adds the parts up in their order. No atomics: equal launches give equal bits. Rows of tokens
/// that no sequence owns are left alone; a position that no sequence reaches gets 0.
std::vector<KernelSpec> tableGradientSpecs(const TableGradient &g, llvm::StringRef operation);
void emitTableGradient(const TableGradient &g, OpBuilder &b, Location loc);

} // namespace fovea::codegen
