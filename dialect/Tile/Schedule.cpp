// dialect/Tile/Schedule.cpp - the schedule attribute's two directions.
#include "dialect/Tile/Schedule.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fovea::tile;

int64_t Schedule::registersAtEntry(const Target &target) const {
  const int64_t most = 256; // of any thread
  return std::min(most, int64_t(target.registersPerSm) / std::max<int64_t>(32 * warps() * ctasPerSm, 1) / 8 * 8);
}

int64_t Schedule::registersAskedFor(const Target &target) const {
  int64_t sum = 0, covered = 0;
  for (const GroupSchedule &g : groups)
    sum += 32 * g.warps * (g.registers ? g.registers : registersAtEntry(target)), covered += g.warps;
  return sum + 32 * (warps() - covered) * registersAtEntry(target);
}

int64_t Schedule::registersLeftFor(const GroupSchedule &group, const Target &target) const {
  const int64_t mine = group.registers ? group.registers : registersAtEntry(target), threads = 32 * group.warps;
  const int64_t left = registerPool(target) - registersAskedFor(target) + threads * mine;
  return std::min<int64_t>(240, left / threads / 8 * 8);
}

DictionaryAttr Schedule::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> groupAttrs;
  for (const GroupSchedule &g : groups) {
    SmallVector<Attribute> roles;
    for (const std::string &r : g.roles)
      roles.push_back(b.getStringAttr(r));
    SmallVector<NamedAttribute> attrs{b.getNamedAttr("name", b.getStringAttr(g.name)),
                                      b.getNamedAttr("first_warp", b.getI64IntegerAttr(g.firstWarp)),
                                      b.getNamedAttr("warps", b.getI64IntegerAttr(g.warps)),
                                      b.getNamedAttr("registers", b.getI64IntegerAttr(g.registers)),
                                      b.getNamedAttr("roles", b.getArrayAttr(roles))};
    if (g.teams != 1)
      attrs.push_back(b.getNamedAttr("teams", b.getI64IntegerAttr(g.teams)));
    groupAttrs.push_back(b.getDictionaryAttr(attrs));
  }
  SmallVector<NamedAttribute> depthAttrs, aliasAttrs;
  for (auto &[channel, depth] : depths)
    depthAttrs.push_back(b.getNamedAttr(channel, b.getI64IntegerAttr(depth)));
  for (auto &[channel, other] : aliases)
    aliasAttrs.push_back(b.getNamedAttr(channel, b.getStringAttr(other)));
  SmallVector<NamedAttribute> all{b.getNamedAttr("tile_rows", b.getI64IntegerAttr(tileRows)),
                                  b.getNamedAttr("block", b.getI64IntegerAttr(block)),
                                  b.getNamedAttr("persistent", b.getBoolAttr(persistent)),
                                  b.getNamedAttr("ctas_per_sm", b.getI64IntegerAttr(ctasPerSm)),
                                  b.getNamedAttr("p_in_tmem", b.getBoolAttr(pInTmem)),
                                  b.getNamedAttr("groups", b.getArrayAttr(groupAttrs)),
                                  b.getNamedAttr("depths", b.getDictionaryAttr(depthAttrs)),
                                  b.getNamedAttr("aliases", b.getDictionaryAttr(aliasAttrs))};
  // What only kernels with a loop over key blocks decide.
  if (keyRows) {
    SmallVector<NamedAttribute> lagAttrs;
    for (auto &[role, lag] : lags)
      lagAttrs.push_back(b.getNamedAttr(role, b.getI64IntegerAttr(lag)));
    all.push_back(b.getNamedAttr("key_rows", b.getI64IntegerAttr(keyRows)));
    all.push_back(b.getNamedAttr("max_free", b.getBoolAttr(maxFree)));
    all.push_back(b.getNamedAttr("out_in_q", b.getBoolAttr(outInQ)));
    all.push_back(b.getNamedAttr("lags", b.getDictionaryAttr(lagAttrs)));
    if (outHalves)
      all.push_back(b.getNamedAttr("out_halves", b.getBoolAttr(true)));
    if (queryTiles != 1)
      all.push_back(b.getNamedAttr("query_tiles", b.getI64IntegerAttr(queryTiles)));
    if (packed != 1)
      all.push_back(b.getNamedAttr("packed", b.getI64IntegerAttr(packed)));
    if (splits != 1)
      all.push_back(b.getNamedAttr("splits", b.getI64IntegerAttr(splits)));
    if (polynomial)
      all.push_back(b.getNamedAttr("polynomial", b.getI64IntegerAttr(polynomial)));
    if (staged)
      all.push_back(b.getNamedAttr("staged", b.getI64IntegerAttr(staged)));
  }
  return b.getDictionaryAttr(all);
}

namespace {
// Reads one dictionary: every key must be asked for, every key asked for must be there.
class Reader {
public:
  Reader(DictionaryAttr attr, std::string &error) : attr(attr), error(error) {}
  template <typename AttrT> AttrT get(StringRef key) {
    asked.push_back(key);
    Attribute value = attr.get(key);
    auto typed = dyn_cast_or_null<AttrT>(value);
    if (!typed && error.empty())
      error = value ? "schedule key '" + key.str() + "' has the wrong kind of value"
                    : "schedule key '" + key.str() + "' is missing";
    return typed;
  }
  int64_t integer(StringRef key) {
    auto a = get<IntegerAttr>(key);
    return a ? a.getInt() : 0;
  }
  bool boolean(StringRef key) {
    auto a = get<BoolAttr>(key);
    return a && a.getValue();
  }
  std::string string(StringRef key) {
    auto a = get<StringAttr>(key);
    return a ? a.getValue().str() : std::string();
  }
  void finish() {
    for (NamedAttribute named : attr)
      if (!llvm::is_contained(asked, named.getName().getValue()) && error.empty())
        error = "schedule key '" + named.getName().str() + "' is unknown";
  }

private:
  DictionaryAttr attr;
  std::string &error;
  SmallVector<StringRef> asked;
};
} // namespace

llvm::Expected<Schedule> Schedule::fromAttr(DictionaryAttr attr) {
  Schedule s;
  std::string error;
  Reader r(attr, error);
  s.tileRows = r.integer("tile_rows");
  s.block = r.integer("block");
  s.persistent = r.boolean("persistent");
  s.ctasPerSm = r.integer("ctas_per_sm");
  s.pInTmem = r.boolean("p_in_tmem");
  if (auto groups = r.get<ArrayAttr>("groups")) {
    for (Attribute a : groups) {
      auto dict = dyn_cast<DictionaryAttr>(a);
      if (!dict) {
        error = "schedule key 'groups' must hold dictionaries";
        break;
      }
      Reader gr(dict, error);
      GroupSchedule g;
      g.name = gr.string("name");
      g.firstWarp = gr.integer("first_warp");
      g.warps = gr.integer("warps");
      g.registers = gr.integer("registers");
      if (dict.contains("teams"))
        g.teams = gr.integer("teams");
      if (auto roles = gr.get<ArrayAttr>("roles"))
        for (Attribute role : roles)
          if (auto name = dyn_cast<StringAttr>(role))
            g.roles.push_back(name.getValue().str());
      gr.finish();
      s.groups.push_back(std::move(g));
    }
  }
  if (auto depths = r.get<DictionaryAttr>("depths"))
    for (NamedAttribute n : depths)
      if (auto depth = dyn_cast<IntegerAttr>(n.getValue()))
        s.depths[n.getName().str()] = depth.getInt();
  if (auto aliases = r.get<DictionaryAttr>("aliases"))
    for (NamedAttribute n : aliases)
      if (auto other = dyn_cast<StringAttr>(n.getValue()))
        s.aliases[n.getName().str()] = other.getValue().str();
  if (attr.contains("key_rows")) {
    s.keyRows = r.integer("key_rows");
    s.maxFree = r.boolean("max_free");
    s.outInQ = r.boolean("out_in_q");
    if (auto lags = r.get<DictionaryAttr>("lags"))
      for (NamedAttribute n : lags)
        if (auto lag = dyn_cast<IntegerAttr>(n.getValue()))
          s.lags[n.getName().str()] = lag.getInt();
    if (attr.contains("out_halves"))
      s.outHalves = r.boolean("out_halves");
    if (attr.contains("query_tiles"))
      s.queryTiles = r.integer("query_tiles");
    if (attr.contains("packed"))
      s.packed = r.integer("packed");
    if (attr.contains("splits"))
      s.splits = r.integer("splits");
    if (attr.contains("polynomial"))
      s.polynomial = r.integer("polynomial");
    if (attr.contains("staged"))
      s.staged = r.integer("staged");
  }
  r.finish();
  if (!error.empty())
    return llvm::createStringError(error);
  return s;
}
