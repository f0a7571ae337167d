// test/unit/codegen/KernelFixture.h - builds a kernel with the instruction library, prints its PTX
// and asks ptxas.
#pragma once

#include "codegen/common/Kernel.h"
#include "codegen/ptx/ToPtx.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <string>

namespace fovea::codegen {

/// What ptxas said. `found` is false when there is no ptxas on PATH.
struct Assembly {
  bool found = false;
  int status = 0;
  std::string log;

  bool spills() const;   ///< any spill bytes reported
  int registers() const; ///< "Used N registers", -1 when absent
  bool has(const char *text) const { return log.find(text) != std::string::npos; }
};

/// Runs `ptxas -arch=CHIP -v`.
Assembly assemble(const std::string &ptx, const std::string &chip);

class KernelFixture : public ::testing::Test {
protected:
  KernelFixture();

  /// Starts `name(params)`, the builder in its entry block.
  mlir::LLVM::LLVMFuncOp begin(ArrayRef<KernelParam> params, const KernelLimits &limits,
                               const char *name = "kernel");
  /// Emits llvm.return, verifies and translates. Fails the test on an error. Tabs become spaces.
  std::string finish(const char *chip);

  /// Types and arguments by a short name.
  Type i32() { return b.getI32Type(); }
  Type f32() { return b.getF32Type(); }
  Type global() { return pointerType(b, Global); }
  Value arg(unsigned i) { return func.getArgument(i); }
  /// Runs `body` in threads where `condition` holds.
  void when(Value condition, llvm::function_ref<void()> body);
  /// Stores `v` (i32 or f32) in a new row of argument `i`, at the thread id, so that it stays
  /// alive.
  void keep(Value v, unsigned i);

  mlir::MLIRContext context;
  OpBuilder b;
  Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp func;
  uint64_t kept = 0;
};

/// True when `text` has the lines (or parts of lines) in this order.
::testing::AssertionResult hasInOrder(const std::string &text,
                                      std::initializer_list<const char *> parts);

/// Fails unless ptxas accepts `ptx`; skips when there is none. Evaluates to the log.
#define ASSERT_ASSEMBLES(var, ptx, chip)                                                           \
  Assembly var = assemble(ptx, chip);                                                              \
  if (!var.found)                                                                                  \
    GTEST_SKIP() << "no ptxas on PATH";                                                            \
  ASSERT_EQ(var.status, 0) << var.log << "\n" << ptx

} // namespace fovea::codegen
