// passes/Schedule/Choose.cpp - enumerates the schedules of a problem on a target and picks the cheapest.
#include "passes/Schedule/Choose.h"
#include "dialect/Layout/SmemTile.h"
#include "dialect/Layout/TmemLayout.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Lower/Elements.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Tile/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace fovea;
using namespace fovea::tile;
using llvm::Expected;
using mlir::cast;
using mlir::dyn_cast;

void Candidate::needs(int64_t amount, int64_t limit, const char *what) {
  double over = double(amount) / double(std::max<int64_t>(limit, 1));
  if (amount <= limit || over < excess)
    return;
  excess = over;
  refusal = "needs " + std::to_string(amount) + " " + what + " of " + std::to_string(limit);
}

void Candidate::refuse(llvm::StringRef why) {
  // A contradiction in what was asked for comes after every lack of room, and each one more is further away: one that a
  // choice left to the model would not have must not stand in the message beside those that the spec caused.
  constexpr double contradiction = 1e6;
  refusal = excess < contradiction ? why.str() : refusal + ", and " + why.str();
  excess = excess < contradiction ? contradiction : excess + contradiction;
}

Expected<ScheduleOverrides> ScheduleOverrides::fromAttr(mlir::DictionaryAttr attr, const Target &target) {
  ScheduleOverrides o;
  if (!attr)
    return o;
  auto fail = [&](llvm::StringRef key, const llvm::Twine &what) {
    return llvm::createStringError("schedule " + std::string(target.name) + ": " + key.str() + " " + what.str());
  };
  for (mlir::NamedAttribute entry : attr) {
    llvm::StringRef key = entry.getName();
    auto text = dyn_cast<mlir::StringAttr>(entry.getValue());
    auto number = dyn_cast<mlir::IntegerAttr>(entry.getValue());
    if (key == "roles") {
      if (!text || (text != "fused" && text != "split"))
        return fail(key, "must be fused or split");
      o.roles = text.getValue().str();
    } else if (key == "tile_m") {
      if (!number || number.getInt() < 64 || number.getInt() > 256 || number.getInt() % 64)
        return fail(key, "must be 64, 128, 192 or 256, the rows of a tile of queries" +
                             llvm::Twine(target.tcgen05 ? " (256: two tiles of 128)" : ""));
      o.tileRows = number.getInt();
    } else if (key == "tile_n") {
      if (!number || number.getInt() < 16 || number.getInt() > 256 || number.getInt() % 16)
        return fail(key, "must be a multiple of 16 up to 256, the rows of a key block");
      o.keyRows = number.getInt();
    } else if (key == "splits") {
      if (!number || number.getInt() < 1 || number.getInt() > kMaxSplits)
        return fail(key, "must be 1 to " + llvm::Twine(kMaxSplits) + ", the parts of a tile's keys");
      o.splits = number.getInt();
    } else if (key == "packed") {
      if (!number || number.getInt() < 1 || number.getInt() > kMaxPacked || !llvm::isPowerOf2_64(uint64_t(number.getInt())))
        return fail(key, "must be a power of two up to " + llvm::Twine(kMaxPacked) + ", the query heads that share a tile");
      o.packed = number.getInt();
    } else if (key == "staged" && target.tcgen05) {
      if (!number || number.getInt() < 0 || number.getInt() > 240 || number.getInt() % 16)
        return fail(key, "must be a multiple of 16 below tile_n, the keys whose weights are handed on before the rest (0: all at once)");
      o.staged = number.getInt();
    } else if (key == "softmax") {
      if (!text || (text != "exact" && text != "max_free"))
        return fail(key, "must be exact or max_free");
      o.softmax = text.getValue().str();
    } else if (key == "stages") {
      if (!number || number.getInt() < 1 || number.getInt() > 8)
        return fail(key, "must be 1 to 8, the depth of the load ring");
      o.stages = number.getInt();
    } else if (key == "ctas_per_sm") {
      if (!number || number.getInt() < 1 || number.getInt() > target.ctasPerSm)
        return fail(key, "must be 1 to " + llvm::Twine(target.ctasPerSm));
      o.ctasPerSm = number.getInt();
    } else if (key == "p" && target.tcgen05) {
      if (!text || (text != "tmem" && text != "smem"))
        return fail(key, "must be tmem or smem");
      o.p = text.getValue().str();
    } else {
      return fail(key, "is unknown; known are roles, tile_m, tile_n, softmax, splits, packed, stages, ctas_per_sm" +
                           llvm::Twine(target.tcgen05 ? ", p, staged" : ""));
    }
  }
  return o;
}

namespace {
class Enumerator {
public:
  Enumerator(const Problem &p, const Target &target, const ScheduleOverrides &o)
      : p(p), target(target), o(o) {}

  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    for (int64_t rows : {int64_t(64), int64_t(128)}) {
      if (rows < p.block || (o.tileRows && *o.tileRows != rows))
        continue;
      if (!o.roles || *o.roles == "fused")
        for (bool tmem : pChoices())
          for (bool late : {false, true})
            if (!late || (!p.elements.empty() && p.elements.size() <= 2 && p.valueDim <= p.headDim && !p.rotatesOnLoad()))
              all.push_back(fused(rows, tmem, late));
      if (!o.roles || *o.roles == "split")
        for (int64_t stages : o.stages ? std::vector<int64_t>{*o.stages} : std::vector<int64_t>{4, 3, 2, 1})
          for (bool tmem : pChoices())
            all.push_back(split(rows, stages, tmem));
    }
    return all;
  }

private:
  std::vector<bool> pChoices() const {
    if (!target.tcgen05)
      return {false};
    if (o.p)
      return {*o.p == "tmem"};
    return {true, false};
  }

  int64_t tileBytes(int64_t rows, int64_t cols) const {
    return layout::SmemTile(uint32_t(rows), uint32_t(cols), 2).slotBytes();
  }
  int64_t loadBytes(int64_t rows) const {
    return 2 * tileBytes(rows, p.headDim) + tileBytes(rows, p.valueDim) + forwardRotary(p).bytes(rows) +
           ElementTensors(p, p.elements).bytes(rows);
  }
  // Behind the load, if inputs are turned on it.
  std::vector<std::string> withRotate(std::vector<std::string> roles, size_t at) const {
    if (p.rotatesOnLoad())
      roles.insert(roles.begin() + at, "rotate");
    return roles;
  }
  // The channels that TMA fills: as deep as there are stages.
  std::vector<std::string> loadedChannels() const {
    std::vector<std::string> channels = {"Q", "K", "V"};
    for (const RotaryTable &t : forwardRotary(p).tables)
      channels.push_back(t.channel);
    for (size_t k = 0; k < p.elements.size(); ++k)
      channels.push_back(ElementTensors::channel(k));
    return channels;
  }

  // One warp group does everything for one item; several CTAs per SM hide latency for each other. `late`: an epilogue's
  // tensors come where Q and K were.
  Candidate fused(int64_t rows, bool tmem, bool late) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = false, s.pInTmem = tmem;
    int64_t warps = target.tcgen05 ? 4 : rows / 16;
    s.groups = {{"all", 0, warps, 0, withRotate({"load", "qk", "softmax", "pv", "epilogue", "store"}, 1)}};
    if (late) {
      s.groups[0].roles.insert(s.groups[0].roles.begin() + 2, "load_elements");
      for (size_t k = 0; k < p.elements.size(); ++k)
        s.aliases[ElementTensors::channel(k)] = k ? "K" : "Q";
    }
    s.aliases["Out"] = "V"; // the product that reads V is done before O is read
    if (tmem)
      s.aliases["P"] = "S"; // a warp writes P over the lanes of S that it alone has read
    int64_t smem = loadBytes(rows) + (target.tcgen05 && !tmem ? tileBytes(rows, p.block) : 0) + 256;
    if (late)
      smem -= ElementTensors(p, p.elements).bytes(rows);
    int64_t columns = target.tcgen05 ? layout::tmemAllocation(uint32_t(p.block + p.valueDim)) : 0;
    int64_t ctas = std::min<int64_t>(target.smemPerSm / (smem + target.smemReservedPerCta), 8);
    ctas = std::min(ctas, target.registersPerSm / (32 * warps * registersNeeded(rows)));
    if (columns)
      ctas = std::min(ctas, target.tmemColumns / columns);
    s.ctasPerSm = o.ctasPerSm.value_or(std::max<int64_t>(ctas, 1));
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    if (target.tcgen05 && !columns)
      c.needs(p.block + p.valueDim, target.tmemColumns, "columns of tensor memory");
    if (o.ctasPerSm)
      c.needs(*o.ctasPerSm, ctas, "CTAs per SM");
    refuseLoops(c);
    if (o.stages && *o.stages != 1)
      c.refuse("has one stage by construction: stages belong to split roles");
    c.name = "fused, " + std::to_string(rows) + " rows" + pName(tmem) + (late ? ", the epilogue's tensors over Q and K" : "") +
             ", " + std::to_string(s.ctasPerSm) + " CTAs per SM";
    return c;
  }

  // One warp group a role over rings; persistent.
  Candidate split(int64_t rows, int64_t stages, bool tmem) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = true, s.pInTmem = tmem, s.ctasPerSm = 1;
    c.name = "split, " + std::to_string(rows) + " rows" + pName(tmem) + ", " + std::to_string(stages) + " stages";
    for (const std::string &channel : loadedChannels())
      s.depths[channel] = stages;
    int64_t smem = stages * loadBytes(rows) + tileBytes(rows, p.valueDim) + 1024;
    if (target.tcgen05) {
      // softmax and epilogue are whole warpgroups; the three roles of one thread each share a third.
      s.groups = {{"softmax", 0, 4, 224, {"softmax"}},
                  {"epilogue", 4, 4, 200, {"epilogue", "store"}},
                  {"load", 8, 1, 80, {"load"}},
                  {"qk", 9, 1, 80, {"qk"}},
                  {"pv", 10, 1, 80, {"pv"}},
                  {"spare", 11, 1, 80, {}}};
      if (p.rotatesOnLoad() && p.block <= 64) // a fourth warpgroup turns the inputs of the next item meanwhile
        s.groups = {{"softmax", 0, 4, 208, {"softmax"}},
                    {"epilogue", 4, 4, 120, {"epilogue", "store"}},
                    {"rotate", 8, 4, 96, {"rotate"}},
                    {"load", 12, 1, 80, {"load"}},
                    {"qk", 13, 1, 80, {"qk"}},
                    {"pv", 14, 1, 80, {"pv"}},
                    {"spare", 15, 1, 80, {}}};
      else if (p.rotatesOnLoad()) // a row of 128 scores does not fit the 128 registers of 512 threads (ptxas)
        s.groups.back() = {"rotate", 11, 1, 80, {"rotate"}};
      int64_t pColumns = tmem ? p.block / 2 : 0, columns = 0;
      for (auto [sDepth, oDepth] : {std::pair<int64_t, int64_t>{2, 2}, {2, 1}, {1, 1}}) {
        columns = sDepth * (p.block + pColumns) + oDepth * p.valueDim;
        s.depths["S"] = s.depths["P"] = sDepth, s.depths["O"] = oDepth;
        if (columns <= target.tmemColumns)
          break;
      }
      c.needs(columns, target.tmemColumns, "columns of tensor memory");
      if (!tmem)
        smem += s.depths["P"] * tileBytes(rows, p.block);
    } else {
      // Accumulators in registers: everything after the load shares the consumers' warps.
      int64_t warps = rows / 16;
      s.groups = {{"consumer", 0, warps, 0, withRotate({"qk", "softmax", "pv", "epilogue", "store"}, 0)},
                  {"load", warps, 4, 40, {"load"}}};
      s.groups.front().registers = s.registersLeftFor(s.groups.front(), target);
    }
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    if (o.ctasPerSm && *o.ctasPerSm != 1)
      c.refuse("is one CTA per SM by construction: ctas_per_sm belongs to fused roles");
    refuseLoops(c);
    return c;
  }


  // What only loops over key blocks have.
  void refuseLoops(Candidate &c) const {
    if (o.splits && *o.splits != 1)
      c.refuse("has all keys of a tile in it: splits belong to loops over key blocks");
    if (o.packed && *o.packed != 1)
      c.refuse("has the rows of one head in a tile: packed belongs to loops over key blocks");
    if (o.keyRows && *o.keyRows != p.block)
      c.refuse("has the " + std::to_string(p.block) + " keys of its own blocks: another tile_n belongs to loops over key blocks");
    if (o.staged && *o.staged)
      c.refuse("hands a tile's weights on at once: staged belongs to loops over key blocks");
    if (o.softmax && *o.softmax != "exact")
      c.refuse("knows the maximum of each row: softmax : max_free belongs to loops over key blocks");
  }

  std::string pName(bool tmem) const { return !target.tcgen05 ? "" : tmem ? ", P in TMEM" : ", P in SMEM"; }

  // Registers of a thread, as ptxas reports them for these programs: live accumulators of the busier product, the
  // packed P beside O, and addresses.
  int64_t registersNeeded(int64_t rows) const {
    if (target.tcgen05) // a row of scores a thread (128 rows) or half a row; O passes through 32 columns at a time
      return (rows == 128 ? p.block : p.block / 2) + 48;
    if (p.block < 64) // products by warp
      return p.valueDim / 2 + p.block / 2 + 32;
    return std::max(p.block / 2 + 34, p.valueDim / 2 + p.block / 4 + 26);
  }

  const Problem &p;
  const Target &target;
  const ScheduleOverrides &o;
};

} // namespace

Expected<std::vector<Candidate>> fovea::rank(std::vector<Candidate> all, const Problem &problem, const Target &target,
                                             NetworkBuilderFn build, llvm::StringRef what) {
  const std::string prefix = "schedule " + std::string(target.name) + ": " + what.str();
  if (all.empty())
    return llvm::createStringError(prefix + "a tile holds whole blocks of " + std::to_string(problem.block) +
                                   " rows: tile_m must be " + (problem.block > 64 ? "128" : "64 or 128"));
  // Every candidate's network on its groups, in one module; then its event graph.
  mlir::MLIRContext *context = problem.element.getContext();
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(mlir::UnknownLoc::get(context)));
  std::vector<std::pair<Candidate *, KernelOp>> kernels;
  for (Candidate &c : all)
    c.needs(c.schedule.registersAskedFor(target), c.schedule.registerPool(target), "registers of a CTA, which setmaxnreg hands on,");
  for (Candidate &c : all)
    if (c.refusal.empty())
      kernels.push_back({&c, build(*module, problem, c.schedule, target, module->getLoc())});
  mlir::PassManager pm(context);
  pm.enableVerifier(false);
  pm.addPass(createMapRolesPass());
  const bool mapped = succeeded(pm.run(*module));
  for (auto &[candidate, kernel] : kernels)
    if (auto refused = kernel->getAttrOfType<mlir::StringAttr>("refused"))
      candidate->refuse(refused.getValue());
    else if (mapped)
      candidate->cost = price(kernel, candidate->schedule, target, candidate->refusal);
    else
      candidate->refusal = "cannot be mapped to its warp groups";
  std::stable_sort(all.begin(), all.end(), [](const Candidate &x, const Candidate &y) {
    if (x.refusal.empty() != y.refusal.empty())
      return x.refusal.empty();
    if (!x.refusal.empty())
      return x.excess < y.excess;
    // Many schedules reach the same floor; of these, a frozen maximum, which takes the fewest instructions (a chip at its
    // power limit feels them), and then the one whose circuit leaves the most room.
    auto key = [](const Candidate &c) {
      double scale = c.schedule.keyRows ? 1e4 : 100;
      return std::tuple(std::round(c.clocksPerRow() * scale), !c.schedule.maxFree, c.cost.circuit / double(c.schedule.itemRows()));
    };
    return key(x) < key(y);
  });
  if (!all.front().refusal.empty())
    return llvm::createStringError(prefix + "no schedule fits; the nearest, " + all.front().name + ", " +
                                   all.front().refusal);
  return all;
}

Expected<std::vector<Candidate>> fovea::enumerateForward(const Problem &problem, const Target &target,
                                                         const ScheduleOverrides &overrides) {
  if (!problem.block)
    return enumerateFlash(problem, target, overrides);
  return rank(Enumerator(problem, target, overrides).run(), problem, target, buildForward);
}
