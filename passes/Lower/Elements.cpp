// passes/Lower/Elements.cpp - the tensors like o that an epilogue reads.
#include "passes/Lower/Elements.h"
#include "dialect/Layout/SmemTile.h"
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
