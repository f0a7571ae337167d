// codegen/common/Kernel.h - kernel functions, their launch attributes and dynamic shared memory.
#pragma once

#include "codegen/common/Values.h"

#include "llvm/ADT/StringRef.h"

namespace fovea::codegen {

/// What a kernel declares about its launch; 0 leaves a directive out.
/// PTX: .reqntid, .minnctapersm, .maxnreg, .reqnctapercluster. setmaxnreg needs threads with
/// minCtas, or maxRegisters.
struct KernelLimits {
  uint32_t threads = 0;      ///< exact CTA size, multiple of 32
  uint32_t minCtas = 0;      ///< resident CTAs per SM that registers must allow
  uint32_t maxRegisters = 0; ///< per thread
  uint32_t clusterX = 0;     ///< CTAs of a cluster along x; 0 means no cluster
};

/// A by-value 128-byte CUtensorMap parameter (grid constant, 64-byte aligned); other parameters
/// name their type.
struct KernelParam {
  Type type; ///< null for a tensor map
  static KernelParam tensorMap() { return {Type()}; }
};

/// Creates `llvm.func @name(params)` with the attributes of a kernel and an empty entry block, and
/// moves the builder into that block. A tensor-map argument has type !llvm.ptr and is the `map`
/// operand of the Tma functions.
mlir::LLVM::LLVMFuncOp createKernel(OpBuilder &b, Location loc, llvm::StringRef name,
                                    ArrayRef<KernelParam> params, const KernelLimits &limits);

/// The address (i32) of dynamic shared memory, declared once per module as `extern .shared .align
/// 1024 smem[]`. `symbolTableOp` is the module or gpu.module that holds the kernel.
Value dynamicSharedBase(OpBuilder &b, Location loc, mlir::Operation *symbolTableOp);

} // namespace fovea::codegen
