// passes/Tile/MapRoles.cpp - pass tile-map-roles: merges roles onto their warps.
#include "dialect/Tile/Schedule.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Tile/Passes.h"

using namespace mlir;
using namespace fovea::tile;

namespace {
// The roles of one group become one program: what precedes their key blocks, the key blocks, what follows. A role is
// sequential, so roles in schedule order are a linear extension of the item's event graph exactly when the schedule's
// order is one; tile-prove-live checks that the chosen order is.
//
// Key blocks are software-pipelined by whole blocks: step t runs block t of the roles without lag and block t - 1 of
// those with a lag of 1. Step 0, the loop over 1 … count - 1, and the last block of the lagged roles:
//   qk(0) softmax(0) | loop t: qk(t) pv(t - 1) softmax(t) | pv(count - 1)
// Slots that a lagged role takes before its blocks it takes behind step 0: the others need not wait for them. Where
// nothing but passes follows the blocks of all roles, each passes on right behind its own last block.
class GroupProgram {
public:
  GroupProgram(GroupOp group, const Schedule &schedule, ArrayRef<RoleOp> roles, bool shareScalars)
      : group(group), b(OpBuilder::atBlockEnd(&group.getBody().front())), loc(group.getLoc()), shareScalars(shareScalars) {
    for (RoleOp op : roles) {
      Role role{op, {}, schedule.lag(op.getSymName().str()), {}, {}, false};
      auto blocks = op.getBody().front().getOps<BlocksOp>();
      if (!blocks.empty())
        role.blocks = *blocks.begin();
      role.map.map(op.getBody().front().getArguments(), group.getBody().front().getArguments());
      list.push_back(role);
    }
  }

  LogicalResult run() {
    // A role without key blocks stands where the schedule lists it: before the others' loop, or behind it.
    auto looping = llvm::find_if(list, [](Role &role) { return bool(role.blocks); });
    for (Role &role : list) {
      if (!role.blocks && &role > &*looping)
        continue;
      for (Operation &op : role.op.getBody().front()) {
        if (&op == role.blocks)
          break;
        if (!isDeferred(op, role))
          clone(op, role);
      }
    }
    if (failed(mergeBlocks()))
      return failure();
    for (Role &role : list) {
      if (role.blocks) {
        finish(role);
      } else if (&role > &*looping) {
        for (Operation &op : role.op.getBody().front())
          clone(op, role);
      }
    }
    return success();
  }

private:
  struct Role {
    RoleOp op;
    BlocksOp blocks;
    int64_t lag;
    IRMapping map;
    SmallVector<Value> carried; ///< of the block that comes next
    bool finished = false;      ///< what follows its blocks has been written
  };

  void clone(Operation &op, Role &role, std::optional<int64_t> visit = {}) {
    // A copied mapping: one that knows a region's arguments would not clone them a second time.
    IRMapping inside(role.map);
    Operation *cloned = b.clone(op, inside);
    role.map.map(op.getResults(), cloned->getResults());
    cloned->walk([&](Operation *copy) {
      if (!shareScalars || !isScalar(copy))
        copy->setAttr("tile.role", role.op.getSymNameAttr());
      if (auto take = dyn_cast<TakeOp>(copy); take && visit)
        take.setVisit(*visit);
    });
  }

  // What follows the blocks of a role.
  void finish(Role &role) {
    if (std::exchange(role.finished, true))
      return;
    role.map.map(role.blocks.getResults(), role.carried);
    for (Operation *op = role.blocks->getNextNode(); op; op = op->getNextNode())
      clone(*op, role);
  }
  static bool onlyPasses(Role *role) {
    for (Operation *op = role->blocks->getNextNode(); op; op = op->getNextNode())
      if (!isa<PassOp>(op))
        return false;
    return true;
  }

  static bool isDeferred(Operation &op, const Role &role) { return role.blocks && role.lag == 1 && isa<TakeOp>(op); }

  // One block of a role; afterwards `carried` is what the block yields.
  void block(Role &role, Region &region, Value t) {
    Block &body = region.front();
    role.map.map(body.getArgument(0), t);
    if (body.getNumArguments() > 1)
      role.map.map(body.getArguments().drop_front(), role.carried);
    for (Operation &op : body.without_terminator())
      clone(op, role, role.lag);
    role.carried.clear();
    for (Value v : body.getTerminator()->getOperands())
      role.carried.push_back(role.map.lookupOrDefault(v));
  }

  static bool isScalar(Operation *op) {
    return isPure(op) && op->getNumResults() &&
           llvm::all_of(op->getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
  }

  Value constant(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value))); }

  // The blocks from … to - 1 of all roles; `edge`: with the edge of the role that has one.
  void loop(ArrayRef<Role *> looping, Value from, Value to, bool pipelined, bool edge) {
    SmallVector<Value> inits;
    for (Role *role : looping)
      llvm::append_range(inits, role->carried);
    auto loop = LoopOp::create(b, loc, TypeRange(ValueRange(inits)), from, to, inits, edge);
    SmallVector<Type> types{b.getI32Type()};
    llvm::append_range(types, TypeRange(ValueRange(inits)));
    auto distribute = [&](ValueRange values) {
      for (Role *role : looping) {
        llvm::copy(values.take_front(role->carried.size()), role->carried.begin());
        values = values.drop_front(role->carried.size());
      }
    };
    {
      OpBuilder::InsertionGuard guard(b);
      Block *body = b.createBlock(&loop.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
      Value t = body->getArgument(0);
      distribute(body->getArguments().drop_front());
      Value before = pipelined ? Value(arith::SubIOp::create(b, loc, t, constant(1))) : Value();
      for (Role *role : looping) {
        Region &edges = role->blocks.getEdge();
        block(*role, edge && !edges.empty() ? edges : role->blocks.getBody(), role->lag ? before : t);
      }
      SmallVector<Value> yields;
      for (Role *role : looping)
        llvm::append_range(yields, role->carried);
      YieldOp::create(b, loc, yields);
    }
    distribute(loop.getResults());
  }

  LogicalResult mergeBlocks() {
    SmallVector<Role *> looping;
    bool pipelined = false, first = false;
    for (Role &role : list) {
      if (!role.blocks)
        continue;
      looping.push_back(&role);
      pipelined |= role.lag == 1;
      first |= !role.blocks.getFirst().empty();
      if (role.lag < 0 || role.lag > 1 || (role.lag == 1 && !role.blocks.getFirst().empty()))
        return role.op.emitOpError("role '") << role.op.getSymName()
                                             << "' can lag by 0 or 1 key blocks, and by 0 if its first block differs";
      for (Value init : role.blocks.getInits())
        role.carried.push_back(role.map.lookupOrDefault(init));
    }
    if (looping.empty())
      return success();
    Value count = looping.front()->map.lookupOrDefault(looping.front()->blocks.getCount());
    const bool peel = pipelined || first;
    if (peel) {
      Value zero = constant(0);
      for (Role *role : looping)
        if (role->lag == 0)
          block(*role, role->blocks.getFirst().empty() ? role->blocks.getBody() : role->blocks.getFirst(), zero);
    }
    for (Role *role : looping)
      for (Operation &op : role->op.getBody().front()) {
        if (&op == role->blocks)
          break;
        if (isDeferred(op, *role))
          clone(op, *role);
      }

    // Blocks at an edge of a mask have loops of their own: before the plain ones, which a role may say end early.
    Role *masking = nullptr;
    for (Role *role : looping)
      if (!role->blocks.getEdge().empty()) {
        if (masking || !peel)
          return role->op.emitOpError("expected one role with an edge in a group, and a block 0 of its own");
        masking = role;
      }
    Value from = constant(peel ? 1 : 0);
    if (!masking) {
      loop(looping, from, count, pipelined, false);
    } else {
      Value plain = masking->map.lookupOrDefault(masking->blocks.getPlainFrom());
      Value end = masking->blocks.getPlainTo() ? masking->map.lookupOrDefault(masking->blocks.getPlainTo()) : count;
      loop(looping, from, plain, pipelined, true);
      loop(looping, plain, end, pipelined, false);
      if (end != count)
        loop(looping, end, count, pipelined, true);
    }
    const bool early = llvm::all_of(looping, onlyPasses);
    if (early)
      for (Role *role : looping)
        if (role->lag == 0)
          finish(*role);
    if (pipelined) {
      Value last = arith::SubIOp::create(b, loc, count, constant(1));
      for (Role *role : looping)
        if (role->lag == 1) {
          block(*role, role->blocks.getBody(), last);
          if (early)
            finish(*role);
        }
    }
    return success();
  }

  GroupOp group;
  OpBuilder b;
  Location loc;
  SmallVector<Role> list;
  /// Whether scalars belong to no role, so that those which several roles compute can become one.
  bool shareScalars;
};

LogicalResult mapRoles(KernelOp kernel) {
  llvm::Expected<Schedule> schedule = Schedule::fromAttr(kernel.getSchedule());
  if (!schedule)
    return kernel.emitOpError(llvm::toString(schedule.takeError()));
  llvm::StringMap<RoleOp> roles;
  for (RoleOp role : kernel.getBody().getOps<RoleOp>())
    roles[role.getSymName()] = role;

  // Each role asks a list in memory for its blocks; a group asks once.
  bool asksList = false;
  kernel.walk([&](ListRowOp) { asksList = true; });

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
                                   b.getStrArrayAttr(names), g.teams);
    SmallVector<Type> types(itemArguments(kernel->hasAttr("key_blocks")), b.getI32Type());
    b.createBlock(&group.getBody(), {}, types, SmallVector<Location>(types.size(), kernel.getLoc()));
    SmallVector<RoleOp> mapped;
    for (StringRef name : names) {
      auto it = roles.find(name);
      if (it == roles.end())
        return kernel.emitOpError("group '") << g.name << "' asks for role '" << name
                                             << "', which this kernel does not have or another group runs";
      mapped.push_back(it->second);
      roles.erase(it);
    }
    if (failed(GroupProgram(group, *schedule, mapped, asksList).run()))
      return failure();
    if (asksList) {
      DominanceInfo dominance(group);
      IRRewriter rewriter(b);
      eliminateCommonSubExpressions(rewriter, dominance, group);
      // Reading a list that nobody asks costs a load in each block.
      group.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isOpTriviallyDead(op))
          op->erase();
      });
    }
    for (RoleOp role : mapped)
      role.erase();
  }
  if (!roles.empty())
    return kernel.emitOpError("role '") << roles.begin()->first() << "' is mapped to no group";
  return success();
}

struct MapRoles : PassWrapper<MapRoles, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MapRoles)
  StringRef getArgument() const final { return "tile-map-roles"; }
  StringRef getDescription() const final { return "merge roles onto the warp groups that the schedule gives them"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<arith::ArithDialect>(); }
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(mapRoles(kernel)))
        return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> fovea::tile::createMapRolesPass() { return std::make_unique<MapRoles>(); }
