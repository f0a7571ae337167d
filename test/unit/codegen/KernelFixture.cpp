// test/unit/codegen/KernelFixture.cpp - the fixture of the instruction library's tests.
#include "test/unit/codegen/KernelFixture.h"

#include "codegen/common/GlobalAccess.h"
#include "codegen/common/Sreg.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir;

namespace fovea::codegen {

bool Assembly::spills() const {
  for (size_t at = 0; (at = log.find(" bytes spill", at)) != std::string::npos; ++at) {
    size_t start = log.find_last_of(" ,", at - 1);
    if (std::atoi(log.c_str() + start + 1) != 0)
      return true;
  }
  return false;
}

int Assembly::registers() const {
  size_t at = log.find("Used ");
  return at == std::string::npos ? -1 : std::atoi(log.c_str() + at + 5);
}

Assembly assemble(const std::string &ptx, const std::string &chip) {
  Assembly result;
  auto program = llvm::sys::findProgramByName("ptxas");
  if (!program)
    return result;
  result.found = true;
  llvm::SmallString<64> source, object, log;
  llvm::sys::fs::createTemporaryFile("fovea", "ptx", source);
  llvm::sys::fs::createTemporaryFile("fovea", "cubin", object);
  llvm::sys::fs::createTemporaryFile("fovea", "log", log);
  std::error_code error;
  llvm::raw_fd_ostream(source, error) << ptx;
  std::string arch = "-arch=" + chip;
  llvm::StringRef args[] = {*program, arch, "-v", source, "-o", object};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log),
                                                llvm::StringRef(log)};
  result.status = llvm::sys::ExecuteAndWait(*program, args, std::nullopt, redirects);
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    result.log = (*buffer)->getBuffer().str();
  for (auto &file : {source, object, log})
    llvm::sys::fs::remove(file);
  return result;
}

KernelFixture::KernelFixture() : b(&context), loc(UnknownLoc::get(&context)) {
  registerPtxDialects(context);
  context.loadAllAvailableDialects();
  module = ModuleOp::create(loc);
}

LLVM::LLVMFuncOp KernelFixture::begin(ArrayRef<KernelParam> params, const KernelLimits &limits,
                                      const char *name) {
  b.setInsertionPointToEnd(module->getBody());
  func = createKernel(b, loc, name, params, limits);
  return func;
}

std::string KernelFixture::finish(const char *chip) {
  LLVM::ReturnOp::create(b, loc, ValueRange());
  if (failed(verify(*module))) {
    ADD_FAILURE() << "the module does not verify";
    return "";
  }
  PtxTimes times;
  auto ptx = translateToPtx(*module, chip, PtxOptions(), &times);
  // Read them with --gtest_output=json:FILE.
  RecordProperty("lower_us", int(times.lower * 1000));
  RecordProperty("translate_us", int(times.translate * 1000));
  RecordProperty("codegen_us", int(times.codegen * 1000));
  if (!ptx) {
    ADD_FAILURE() << llvm::toString(ptx.takeError());
    return "";
  }
  if (const char *dir = std::getenv("FOVEA_KEEP_PTX")) { // to look at a kernel, or to run it
    std::string file = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(file.begin(), file.end(), '/', '-');
    std::error_code error;
    llvm::raw_fd_ostream(std::string(dir) + "/" + file + ".ptx", error) << *ptx;
  }
  // The back end puts a tab, or a blank and a tab, after each opcode.
  std::replace(ptx->begin(), ptx->end(), '\t', ' ');
  for (size_t at; (at = ptx->find("  ")) != std::string::npos;)
    ptx->erase(at, 1);
  return *ptx;
}

void KernelFixture::when(Value condition, llvm::function_ref<void()> body) {
  Block *before = b.getInsertionBlock();
  Block *after = before->splitBlock(b.getInsertionPoint());
  Block *then = b.createBlock(after);
  b.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(b, loc, condition, then, after);
  b.setInsertionPointToStart(then);
  body();
  LLVM::BrOp::create(b, loc, ValueRange(), after);
  b.setInsertionPointToStart(after);
}

void KernelFixture::keep(Value v, unsigned i) {
  Value row = globalByte(b, loc, arg(i), constI64(b, loc, 4096 * kept++));
  storeGlobal(b, loc, v, globalElement(b, loc, row, v.getType(), threadId(b, loc)));
}

::testing::AssertionResult hasInOrder(const std::string &text,
                                      std::initializer_list<const char *> parts) {
  size_t at = 0;
  for (const char *part : parts) {
    size_t found = text.find(part, at);
    if (found == std::string::npos)
      return ::testing::AssertionFailure()
             << "expected '" << part << "' after position " << at << " of:\n"
             << text;
    at = found + std::string(part).size();
  }
  return ::testing::AssertionSuccess();
}

} // namespace fovea::codegen
