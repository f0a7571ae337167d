// passes/Lower/NetworkBuilder.cpp - small helpers that spell a network of roles and channels.
#include "passes/Lower/NetworkBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

NetworkBuilder::NetworkBuilder(ModuleOp module, StringRef name, StringRef offsets, const Schedule &schedule,
                               const Target &target, Location loc)
    : b(module.getContext()), schedule(schedule), target(target), loc(loc) {
  b.setInsertionPointToEnd(module.getBody());
  kernel = KernelOp::create(b, loc, name, target.name, schedule.toAttr(b.getContext()));
  kernel->setAttr("offsets", b.getStringAttr(offsets));
  b.createBlock(&kernel.getBody());
}

void NetworkBuilder::tensor(StringRef name, StringRef role, Type element, int64_t heads, int64_t cols, StringRef of,
                            int64_t column) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  StringAttr whole = of.empty() ? StringAttr() : b.getStringAttr(of);
  TensorOp::create(b, loc, name, role, element, heads, cols, whole,
                   whole ? b.getI64IntegerAttr(column) : IntegerAttr());
}

void NetworkBuilder::sharedTensor(StringRef name, StringRef of, Type element, int64_t cols) {
  tensor(name, "shared", element, 1, cols, of);
}

void NetworkBuilder::note(const llvm::Twine &text) {
  SmallVector<Attribute> notes;
  if (auto earlier = kernel->getAttrOfType<ArrayAttr>("notes"))
    llvm::append_range(notes, earlier);
  notes.push_back(b.getStringAttr(text));
  kernel->setAttr("notes", b.getArrayAttr(notes));
}

void NetworkBuilder::channel(StringRef name, int64_t rows, int64_t cols, Type element, Space space,
                             ArrayRef<std::string> stations) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  FlatSymbolRefAttr alias;
  if (auto it = schedule.aliases.find(name.str()); it != schedule.aliases.end())
    alias = FlatSymbolRefAttr::get(b.getContext(), it->second);
  // Registers hold one slot: a ring of them would be a choice of registers at run time.
  int64_t depth = space == Space::Registers ? 1 : schedule.depth(name.str());
  ChannelOp::create(b, loc, name, SlotType::get(b.getContext(), {rows, cols}, element, space), depth,
                      b.getStrArrayAttr(SmallVector<StringRef>(stations.begin(), stations.end())), alias,
                      IntegerAttr(), IntegerAttr());
}

void NetworkBuilder::role(StringRef name, llvm::function_ref<void(Item)> body) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  auto role = RoleOp::create(b, loc, name);
  currentRole = name.str();
  Type i32 = b.getI32Type();
  Block *block = b.createBlock(&role.getBody(), {}, {i32, i32, i32}, {loc, loc, loc});
  body({block->getArgument(0), block->getArgument(1), block->getArgument(2)});
}

Value NetworkBuilder::take(StringRef channel, int64_t station, Unit unit) {
  return TakeOp::create(b, loc, kernel.lookupSymbol<ChannelOp>(channel).getSlotType(), channel, station, unit);
}

Value NetworkBuilder::takeFor(StringRef channel, Unit unit) {
  ArrayAttr stations = kernel.lookupSymbol<ChannelOp>(channel).getStations();
  return take(channel, llvm::find(stations, b.getStringAttr(currentRole)) - stations.begin(), unit);
}

void NetworkBuilder::pass(Value slot) { PassOp::create(b, loc, slot); }

Value NetworkBuilder::read(Value slot) {
  auto type = cast<SlotType>(slot.getType());
  const GroupSchedule *group = schedule.groupOf(currentRole);
  RegisterLayout layout = registerLayout(target, type.getRows(), group ? group->warps : 4);
  return ReadOp::create(b, loc, regTile(layout, type.getRows(), type.getCols(), type.getElementType()), slot);
}

Value NetworkBuilder::reduce(Reduction kind, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return RowReduceOp::create(b, 
      loc, RankedTensorType::get({type.getDimSize(0)}, type.getElementType(), type.getEncoding()), kind, tile);
}

Value NetworkBuilder::broadcast(Value rowValues, Value like) {
  return BroadcastOp::create(b, loc, like.getType(), rowValues);
}

Value NetworkBuilder::splat(double value, Type type) {
  auto shaped = cast<RankedTensorType>(type);
  return arith::ConstantOp::create(b, 
      loc, DenseElementsAttr::get(shaped, b.getFloatAttr(shaped.getElementType(), value)));
}

IntegerAttr NetworkBuilder::diagonal(int64_t block) {
  return block < schedule.tileRows ? b.getI64IntegerAttr(block) : IntegerAttr();
}

KernelOp NetworkBuilder::finish() { return kernel; }
