// codegen/ptx/ToPtx.cpp - LLVM/NVVM dialect to PTX text, in process.
#include "codegen/ptx/ToPtx.h"

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

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <chrono>

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace fovea::codegen {

/// What the back end needs to know of a chip.
struct PtxTarget {
  llvm::StringLiteral chip;
  llvm::StringLiteral features; ///< the PTX version; the least that has every instruction used here
  /// 3 is what the measured kernels use. 2 has another common subexpression elimination (EarlyCSE in place of GVN), takes
  /// 14 % less time on the long programs of sm_100a, and ptxas uses as many registers there (within 2, where not fewer) and
  /// no more spills.
  int optLevel;
};
static constexpr PtxTarget targets[] = {{"sm_100a", "+ptx88", 2}, {"sm_90a", "+ptx86", 3}};

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

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

/// Straight-line strength reduction asks of each sum whether it may be poison, a fifth of a compilation; no instruction here makes any.
/// The PTX is the same without.
static void trustValues() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto guard = options.find("enable-poison-reuse-guard"); guard != options.end())
    static_cast<llvm::cl::opt<bool> *>(guard->second)->setValue(false);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const PtxTarget &target,
                                                                          int optLevel) {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    trustValues();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!backend)
    return makeError("expected an LLVM with the NVPTX back end, found none: " + why);
  auto level = llvm::CodeGenOpt::getLevel(optLevel);
  if (!level)
    return makeError("expected an optimisation level of 0 to 3, found " + llvm::Twine(optLevel));
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, target.chip, target.features, llvm::TargetOptions(),
                                   std::nullopt, std::nullopt, *level));
}

/// Attributes that the dialects cannot express.
static void annotate(llvm::Module &module, const PtxOptions &options) {
  for (llvm::Function &function : module) {
    if (options.flushDenormals)
      function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    // Warp- and warpgroup-wide instructions inside inline asm must not be moved into or out of
    // divergent code, and MLIR does not mark them so.
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
          if (assembly->hasSideEffects())
            call->setConvergent();
  }
}

/// LLVM's straight-line strength reduction compares sums pair by pair: seconds where an expression looks up every element of a row or
/// adds i and j there. ptxas uses as many registers and spills as much without it.
class WithoutStrengthReduction : public llvm::OptPassGate {
public:
  explicit WithoutStrengthReduction(const llvm::Module &module) {
    for (const llvm::Function &function : module) {
      int inFunction = 0; // sums and addresses, which the pass compares
      for (const llvm::BasicBlock &block : function) {
        int addresses = 0;
        for (const llvm::Instruction &i : block) {
          const bool address = isa<llvm::GetElementPtrInst>(i);
          const bool sum = llvm::is_contained({llvm::Instruction::Add, llvm::Instruction::Sub, llvm::Instruction::Mul}, i.getOpcode()) &&
                           !isa<llvm::Constant>(i.getOperand(1));
          addresses += address, inFunction += address || sum;
        }
        many |= addresses >= 32 || inFunction > 800; // the largest kernels of named patterns have 9 and 581
      }
    }
  }
  bool isEnabled() const override { return many; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "slsr"; }

private:
  bool many = false;
};

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

/// One LLVM module on its way to PTX. Modules have nothing in common, so that each may have a thread.
struct Translation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string text, errors;

  void run() {
    context.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *errors) {
          if (info->getSeverity() != llvm::DS_Error)
            return;
          llvm::raw_string_ostream os(*static_cast<std::string *>(errors));
          llvm::DiagnosticPrinterRawOStream printer(os);
          info->print(printer);
          os << '\n';
        },
        &errors);
    WithoutStrengthReduction gate(*module);
    context.setOptPassGate(gate);
    llvm::SmallString<0> ptx;
    llvm::raw_svector_ostream stream(ptx);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
      errors = "it cannot print assembly";
      return;
    }
    passes.run(*module);
    text = std::string(ptx);
  }
};

llvm::Expected<std::string> translateToPtx(Operation *op, llvm::StringRef chip,
                                           const PtxOptions &options, PtxTimes *times) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto since = [&](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(now() - start).count();
  };

  const auto *target = llvm::find_if(targets, [&](const PtxTarget &t) { return t.chip == chip; });
  if (target == std::end(targets))
    return makeError("expected target sm_100a or sm_90a, found '" + chip + "'");
  if (!isa<ModuleOp, gpu::GPUModuleOp>(op))
    return makeError("expected a builtin.module or gpu.module to translate, found '" +
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
    return makeError("lowering to the LLVM dialect failed: " + diagnostics);
  if (times)
    times->lower = since(start);

  start = now();
  SmallVector<OwningOpRef<ModuleOp>> parts = splitKernels(module);
  std::vector<Translation> translations(std::max<size_t>(parts.size(), 1));
  for (auto [i, t] : llvm::enumerate(translations)) {
    t.module = translateModuleToLLVMIR(parts.empty() ? module : *parts[i], t.context);
    if (!t.module)
      return makeError("translation to LLVM IR failed: " + diagnostics);
    auto machine = createMachine(*target, options.optLevel.value_or(target->optLevel));
    if (!machine)
      return machine.takeError();
    t.machine = std::move(*machine);
    t.module->setTargetTriple(t.machine->getTargetTriple());
    t.module->setDataLayout(t.machine->createDataLayout());
    annotate(*t.module, options);
    if (options.llvmIR)
      llvm::raw_string_ostream(*options.llvmIR) << *t.module;
  }
  if (times)
    times->translate = since(start);

  start = now();
  llvm::parallelFor(0, translations.size(), [&](size_t i) { translations[i].run(); });
  std::vector<std::string> texts;
  for (Translation &t : translations) {
    if (!t.errors.empty())
      return makeError("the NVPTX back end refused the kernel: " + t.errors);
    texts.push_back(std::move(t.text));
  }
  if (times)
    times->codegen = since(start);
  return joined(texts);
}

} // namespace fovea::codegen
