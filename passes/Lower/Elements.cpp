// passes/Lower/Elements.cpp - epilogues: the tensors like o that one reads, and its expressions.
#include "passes/Lower/Elements.h"
#include "dialect/Layout/SmemTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Lower/Translation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

// Symbols of the kernel, which a user's name could meet.
static std::string symbol(size_t k) { return "element" + std::to_string(k); }

std::optional<size_t> ElementTensors::find(StringRef name) const {
  auto it = llvm::find(names, name);
  return it == names.end() ? std::nullopt : std::optional<size_t>(it - names.begin());
}

void ElementTensors::declare(NetworkBuilder &n, int64_t rows,
                             llvm::function_ref<std::vector<std::string>(size_t)> stations, StringRef load) const {
  for (auto [k, name] : llvm::enumerate(names)) {
    n.tensor(symbol(k), "input", p.element, p.heads, p.valueDim, name);
    std::vector<std::string> all = stations(k);
    all.insert(all.begin(), load.str());
    n.channel(channel(k), rows, p.valueDim, p.element, Space::Smem, all);
    n.note(channel(k) + " holds '" + name + "'");
  }
}

void ElementTensors::emitLoads(NetworkBuilder &n, Item item, Location loc) const {
  for (size_t k = 0; k < names.size(); ++k) {
    Value slot = n.take(channel(k), 0, Unit::Tma);
    LoadOp::create(n.b, loc, symbol(k), item.row, item.rows, item.head, slot, FlatSymbolRefAttr());
    n.pass(slot);
  }
}

std::vector<Value> ElementTensors::take(NetworkBuilder &n) const {
  std::vector<Value> slots;
  for (size_t k = 0; k < names.size(); ++k)
    slots.push_back(n.takeFor(channel(k), Unit::Threads));
  return slots;
}

int64_t ElementTensors::bytes(int64_t rows) const {
  return int64_t(names.size()) * int64_t(layout::SmemTile(uint32_t(rows), uint32_t(p.valueDim), 2).slotBytes());
}

bool fovea::asksForPosition(attn::MapElementsOp op) {
  BlockArgument i = op.getBody().front().getArgument(op.getInputs().size());
  return llvm::any_of(i.getUsers(), [](Operation *user) { return !isa<attn::LookupOp>(user); });
}

// The value of `map`'s expression for one element, from those of its operands; maps behind operands are computed, too.
static llvm::Expected<Value> translateElements(OpBuilder &b, attn::MapElementsOp map, const ElementScalars &scalars,
                                               const llvm::DenseMap<Value, Value> &elements, Value row, Value column) {
  PairScalars none;
  Translation translation(b, map.getLoc(), none);
  Block &source = map.getBody().front();
  const size_t n = map.getInputs().size();
  for (auto [t, operand] : llvm::enumerate(map.getInputs())) {
    Value element = elements.lookup(operand);
    if (auto inner = operand.getDefiningOp<attn::MapElementsOp>(); !element && inner) {
      llvm::Expected<Value> value = translateElements(b, inner, scalars, elements, row, column);
      if (!value)
        return value;
      element = *value;
    }
    if (!element)
      return llvm::createStringError("attn.map_elements: expected an epilogue of o and of tensors like it");
    translation.bind(source.getArgument(t), element);
  }
  for (unsigned index : {3, 4}) // b, n
    if (!source.getArgument(n + index).use_empty())
      return llvm::createStringError("attn.map_elements: expected an epilogue that asks for i, h and d alone: the sequence "
                                     "and its length are not at hand where a tile holds its keys");
  auto sum = [&](Value x, Value y) { return arith::AddIOp::create(b, map.getLoc(), x, y).getResult(); };
  translation.bindElement(source.getArgument(n), scalars.position ? sum(scalars.position, row) : Value(),
                          source.getArgument(n + 1), scalars.head, source.getArgument(n + 2), column,
                          sum(scalars.row, row));
  return translation.translate(cast<attn::ResultOp>(source.back()).getValue());
}

llvm::Error fovea::emitMapElements(OpBuilder &b, Location loc, ArrayRef<std::pair<Value, Value>> operands,
                                   ArrayRef<ElementOutput> outputs, const ElementScalars &scalars) {
  SmallVector<Value> in, out;
  for (auto &[tensor, slot] : operands)
    in.push_back(slot);
  for (const ElementOutput &output : outputs)
    out.push_back(output.slot);
  auto op = tile::MapElementsOp::create(b, loc, in, out);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(in.size(), b.getF32Type());
  types.append(2, b.getI32Type());
  Block *block = b.createBlock(&op.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  llvm::DenseMap<Value, Value> elements;
  for (auto [n, operand] : llvm::enumerate(operands))
    elements[operand.first] = block->getArgument(n);
  SmallVector<Value> values;
  for (const ElementOutput &output : outputs) {
    llvm::Expected<Value> value =
        translateElements(b, output.value, scalars, elements, block->getArgument(in.size()), block->getArgument(in.size() + 1));
    if (!value) {
      op.erase();
      return value.takeError();
    }
    values.push_back(*value);
  }
  tile::YieldOp::create(b, loc, values);
  return llvm::Error::success();
}
