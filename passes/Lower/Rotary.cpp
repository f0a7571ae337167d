// passes/Lower/Rotary.cpp - rotary tables of a network.
#include "passes/Lower/Rotary.h"
#include "dialect/Layout/SmemTile.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

Pairing fovea::pairingOf(const Rotation &rotation) {
  return rotation.interleaved ? Pairing::Interleaved : Pairing::Halves;
}

RotaryPlan::RotaryPlan(const std::vector<Operand> &operands, const std::vector<Epilogue> &epilogues) {
  for (const Operand &operand : operands)
    if (operand.rotation && operand.rotation->onLoad)
      turned.push_back(operand);
  auto read = [&](const Rotation *rotation, const std::string &role) {
    std::vector<std::string> &stations = table(rotation).stations;
    if (stations.back() != role)
      stations.push_back(role);
  };
  for (const Operand &operand : turned)
    read(operand.rotation, "rotate");
  for (const Epilogue &epilogue : epilogues)
    if (epilogue.rotation)
      read(epilogue.rotation, epilogue.role), unrotated.push_back(epilogue);
}

static const Rotation *orNull(const std::optional<Rotation> &rotation) { return rotation ? &*rotation : nullptr; }

RotaryPlan fovea::forwardRotary(const Problem &p) {
  return RotaryPlan({{"Q", orNull(p.rotaryQ)}, {"K", orNull(p.rotaryK)}, {"V", orNull(p.rotaryV)}}, {});
}

RotaryPlan fovea::backwardRotary(const Problem &p) {
  return RotaryPlan({{"Q", orNull(p.rotaryQ)}, {"K", orNull(p.rotaryK)}, {"V", orNull(p.rotaryV)}},
                    {{"epilogue_dv", orNull(p.rotaryV)}, {"epilogue_dq", orNull(p.rotaryQ)}, {"epilogue_dk", orNull(p.rotaryK)}});
}

int64_t RotaryPlan::bytes(int64_t rows) const {
  int64_t bytes = 0;
  for (const RotaryTable &t : tables) {
    uint32_t element = t.rotation->tableElement.getIntOrFloatBitWidth() / 8;
    bytes += layout::SmemTile(uint32_t(rows), uint32_t(t.rotation->cols), element).slotBytes();
  }
  return bytes;
}

RotaryTable &RotaryPlan::table(const Rotation *rotation) {
  for (RotaryTable &t : tables)
    if (t.rotation->table == rotation->table)
      return t;
  std::string number = tables.empty() ? "" : std::to_string(tables.size() + 1);
  tables.push_back({rotation, "rotary" + number, "Rotary" + number, {"load"}});
  return tables.back();
}

const RotaryTable &RotaryPlan::table(const Rotation *rotation) const {
  return *llvm::find_if(tables, [&](const RotaryTable &t) { return t.rotation->table == rotation->table; });
}

std::vector<std::string> RotaryPlan::stations(const std::string &channel, std::vector<std::string> plain) const {
  for (const Operand &operand : turned)
    if (operand.channel == channel)
      plain.insert(plain.begin() + 1, "rotate");
  return plain;
}

void RotaryPlan::declare(NetworkBuilder &n, int64_t rows) const {
  for (const RotaryTable &t : tables) {
    n.sharedTensor(t.tensor, t.rotation->table, t.rotation->tableElement, t.rotation->cols);
    n.channel(t.channel, rows, t.rotation->cols, t.rotation->tableElement, Space::Smem, t.stations);
    n.note("rotary table '" + t.rotation->table + "', a row per " + (t.rotation->byPosition ? "position" : "token") +
           ": loaded with each item; the items of a tile's heads follow one another, so that HBM is read once a tile and "
           "the other heads find it in L2");
  }
  auto by = [](const Rotation &r) { return "by '" + r.table + "' (" + stringifyPairing(pairingOf(r)).str() + ")"; };
  for (const Operand &operand : turned)
    n.note("rotary on load: " + operand.channel + " is turned " + by(*operand.rotation) +
           " in shared memory, between its copy and its first product");
  for (const Epilogue &epilogue : unrotated)
    n.note("rotary epilogue: " + StringRef(epilogue.role).drop_front(StringRef("epilogue_").size()) +
           " leaves un-rotated " + by(*epilogue.rotation) + ", turned back as f32 before its one rounding and one store");
}

void RotaryPlan::emitLoads(NetworkBuilder &n, Item item, Location loc) const {
  for (const RotaryTable &t : tables) {
    Value row = t.rotation->byPosition ? Value(PositionOp::create(n.b, loc, n.b.getI32Type())) : item.row;
    Value slot = n.take(t.channel, 0, Unit::Tma);
    LoadOp::create(n.b, loc, t.tensor, row, item.rows, item.head, slot, FlatSymbolRefAttr());
    n.pass(slot);
  }
}

void RotaryPlan::emitPrologue(NetworkBuilder &n, Location loc) const {
  if (turned.empty())
    return;
  n.role("rotate", [&](Item item) {
    std::vector<std::pair<const RotaryTable *, Value>> taken;
    for (const Operand &operand : turned) {
      const RotaryTable *t = &table(operand.rotation);
      auto it = llvm::find_if(taken, [&](auto &entry) { return entry.first == t; });
      if (it == taken.end())
        it = taken.insert(it, {t, take(n, operand.rotation, "rotate")});
      Value tile = n.take(operand.channel, 1, Unit::Threads);
      RotateOp::create(n.b, loc, tile, it->second, item.rows, pairingOf(*operand.rotation));
      n.pass(tile);
    }
    for (auto &[t, slot] : taken)
      n.pass(slot);
  });
}

Value RotaryPlan::take(NetworkBuilder &n, const Rotation *rotation, const std::string &role) const {
  if (!rotation)
    return {};
  const RotaryTable &t = table(rotation);
  return n.take(t.channel, llvm::find(t.stations, role) - t.stations.begin(), Unit::Threads);
}
