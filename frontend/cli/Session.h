// frontend/cli/Session.h - what the commands share: reading a spec, compiling it, opening a device, reporting.
#pragma once

#include "codegen/Compiler.h"
#include "frontend/Frontend.h"
#include "frontend/cli/Inputs.h"
#include "runtime/core/Module.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/MLIRContext.h>

namespace fovea::cli {

/// Exit codes: a refusal or a failed check is 1, a wrong command line is 2.
constexpr int kSuccess = 0, kFailure = 1, kUsage = 2;

/// Prints "fovea: error: TEXT" and returns kFailure.
int fail(const std::string &text);

/// A context that knows every dialect of the compiler; one thread, since a command compiles one spec.
class Session {
public:
  Session();
  mlir::MLIRContext context;

  /// Reads and imports a spec ("-" is stdin); messages go to stderr. `target` is empty for `eval`, which runs
  /// everything that has a meaning. Null after a refusal.
  mlir::OwningOpRef<mlir::ModuleOp> read(const std::string &path, const std::string &target = "",
                                         sema::Kernels kernels = sema::Kernels::Forward);
  /// The forward spec of a module that `read` has returned.
  static attn::SpecOp forwardOf(mlir::ModuleOp module);
  /// The backward spec, derived on first use; an error when there is none.
  static Expected<attn::SpecOp> backwardOf(mlir::ModuleOp module);
};

/// The device for `check` and `run`: "emulator" stands for the target's chip, and an empty target follows the device.
struct DeviceChoice {
  Device device;
  std::string target;
};
Expected<DeviceChoice> chooseDevice(const std::string &device, const std::string &target);

/// A spec that has been read, compiled for a device and loaded there.
struct LoadedSpec {
  mlir::OwningOpRef<mlir::ModuleOp> spec;
  std::optional<Module> kernels; ///< none after a refusal, which has been printed
};
LoadedSpec loadSpec(Session &session, const std::string &path, const DeviceChoice &choice, bool backward);

/// Reads a text file, or stdin for "-".
Expected<std::string> readText(const std::string &path);

/// Makes a folder with its parents; the error says why it cannot be written.
Expected<void> makeFolder(const std::string &path);

/// What a backward takes of the forward's results (o, lse), rounded to their types.
Arrays savedOutputs(attn::SpecOp forward, attn::SpecOp backward, const attn::reference::Evaluation &outputs);
/// Everything that a backward takes: the forward's inputs, o and lse as its evaluation says, and the gradient of o at random.
Expected<Arrays> backwardInputs(attn::SpecOp forward, attn::SpecOp backward, const Arrays &inputs,
                                const attn::reference::Evaluation &outputs,
                                const BatchSize &size);

} // namespace fovea::cli
