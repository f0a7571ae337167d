// passes/fovea-opt.cpp - the tool that runs any pass on IR text; its options are those of mlir-opt
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"
#include "passes/Attn/Passes.h"
#include "passes/Tile/Passes.h"
#include "passes/Verify/PostConditions.h"

#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <mlir/Transforms/Passes.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect>();
  registry.insert<fovea::attn::AttnDialect, fovea::tile::TileDialect>();
  mlir::registerTransformsPasses();
  fovea::registerAttnPasses();
  fovea::tile::registerTilePasses();
  fovea::tile::registerVerifyPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "the compiler's passes, one at a time\n", registry));
}
