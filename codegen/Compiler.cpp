// codegen/Compiler.cpp - one attention, from `attn` to PTX, manifest and header, phase by phase.
#include "codegen/Compiler.h"
#include "codegen/LaunchClocks.h"
#include "codegen/TensorSpecs.h"
#include "codegen/abi/Header.h"
#include "codegen/kernel/Emitter.h"
#include "codegen/kernel/TableGradient.h"
#include "dialect/Attn/Analysis.h"
#include "dialect/Attn/Attn.h"
#include "passes/Attn/DeriveBackward.h"
#include "codegen/sm100a/Lowering.h"
#include "codegen/sm90a/Lowering.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Networks.h"
#include "passes/Schedule/Variants.h"
#include "passes/Tile/Passes.h"
#include "passes/Verify/PostConditions.h"
#include "runtime/abi/Sha256.h"
#include "llvm/ADT/StringSwitch.h"
#include <chrono>

using namespace mlir;
using namespace fovea;

static constexpr const char *kPhaseNames[] = {"attn", "grad", "schedule", "tile", "alloc", "sync", "nvvm", "ptx"};

const char *fovea::phaseName(Phase phase) { return kPhaseNames[int(phase)]; }

std::optional<Phase> fovea::parsePhase(llvm::StringRef name) {
  for (int i = 0; i <= int(Phase::Ptx); ++i)
    if (name == kPhaseNames[i])
      return Phase(i);
  return std::nullopt;
}

void fovea::registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<attn::AttnDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, NVVM::NVVMDialect, scf::SCFDialect, tile::TileDialect>();
}

namespace {
// "file:line:column: ", empty where no file is known.
std::string placeOf(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  return file ? (file.getFilename().getValue() + ":" + llvm::Twine(file.getLine()) + ":" + llvm::Twine(file.getColumn()) + ": ").str()
              : "";
}

// Of a spec's schedule for a target, or of a setting in it (frontend/import puts them into the spec's location), else of the spec.
std::string placeOfSchedule(attn::SpecOp spec, llvm::StringRef target, llvm::StringRef setting) {
  if (auto fused = dyn_cast<FusedLoc>(spec.getLoc()))
    if (auto targets = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()))
      if (auto places = targets.getAs<DictionaryAttr>(target))
        for (llvm::StringRef key : {setting, llvm::StringRef("schedule")})
          if (auto place = places.getAs<LocationAttr>(key))
            return placeOf(Location(place));
  return placeOf(spec.getLoc());
}

// Collects diagnostics while it lives; a failure becomes an error that holds them.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &d) {
          found.push_back({placeOf(d.getLocation()), d.str()});
          return success();
        }) {}
  /// What is known to stand in the text of a spec says where; the rest, which phase.
  llvm::Error error(llvm::StringRef phase) {
    std::string text;
    for (auto &[place, message] : found)
      text += (text.empty() ? "" : "\n") + (place.empty() ? phase.str() + ": " : place) + message;
    return llvm::createStringError(text.empty() ? phase.str() + " failed" : text);
  }

private:
  std::vector<std::pair<std::string, std::string>> found;
  ScopedDiagnosticHandler handler;
};

class Stopwatch {
public:
  explicit Stopwatch(CompiledSpec &result) : result(result), start(clock::now()) {}
  void lap(Phase phase) {
    auto now = clock::now();
    result.milliseconds.push_back({phaseName(phase), std::chrono::duration<double, std::milli>(now - start).count()});
    start = now;
  }

private:
  using clock = std::chrono::steady_clock;
  CompiledSpec &result;
  clock::time_point start;
};

std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  os << "\n";
  return text;
}
} // namespace

llvm::Expected<CompiledSpec> fovea::compileProblem(MLIRContext &context, const Problem &problem,
                                             const ScheduleOverrides &overrides, const CompileOptions &options) {
  const Target *target = findTarget(options.target);
  if (!target)
    return llvm::createStringError("unknown target '" + options.target + "': known are " + targetNames());
  CompiledSpec result;
  DiagnosticCollector diagnostics(context);
  Stopwatch watch(result);

  auto candidates = enumerateForward(problem, *target, overrides);
  if (!candidates)
    return candidates.takeError();
  result.candidates = std::move(*candidates);
  if (problem.backward) {
    auto backward = enumerateBackward(problem, *target, overrides);
    if (!backward)
      return backward.takeError();
    result.backwardCandidates = std::move(*backward);
  }
  watch.lap(Phase::Schedule);

  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  struct Kernel {
    const char *operation;
    const Candidate *candidate;
    tile::KernelOp op;
    std::string variant; ///< empty: the only way
    const tile::Schedule &schedule() const { return candidate->schedule; }
  };
  std::vector<Kernel> kernels;
  auto build = problem.block ? buildForward : buildFlash;
  const std::vector<Candidate> variants = pickVariants(result.candidates, problem, *target, overrides);
  for (const Candidate &candidate : variants) {
    const std::string name = variants.size() > 1 ? variantName(candidate.schedule) : "";
    kernels.push_back({"forward", &candidate, build(*module, problem, candidate.schedule, *target, module->getLoc()), name});
    if (&candidate != &variants.front())
      kernels.back().op.setSymName((kernels.back().op.getSymName() + "_" + name).str());
  }
  if (problem.backward) {
    const Candidate &backward = result.backwardCandidates.front();
    kernels.push_back({"backward", &backward, buildBackward(*module, problem, backward.schedule, *target, module->getLoc()), ""});
  }
  auto stopAt = [&](Phase phase) {
    if (options.until == phase)
      result.text = printed(*module);
    return options.until == phase;
  };
  bool scheduled = succeeded(verify(*module));
  for (Kernel &kernel : kernels)
    scheduled = scheduled && (!options.verifyEachPhase || succeeded(tile::verifySchedule(kernel.op)));
  if (!scheduled)
    return diagnostics.error("schedule");
  if (stopAt(Phase::Schedule))
    return result;

  // The pass of a phase, then what it promises the next.
  auto run = [&](Phase phase, std::unique_ptr<Pass> pass, auto... postConditions) -> bool {
    PassManager pm(&context);
    pm.enableVerifier(options.verifyEachPhase);
    pm.addPass(std::move(pass));
    if (options.verifyEachPhase)
      (pm.addPass(std::move(postConditions)), ...);
    bool ok = succeeded(pm.run(*module));
    watch.lap(phase);
    return ok;
  };
  if (!run(Phase::Tile, tile::createMapRolesPass(), tile::createVerifyTilePass(), tile::createProveLivePass()))
    return diagnostics.error("tile");
  if (stopAt(Phase::Tile))
    return result;
  if (!run(Phase::Alloc, tile::createAllocatePass(), tile::createVerifyAllocPass()))
    return diagnostics.error("alloc");
  if (stopAt(Phase::Alloc))
    return result;
  if (!run(Phase::Sync, tile::createSynchronisePass()) ||
      !run(Phase::Sync, tile::createPruneSynchronisationPass(), tile::createVerifySyncPass(), tile::createProveNoHazardPass()))
    return diagnostics.error("sync");
  for (Kernel &kernel : kernels) {
    const bool isForward = llvm::StringRef(kernel.operation) == "forward";
    result.reports.push_back(report(kernel.op, kernel.operation, isForward ? result.candidates : result.backwardCandidates, *kernel.candidate));
    result.reports.back().variant = kernel.variant;
    for (const Candidate &other : variants)
      if (!kernel.variant.empty())
        result.reports.back().variants.push_back(variantName(other.schedule));
  }
  if (stopAt(Phase::Sync))
    return result;

  // The manifest's tensors are the kernels', each once, and the offsets.
  for (Kernel &kernel : kernels) {
    for (tile::TensorOp tensor : kernel.op.getBody().getOps<tile::TensorOp>())
      if (!result.manifest.findTensor(tensor.getPassedName().str()))
        result.manifest.tensors.push_back(tensorSpec(tensor, problem));
    for (tile::TableOp table : kernel.op.getBody().getOps<tile::TableOp>())
      for (const attn::Input &input : attn::inputs(problem.spec))
        if (input.name == table.getPassedName() && !result.manifest.findTensor(input.name.str()))
          result.manifest.tensors.push_back(tableSpec(input, problem));
    std::vector<KernelSpec> specs{codegen::kernelSpec(kernel.op, kernel.schedule(), kernel.operation)};
    if (kernel.op->hasAttr("splits"))
      specs.push_back(codegen::combineSpec(kernel.op, kernel.schedule(), kernel.operation));
    if (!kernel.variant.empty())
      addLaunchClocks(specs.front(), kernel.op, *kernel.candidate, problem);
    for (KernelSpec &spec : specs) {
      spec.variant = kernel.variant;
      result.manifest.kernels.push_back(std::move(spec));
    }
  }
  for (const TableGradient &gradient : problem.tableGradients) {
    codegen::TableGradient g = tableGradient(gradient, problem);
    const TensorSpec table = *result.manifest.findTensor(gradient.table);
    result.manifest.tensors.push_back(tableGradientSpec(g, table));
    for (KernelSpec &kernel : codegen::tableGradientSpecs(g, "backward"))
      result.manifest.kernels.push_back(std::move(kernel));
  }
  for (Kernel &kernel : kernels) {
    if (!codegen::Parameters(kernel.op, kernel.schedule()).hasTileList())
      continue;
    TensorSpec tiles;
    tiles.name = codegen::Parameters::tileList(kernel.schedule().tileRows);
    tiles.dtypes = {DType::I64};
    tiles.shape = {Expr("n_" + tiles.name)};
    tiles.optional = true;
    if (!result.manifest.findTensor(tiles.name))
      result.manifest.tensors.push_back(tiles);
  }
  for (const RowSpace *rows : {&problem.queries, &problem.keys}) {
    TensorSpec offsets;
    offsets.name = rows->name;
    offsets.role = TensorSpec::Role::Offsets;
    offsets.dtypes = {DType::I32, DType::I64};
    offsets.shape = {Expr("batch") + Expr(1)};
    if (rows->kind == RowSpace::Kind::Jagged && !result.manifest.findTensor(offsets.name))
      result.manifest.tensors.push_back(offsets);
  }
  result.manifest.spec = problem.name;
  result.manifest.target = options.target;

  OwningOpRef<ModuleOp> nvvm(ModuleOp::create(UnknownLoc::get(&context)));
  OpBuilder b(&context);
  for (Kernel &kernel : kernels) {
    b.setInsertionPointToEnd(nvvm->getBody());
    auto lowering = target->tcgen05 ? codegen::sm100a::createLowering() : codegen::sm90a::createLowering();
    if (failed(codegen::Emitter(kernel.op, *target, kernel.schedule(), *lowering, b).emit()))
      return diagnostics.error("nvvm");
    if (kernel.op->hasAttr("splits")) {
      b.setInsertionPointToEnd(nvvm->getBody());
      codegen::emitCombine(kernel.op, kernel.schedule(), b);
    }
  }
  for (const TableGradient &gradient : problem.tableGradients) {
    b.setInsertionPointToEnd(nvvm->getBody());
    codegen::emitTableGradient(tableGradient(gradient, problem), b, nvvm->getLoc());
  }
  if (failed(verify(*nvvm)))
    return diagnostics.error("nvvm");
  watch.lap(Phase::Nvvm);
  if (options.until == Phase::Nvvm) {
    result.text = printed(*nvvm);
    return result;
  }

  codegen::PtxOptions ptxOptions;
  ptxOptions.inPlace = true;
  auto ptx = codegen::translateToPtx(*nvvm, options.target, ptxOptions);
  if (!ptx)
    return ptx.takeError();
  result.text = result.ptx = std::move(*ptx);
  result.manifest.ptx = problem.name + "." + options.target + ".ptx";
  result.manifest.ptxSha256 = sha256(result.ptx);
  result.header = codegen::typedHeader(result.manifest, problem.name + "." + options.target + ".json");
  watch.lap(Phase::Ptx);
  return result;
}

llvm::Expected<CompiledSpec> fovea::compile(ModuleOp module, const CompileOptions &options) {
  if (options.until == Phase::Attn) {
    CompiledSpec result;
    result.text = printed(module);
    return result;
  }
  // Gradients are derived on a copy: the caller's module stays as it is.
  OwningOpRef<ModuleOp> copy(module.clone());
  attn::SpecOp spec, backward;
  for (attn::SpecOp op : copy->getOps<attn::SpecOp>())
    (op.getGradientOf() ? backward : spec) = op;
  if (!spec)
    return llvm::createStringError("expected an attn.spec in the module");
  if (!backward && spec.getEmit() && spec.getEmit()->getBackward()) {
    DiagnosticCollector diagnostics(*module.getContext());
    FailureOr<attn::SpecOp> derived = deriveBackward(spec);
    if (failed(derived))
      return diagnostics.error("grad");
    backward = *derived;
  }
  if (options.until == Phase::Grad) {
    CompiledSpec result;
    result.text = printed(*copy);
    return result;
  }
  const Target *target = findTarget(options.target);
  if (!target)
    return llvm::createStringError("unknown target '" + options.target + "': known are " + targetNames());
  auto problem = readProblem(spec);
  if (!problem)
    return problem.takeError();
  if (backward)
    if (llvm::Error error = readBackward(backward, *problem))
      return error;
  if (!problem->block && backward)
    return llvm::createStringError("attn.spec @" + problem->name + ": the backward of a mask other than block_diagonal has no lowering yet");
  DictionaryAttr perTarget;
  if (spec.getSchedule())
    perTarget = dyn_cast_or_null<DictionaryAttr>(spec.getSchedule()->get(options.target));
  // The setting without which the schedule would fit, if one alone is to blame.
  auto blamed = [&]() -> std::string {
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    for (NamedAttribute setting : perTarget ? perTarget : DictionaryAttr::get(module.getContext())) {
      NamedAttrList others(perTarget);
      others.erase(setting.getName());
      auto without = ScheduleOverrides::fromAttr(others.getDictionary(module.getContext()), *target);
      if (!without) {
        llvm::consumeError(without.takeError());
        continue;
      }
      llvm::Error refused = enumerateForward(*problem, *target, *without).takeError();
      if (!refused && problem->backward)
        refused = enumerateBackward(*problem, *target, *without).takeError();
      if (!refused)
        return setting.getName().str();
      llvm::consumeError(std::move(refused));
    }
    return "";
  };
  auto located = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    const bool schedule = llvm::StringRef(text).starts_with("schedule ");
    return llvm::createStringError(schedule ? placeOfSchedule(spec, options.target, blamed()) + text : text);
  };
  auto overrides = ScheduleOverrides::fromAttr(perTarget, *target);
  if (!overrides)
    return located(overrides.takeError());
  auto compiled = compileProblem(*module.getContext(), *problem, *overrides, options);
  if (!compiled)
    return located(compiled.takeError());
  return compiled;
}
