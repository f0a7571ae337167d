// frontend/cli/Session.cpp - reading, compiling, opening.
#include "frontend/cli/Session.h"
#include "passes/Attn/DeriveBackward.h"
#include "runtime/core/File.h"

#include <filesystem>
#include <iostream>
#include <iterator>

namespace fovea::cli {

int fail(const std::string &text) {
  llvm::errs() << "fovea: error: " << text << "\n";
  return kFailure;
}

Session::Session() : context(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  context.appendDialectRegistry(registry);
  codegen::registerPtxDialects(context);
  context.loadAllAvailableDialects(); // the phases build ops of all of them
}

Expected<std::string> readText(const std::string &path) {
  // Far above the front end's own bound, so that its message names the size; a device without an end stops here.
  constexpr size_t limit = size_t(16) << 20;
  if (path != "-")
    return readFile(path, limit);
  std::string text(limit, '\0');
  std::cin.read(text.data(), std::streamsize(limit));
  text.resize(size_t(std::cin.gcount()));
  return text;
}

mlir::OwningOpRef<mlir::ModuleOp> Session::read(const std::string &path, const std::string &target,
                                                sema::Kernels kernels) {
  Expected<std::string> text = readText(path);
  if (!text) {
    fail(text.message());
    return nullptr;
  }
  std::string name = path == "-" ? "<stdin>" : path;
  ReadResult result = target.empty() ? readSpec(*text, name, context)
                                     : readSpec(*text, name, context, target, kernels);
  llvm::errs() << result.messages;
  return std::move(result.module);
}

attn::SpecOp Session::forwardOf(mlir::ModuleOp module) {
  for (attn::SpecOp spec : module.getOps<attn::SpecOp>())
    if (!spec.getGradientOf())
      return spec;
  return nullptr;
}

Expected<attn::SpecOp> Session::backwardOf(mlir::ModuleOp module) {
  for (attn::SpecOp spec : module.getOps<attn::SpecOp>())
    if (spec.getGradientOf())
      return spec;
  attn::SpecOp forward = forwardOf(module);
  if (!forward.getEmit() || !forward.getEmit()->getBackward())
    return Error{"'" + forward.getSymName().str() + "' has no backward; its spec would say `emit : forward, backward`"};
  mlir::FailureOr<attn::SpecOp> backward = deriveBackward(forward);
  if (failed(backward))
    return Error{"'" + forward.getSymName().str() + "' has no gradient (see above)"};
  return *backward;
}

Expected<DeviceChoice> chooseDevice(const std::string &spec, const std::string &target) {
  if (!target.empty() && !findTarget(target))
    return Error{"unknown target '" + target + "'; known are " + targetNames()};
  std::string name = spec == "emulator" && !target.empty() ? "emulator:" + target : spec;
  Expected<Device> device = Device::open(name);
  if (!device)
    return device.error();
  if (!target.empty())
    return DeviceChoice{*device, target};
  if (!device->facts().target)
    return Error{"no target fits: " + device->description()};
  return DeviceChoice{*device, std::string(device->facts().target->name)};
}

LoadedSpec loadSpec(Session &session, const std::string &path, const DeviceChoice &choice, bool backward) {
  LoadedSpec result;
  result.spec = session.read(path, choice.target, backward ? sema::Kernels::All : sema::Kernels::Forward);
  if (!result.spec)
    return result;
  CompileOptions options;
  options.target = choice.target;
  llvm::Expected<CompiledSpec> compiled = compile(*result.spec, options);
  if (!compiled) {
    fail(llvm::toString(compiled.takeError()));
    return result;
  }
  Expected<Module> loaded = Module::load(choice.device, compiled->ptx, compiled->manifest);
  if (loaded)
    result.kernels = *loaded;
  else
    fail(loaded.message());
  return result;
}

Expected<void> makeFolder(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return Error{"cannot make the folder " + path + ": " + error.message()};
  return {};
}

Arrays savedOutputs(attn::SpecOp forward, attn::SpecOp backward, const attn::reference::Evaluation &outputs) {
  Arrays saved;
  attn::YieldOp yield = forward.getYield();
  for (auto [name, value] : llvm::zip(yield.getResultNames(), yield.getValues())) {
    std::string text = llvm::cast<mlir::StringAttr>(name).str();
    auto type = llvm::cast<attn::AttnTensorType>(value.getType());
    if (backward.getInput(text))
      saved[text] = toArray(outputs.tensors.at(text), dtypeOf(type.getElementType()));
  }
  return saved;
}

Expected<Arrays> backwardInputs(attn::SpecOp forward, attn::SpecOp backward, const Arrays &inputs,
                                const attn::reference::Evaluation &outputs, const BatchSize &size) {
  Arrays given = savedOutputs(forward, backward, outputs);
  given.insert(inputs.begin(), inputs.end());
  BatchSize again = size;
  ++again.seed; // other numbers than q's
  return randomInputs(backward, again, given);
}

} // namespace fovea::cli
