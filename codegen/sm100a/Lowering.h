// codegen/sm100a/Lowering.h - what tile ops become on Blackwell.
#pragma once

#include "codegen/kernel/Emitter.h"

namespace fovea::codegen::sm100a {

/// tcgen05 products with accumulators in tensor memory, issued by one thread.
std::unique_ptr<TargetLowering> createLowering();

} // namespace fovea::codegen::sm100a
