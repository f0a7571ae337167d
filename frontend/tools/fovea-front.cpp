// frontend/tools/fovea-front.cpp - the front end alone, for its tests: parse, fmt, import, check
#include "frontend/Frontend.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mlir/IR/MLIRContext.h>

namespace cl = llvm::cl;

static cl::SubCommand parseCommand("parse", "print the AST");
static cl::SubCommand fmtCommand("fmt", "print the canonical form");
static cl::SubCommand importCommand("import", "print the module of the dialect attn");
static cl::SubCommand checkCommand("check", "refuse what --target cannot lower yet");
static cl::opt<std::string> input(cl::Positional, cl::desc("SPEC"), cl::Required, cl::sub(cl::SubCommand::getAll()));
static cl::opt<std::string> target("target", cl::init("sm_100a"), cl::sub(checkCommand));
static cl::opt<bool> backward("backward", cl::desc("the backward is wanted, too"), cl::sub(checkCommand));
static cl::opt<bool> locations("locations", cl::desc("print where ops come from"), cl::sub(importCommand));

static int show(const fovea::TextResult &result) {
  llvm::outs() << result.text.value_or("");
  llvm::errs() << result.messages;
  return result.text ? 0 : 1;
}

static int read(llvm::StringRef text, llvm::StringRef name) {
  mlir::MLIRContext context;
  auto kernels = backward ? fovea::sema::Kernels::All : fovea::sema::Kernels::Forward;
  fovea::ReadResult result = checkCommand ? fovea::readSpec(text, name, context, target, kernels)
                                          : fovea::readSpec(text, name, context);
  llvm::errs() << result.messages;
  if (!result.module)
    return 1;
  if (importCommand) {
    mlir::OpPrintingFlags flags;
    if (locations)
      flags.enableDebugInfo();
    result.module->print(llvm::outs(), flags);
    llvm::outs() << "\n";
  }
  return 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "the front end of Fovea, for its tests\n");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << input << ": error: cannot read: " << file.getError().message() << "\n";
    return 1;
  }
  llvm::StringRef text = (*file)->getBuffer();
  std::string name = input == "-" ? std::string("<stdin>") : input.getValue();
  if (parseCommand)
    return show(fovea::dumpAst(text, name));
  if (fmtCommand)
    return show(fovea::formatSpec(text, name));
  if (importCommand || checkCommand)
    return read(text, name);
  llvm::errs() << "expected a command: parse, fmt, import or check\n";
  return 2;
}
