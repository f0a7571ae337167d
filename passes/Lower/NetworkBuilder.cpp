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
  if (schedule.keyRows)
    kernel->setAttr("key_blocks", b.getUnitAttr());
  b.createBlock(&kernel.getBody());
}

void NetworkBuilder::tensor(StringRef name, StringRef role, Type element, int64_t heads, int64_t cols, StringRef of,
                            int64_t column, bool batched, int64_t packed, int64_t tileHeads) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  StringAttr whole = of.empty() ? StringAttr() : b.getStringAttr(of);
  TensorOp::create(b, loc, name, role, element, heads, cols, whole,
                   whole ? b.getI64IntegerAttr(column) : IntegerAttr(),
                   packed ? b.getI64IntegerAttr(packed) : IntegerAttr(), batched, tileHeads);
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
                             ArrayRef<std::string> stations, StringRef view) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  FlatSymbolRefAttr alias;
  if (auto it = schedule.aliases.find(name.str()); it != schedule.aliases.end())
    alias = FlatSymbolRefAttr::get(b.getContext(), it->second);
  if (!view.empty())
    alias = FlatSymbolRefAttr::get(b.getContext(), view);
  // Registers hold one slot: a ring of them would be a choice of registers at run time.
  int64_t depth = space == Space::Registers ? 1 : schedule.depth(view.empty() ? name.str() : view.str());
  ChannelOp::create(b, loc, name, SlotType::get(b.getContext(), {rows, cols}, element, space), depth,
                    b.getStrArrayAttr(SmallVector<StringRef>(stations.begin(), stations.end())), alias,
                    /*view=*/!view.empty(), IntegerAttr(), IntegerAttr());
}

void NetworkBuilder::role(StringRef name, llvm::function_ref<void(Item)> body) {
  b.setInsertionPointToEnd(&kernel.getBody().front());
  auto role = RoleOp::create(b, loc, name);
  currentRole = name.str();
  SmallVector<Type> types(itemArguments(schedule.keyRows != 0), b.getI32Type());
  Block *block = b.createBlock(&role.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  Item item{block->getArgument(0), block->getArgument(1), block->getArgument(2), {}, {}, {}, {}, {}};
  if (schedule.keyRows)
    item.batch = block->getArgument(3), item.query = block->getArgument(4), item.queries = block->getArgument(5),
    item.key = block->getArgument(6), item.keys = block->getArgument(7);
  body(item);
}

Value NetworkBuilder::take(StringRef channel, int64_t station, Unit unit) {
  return TakeOp::create(b, loc, kernel.lookupSymbol<ChannelOp>(channel).getSlotType(), channel, station, unit,
                        IntegerAttr());
}

Value NetworkBuilder::takeFor(StringRef channel, Unit unit) {
  ArrayAttr stations = kernel.lookupSymbol<ChannelOp>(channel).getStations();
  return take(channel, llvm::find(stations, b.getStringAttr(currentRole)) - stations.begin(), unit);
}

void NetworkBuilder::pass(Value slot) { PassOp::create(b, loc, slot); }

RankedTensorType NetworkBuilder::registersOf(SlotType slot) {
  const GroupSchedule *group = schedule.groupOf(currentRole);
  RegisterLayout layout = registerLayout(target, slot.getRows(), group ? group->warps : 4);
  return regTile(layout, slot.getRows(), slot.getCols() == 1 ? 0 : slot.getCols(), slot.getElementType());
}

Value NetworkBuilder::read(Value slot) {
  return ReadOp::create(b, loc, registersOf(cast<SlotType>(slot.getType())), slot);
}

NetworkBuilder::Values NetworkBuilder::blocks(Value count, Values inits, llvm::function_ref<Values(Value)> first,
                                              llvm::function_ref<Values(Value, Values)> body,
                                              std::optional<Edge> edge) {
  // The carried types are known once the first block, or the inits, are; so the op is made behind its regions.
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  const bool hasFirst = bool(first);
  Values given = inits;
  Region firstRegion, bodyRegion, edgeRegion;
  Type number = b.getI32Type();
  if (first) {
    Block *block = b.createBlock(&firstRegion, {}, {number}, {loc});
    inits = first(block->getArgument(0));
    YieldOp::create(b, loc, inits);
  }
  SmallVector<Type> types{number};
  llvm::append_range(types, TypeRange(ValueRange(inits)));
  auto build = [&](Region &region, llvm::function_ref<Values(Value, Values)> program) {
    Block *block = b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
    YieldOp::create(b, loc, program(block->getArgument(0), Values(block->getArguments().drop_front())));
  };
  build(bodyRegion, body);
  if (edge)
    build(edgeRegion, edge->body);

  b.restoreInsertionPoint(here);
  auto op = BlocksOp::create(b, loc, TypeRange(ValueRange(inits)), count, edge ? edge->plainFrom : Value(),
                             edge ? edge->plainTo : Value(), hasFirst ? Values() : given);
  op.getFirst().takeBody(firstRegion);
  op.getBody().takeBody(bodyRegion);
  op.getEdge().takeBody(edgeRegion);
  return Values(op.getResults());
}

Value NetworkBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value)));
}
Value NetworkBuilder::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value NetworkBuilder::sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
Value NetworkBuilder::mul(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
Value NetworkBuilder::minimum(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
Value NetworkBuilder::maximum(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }

Value NetworkBuilder::reduce(Reduction kind, Value tile, bool partial) {
  auto type = cast<RankedTensorType>(tile.getType());
  return RowReduceOp::create(b, 
      loc, RankedTensorType::get({type.getDimSize(0)}, type.getElementType(), type.getEncoding()), kind, tile, partial);
}

Value NetworkBuilder::broadcast(Value rowValues, Value like) {
  return BroadcastOp::create(b, loc, like.getType(), rowValues);
}

Value NetworkBuilder::splat(double value, Type type) {
  auto shaped = cast<RankedTensorType>(type);
  return arith::ConstantOp::create(b, 
      loc, DenseElementsAttr::get(shaped, b.getFloatAttr(shaped.getElementType(), value)));
}

Value NetworkBuilder::lookUpHead(StringRef table, Value head, Type rows) {
  return LookupRowsOp::create(b, loc, rows, table, head, /*of_heads=*/schedule.packed != 1);
}

IntegerAttr NetworkBuilder::diagonal(int64_t block) {
  return block < schedule.tileRows ? b.getI64IntegerAttr(block) : IntegerAttr();
}

void NetworkBuilder::check(llvm::Error error) {
  if (error)
    kernel->setAttr("refused", b.getStringAttr(llvm::toString(std::move(error))));
}

Value NetworkBuilder::checked(llvm::Expected<Value> value, Value otherwise) {
  if (value)
    return *value;
  check(value.takeError());
  return otherwise;
}

KernelOp NetworkBuilder::finish() { return kernel; }
