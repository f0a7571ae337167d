// codegen/kernel/TensorMap.cpp - how TMA sees a tensor of a kernel.
#include "codegen/kernel/TensorMap.h"

#include "codegen/kernel/Parameters.h"
#include "dialect/Layout/SmemTile.h"

using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

bool codegen::isLoaded(KernelOp kernel, TensorOp tensor) {
  bool found = false;
  kernel.walk([&](LoadOp load) { found |= load.getTensor() == tensor.getSymName(); });
  return found;
}

bool codegen::isStored(KernelOp kernel, TensorOp tensor) {
  bool found = false;
  kernel.walk([&](StoreOp store) { found |= store.getTensor() == tensor.getSymName(); });
  return found;
}

Expr codegen::headStrideOf(TensorOp tensor) {
  return tensor.getPacked() ? Expr(int64_t(*tensor.getPacked()))
                            : Expr(tensor.getPassedName().str() + (tensor.getBatched() ? ".stride.2" : ".stride.1"));
}

namespace {
// What one load or store moves of a tensor.
struct Moved {
  int64_t rows = 0;
  int64_t cols;      // a store may bring out some of the tensor's
  int64_t teams = 1; // of the group that stores: each brings out its own rows
};
} // namespace

static Moved moved(KernelOp kernel, TensorOp tensor) {
  Moved found{0, int64_t(tensor.getCols()), 1};
  kernel.walk([&](mlir::Operation *op) {
    if (auto load = llvm::dyn_cast<LoadOp>(op); load && load.getTensor() == tensor.getSymName())
      found.rows = mlir::cast<SlotType>(load.getSlot().getType()).getRows();
    if (auto store = llvm::dyn_cast<StoreOp>(op); store && store.getTensor() == tensor.getSymName()) {
      auto slot = mlir::cast<SlotType>(store.getSlot().getType());
      found = {slot.getRows(), slot.getCols(), int64_t(store->getParentOfType<GroupOp>().getTeams())};
    }
  });
  return found;
}

ParamSpec codegen::tensorMap(KernelOp kernel, TensorOp tensor, bool loaded) {
  const std::string name = tensor.getPassedName().str();
  const auto [rows, cols, teams] = moved(kernel, tensor);
  int64_t bytes = tensor.getElementType().getIntOrFloatBitWidth() / 8;
  layout::SmemTile tile(uint32_t(rows), uint32_t(tensor.getCols()), uint32_t(bytes));
  const int first = tensor.getBatched() ? 1 : 0;
  auto extent = [&](int dim) { return Expr(name + ".shape." + std::to_string(dim)); };
  const Expr rowStride = Expr(name + ".stride." + std::to_string(first)) * Expr(bytes);
  const Expr heads = tensor.getPacked() ? Expr(int64_t(tensor.getHeads())) : extent(first + 1);
  ParamSpec map;
  map.kind = ParamSpec::Kind::TensorMap;
  map.tensor = name;
  map.offset = Expr(int64_t(tensor.getColumn().value_or(0)) * bytes);
  map.swizzle = layout::name(tile.swizzle());
  map.l2Promotion = "128B";
  if (!kernel->hasAttr("key_blocks")) {
    map.dims = {Expr(int64_t(tensor.getCols())), extent(0)};
    map.strides = {rowStride};
    map.box = {int(tile.panelCols()), loaded ? kBoxRows : int(rows)};
  } else {
    int64_t panels = tile.panelCount();
    map.dims = {Expr(int64_t(tile.panelCols())), extent(first), Expr(panels)};
    map.strides = {rowStride, Expr(int64_t(tile.panelCols()) * bytes)};
    map.box = {int(tile.panelCols()), int(rows), int(std::max<int64_t>(1, panels * cols / int64_t(tensor.getCols())))};
    if (teams > 1) // a panel at a time
      map.box = {int(tile.panelCols()), int(rows / teams), 1};
    map.l2Promotion = "256B";
  }
  const Expr headStride = headStrideOf(tensor) * Expr(bytes);
  if (const int64_t packed = tensor.getTileHeads(); packed != 1) {
    // {columns of a panel, heads, rows, panels, batch}: the heads of a row one behind the other.
    map.dims.insert(map.dims.begin() + 1, heads);
    map.strides.insert(map.strides.begin(), headStride);
    map.box.insert(map.box.begin() + 1, int(packed));
    map.box[2] /= int(packed);
  } else if (!tensor.isShared()) {
    map.dims.push_back(heads);
    map.strides.push_back(headStride);
    map.box.push_back(1);
  }
  if (first) {
    map.dims.push_back(extent(0));
    map.strides.push_back(Expr(name + ".stride.0") * Expr(bytes));
    map.box.push_back(1);
  }
  return map;
}
