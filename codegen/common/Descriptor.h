// codegen/common/Descriptor.h - shared-memory matrix descriptors as values.
#pragma once

#include "codegen/common/Values.h"
#include "dialect/Layout/MatrixDescriptor.h"

namespace fovea::codegen {

/// The i64 descriptor of an operand whose tile lies at shared address `tileBase` (i32, aligned to
/// tile.alignment()): the fixed fields | encoded address. The step offsets of the operand are added
/// by the product that uses it.
Value smemDescriptor(OpBuilder &b, Location loc, layout::TensorCore core,
                     const layout::MatrixOperand &operand, Value tileBase);

} // namespace fovea::codegen
