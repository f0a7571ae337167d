// codegen/common/Sreg.cpp - special registers.
#include "codegen/common/Sreg.h"

#include "codegen/common/Registers.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen {

template <typename X, typename Y, typename Z>
static Value read(OpBuilder &b, Location loc, Dim dim) {
  Type i32 = b.getI32Type();
  switch (dim) {
  case Dim::X:
    return X::create(b, loc, i32);
  case Dim::Y:
    return Y::create(b, loc, i32);
  case Dim::Z:
    return Z::create(b, loc, i32);
  }
  return {};
}

Value threadId(OpBuilder &b, Location loc, Dim dim) {
  return read<NVVM::ThreadIdXOp, NVVM::ThreadIdYOp, NVVM::ThreadIdZOp>(b, loc, dim);
}
Value blockId(OpBuilder &b, Location loc, Dim dim) {
  return read<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>(b, loc, dim);
}
Value gridDim(OpBuilder &b, Location loc, Dim dim) {
  return read<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>(b, loc, dim);
}
Value laneId(OpBuilder &b, Location loc) { return NVVM::LaneIdOp::create(b, loc, b.getI32Type()); }
Value warpId(OpBuilder &b, Location loc) {
  Value warp = LLVM::LShrOp::create(b, loc, threadId(b, loc), constI32(b, loc, 5));
  return shuffleIdx(b, loc, warp, constI32(b, loc, 0));
}
Value clusterRank(OpBuilder &b, Location loc) {
  return NVVM::ClusterId::create(b, loc, b.getI32Type());
}
Value smId(OpBuilder &b, Location loc) { return NVVM::SmIdOp::create(b, loc, b.getI32Type()); }

} // namespace fovea::codegen
