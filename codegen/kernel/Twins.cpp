// codegen/kernel/Twins.cpp - two warp groups whose programs are one.
#include "codegen/kernel/Twins.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

namespace {

/// Walks two programs side by side.
class Comparison {
public:
  explicit Comparison(KernelOp kernel) : kernel(kernel) {}

  bool alike(Region &own, Region &other) {
    if (own.empty() || other.empty())
      return own.empty() == other.empty();
    if (!own.hasOneBlock() || !other.hasOneBlock() || own.getArgumentTypes() != other.getArgumentTypes())
      return false;
    for (auto [x, y] : llvm::zip_equal(own.getArguments(), other.getArguments()))
      values[x] = y;
    Block &a = own.front(), &b = other.front();
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](Operation &x, Operation &y) { return alike(x, y); });
  }

  Twin twin;

private:
  bool alike(Operation &own, Operation &other) {
    if (own.getName() != other.getName() || own.getResultTypes() != other.getResultTypes() ||
        own.getNumOperands() != other.getNumOperands() || own.getNumRegions() != other.getNumRegions())
      return false;
    for (auto [x, y] : llvm::zip_equal(own.getOperands(), other.getOperands()))
      if (values.lookup(x) != y)
        return false;
    if (!alikeConstants(own, other) && !alike(own.getAttrDictionary(), other.getAttrDictionary()))
      return false;
    for (auto [x, y] : llvm::zip_equal(own.getRegions(), other.getRegions()))
      if (!alike(x, y))
        return false;
    for (auto [x, y] : llvm::zip_equal(own.getResults(), other.getResults()))
      values[x] = y;
    return true;
  }

  // Constants of the program itself; those inside maps of elements are part of what a map computes.
  bool alikeConstants(Operation &own, Operation &other) {
    auto x = dyn_cast<arith::ConstantOp>(own), y = dyn_cast<arith::ConstantOp>(other);
    if (!x || !y || !x.getType().isInteger(32) || !isa<GroupOp, LoopOp, RareOp>(own.getParentOp()))
      return false;
    const int64_t distance = cast<IntegerAttr>(y.getValue()).getInt() - cast<IntegerAttr>(x.getValue()).getInt();
    // The code of a loop depends on where it begins.
    if (distance && llvm::any_of(own.getUsers(), [](Operation *user) { return isa<LoopOp>(user); }))
      return false;
    if (distance)
      twin.distances[&own] = distance;
    return true;
  }

  bool alike(DictionaryAttr own, DictionaryAttr other) {
    auto counts = [](NamedAttribute attribute) { return attribute.getName() != "tile.role"; };
    auto x = llvm::make_filter_range(own, counts), y = llvm::make_filter_range(other, counts);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](NamedAttribute a, NamedAttribute b) {
      auto p = dyn_cast<FlatSymbolRefAttr>(a.getValue()), q = dyn_cast<FlatSymbolRefAttr>(b.getValue());
      if (!p || !q)
        return a == b;
      return a.getName() == b.getName() && alikeSymbols(kernel.lookupSymbol(p), kernel.lookupSymbol(q));
    });
  }

  // One symbol of the twin for each of the own, and the other way about: registers are known by their channel.
  bool alikeSymbols(Operation *own, Operation *other) {
    auto [known, isNew] = symbols.try_emplace(own, other);
    if (!isNew)
      return known->second == other;
    if (!others.insert(other).second || own->getName() != other->getName())
      return false;
    std::optional<uint64_t> from, to;
    if (auto x = dyn_cast<ChannelOp>(own)) {
      auto y = cast<ChannelOp>(other);
      if (x.getSlot() != y.getSlot() || x.getDepth() != y.getDepth() || x.getSlotSize() != y.getSlotSize() ||
          x.getView() != y.getView() || x.getAlias().has_value() != y.getAlias().has_value())
        return false;
      if (x.getAlias() && !alikeSymbols(kernel.lookupSymbol(*x.getAlias()), kernel.lookupSymbol(*y.getAlias())))
        return false;
      from = x.getOffset(), to = y.getOffset();
    } else if (auto x = dyn_cast<BarrierOp>(own)) {
      auto y = cast<BarrierOp>(other);
      if (x.getCount() != y.getCount() || x.getDepth() != y.getDepth())
        return false;
      from = x.getOffset(), to = y.getOffset();
    } else if (own != other) {
      return false;
    }
    if (from.has_value() != to.has_value())
      return false;
    if (from && *from != *to)
      twin.distances[own] = int64_t(*to) - int64_t(*from);
    return true;
  }

  KernelOp kernel;
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<Operation *, Operation *> symbols;
  llvm::DenseSet<Operation *> others;
};

} // namespace

std::optional<Twin> codegen::twinOf(GroupOp own, GroupOp other) {
  if (own.getWarps() != other.getWarps() || own.getWarps() % 4 || own.getFirstWarp() % 4 ||
      other.getFirstWarp() != own.getFirstWarp() + own.getWarps() || own.getRegisters() != other.getRegisters() ||
      own.getTeams() != 1 || other.getTeams() != 1 || own.getBody().front().empty())
    return std::nullopt;
  Comparison comparison(own->getParentOfType<KernelOp>());
  if (!comparison.alike(own.getBody(), other.getBody()))
    return std::nullopt;
  return std::move(comparison.twin);
}
