// codegen/TensorSpecs.h - the tensors of a launch, as the manifest states them: element types, shapes, alignment and strides.
#pragma once

#include "codegen/kernel/TableGradient.h"
#include "dialect/Attn/Analysis.h"
#include "dialect/Tile/Tile.h"
#include "passes/Lower/Problem.h"
#include "runtime/abi/Manifest.h"

namespace fovea {

/// A tensor that a kernel loads or stores; slices of columns and parts of a packed tensor stand for the whole.
TensorSpec tensorSpec(tile::TensorOp op, const Problem &problem);

/// A tensor that score expressions or masks look up, as the spec declares it.
TensorSpec tableSpec(const attn::Input &input, const Problem &problem);

/// The gradient of a rotary table: what its kernel adds up, and its output, shaped like the table.
codegen::TableGradient tableGradient(const TableGradient &gradient, const Problem &problem);
TensorSpec tableGradientSpec(const codegen::TableGradient &g, const TensorSpec &table);

} // namespace fovea
