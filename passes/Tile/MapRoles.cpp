// passes/Tile/MapRoles.cpp - pass tile-map-roles: merges roles onto their warps.
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Tile/Passes.h"

using namespace mlir;
using namespace fovea::tile;

namespace {
// A role is straight-line over one item, so roles in schedule order are a linear extension of the item's event
// graph exactly when the schedule's order is one; tile-prove-live checks that the chosen order is.
LogicalResult mapRoles(KernelOp kernel) {
  llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
  if (!schedule)
    return kernel.emitOpError(llvm::toString(schedule.takeError()));
  llvm::StringMap<RoleOp> roles;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    roles[role.getSymName()] = role;

  OpBuilder b(kernel.getContext());
  int64_t nextWarp = 0;
  for (const GroupSchedule &g : schedule->groups) {
    if (g.firstWarp < nextWarp)
      return kernel.emitOpError("group '") << g.name << "' starts at warp " << g.firstWarp
                                           << ", but warps below " << nextWarp << " belong to another group";
    nextWarp = g.firstWarp + g.warps;
    b.setInsertionPointToEnd(&kernel.getBody().front());
    SmallVector<StringRef> names(g.roles.begin(), g.roles.end());
    auto group = GroupOp::create(b, kernel.getLoc(), g.name, g.firstWarp, g.warps, g.registers,
                                   b.getStrArrayAttr(names));
    Type i32 = b.getI32Type();
    Location loc = kernel.getLoc();
    Block *block = b.createBlock(&group.getBody(), {}, {i32, i32, i32}, {loc, loc, loc});
    for (StringRef name : names) {
      auto it = roles.find(name);
      if (it == roles.end())
        return kernel.emitOpError("group '") << g.name << "' asks for role '" << name
                                             << "', which this kernel does not have or another group runs";
      IRMapping map;
      map.map(it->second.getBody().front().getArguments(), block->getArguments());
      for (Operation &op : it->second.getBody().front()) {
        Operation *copy = b.clone(op, map);
        copy->setAttr("tile.role", b.getStringAttr(name));
      }
      it->second.erase();
      roles.erase(it);
    }
  }
  if (!roles.empty())
    return kernel.emitOpError("role '") << roles.begin()->first() << "' is mapped to no group";
  return success();
}

struct MapRoles : PassWrapper<MapRoles, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MapRoles)
  StringRef getArgument() const final { return "tile-map-roles"; }
  StringRef getDescription() const final { return "merge roles onto the warp groups that the schedule gives them"; }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(mapRoles(kernel)))
        return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createMapRolesPass() { return std::make_unique<MapRoles>(); }
