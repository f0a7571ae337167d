// codegen/sm90a/Lowering.h - what tile ops become on Hopper.
#pragma once

#include "codegen/kernel/Emitter.h"

namespace fovea::codegen::sm90a {

/// wgmma with accumulators in registers; products of blocks below 64 rows by mma.sync, warp by warp.
std::unique_ptr<TargetLowering> createLowering();

} // namespace fovea::codegen::sm90a
