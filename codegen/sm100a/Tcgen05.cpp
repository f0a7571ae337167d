// codegen/sm100a/Tcgen05.cpp - tcgen05.mma products, commit and fences.
#include "codegen/sm100a/Tcgen05.h"

#include "dialect/Layout/TmemLayout.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen::sm100a {

using layout::encodeAddress;
using layout::InstructionDescriptor;
using layout::MatrixOperand;

// All K steps; `aStep` yields operand A (descriptor or tensor-memory pointer) of a step.
static void product(OpBuilder &b, Location loc, Value d, llvm::function_ref<Value(size_t)> aStep,
                    Value bDesc, const MatrixOperand &bOperand, const InstructionDescriptor &idesc,
                    const MmaOptions &options) {
  assert(!*idesc.whyInvalid() && idesc.n == bOperand.mn && "shape of the product");
  assert((options.laneMask.empty() || options.laneMask.size() == 4) && "one bit for each lane");
  Value descriptor = constI32(b, loc, idesc.encode());
  Value mask = options.laneMask.empty() ? Value() : packVector(b, loc, options.laneMask);
  Value accumulate = options.accumulate ? options.accumulate : constI1(b, loc, false);
  for (auto [k, offset] : llvm::enumerate(bOperand.stepOffsets)) {
    if (k == 1)
      accumulate = constI1(b, loc, true);
    NVVM::Tcgen05MMAOp::create(b, loc, NVVM::Tcgen05MMAKind::F16, NVVM::CTAGroupKind::CTA_1,
                               NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false,
                               tensorPointer(b, loc, d), aStep(k),
                               addI64(b, loc, bDesc, encodeAddress(offset)), descriptor, accumulate,
                               /*scaleInputD=*/Value(), mask);
  }
}

void mmaSS(OpBuilder &b, Location loc, Value d, Value aDesc, const MatrixOperand &a, Value bDesc,
           const MatrixOperand &bOperand, const InstructionDescriptor &idesc,
           const MmaOptions &options) {
  assert(a.k == bOperand.k && a.mn == idesc.m && "shape of the product");
  product(
      b, loc, d, [&](size_t k) { return addI64(b, loc, aDesc, encodeAddress(a.stepOffsets[k])); },
      bDesc, bOperand, idesc, options);
}

void mmaTS(OpBuilder &b, Location loc, Value d, Value a, Value bDesc, const MatrixOperand &bOperand,
           const InstructionDescriptor &idesc, const MmaOptions &options) {
  Value base = tensorAddress(b, loc, a);
  product(
      b, loc, d,
      [&](size_t k) {
        return tensorPointer(b, loc, addI32(b, loc, base, k * layout::operandAColumnsPerStep));
      },
      bDesc, bOperand, idesc, options);
}

void commit(OpBuilder &b, Location loc, Value bar) {
  NVVM::Tcgen05CommitOp::create(b, loc, sharedPointer(b, loc, bar), /*multicastMask=*/Value());
}

void fenceBefore(OpBuilder &b, Location loc) {
  NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}
void fenceAfter(OpBuilder &b, Location loc) {
  NVVM::Tcgen05FenceOp::create(b, loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

} // namespace fovea::codegen::sm100a
