// codegen/sm90a/Mma.cpp - warp-level products from registers.
#include "codegen/sm90a/Mma.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fovea::codegen::sm90a {

SmallVector<Value> mmaSync(OpBuilder &b, Location loc, Half type, ValueRange a, ValueRange bRegs,
                           ValueRange c) {
  assert(a.size() == 4 && bRegs.size() == 2 && c.size() == 4 && "shape of m16n8k16");
  SmallVector<Value> aOps(a), bOps(bRegs);
  if (type == Half::F16) { // the op wants vector<2xf16> for f16 and i32 for bf16
    Type pair = VectorType::get({2}, b.getF16Type());
    for (SmallVector<Value> *ops : {&aOps, &bOps})
      for (Value &v : *ops)
        v = LLVM::BitcastOp::create(b, loc, pair, v);
  }
  NVVM::MMATypes ptxType = type == Half::BF16 ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  Type result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  Value d = NVVM::MmaOp::create(
      b, loc, result, aOps, bOps, c, ArrayRef<int64_t>{16, 8, 16}, /*b1Op=*/std::nullopt,
      /*intOverflow=*/std::nullopt, std::array<NVVM::MMATypes, 2>{ptxType, ptxType},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value> values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, d, i));
  return values;
}

} // namespace fovea::codegen::sm90a
