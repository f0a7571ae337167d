// codegen/sm90a/Mma.h - warp-level products from registers. PTX ISA, "mma.sync.m16n8k16".
#pragma once

#include "codegen/common/Registers.h"

namespace fovea::codegen::sm90a {

/// mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32: D = A·B + C by one warp. `a`: 4 i32, `b`: 2 i32,
/// `c`: 4 f32 (layout::mma*Element).
SmallVector<Value> mmaSync(OpBuilder &b, Location loc, Half type, ValueRange a, ValueRange bRegs,
                           ValueRange c);

} // namespace fovea::codegen::sm90a
