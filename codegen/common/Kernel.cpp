// codegen/common/Kernel.cpp - kernel functions and dynamic shared memory.
#include "codegen/common/Kernel.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace fovea::codegen {

LLVM::LLVMFuncOp createKernel(OpBuilder &b, Location loc, llvm::StringRef name,
                              ArrayRef<KernelParam> params, const KernelLimits &limits) {
  MLIRContext *ctx = b.getContext();
  SmallVector<Type> types;
  for (const KernelParam &p : params)
    types.push_back(p.type ? p.type : pointerType(b, Generic));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), types);
  auto func = LLVM::LLVMFuncOp::create(b, loc, name, type);

  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (limits.threads)
    func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr({static_cast<int32_t>(limits.threads)}));
  if (limits.minCtas)
    func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(limits.minCtas));
  if (limits.maxRegisters)
    func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                  b.getI32IntegerAttr(limits.maxRegisters));
  if (limits.clusterX)
    func->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                  b.getDenseI32ArrayAttr({static_cast<int32_t>(limits.clusterX), 1, 1}));

  for (auto [i, p] : llvm::enumerate(params)) {
    if (p.type)
      continue;
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), 128);
    func.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    func.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  b.setInsertionPointToStart(func.addEntryBlock(b));
  return func;
}

Value dynamicSharedBase(OpBuilder &b, Location loc, Operation *symbolTableOp) {
  constexpr llvm::StringLiteral name = "smem";
  auto global = SymbolTable::lookupSymbolIn(symbolTableOp, name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&symbolTableOp->getRegion(0).front());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
    global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false, LLVM::Linkage::External,
                                    name, /*value=*/Attribute(), /*alignment=*/1024, Shared);
  }
  Value pointer = LLVM::AddressOfOp::create(b, loc, cast<LLVM::GlobalOp>(global));
  return sharedAddress(b, loc, pointer);
}

} // namespace fovea::codegen
