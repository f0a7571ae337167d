// codegen/common/Sreg.h - special registers. PTX ISA, "Special Registers". Any thread; all results
// i32.
#pragma once

#include "codegen/common/Values.h"

namespace fovea::codegen {

enum class Dim { X, Y, Z };

Value threadId(OpBuilder &b, Location loc, Dim dim = Dim::X);
Value blockId(OpBuilder &b, Location loc, Dim dim = Dim::X);
Value gridDim(OpBuilder &b, Location loc, Dim dim = Dim::X);
/// %laneid: 0..31.
Value laneId(OpBuilder &b, Location loc);
/// %tid.x >> 5 made warp-uniform by a shuffle from lane 0, so that branches on it are uniform.
/// One-dimensional CTAs only.
Value warpId(OpBuilder &b, Location loc);
/// %cluster_ctarank.
Value clusterRank(OpBuilder &b, Location loc);
/// %smid.
Value smId(OpBuilder &b, Location loc);

} // namespace fovea::codegen
