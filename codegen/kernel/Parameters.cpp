// codegen/kernel/Parameters.cpp - the parameters of a kernel, in order, and their manifest.
#include "codegen/kernel/Parameters.h"
#include "dialect/Layout/SmemTile.h"

using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

static bool isLoaded(KernelOp kernel, TensorOp tensor) {
  bool found = false;
  kernel.walk([&](LoadOp load) { found |= load.getTensor() == tensor.getSymName(); });
  return found;
}

static bool isStored(KernelOp kernel, TensorOp tensor) {
  bool found = false;
  kernel.walk([&](StoreOp store) { found |= store.getTensor() == tensor.getSymName(); });
  return found;
}

Parameters::Parameters(KernelOp kernel, const Schedule &schedule) {
  std::string rows, heads;
  for (TensorOp tensor : kernel.getBody().getOps<TensorOp>()) {
    const std::string name = tensor.getSymName().str(), passed = tensor.getPassedName().str();
    const int64_t bytes = tensor.getElementType().getIntOrFloatBitWidth() / 8;
    const Expr offset(int64_t(tensor.getColumn().value_or(0)) * bytes);
    // A part of a tensor's rows has its heads side by side.
    const Expr headStride = tensor.getOf() ? Expr(int64_t(tensor.getCols())) : Expr(passed + ".stride.1");
    bool loaded = isLoaded(kernel, tensor), stored = isStored(kernel, tensor);
    if (loaded || stored) {
      layout::SmemTile tile(uint32_t(schedule.tileRows), uint32_t(tensor.getCols()), uint32_t(bytes));
      ParamSpec map;
      map.kind = ParamSpec::Kind::TensorMap;
      map.tensor = passed;
      map.offset = offset;
      map.dims = {Expr(int64_t(tensor.getCols())), Expr(passed + ".shape.0")};
      map.strides = {Expr(passed + ".stride.0") * Expr(bytes)};
      map.box = {int(tile.panelCols()), loaded ? kBoxRows : int(schedule.tileRows)};
      if (!tensor.isShared()) {
        map.dims.push_back(tensor.getOf() ? Expr(int64_t(tensor.getHeads())) : Expr(passed + ".shape.1"));
        map.strides.push_back(headStride * Expr(bytes));
        map.box.push_back(1);
      }
      map.swizzle = layout::name(tile.swizzle());
      map.l2Promotion = "128B";
      add("map:" + name, map);
      if (loaded) {
        map.box[1] = kTailRows;
        add("tail_map:" + name, map);
      }
    }
    if (rows.empty() && tensor.getRole() == "input")
      rows = passed + ".shape.0", heads = passed + ".shape.1";
    if (tensor.getRole() == "output") {
      ParamSpec p;
      p.kind = ParamSpec::Kind::Pointer;
      p.tensor = passed;
      p.offset = offset;
      add("pointer:" + name, p);
      p = {};
      p.kind = ParamSpec::Kind::I64;
      p.value = Expr(passed + ".stride.0");
      add("row_stride:" + name, p);
      p.value = headStride;
      add("head_stride:" + name, p);
    }
  }
  std::string table = kernel->getAttrOfType<mlir::StringAttr>("offsets").getValue().str();
  ParamSpec offsets;
  offsets.kind = ParamSpec::Kind::Pointer;
  offsets.tensor = table;
  add("offsets", offsets);
  auto scalar = [&](const char *name, Expr value) {
    ParamSpec p;
    p.kind = ParamSpec::Kind::I32;
    p.value = value;
    add(name, p);
  };
  // log2 of the size of an offset: 2 for i32, 3 for i64.
  scalar("offset_shift", floorDiv(Expr(table + ".itemsize"), Expr(4)) + Expr(1));
  scalar("batch", Expr("batch"));
  scalar("total", Expr(rows));
  scalar("heads", Expr(heads));
  // With a list, its tiles; else an upper bound (see Emitter::findItem), zero for an empty batch.
  std::string list = tileList(schedule.tileRows);
  Expr bound = (floorDiv(Expr(rows), Expr(schedule.tileRows)) + Expr("batch")) * minimum(Expr("batch"), Expr(1));
  kernel.walk([&](PositionOp) { listed = false; });
  if (listed) {
    Expr present(list + ".present");
    scalar("items", (present * Expr(list + ".shape.0") + (Expr(1) - present) * bound) * Expr(heads));
    ParamSpec tiles;
    tiles.kind = ParamSpec::Kind::Pointer;
    tiles.tensor = list;
    add("tiles", tiles);
  } else {
    scalar("items", bound * Expr(heads));
  }
  for (TableOp op : kernel.getBody().getOps<TableOp>()) {
    std::string name = op.getSymName().str();
    ParamSpec p;
    p.kind = ParamSpec::Kind::Pointer;
    p.tensor = name;
    add("pointer:" + name, p);
    for (int64_t n = 0; n < int64_t(op.getDims()); ++n) {
      p = {};
      p.kind = ParamSpec::Kind::I32;
      p.value = Expr(name + ".shape." + std::to_string(n));
      add("size:" + name + std::to_string(n), p);
      p.kind = ParamSpec::Kind::I64;
      p.value = Expr(name + ".stride." + std::to_string(n));
      if (n + 1 < int64_t(op.getDims()))
        add("stride:" + name + std::to_string(n), p);
    }
  }
}

void Parameters::add(std::string key, ParamSpec spec) {
  unsigned index = list.size();
  list.push_back({std::move(key), {index, std::move(spec)}});
}

const ParamRef &Parameters::get(const std::string &key) const {
  for (auto &[name, ref] : list)
    if (name == key)
      return ref;
  llvm::report_fatal_error(llvm::Twine("kernel has no parameter ") + key);
}

std::vector<KernelParam> Parameters::types(OpBuilder &b) const {
  std::vector<KernelParam> types;
  for (auto &[name, ref] : list)
    switch (ref.spec.kind) {
    case ParamSpec::Kind::TensorMap:
      types.push_back(KernelParam::tensorMap());
      break;
    case ParamSpec::Kind::Pointer:
    case ParamSpec::Kind::Scratch:
      types.push_back({pointerType(b, Global)});
      break;
    case ParamSpec::Kind::I32:
      types.push_back({b.getI32Type()});
      break;
    case ParamSpec::Kind::I64:
      types.push_back({b.getI64Type()});
      break;
    case ParamSpec::Kind::F32:
      types.push_back({b.getF32Type()});
      break;
    }
  return types;
}

std::vector<ParamSpec> Parameters::specs() const {
  std::vector<ParamSpec> specs;
  for (auto &[name, ref] : list)
    specs.push_back(ref.spec);
  return specs;
}

KernelSpec fovea::codegen::kernelSpec(KernelOp kernel, const Schedule &schedule, llvm::StringRef operation) {
  Parameters params(kernel, schedule);
  KernelSpec spec;
  spec.name = operation.str();
  spec.entry = kernel.getSymName().str();
  spec.block = {int(32 * schedule.warps()), 1, 1};
  spec.ctasPerSm = int(schedule.ctasPerSm);
  spec.dynamicSmem = int(kernel->getAttrOfType<mlir::IntegerAttr>("smem_bytes").getInt());
  spec.tmemColumns = int(kernel->getAttrOfType<mlir::IntegerAttr>("tmem_columns").getInt());
  Expr items = params.scalar("items").spec.value;
  spec.grid[0] = schedule.persistent ? minimum(items, Expr("sm_count") * Expr(schedule.ctasPerSm)) : items;
  spec.params = params.specs();
  return spec;
}
