// passes/Schedule/Choose.cpp - enumerates the schedules of a problem on a target and picks the cheapest.
#include "passes/Schedule/Choose.h"
#include "dialect/Layout/SmemTile.h"
#include "dialect/Layout/TmemLayout.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/Schedule/UnitRates.h"
#include "llvm/ADT/StringExtras.h"

using namespace fovea;
using namespace fovea::tile;
using llvm::Expected;
using mlir::cast;
using mlir::dyn_cast;

const char *Cost::bound() const {
  double p = period();
  return p == memory ? "memory" : p == tensor ? "tensor core" : p == exponential ? "exponentials" : "latency";
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
      if (!number || (number.getInt() != 64 && number.getInt() != 128))
        return fail(key, "must be 64 or 128, the rows of one product");
      o.tileRows = number.getInt();
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
      return fail(key, "is unknown; known are roles, tile_m, stages, ctas_per_sm" +
                           llvm::Twine(target.tcgen05 ? ", p" : ""));
    }
  }
  return o;
}

namespace {
class Enumerator {
public:
  Enumerator(const Problem &p, const Target &target, const ScheduleOverrides &o)
      : p(p), target(target), o(o), rates(unitRates(target)) {}

  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    for (int64_t rows : {int64_t(64), int64_t(128)}) {
      if (rows < p.block || (o.tileRows && *o.tileRows != rows))
        continue;
      if (!o.roles || *o.roles == "fused")
        for (bool tmem : pChoices())
          all.push_back(fused(rows, tmem));
      if (!o.roles || *o.roles == "split")
        for (int64_t stages : {4, 3, 2, 1})
          if (!o.stages || *o.stages == stages)
            for (bool tmem : pChoices())
              all.push_back(split(rows, o.stages.value_or(stages), tmem));
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
    int64_t bytes = layout::SmemTile(uint32_t(rows), uint32_t(cols), 2).bytes();
    return (bytes + 1023) / 1024 * 1024;
  }
  int64_t loadBytes(int64_t rows) const { return 2 * tileBytes(rows, p.headDim) + tileBytes(rows, p.valueDim); }

  // One warp group does everything for one item; several CTAs per SM hide latency for each other.
  Candidate fused(int64_t rows, bool tmem) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = false, s.pInTmem = tmem;
    int64_t warps = target.tcgen05 ? 4 : rows / 16;
    s.groups = {{"all", 0, warps, 0, {"load", "qk", "softmax", "pv", "epilogue", "store"}}};
    s.aliases["Out"] = "V"; // the product that reads V is done before O is read
    if (tmem)
      s.aliases["P"] = "S"; // a warp writes P over the lanes of S that it alone has read
    int64_t smem = loadBytes(rows) + (target.tcgen05 && !tmem ? tileBytes(rows, p.block) : 0) + 256;
    int64_t columns = target.tcgen05 ? layout::tmemAllocation(uint32_t(p.block + p.valueDim)) : 0;
    int64_t ctas = std::min<int64_t>(target.smemPerSm / (smem + target.smemReservedPerCta), 8);
    ctas = std::min(ctas, target.registersPerSm / (32 * warps * registersNeeded(rows)));
    if (columns)
      ctas = std::min(ctas, target.tmemColumns / columns);
    s.ctasPerSm = o.ctasPerSm.value_or(std::max<int64_t>(ctas, 1));
    if (smem > target.smemPerCta)
      c.refusal = "needs " + std::to_string(smem) + " bytes of shared memory";
    else if (target.tcgen05 && !columns)
      c.refusal = "needs " + std::to_string(p.block + p.valueDim) + " columns of tensor memory";
    else if (o.ctasPerSm && *o.ctasPerSm > ctas)
      c.refusal = "fits " + std::to_string(ctas) + " CTAs per SM, the schedule asks for " + std::to_string(*o.ctasPerSm);
    else if (o.stages && *o.stages != 1)
      c.refusal = "has one stage by construction; stages belong to split roles";
    c.name = "fused, " + std::to_string(rows) + " rows" + pName(tmem) + ", " + std::to_string(s.ctasPerSm) +
             " CTAs per SM";
    price(c, rows, double(s.ctasPerSm));
    c.cost.chain += rates.ctaStart;
    return c;
  }

  // One warp group a role over rings; persistent.
  Candidate split(int64_t rows, int64_t stages, bool tmem) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = true, s.pInTmem = tmem, s.ctasPerSm = 1;
    c.name = "split, " + std::to_string(rows) + " rows" + pName(tmem) + ", " + std::to_string(stages) + " stages";
    for (const char *channel : {"Q", "K", "V"})
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
      int64_t pColumns = tmem ? p.block / 2 : 0, columns = 0;
      for (auto [sDepth, oDepth] : {std::pair<int64_t, int64_t>{2, 2}, {2, 1}, {1, 1}}) {
        columns = sDepth * (p.block + pColumns) + oDepth * p.valueDim;
        s.depths["S"] = s.depths["P"] = sDepth, s.depths["O"] = oDepth;
        if (columns <= target.tmemColumns)
          break;
      }
      if (columns > target.tmemColumns)
        c.refusal = "needs " + std::to_string(columns) + " columns of tensor memory";
      if (!tmem)
        smem += s.depths["P"] * tileBytes(rows, p.block);
    } else {
      // Accumulators in registers: everything after the load shares the consumers' warps.
      int64_t warps = rows / 16;
      s.groups = {{"consumer", 0, warps, warps == 4 ? 240 : 232, {"qk", "softmax", "pv", "epilogue", "store"}},
                  {"load", warps, 4, 40, {"load"}}};
    }
    if (smem > target.smemPerCta)
      c.refusal = "needs " + std::to_string(smem) + " bytes of shared memory";
    if (o.ctasPerSm && *o.ctasPerSm != 1)
      c.refusal = "is one CTA per SM by construction";
    price(c, rows, double(stages));
    return c;
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

  void price(Candidate &c, int64_t rows, double inFlight) {
    Cost &k = c.cost;
    double bytes = 2.0 * rows * (2 * p.headDim + 2 * p.valueDim);
    double bytesPerClock = rates.hbmBytesPerSecond / (target.sms * rates.clockGhz * 1e9);
    k.memory = bytes / bytesPerClock;
    // The diagonal's blocks are separate products of all rows (tcgen05) or of their own rows only (wgmma, mma).
    double width = target.tcgen05 ? rows : p.block;
    double flops = 2.0 * rows * width * (p.headDim + p.valueDim);
    k.tensor = flops / (rates.tensorFlops * (rows == 64 ? rates.halfTileFactor : 1));
    k.exponential = double(rows) * p.block / rates.mufu;
    double arithmetic = double(rows) * (8.0 * p.block + 4.0 * p.valueDim) / rates.issue;
    k.chain = rates.loadLatency + bytes * 0.75 / (4 * bytesPerClock) + k.tensor + 2 * rates.productLatency +
              k.exponential + arithmetic + 6 * rates.handover;
    k.items = inFlight;
  }

  const Problem &p;
  const Target &target;
  const ScheduleOverrides &o;
  UnitRates rates;
};
} // namespace

Expected<std::vector<Candidate>> fovea::enumerateForward(const Problem &problem, const Target &target,
                                                         const ScheduleOverrides &overrides) {
  std::vector<Candidate> all = Enumerator(problem, target, overrides).run();
  std::stable_sort(all.begin(), all.end(), [](const Candidate &x, const Candidate &y) {
    if (x.refusal.empty() != y.refusal.empty())
      return x.refusal.empty();
    return x.cost.period() < y.cost.period();
  });
  if (all.empty())
    return llvm::createStringError("schedule " + std::string(target.name) +
                                   ": a tile must hold a whole block: tile_m is below the block of " +
                                   std::to_string(problem.block) + " rows");
  if (!all.front().refusal.empty())
    return llvm::createStringError("schedule " + std::string(target.name) + ": " + all.front().name + " " +
                                   all.front().refusal + ", beyond what the target has");
  return all;
}
