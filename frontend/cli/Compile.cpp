// frontend/cli/Compile.cpp - `fovea compile` and `fovea fmt`: text out, files whole or not at all.
#include "frontend/cli/Commands.h"
#include "frontend/cli/Session.h"
#include "runtime/core/File.h"

namespace fovea::cli {

/// To a file, or to stdout where none is named.
static int deliver(const std::string &text, const std::string &output) {
  if (output.empty() || output == "-") {
    llvm::outs() << text;
    return kSuccess;
  }
  if (auto ok = writeFileAtomically(output, text); !ok)
    return fail(ok.message());
  return kSuccess;
}

/// The manifest comes last: it is what names the others.
static int writeAll(const CompiledSpec &compiled, const std::string &output) {
  std::string folder = output.empty() ? "." : output;
  if (auto ok = makeFolder(folder); !ok)
    return fail(ok.message());
  const Manifest &manifest = compiled.manifest;
  std::string stem = folder + "/" + manifest.spec + "." + manifest.target;
  std::vector<std::pair<std::string, std::string>> files = {{folder + "/" + manifest.ptx, compiled.ptx}};
  if (!compiled.header.empty())
    files.push_back({stem + ".h", compiled.header});
  files.push_back({stem + ".json", toJson(manifest)});
  for (const auto &[path, text] : files)
    if (auto ok = writeFileAtomically(path, text); !ok)
      return fail(ok.message());
  return kSuccess;
}

static int emitAst(const CompileArguments &arguments) {
  Expected<std::string> text = readText(arguments.spec);
  if (!text)
    return fail(text.message());
  TextResult result = dumpAst(*text, arguments.spec);
  llvm::errs() << result.messages;
  return result.text ? deliver(*result.text, arguments.output) : kFailure;
}

int compileCommand(const CompileArguments &arguments) {
  const std::string &emit = arguments.emit;
  std::optional<Phase> phase = parsePhase(emit);
  if (!emit.empty() && !phase && emit != "ast" && emit != "manifest" && emit != "header") {
    llvm::errs() << "fovea: error: unknown --emit=" << emit
                 << "; expected ast, attn, grad, schedule, tile, alloc, sync, nvvm, ptx, manifest or header\n";
    return kUsage;
  }
  if (!findTarget(arguments.target)) {
    llvm::errs() << "fovea: error: unknown target '" << arguments.target << "'; known are " << targetNames() << "\n";
    return kUsage;
  }
  if (emit == "ast")
    return emitAst(arguments);

  Session session;
  // What comes before the machine is shown for every spec that has a meaning.
  bool needsTarget = emit.empty() || !phase || *phase >= Phase::Schedule;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.read(arguments.spec, needsTarget ? arguments.target : "");
  if (!module)
    return kFailure;
  if (phase == Phase::Grad) {
    if (Expected<attn::SpecOp> backward = Session::backwardOf(*module); !backward)
      return fail(backward.message());
    std::string text;
    llvm::raw_string_ostream(text) << *module << "\n";
    return deliver(text, arguments.output);
  }
  CompileOptions options;
  options.target = arguments.target;
  options.until = phase.value_or(Phase::Ptx);
  llvm::Expected<CompiledSpec> compiled = compile(*module, options);
  if (!compiled)
    return fail(llvm::toString(compiled.takeError()));
  if (emit.empty())
    return writeAll(*compiled, arguments.output);
  if (emit == "manifest")
    return deliver(toJson(compiled->manifest), arguments.output);
  return deliver(emit == "header" ? compiled->header : compiled->text, arguments.output);
}

int fmtCommand(const std::string &spec) {
  Expected<std::string> text = readText(spec);
  if (!text)
    return fail(text.message());
  TextResult result = formatSpec(*text, spec == "-" ? "<stdin>" : spec);
  llvm::errs() << result.messages;
  return result.text ? deliver(*result.text, "") : kFailure;
}

} // namespace fovea::cli
