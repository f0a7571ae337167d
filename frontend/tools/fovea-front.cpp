// frontend/tools/fovea-front.cpp - the front end alone, for its tests: parse, check, fmt
#include "frontend/ast/Parse.h"
#include "frontend/fmt/Format.h"
#include "frontend/sema/Sema.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::SubCommand parseCommand("parse", "print the AST");
static cl::SubCommand checkCommand("check", "semantic analysis");
static cl::SubCommand fmtCommand("fmt", "print the canonical form");
static cl::opt<std::string> input(cl::Positional, cl::desc("SPEC"), cl::Required, cl::sub(cl::SubCommand::getAll()));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "the front end of Fovea, for its tests\n");
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(input);
  if (!file) {
    llvm::errs() << input << ": error: cannot read: " << file.getError().message() << "\n";
    return 1;
  }
  llvm::StringRef text = (*file)->getBuffer();
  fovea::Diagnostics diagnostics;
  auto spec = fovea::ast::parse(text, diagnostics);
  if (spec && !diagnostics.hasErrors()) {
    if (parseCommand)
      llvm::outs() << fovea::ast::dump(*spec);
    if (fmtCommand)
      llvm::outs() << fovea::format(*spec);
  }
  if (spec && checkCommand)
    fovea::sema::analyze(*spec, diagnostics);
  llvm::errs() << diagnostics.render(text, input == "-" ? "<stdin>" : input.getValue());
  return diagnostics.hasErrors() ? 1 : 0;
}
