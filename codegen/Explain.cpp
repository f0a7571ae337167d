// codegen/Explain.cpp - `fovea explain`, as text and as JSON.
#include "codegen/Explain.h"
#include "passes/Schedule/UnitRates.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace fovea;
using namespace fovea::tile;
namespace json = llvm::json;

namespace {
std::string warpsOf(const GroupSchedule &g) {
  return g.warps == 1 ? std::to_string(g.firstWarp)
                      : std::to_string(g.firstWarp) + "-" + std::to_string(g.firstWarp + g.warps - 1);
}

std::string orderOf(const Schedule &s) {
  if (s.keyRows)
    return "persistent CTAs; one warp takes the next item from a counter and looks it up while the others work";
  return s.persistent ? "tiles in memory order, heads innermost; persistent CTAs take every grid-th item"
                      : "tiles in memory order, heads innermost; one CTA per item, in the hardware's order";
}

std::string against(double clocks, double best) {
  double percent = 100 * (clocks / best - 1);
  if (percent < 0.05)
    return "the same";
  std::string text;
  llvm::raw_string_ostream(text) << "+" << llvm::format("%.1f", percent) << " %";
  return text;
}

// One slot in a map of memory.
struct Mapped {
  int64_t begin, end;
  std::string what;
};

std::vector<Mapped> memoryMap(const KernelReport &k, llvm::StringRef space) {
  std::vector<Mapped> map;
  for (const ChannelReport &c : k.channels)
    for (int64_t slot = 0; c.space == space && c.offset >= 0 && slot < c.depth; ++slot) {
      int64_t begin = c.offset + slot * c.stride;
      map.push_back({begin, begin + c.slot, c.name + (c.depth > 1 ? "[" + std::to_string(slot) + "]" : "") +
                                                (c.alias.empty() ? "" : " over " + c.alias)});
    }
  if (space == "smem")
    for (const BarrierReport &b : k.barriers)
      map.push_back({b.offset, b.offset + 8 * b.depth, "barrier " + b.name});
  std::stable_sort(map.begin(), map.end(), [](const Mapped &x, const Mapped &y) { return x.begin < y.begin; });
  return map;
}

class TextWriter {
public:
  TextWriter(llvm::raw_ostream &os, const KernelReport &k)
      : os(os), k(k), chosen(*llvm::find_if(k.candidates, [&](const Candidate &c) { return c.name == k.chosen; })) {}

  void write() {
    const Schedule &s = k.schedule;
    os << k.operation << ": kernel " << k.entry << " for " << k.target << "\n";
    os << "  schedule   " << chosen.name << "\n";
    if (!k.variants.empty())
      os << "  variants   " << llvm::join(k.variants, ", ") << "; a launch runs the one whose modelled clocks are the fewest; this is " << k.variant << "\n";
    os << "  tiles      " << (s.queryTiles > 1 ? std::to_string(s.queryTiles) + " x " : "") << s.tileRows << " query rows, "
       << (s.keyRows ? "a loop over key blocks of " + std::to_string(s.keyRows) + " rows, from the last to the first"
                     : "blocks of " + std::to_string(s.block) + " keys")
       << "; an item is " << (s.queryTiles > 1 ? "those tiles" : "a tile") << " of " << (s.packed > 1 ? std::to_string(s.packed) + " heads" : "one head") << "\n";
    os << "  order      " << orderOf(s) << "\n";
    os << "  memory     " << k.smemBytes << " of " << target().smemPerCta << " bytes of shared memory";
    if (target().tmemColumns)
      os << ", " << k.tmemColumns << " of " << target().tmemColumns << " columns of tensor memory";
    os << ", " << s.ctasPerSm << " CTA" << (s.ctasPerSm == 1 ? "" : "s") << " per SM\n";
    for (const std::string &note : k.notes)
      os << (&note == &k.notes.front() ? "  network    " : "             ") << note << "\n";
    writeGroups();
    writeChannels();
    writeMap("smem", "map of shared memory (bytes)");
    writeMap("tmem", "map of tensor memory (columns)");
    writeCosts();
    if (&chosen == &k.candidates.front())
      writeWhy();
  }

private:
  const Target &target() const { return *findTarget(k.target); }

  void row(llvm::ArrayRef<std::string> cells, llvm::ArrayRef<unsigned> widths) {
    os << "   ";
    for (size_t i = 0; i + 1 < cells.size(); ++i)
      os << " " << llvm::left_justify(cells[i], widths[i]);
    os << " " << cells.back() << "\n";
  }

  void writeGroups() {
    os << "  warp groups\n";
    row({"group", "warps", "registers", "roles"}, {10, 7, 12, 0});
    for (const GroupSchedule &g : k.schedule.groups)
      row({g.name, warpsOf(g), g.registers ? std::to_string(g.registers) : "as compiled",
           g.roles.empty() ? "-" : llvm::join(g.roles, ", ")},
          {10, 7, 12, 0});
  }

  void writeChannels() {
    os << "  channels\n";
    row({"channel", "depth", "slot", "size", "where", "stations"}, {8, 5, 16, 13, 14, 0});
    for (const ChannelReport &c : k.channels) {
      std::string size = std::to_string(c.slot) + (c.space == "tmem" ? " columns" : " bytes");
      row({c.name, std::to_string(c.depth), c.tile, size, c.space + (c.alias.empty() ? "" : " over " + c.alias),
           llvm::join(c.stations, " -> ")},
          {8, 5, 16, 13, 14, 0});
    }
    os << "  barriers   ";
    for (const BarrierReport &b : k.barriers)
      os << (&b == &k.barriers.front() ? "" : ", ") << b.name << " (" << b.count << (b.depth > 1 ? " x " + std::to_string(b.depth) : "")
         << ")";
    os << "\n             (arrivals per phase x slots)\n";
  }

  void writeMap(llvm::StringRef space, llvm::StringRef title) {
    std::vector<Mapped> map = memoryMap(k, space);
    if (map.empty())
      return;
    os << "  " << title << "\n";
    for (const Mapped &m : map)
      row({"[" + std::to_string(m.begin) + ", " + std::to_string(m.end) + ")", m.what}, {18, 0});
  }

  void cost(llvm::StringRef unit, double clocks, const llvm::Twine &why) {
    os << "    " << llvm::left_justify(unit, 13) << llvm::format("%8.0f", clocks);
    if (!why.isTriviallyEmpty())
      os << "  " << why;
    os << "\n";
  }

  void writeCosts() {
    const Cost &c = chosen.cost;
    os << "  clocks per item (modelled, not measured)\n";
    cost("memory", c.memory, llvm::Twine(uint64_t(c.bytes)) + " bytes at this SM's share of the bandwidth");
    cost("tensor core", c.tensor, "");
    cost("exponentials", c.exponential, "");
    cost("arithmetic", c.arithmetic, "");
    if (c.tmem) { // priced where exponentials run beside other instructions
      cost("FMA units", c.fma, "");
      cost("shared memory", c.shared, "operands of products, copies");
      cost("tensor memory", c.tmem, "");
    }
    cost("circuit", c.circuit, "critical circuit over the CTAs of an SM: " + c.critical);
    if (c.imbalance > 1) {
      os << "    static striding loses ";
      os << llvm::format("%.0f", 100 * (c.imbalance - 1)) << " % against the hardware's order of CTAs\n";
    }
    cost("total", c.period(), llvm::Twine("bound by ") + c.bound());
    if (k.keyTile)
      writeKeyTile(*k.keyTile);
    os << "  clocks per item by role (modelled)\n";
    unsigned width = 12;
    for (const RoleCost &r : c.roles)
      width = std::max(width, unsigned(r.role.size()));
    row({"role", "group", "threads", "copies and products"}, {width, 10, 8, 0});
    for (const RoleCost &r : c.roles)
      row({r.role, r.group, std::to_string(int64_t(r.threads)), std::to_string(int64_t(r.asynchronous))}, {width, 10, 8, 0});
  }

  // Each unit's work against the time that a key tile takes: the busiest unit, or the circuit.
  void writeKeyTile(const KeyTileCost &c) {
    os << "  clocks per key tile of " << k.schedule.keyRows << " keys and " << k.schedule.itemRows()
       << " queries, and how busy that keeps each unit (modelled)\n";
    auto unit = [&](llvm::StringRef name, double clocks) {
      std::string busy;
      llvm::raw_string_ostream(busy) << llvm::format("%3.0f", 100 * clocks / c.period()) << " %";
      cost(name, clocks, busy);
    };
    unit("tensor core", c.tensor), unit("MUFU", c.exponential), unit("FMA units", c.fma), unit("issue", c.issue);
    unit("shared memory", c.shared), unit("tensor memory", c.tmem), unit("L2", c.l2), unit("circuit", c.circuit);
    cost("a key tile", c.period(), c.circuit > c.bound() ? "latency" : "the busiest unit");
  }

  void writeWhy() {
    os << "  why        least modelled time of " << k.candidates.size() << " schedules; of equals, the circuit with the most room\n";
    row({"clocks/row", "against", "bound by", "schedule"}, {10, 9, 13, 0});
    for (const Candidate &c : k.candidates) {
      if (!c.refusal.empty())
        continue;
      std::string clocks;
      llvm::raw_string_ostream(clocks) << llvm::format("%.1f", c.clocksPerRow());
      const char *mark = &c == &k.candidates[0] ? "  (chosen)" : &c == &k.candidates[1] ? "  (next best)" : "";
      row({clocks, against(c.clocksPerRow(), chosen.clocksPerRow()), c.cost.bound(), c.name + mark}, {10, 9, 13, 0});
    }
    for (const Candidate &c : k.candidates)
      if (!c.refusal.empty())
        os << "    refused: " << c.name << ": " << c.refusal << "\n";
  }

  llvm::raw_ostream &os;
  const KernelReport &k;
  const Candidate &chosen;
};

json::Array mapJson(const KernelReport &k, llvm::StringRef space) {
  json::Array map;
  for (const Mapped &m : memoryMap(k, space))
    map.push_back(json::Object{{"begin", m.begin}, {"end", m.end}, {"what", m.what}});
  return map;
}

json::Object costJson(const Candidate &c) {
  json::Object o{{"schedule", c.name}};
  if (!c.refusal.empty()) {
    o["refusal"] = c.refusal;
    return o;
  }
  json::Array roles;
  for (const RoleCost &r : c.cost.roles)
    roles.push_back(json::Object{
        {"role", r.role}, {"group", r.group}, {"threads", r.threads}, {"asynchronous", r.asynchronous}});
  o["modelled_clocks_per_item"] =
      json::Object{{"memory", c.cost.memory},         {"tensor_core", c.cost.tensor}, {"exponentials", c.cost.exponential},
                   {"arithmetic", c.cost.arithmetic}, {"circuit", c.cost.circuit},    {"imbalance", c.cost.imbalance},
                   {"total", c.cost.period()}};
  o["modelled_clocks_per_row"] = c.clocksPerRow();
  o["bytes_per_item"] = c.cost.bytes;
  o["bound"] = c.cost.bound();
  o["critical_circuit"] = c.cost.critical;
  o["roles"] = std::move(roles);
  return o;
}

json::Object keyTileJson(const KeyTileCost &c) {
  return json::Object{{"tensor_core", c.tensor}, {"mufu", c.exponential}, {"fma", c.fma},   {"issue", c.issue},
                      {"shared_memory", c.shared}, {"tensor_memory", c.tmem}, {"l2", c.l2}, {"circuit", c.circuit},
                      {"total", c.period()}};
}

json::Object kernelJson(const KernelReport &k) {
  json::Array groups, channels, barriers, candidates;
  for (const GroupSchedule &g : k.schedule.groups)
    groups.push_back(json::Object{{"name", g.name},
                                  {"first_warp", g.firstWarp},
                                  {"warps", g.warps},
                                  {"registers", g.registers},
                                  {"roles", json::Array(g.roles)}});
  for (const ChannelReport &c : k.channels) {
    json::Object o{{"name", c.name}, {"space", c.space}, {"tile", c.tile}, {"depth", c.depth},
                   {"slot", c.slot}, {"stations", json::Array(c.stations)}};
    if (!c.alias.empty())
      o["alias"] = c.alias;
    if (c.offset >= 0)
      o["offset"] = c.offset, o["stride"] = c.stride;
    channels.push_back(std::move(o));
  }
  for (const BarrierReport &b : k.barriers)
    barriers.push_back(json::Object{{"name", b.name}, {"count", b.count}, {"depth", b.depth}, {"offset", b.offset}});
  for (const Candidate &c : k.candidates)
    candidates.push_back(costJson(c));
  const Schedule &s = k.schedule;
  json::Object o{{"operation", k.operation},
                      {"entry", k.entry},
                      {"target", k.target},
                      {"tile_rows", s.tileRows},
                      {"block", s.block},
                      {"key_rows", s.keyRows},
                      {"persistent", s.persistent},
                      {"ctas_per_sm", s.ctasPerSm},
                      {"order", orderOf(s)},
                      {"smem_bytes", k.smemBytes},
                      {"tmem_columns", k.tmemColumns},
                      {"schedule", k.chosen},
                      {"variant", k.variant},
                      {"variants", json::Array(k.variants)},
                      {"notes", json::Array(k.notes)},
                      {"groups", std::move(groups)},
                      {"channels", std::move(channels)},
                      {"barriers", std::move(barriers)},
                      {"smem_map", mapJson(k, "smem")},
                      {"tmem_map", mapJson(k, "tmem")},
                      {"candidates", std::move(candidates)}};
  if (k.keyTile)
    o["modelled_clocks_per_key_tile"] = keyTileJson(*k.keyTile);
  return o;
}
} // namespace

std::string fovea::explain(const CompiledSpec &compiled, bool json) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (json) {
    json::Array kernels;
    for (const KernelReport &k : compiled.reports)
      kernels.push_back(kernelJson(k));
    os << llvm::formatv("{0:2}\n", json::Value(json::Object{{"kernels", std::move(kernels)}}));
    return text;
  }
  for (const KernelReport &k : compiled.reports) {
    if (&k != &compiled.reports.front())
      os << "\n";
    TextWriter(os, k).write();
  }
  return text;
}
