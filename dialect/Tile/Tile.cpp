// dialect/Tile/Tile.cpp - verifiers, the slot type's syntax, and registration of the dialect `tile`.
#include "dialect/Tile/Tile.h"
#include "dialect/Tile/KeyLimits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::tile;

#include "dialect/Tile/TileDialect.cpp.inc"
#include "dialect/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Tile/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Tile/TileOps.cpp.inc"
      >();
}

// !tile.slot<64x128xbf16, smem>
Type SlotType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseComma())
    return {};
  StringRef space;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&space))
    return {};
  std::optional<Space> parsed = symbolizeSpace(space);
  if (!parsed) {
    parser.emitError(loc) << "expected a slot space (smem, tmem or registers), found '" << space << "'";
    return {};
  }
  if (shape.size() != 2) {
    parser.emitError(loc) << "expected a slot of rows x columns, found rank " << shape.size();
    return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, element, *parsed);
}

void SlotType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElementType() << ", "
          << stringifySpace(getSpace()) << ">";
}

namespace fovea::tile {

ChannelOp channelOf(TakeOp take) {
  auto kernel = take->getParentOfType<KernelOp>();
  return kernel ? kernel.lookupSymbol<ChannelOp>(take.getChannel()) : ChannelOp();
}

TakeOp takeOf(Value slot) { return slot.getDefiningOp<TakeOp>(); }

ChannelOp channelOf(Value slot) {
  TakeOp take = takeOf(slot);
  return take ? channelOf(take) : ChannelOp();
}

RankedTensorType regTile(RegisterLayout layout, int64_t rows, int64_t cols, Type element) {
  SmallVector<int64_t> shape{rows};
  if (cols)
    shape.push_back(cols);
  return RankedTensorType::get(shape, element, RegsAttr::get(element.getContext(), layout));
}

ChannelOp ownerOf(ChannelOp channel) {
  while (channel && channel.getView())
    channel = channel->getParentOfType<KernelOp>().lookupSymbol<ChannelOp>(*channel.getAlias());
  return channel;
}

ChannelOp hostOf(ChannelOp channel) {
  if (!channel.getAlias() || channel.getView())
    return {};
  return channel->getParentOfType<KernelOp>().lookupSymbol<ChannelOp>(*channel.getAlias());
}

bool isHost(ChannelOp channel) {
  auto kernel = channel->getParentOfType<KernelOp>();
  return llvm::any_of(kernel.getBody().getOps<ChannelOp>(), [&](ChannelOp other) { return hostOf(other) == channel; });
}

RegisterLayout registerLayout(const Target &target, int64_t rows, int64_t warps) {
  return target.tcgen05 && rows == 128 && warps == 4 ? RegisterLayout::Rows : RegisterLayout::Fragment;
}

} // namespace fovea::tile

LogicalResult ChannelOp::verify() {
  if (getDepth() < 1)
    return emitOpError("expected a depth of at least 1, found ") << getDepth() << " [tile.channel-C1]";
  if (getStations().size() < 2)
    return emitOpError("expected at least two stations, since a slot must be filled and read, found ")
           << getStations().size() << " [tile.channel-C2]";
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (getView()) {
    auto other = getAlias() ? kernel.lookupSymbol<ChannelOp>(*getAlias()) : ChannelOp();
    if (!other || other == *this || other.getSlotType() != getSlotType() || other.getDepth() != getDepth())
      return emitOpError("is a view: expected the alias of a channel with the same slots and depth [tile.channel-C4]");
  }
  for (Attribute station : getStations()) {
    StringRef name = cast<StringAttr>(station).getValue();
    bool found = false;
    for (Operation &op : kernel.getBody().front()) {
      if (auto role = dyn_cast<RoleOp>(op))
        found |= role.getSymName() == name;
      if (auto group = dyn_cast<GroupOp>(op))
        found |= llvm::is_contained(group.getRoles(), station);
    }
    if (!found)
      return emitOpError("station '") << name << "' is no role of this kernel [tile.channel-C2]";
  }
  return success();
}

LogicalResult RoleOp::verify() {
  Block &block = getBody().front();
  const bool keyBlocks = (*this)->getParentOfType<KernelOp>()->hasAttr("key_blocks");
  if (block.getNumArguments() != itemArguments(keyBlocks) ||
      llvm::any_of(block.getArgumentTypes(), [](Type t) { return !t.isInteger(32); }))
    return emitOpError("expected the body arguments (row, rows, head")
           << (keyBlocks ? ", batch, query, queries, key, keys" : "") << ") : i32";
  return success();
}

LogicalResult TakeOp::verify() {
  ChannelOp channel = channelOf(*this);
  if (!channel)
    return emitOpError("expected a channel of this kernel, found '") << getChannel() << "'";
  if (getStation() >= channel.getStations().size())
    return emitOpError("station ") << getStation() << " does not exist: channel '" << getChannel()
                                   << "' has " << channel.getStations().size();
  StringRef station = cast<StringAttr>(channel.getStations()[getStation()]).getValue();
  if (auto role = (*this)->getParentOfType<RoleOp>(); role && role.getSymName() != station)
    return emitOpError("role '") << role.getSymName() << "' takes '" << getChannel() << "' at station "
                                 << getStation() << ", which belongs to '" << station << "'";
  if (channel.getSlotType() != getSlot().getType())
    return emitOpError("expected ") << channel.getSlotType() << ", the channel's slot type";
  // Linearity: passed exactly once, and not used afterwards.
  PassOp pass;
  for (Operation *user : getSlot().getUsers()) {
    auto p = dyn_cast<PassOp>(user);
    if (p && pass)
      return emitOpError("slot of '") << getChannel() << "' is passed twice [tile.pass-C1]";
    if (p)
      pass = p;
  }
  if (!pass)
    return emitOpError("slot of '") << getChannel() << "' is never passed on [tile.pass-C1]";
  for (Operation *user : getSlot().getUsers())
    if (user != pass && user->getBlock() == pass->getBlock() && pass->isBeforeInBlock(user))
      return emitOpError("slot of '") << getChannel() << "' is used after it was passed [tile.pass-C1]";
  return success();
}

// The values that a body carries: its arguments behind t, what it yields, the inits and the results agree.
static LogicalResult verifyCarried(Operation *op, Region &body, TypeRange inits, bool carriedArguments = true) {
  Block &block = body.front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || TypeRange(yield.getValues()) != op->getResultTypes())
    return op->emitOpError("expected a body that yields the types of the results");
  unsigned first = isa<RareOp>(op) ? 0 : 1;
  if (first && (block.getNumArguments() < 1 || !block.getArgument(0).getType().isInteger(32)))
    return op->emitOpError("expected the block's number, an i32, as the first argument of a body");
  TypeRange arguments = TypeRange(block.getArgumentTypes()).drop_front(first);
  if (carriedArguments ? arguments != op->getResultTypes() : !arguments.empty())
    return op->emitOpError("expected a body whose arguments behind the block's number are what it carries");
  if (inits != op->getResultTypes())
    return op->emitOpError("expected initial values of the types of the results");
  return success();
}

LogicalResult GroupOp::verify() {
  if (getTeams() < 1 || (getTeams() > 1 && getWarps() != 4 * getTeams()))
    return emitOpError("expected teams of 4 warps, found ") << getTeams() << " teams of " << getWarps()
                                                            << " warps [tile.group-C1]";
  return success();
}

LogicalResult TeamRowsOp::verify() {
  auto group = (*this)->getParentOfType<GroupOp>();
  if (group && group.getTeams() < 2)
    return emitOpError("expected a group in teams, since group '") << group.getSymName() << "' has all of the tile's rows";
  return success();
}

LogicalResult SkipBlocksOp::verify() {
  auto group = (*this)->getParentOfType<GroupOp>();
  if (!group)
    return success(); // still in a role
  if (group.getTeams() < 2)
    return emitOpError("expected a group in teams, since all of group '") << group.getSymName() << "' visits the same key blocks";
  if (group.getBody().front().getOps<LoopOp>().empty())
    return emitOpError("expected a loop over key blocks in group '") << group.getSymName() << "'";
  return success();
}

LogicalResult BlocksOp::verify() {
  if (getEdge().empty() != !getPlainFrom() || (getPlainTo() && !getPlainFrom()))
    return emitOpError("expected the first block without an edge exactly where there is an edge");
  if (!getEdge().empty() && failed(verifyCarried(*this, getEdge(), TypeRange(getResultTypes()))))
    return failure();
  if (getFirst().empty())
    return verifyCarried(*this, getBody(), getInits().getTypes());
  if (!getInits().empty())
    return emitOpError("takes its first values from its first block, so it needs no others");
  if (failed(verifyCarried(*this, getFirst(), getResultTypes(), /*carriedArguments=*/false)))
    return failure();
  return verifyCarried(*this, getBody(), getResultTypes());
}

LogicalResult LoopOp::verify() { return verifyCarried(*this, getBody(), getInits().getTypes()); }
LogicalResult RareOp::verify() { return verifyCarried(*this, getBody(), getInits().getTypes(), false); }

LogicalResult PassOp::verify() {
  if (!takeOf(getSlot()))
    return emitOpError("expected a slot that this role took");
  return success();
}

LogicalResult MmaOp::verify() {
  auto shape = [](Value v, bool transposed) {
    auto type = cast<SlotType>(v.getType());
    return transposed ? std::pair(type.getCols(), type.getRows()) : std::pair(type.getRows(), type.getCols());
  };
  auto [m, k] = shape(getA(), getATransposed());
  auto [kb, n] = shape(getB(), getBTransposed());
  auto d = cast<SlotType>(getD().getType());
  if (std::optional<uint64_t> from = getFrom()) {
    if (getDiagonal() || getATransposed() || getBTransposed() || int64_t(*from) + k > kb)
      return emitOpError("takes ") << k << " of the " << kb << " rows of B from row " << *from
                                   << ": expected rows of it, neither operand transposed, and no diagonal";
    kb = k;
  }
  if (getDiagonal()) {
    // Blocks of rows are multiplied with each other; A may hold its pairs compactly (rows x block) or where their
    // keys are (rows x rows).
    int64_t block = *getDiagonal();
    if (d.getRows() % block)
      return emitOpError("diagonal(") << block << ") does not divide the " << d.getRows() << " rows of the product";
    m = d.getRows();
    if (getBTransposed())
      n = block; // scores: D is rows x block
    else
      k = kb = block;
  }
  if (k != kb || d.getRows() != m || d.getCols() != n)
    return emitOpError("shapes do not compose: (") << m << "x" << k << ") * (" << kb << "x" << n << ") into "
                                                   << d.getRows() << "x" << d.getCols();
  return success();
}

LogicalResult ColumnsOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType()), result = cast<RankedTensorType>(getResult().getType());
  if (tile.getRank() != 2 || result.getRank() != 2 || tile.getEncoding() != result.getEncoding() ||
      tile.getElementType() != result.getElementType() || tile.getDimSize(0) != result.getDimSize(0) ||
      int64_t(getFrom()) + result.getDimSize(1) > tile.getDimSize(1) ||
      cast<RegsAttr>(tile.getEncoding()).getLayout() != RegisterLayout::Rows)
    return emitOpError("expected columns of a tile that lies a row a thread, found ")
           << result << " from column " << getFrom() << " of " << tile << " [tile.columns-C1]";
  return success();
}

// Constraint tile.rotate-C1.
static LogicalResult verifyRotation(Operation *op, SlotType tile, SlotType table) {
  Type element = table.getElementType();
  if (table.getSpace() != Space::Smem || !(element.isBF16() || element.isF32()))
    return op->emitOpError("expected a table of bf16 or f32 in smem, found ") << table << " [tile.rotate-C1]";
  if (table.getShape() != tile.getShape())
    return op->emitOpError("expected a table of ") << tile.getRows() << "x" << tile.getCols()
                                                   << ", the shape of the tile, found " << table.getRows() << "x"
                                                   << table.getCols() << " [tile.rotate-C1]";
  if (tile.getCols() % 32)
    return op->emitOpError("expected a multiple of 32 columns to turn, found ") << tile.getCols() << " [tile.rotate-C1]";
  return success();
}

LogicalResult RotateOp::verify() {
  auto type = cast<SlotType>(getSlot().getType());
  if (type.getSpace() != Space::Smem || type.getElementType().getIntOrFloatBitWidth() != 16)
    return emitOpError("expected a slot of 16-bit elements in smem, found ") << type;
  return verifyRotation(*this, type, cast<SlotType>(getTable().getType()));
}

LogicalResult CopyOp::verify() {
  auto from = cast<SlotType>(getFrom().getType()), to = cast<SlotType>(getTo().getType());
  if (std::optional<uint64_t> column = getColumn()) {
    if (from.getRows() != to.getRows() || int64_t(*column) + to.getCols() > from.getCols() || getTable())
      return emitOpError("expected a slot of ") << from.getRows() << " rows for columns of " << from.getCols() << " from " << *column
                                                << ", and no table; found " << to.getRows() << "x" << to.getCols();
    return success();
  }
  if (from.getShape() != to.getShape())
    return emitOpError("expected two slots of one shape, found ")
           << from.getRows() << "x" << from.getCols() << " and " << to.getRows() << "x" << to.getCols();
  return getTable() ? verifyRotation(*this, from, cast<SlotType>(getTable().getType())) : success();
}
