// passes/Tile/Passes.cpp - registration of the passes on `tile`.
#include "passes/Tile/Passes.h"

void fovea::tile::registerTilePasses() {
  mlir::registerPass(createMapRolesPass);
  mlir::registerPass(createProveLivePass);
  mlir::registerPass(createAllocatePass);
  mlir::registerPass(createSynchronisePass);
  mlir::registerPass(createPruneSynchronisationPass);
  mlir::registerPass(createProveNoHazardPass);
}
