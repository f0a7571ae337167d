// codegen/kernel/Parameters.cpp - the parameters of a kernel, in order, and their manifest.
#include "codegen/kernel/Parameters.h"
#include "codegen/kernel/TensorMap.h"

using namespace fovea;
using namespace fovea::codegen;
using namespace fovea::tile;

Parameters::Parameters(KernelOp kernel, const Schedule &schedule) {
  std::string rows, heads;
  for (TensorOp tensor : kernel.getBody().getOps<TensorOp>()) {
    const std::string name = tensor.getSymName().str(), passed = tensor.getPassedName().str();
    const int64_t bytes = tensor.getElementType().getIntOrFloatBitWidth() / 8;
    const Expr offset(int64_t(tensor.getColumn().value_or(0)) * bytes);
    const int first = tensor.getBatched() ? 1 : 0;
    const Expr headStride = headStrideOf(tensor);
    bool loaded = isLoaded(kernel, tensor), stored = isStored(kernel, tensor);
    if (loaded || stored) {
      ParamSpec map = tensorMap(kernel, tensor, loaded);
      add("map:" + name, map);
      if (loaded && !kernel->hasAttr("key_blocks")) {
        map.box[1] = kTailRows;
        add("tail_map:" + name, map);
      }
    }
    if (rows.empty() && tensor.getRole() == "input")
      rows = passed + ".shape." + std::to_string(first), heads = passed + ".shape." + std::to_string(first + 1);
    if (tensor.getRole() == "output") {
      ParamSpec p;
      p.kind = ParamSpec::Kind::Pointer;
      p.tensor = passed;
      p.offset = offset;
      add("pointer:" + name, p);
      p = {};
      p.kind = ParamSpec::Kind::I64;
      p.value = Expr(passed + ".stride." + std::to_string(first));
      add("row_stride:" + name, p);
      p.value = headStride;
      add("head_stride:" + name, p);
      p.value = Expr(passed + ".stride.0");
      if (first)
        add("batch_stride:" + name, p);
    }
  }
  auto scalar = [&](const std::string &name, Expr value) {
    ParamSpec p;
    p.kind = ParamSpec::Kind::I32;
    p.value = value;
    add(name, p);
  };
  auto table = [&](const std::string &name) {
    ParamSpec offsets;
    offsets.kind = ParamSpec::Kind::Pointer;
    offsets.tensor = name;
    add("offsets:" + name, offsets); // which may be called as a scalar is
    // log2 of the size of an offset: 2 for i32, 3 for i64.
    scalar("shift:" + name, floorDiv(Expr(name + ".itemsize"), Expr(4)) + Expr(1));
  };
  std::string offsets = kernel->getAttrOfType<mlir::StringAttr>("offsets").getValue().str();
  if (!offsets.empty())
    table(offsets);
  scalar("heads", Expr(heads));
  if (kernel->hasAttr("key_blocks"))
    addKeyBlockItems(kernel, schedule, rows, heads, table, scalar);
  else
    addRowBlockItems(kernel, schedule, rows, heads, scalar);
  kernel.walk([&](StoreScratchOp store) {
    ParamSpec p;
    p.kind = ParamSpec::Kind::Scratch;
    p.name = store.getScratch().str();
    p.bytes = Expr(rows) * Expr(heads) * Expr(4 * mlir::cast<SlotType>(store.getSlot().getType()).getCols());
    add(p.name, p);
  });
  addTables(kernel);
}

void Parameters::addRowBlockItems(KernelOp kernel, const Schedule &schedule, const std::string &rows, const std::string &heads,
                                  llvm::function_ref<void(const std::string &, Expr)> scalar) {
  scalar("batch", Expr("batch"));
  scalar("total", Expr(rows));
  // With a list, its tiles; else an upper bound (see Emitter::findItem), zero for an empty batch.
  std::string list = tileList(schedule.tileRows);
  Expr bound = (floorDiv(Expr(rows), Expr(schedule.tileRows)) + Expr("batch")) * minimum(Expr("batch"), Expr(1));
  listed = true;
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
}

void Parameters::addTables(KernelOp kernel) {
  for (TableOp op : kernel.getBody().getOps<TableOp>()) {
    const std::string name = op.getSymName().str(), passed = op.getPassedName().str();
    ParamSpec p;
    p.kind = ParamSpec::Kind::Pointer;
    p.tensor = passed;
    add("pointer:" + name, p);
    for (int64_t n = 0; n < int64_t(op.getDims()); ++n) {
      p = {};
      p.kind = ParamSpec::Kind::I32;
      p.value = Expr(passed + ".shape." + std::to_string(n));
      add("size:" + name + std::to_string(n), p);
      p.kind = ParamSpec::Kind::I64;
      p.value = Expr(passed + ".stride." + std::to_string(n));
      if (n + 1 < int64_t(op.getDims()))
        add("stride:" + name + std::to_string(n), p);
    }
  }
}

void Parameters::addKeyBlockItems(KernelOp kernel, const Schedule &schedule, const std::string &rows,
                                  const std::string &heads, llvm::function_ref<void(const std::string &)> table,
                                  llvm::function_ref<void(const std::string &, Expr)> scalar) {
  const Expr M(schedule.itemQueries()), batch("batch");
  const Expr packs = schedule.packed == 1 ? Expr(heads) : floorDiv(Expr(heads), Expr(schedule.packed)); // whose rows share tiles
  auto keyOffsets = kernel->getAttrOfType<mlir::StringAttr>("key_offsets");
  if (keyOffsets && keyOffsets != kernel->getAttrOfType<mlir::StringAttr>("offsets"))
    table(keyOffsets.getValue().str());
  if (!keyOffsets) {
    TensorOp keys = *std::next(kernel.getBody().getOps<TensorOp>().begin());
    scalar("keys", Expr(keys.getSymName().str() + (keys.getBatched() ? ".shape.1" : ".shape.0")));
  }
  if (kernel->hasAttr("jagged_queries")) {
    scalar("batch", batch);
    scalar("total", Expr(rows));
    Expr tiles = (floorDiv(Expr(rows), M) + batch) * minimum(batch, Expr(1)) * packs;
    addItems(kernel, schedule, {tiles, Expr(1), Expr(heads), Expr(rows), /*even=*/false}, scalar);
  } else {
    scalar("queries", Expr(rows));
    const Expr ofPair = ceilDiv(Expr(rows), M);
    auto perHead = kernel->getAttrOfType<mlir::IntegerAttr>("heavy_first");
    addItems(kernel, schedule, {ofPair * batch * packs, ofPair, batch * Expr(heads), Expr(rows), /*even=*/!perHead}, scalar);
    if (perHead) {
      // Heads whose keys and values fit in most of L2, and the queries' heads that share them.
      TensorOp q = *kernel.getBody().getOps<TensorOp>().begin(), k = *std::next(kernel.getBody().getOps<TensorOp>().begin());
      Expr keys(k.getSymName().str() + ".shape.1");
      Expr fit = maximum(floorDiv(Expr(kItemL2Bytes), maximum(keys * Expr(perHead.getInt()), Expr(1))), Expr(1));
      Expr pairs = batch * packs;
      scalar("pairs", pairs);
      fit = fit * Expr(int64_t(q.getHeads() / k.getHeads() / schedule.packed));
      // A group that holds few items for each SM ends unevenly. Of long sequences so many tiles of a head run at once that L2 need
      // not hold all of its keys. (Beside groups that fit, on an H200: 3 to 5 % at 16384 keys of head dim 256, 2.5 % at 4096; 4 % at
      // 16384 of 128. Groups of 32 heads of 4096 keys lose 2 to 4 %.)
      Expr enough = minimum(ceilDiv(Expr("sm_count") * Expr(kItemsOfGroup), maximum(ofPair, Expr(1))), Expr(kHeadsOfGroup));
      // Groups of one size, so that the last has work for the whole chip, too.
      Expr most = maximum(fit, enough);
      scalar("together", ceilDiv(pairs, maximum(ceilDiv(pairs, most), Expr(1))));
    }
  }
  // The counter that hands out items; a launch leaves it at zero.
  ParamSpec counter;
  counter.kind = ParamSpec::Kind::Scratch;
  counter.name = "counter";
  counter.bytes = Expr(4);
  if (schedule.persistent)
    add("counter", counter);
}

// The items of a launch; where several share a tile of queries, how many do, and what they leave: per part and row of the output
// a row in f32, and a pair of its maximum and its sum.
void Parameters::addItems(KernelOp kernel, const Schedule &schedule, const Tiles &tiles,
                          llvm::function_ref<void(const std::string &, Expr)> scalar) {
  if (!kernel->hasAttr("splits"))
    return scalar("items", tiles.all);
  const Expr zero(0), one(1), all = named("$tiles", tiles.all);
  auto tensors = kernel.getBody().getOps<TensorOp>();
  TensorOp k = *std::next(tensors.begin()), v = *std::next(tensors.begin(), 2);
  Expr parts(schedule.splits), whole = zero;
  if (!schedule.splits) {
    const std::string name = k.getSymName().str();
    Expr keys = k.getBatched() ? Expr(name + ".shape.1") : Expr(name + ".shape.0");
    if (kernel->hasAttr("key_offsets"))
      keys = floorDiv(keys, maximum(Expr("batch"), one));
    const Expr slots = Expr("sm_count") * Expr(schedule.ctasPerSm);
    if (tiles.even)
      whole = named("$whole", floorDiv(all, slots) * slots);
    // Of the tiles that do not fill the chip, as many parts as there are SMs for. Where most SMs have a tile, three parts
    // of each in two rounds may still be less than one round of whole ones.
    const Expr rest = named("$rest", maximum(all - whole, one)), once = named("$once", floorDiv(slots, rest));
    const Expr lengthy = named("$lengthy", floorDiv(keys, Expr(kPartKeys)));
    const Expr several = named("$several", minimum(maximum(once - one, zero), one));
    const Expr three = minimum(maximum(minimum(floorDiv(slots + slots, rest), lengthy) - Expr(2), zero), one);
    // Idle SMs are free, and two key blocks enough for each; behind a full chip a part must be worth what it costs.
    const Expr idle = named("$idle", several * (one - minimum(whole, one)));
    const Expr limit = idle * floorDiv(keys, Expr(2 * schedule.keyRows)) + (one - idle) * lengthy;
    parts = named("$parts", maximum(minimum(minimum(once + (one - several) * three * Expr(2), limit), Expr(kMaxSplits)), one));
  }
  scalar("items", whole + (all - whole) * parts);
  scalar("splits", parts);
  scalar("whole", whole);
  // Pairs of a sequence and a head (of jagged queries: heads), from the first that has a tile in parts.
  const Expr first = named("$first_pair", floorDiv(whole, maximum(tiles.ofPair, one)) * Expr(schedule.packed));
  const Expr pairs = named("$pairs", tiles.pairs - first);
  scalar("first_pair", first);
  scalar("partial_pairs", pairs);
  scalar("partial_rows", tiles.rows);
  auto scratch = [&](const char *name, int64_t floats) {
    ParamSpec p;
    p.kind = ParamSpec::Kind::Scratch;
    p.name = name;
    p.bytes = parts * minimum(parts - one, one) * pairs * tiles.rows * Expr(4 * floats);
    add(name, p);
  };
  scratch("partial", int64_t(v.getCols()));
  scratch("partial_stats", 2);
}

Parameters Parameters::of(const std::vector<std::pair<std::string, ParamSpec>> &list) {
  Parameters result;
  for (const auto &[key, spec] : list)
    result.add(key, spec);
  return result;
}

Parameters Parameters::ofCombine() const {
  Parameters result;
  result.values = values;
  for (auto &[key, ref] : list) {
    bool ofOutput = ref.spec.kind == ParamSpec::Kind::Pointer || ref.spec.kind == ParamSpec::Kind::I64 ||
                    ref.spec.kind == ParamSpec::Kind::Scratch;
    bool ofRows = llvm::is_contained({"splits", "whole", "first_pair", "partial_pairs", "partial_rows", "heads", "batch"}, key) ||
                  llvm::StringRef(key).starts_with("shift:");
    if ((ofOutput || ofRows) && key != "counter")
      result.add(key, ref.spec);
  }
  return result;
}

Expr Parameters::named(const char *name, Expr value) {
  values.push_back({name, std::move(value)});
  return Expr(name);
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

KernelSpec fovea::codegen::combineSpec(KernelOp kernel, const Schedule &schedule, llvm::StringRef operation) {
  Parameters params(kernel, schedule);
  KernelSpec spec;
  spec.name = operation.str();
  spec.entry = kernel.getSymName().str() + "_combine";
  spec.block = {32 * kCombineWarps, 1, 1};
  spec.values = params.namedValues();
  Expr several = minimum(params.scalar("splits").spec.value - Expr(1), Expr(1));
  spec.grid[0] = several * ceilDiv(params.scalar("partial_rows").spec.value * params.scalar("partial_pairs").spec.value, Expr(kCombineWarps));
  spec.params = params.ofCombine().specs();
  return spec;
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
  spec.values = params.namedValues();
  Expr items = params.scalar("items").spec.value;
  spec.grid[0] = schedule.persistent ? minimum(items, Expr("sm_count") * Expr(schedule.ctasPerSm)) : items;
  spec.params = params.specs();
  return spec;
}
