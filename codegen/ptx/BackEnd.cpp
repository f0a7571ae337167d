// codegen/ptx/BackEnd.cpp - an LLVM module to PTX text.
#include "codegen/ptx/BackEnd.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"

using namespace fovea::codegen;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace {
/// What the back end needs to know of a chip.
struct PtxTarget {
  llvm::StringLiteral chip;
  llvm::StringLiteral features; ///< the PTX version; the least that has every instruction used here
  /// 3 is what the measured kernels use. 2 has another common subexpression elimination (EarlyCSE in place of GVN), takes
  /// 14 % less time on the long programs of sm_100a, and ptxas uses as many registers there (within 2, where not fewer) and
  /// no more spills.
  int optLevel;
};
constexpr PtxTarget targets[] = {{"sm_100a", "+ptx88", 2}, {"sm_90a", "+ptx86", 3}};
} // namespace

bool fovea::codegen::isPtxTarget(llvm::StringRef chip) {
  return llvm::any_of(targets, [&](const PtxTarget &t) { return t.chip == chip; });
}

/// Straight-line strength reduction asks of each sum that it could use again whether it may be poison, a fifth of a compilation: for
/// flags such as nsw, which no instruction has here (`annotate`).
static void trustValues() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto guard = options.find("enable-poison-reuse-guard"); guard != options.end())
    static_cast<llvm::cl::opt<bool> *>(guard->second)->setValue(false);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createMachine(const PtxTarget &target, int optLevel) {
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
    return llvm::createStringError("expected an LLVM with the NVPTX back end, found none: " + why);
  auto level = llvm::CodeGenOpt::getLevel(optLevel);
  if (!level)
    return llvm::createStringError("expected an optimisation level of 0 to 3, found " + llvm::Twine(optLevel));
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
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      instruction.dropPoisonGeneratingFlags(); // trustValues
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
          if (assembly->hasSideEffects())
            call->setConvergent();
    }
  }
}

namespace {
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
} // namespace

llvm::Error PtxTranslation::prepare(llvm::StringRef chip, const PtxOptions &options) {
  const PtxTarget &target = *llvm::find_if(targets, [&](const PtxTarget &t) { return t.chip == chip; });
  auto created = createMachine(target, options.optLevel.value_or(target.optLevel));
  if (!created)
    return created.takeError();
  machine = std::move(*created);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  annotate(*module, options);
  return llvm::Error::success();
}

void PtxTranslation::run() {
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
