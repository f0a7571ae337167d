// codegen/ptx/ToPtx.cpp - LLVM/NVVM dialect to PTX text, in process.
#include "codegen/ptx/ToPtx.h"
#include "codegen/ptx/BackEnd.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Support/Parallel.h"

#include <chrono>

using namespace mlir;

namespace fovea::codegen {

void registerPtxDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect, index::IndexDialect,
                  LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  context.appendDialectRegistry(registry);
}

static void cloneBody(OpBuilder &b, Operation *source, IRMapping &mapping) {
  for (Operation &op : source->getRegion(0).front()) {
    if (isa<gpu::GPUModuleOp>(op))
      cloneBody(b, &op, mapping);
    else if (!op.hasTrait<OpTrait::IsTerminator>())
      b.clone(op, mapping);
  }
}

/// A flat builtin.module with the contents of `source`; gpu.modules are opened, because the
/// conversions want one symbol table and their target verification refuses legal targets.
static OwningOpRef<ModuleOp> flatten(Operation *source) {
  OwningOpRef<ModuleOp> flat = ModuleOp::create(source->getLoc());
  OpBuilder b(source->getContext());
  b.setInsertionPointToStart(flat->getBody());
  IRMapping mapping;
  cloneBody(b, source, mapping);
  return flat;
}

static LogicalResult lowerToLlvm(ModuleOp module) {
  // One conversion through the dialects' ConvertToLLVM interfaces (arith, math, index, cf, nvvm)
  // costs a fraction of one pass for each of them.
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(false);
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  return pm.run(module);
}

/// A module for each kernel, with what else there is; none where some function is no kernel. Kernels are moved.
static SmallVector<OwningOpRef<ModuleOp>> splitKernels(ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> kernels;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal()) {
      if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
        return {};
      kernels.push_back(function);
    }
  SmallVector<OwningOpRef<ModuleOp>> parts;
  for (LLVM::LLVMFuncOp kernel : kernels) {
    parts.push_back(ModuleOp::create(module.getLoc()));
    OpBuilder b(parts.back()->getBodyRegion());
    for (Operation &op : *module.getBody())
      if (!llvm::is_contained(kernels, &op))
        b.clone(op);
  }
  for (auto [kernel, part] : llvm::zip_equal(kernels, parts))
    kernel->moveBefore(part->getBody(), part->getBody()->end());
  return parts;
}

/// The PTX of several kernels as that of one module: its head and what they share once.
static std::string joined(ArrayRef<std::string> texts) {
  std::string all = texts.front();
  for (llvm::StringRef text : texts.drop_front()) {
    all.resize(llvm::StringRef(all).rtrim('\n').size() + 1);
    text = text.substr(text.find("\t// .globl"));
    while (!text.empty()) {
      auto [line, rest] = text.split('\n');
      const bool shared = line.starts_with(".extern .shared");
      if (!shared)
        all += (line + "\n").str();
      text = shared ? rest.ltrim('\n') : rest;
    }
  }
  return all;
}

llvm::Expected<std::string> translateToPtx(Operation *op, llvm::StringRef chip,
                                           const PtxOptions &options, PtxTimes *times) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto since = [&](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(now() - start).count();
  };

  if (!isPtxTarget(chip))
    return llvm::createStringError("expected target sm_100a or sm_90a, found '" + chip + "'");
  if (!isa<ModuleOp, gpu::GPUModuleOp>(op))
    return llvm::createStringError("expected a builtin.module or gpu.module to translate, found '" +
                                   op->getName().getStringRef() + "'");

  std::string diagnostics;
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(diagnostics) << (diagnostics.empty() ? "" : "; ") << diagnostic;
  });

  auto start = now();
  OwningOpRef<ModuleOp> copy;
  if (!options.inPlace)
    copy = flatten(op);
  ModuleOp module = options.inPlace ? cast<ModuleOp>(op) : *copy;
  if (failed(lowerToLlvm(module)))
    return llvm::createStringError("lowering to the LLVM dialect failed: " + diagnostics);
  if (times)
    times->lower = since(start);

  start = now();
  SmallVector<OwningOpRef<ModuleOp>> parts = splitKernels(module);
  std::vector<PtxTranslation> translations(std::max<size_t>(parts.size(), 1));
  for (auto [i, t] : llvm::enumerate(translations)) {
    t.module = translateModuleToLLVMIR(parts.empty() ? module : *parts[i], t.context);
    if (!t.module)
      return llvm::createStringError("translation to LLVM IR failed: " + diagnostics);
    if (llvm::Error error = t.prepare(chip, options))
      return error;
    if (options.llvmIR)
      llvm::raw_string_ostream(*options.llvmIR) << *t.module;
  }
  if (times)
    times->translate = since(start);

  start = now();
  llvm::parallelFor(0, translations.size(), [&](size_t i) { translations[i].run(); });
  std::vector<std::string> texts;
  for (PtxTranslation &t : translations) {
    if (!t.errors.empty())
      return llvm::createStringError("the NVPTX back end refused the kernel: " + t.errors);
    texts.push_back(std::move(t.text));
  }
  if (times)
    times->codegen = since(start);
  return joined(texts);
}

} // namespace fovea::codegen
