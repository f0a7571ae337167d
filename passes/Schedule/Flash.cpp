// passes/Schedule/Flash.cpp - the schedules of attention whose items loop over key blocks.
#include "dialect/Layout/SmemTile.h"
#include "passes/Lower/Networks.h"
#include "passes/Schedule/Choose.h"

using namespace fovea;
using namespace fovea::tile;

namespace {
class Enumerator {
public:
  Enumerator(const Problem &p, const Target &target, const ScheduleOverrides &o) : p(p), target(target), o(o) {}

  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    for (int64_t rows : o.tileRows ? std::vector<int64_t>{*o.tileRows} : tileRows())
      for (int64_t keys : o.keyRows ? std::vector<int64_t>{*o.keyRows} : keyRows())
        for (int64_t stages : o.stages ? std::vector<int64_t>{*o.stages} : std::vector<int64_t>{4, 3, 2, 1})
          for (int64_t queries : {2, 1, 0})
            all.push_back(candidate(rows, keys, stages, queries));
    return all;
  }

private:
  std::vector<int64_t> tileRows() const {
    return target.tcgen05 ? std::vector<int64_t>{128} : std::vector<int64_t>{192, 128, 64};
  }
  // Without a register budget for scores, tcgen05 has small key tiles where head dims leave no room for larger ones.
  std::vector<int64_t> keyRows() const {
    return target.tcgen05 ? std::vector<int64_t>{128, 96, 80, 64, 32} : std::vector<int64_t>{128, 96, 80, 64};
  }
  int64_t tileBytes(int64_t rows, int64_t cols) const {
    return layout::SmemTile(uint32_t(rows), uint32_t(cols), 2).slotBytes();
  }

  // `queries`: tiles of queries in shared memory; 0: one, through which the output leaves.
  Candidate candidate(int64_t rows, int64_t keys, int64_t stages, int64_t queries) const {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.keyRows = keys, s.block = 0, s.persistent = true, s.ctasPerSm = 1;
    // bf16 has the exponents that a frozen maximum needs; f16 does not.
    const bool canFreeze = !target.tcgen05 && p.element.isBF16();
    s.maxFree = o.softmax ? *o.softmax == "max_free" : canFreeze;
    s.lags = {{"pv", 1}, {"load_v", 1}};
    s.outInQ = queries == 0;
    s.depths = {{"Q", std::max<int64_t>(queries, 1)}, {"K", stages}, {"V", stages}};
    c.name = std::string(s.maxFree ? "max-free" : "exact") + ", " + std::to_string(rows) + " x " + std::to_string(keys) +
             ", " + std::to_string(stages) + " stages, " +
             (queries == 2 ? "2 query tiles" : queries == 1 ? "1 query tile" : "output over the query tile");
    if (s.outInQ && p.headDim != p.valueDim)
      c.refuse("needs equal head dims of q and v to send the output through the query tile");
    if (s.outInQ && target.tcgen05)
      c.refuse("sends the output through the query tile, which the products of another group read");
    const bool clears = p.keys.kind == RowSpace::Kind::Jagged;
    auto addProducers = [&](int64_t warp, int64_t registers) {
      if (target.tcgen05)
        s.groups.push_back({"mma", warp++, 1, registers, {"qk", "pv"}});
      s.groups.push_back({"load", warp++, 1, registers, {"load_k", "load_v"}});
      if (clears)
        s.groups.push_back({"clear", warp++, 1, registers, {"clear"}});
      if (warp % 4)
        s.groups.push_back({"spare", warp, 4 - warp % 4, registers, {}});
    };
    if (target.tcgen05) {
      s.groups = {{"softmax", 0, 4, 232, {"softmax", "store"}}};
      addProducers(4, 96);
      s.pInTmem = true;
      s.depths["S"] = s.depths["P"] = 2;
      int64_t columns = 2 * keys + keys + p.valueDim;
      if (columns > target.tmemColumns)
        s.depths["S"] = s.depths["P"] = 1, columns = keys + keys / 2 + p.valueDim;
      c.needs(columns, target.tmemColumns, "columns of tensor memory");
    } else {
      int64_t warps = rows / 16, registers = rows == 192 ? 160 : 240;
      s.groups = {{"consumer", 0, warps, registers, {"qk", "pv", "softmax", "store"}}};
      addProducers(warps, rows == 192 ? 32 : 24);
      // Scores, packed weights and the output of a thread, its row state, addresses.
      c.needs(keys / 2 + keys / 4 + p.valueDim / 2 + 32, registers, "registers a thread");
    }
    int64_t smem = (queries ? queries * tileBytes(rows, p.headDim) + tileBytes(rows, p.valueDim)
                            : tileBytes(rows, p.headDim)) +
                   stages * (tileBytes(keys, p.headDim) + tileBytes(keys, p.valueDim)) + 512;
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    if (target.tcgen05 && rows > 128)
      c.refuse("has more query rows than one tcgen05 product: tile_m of 64 or 128");
    if (target.tcgen05 && rows == 64 && (keys & (keys - 1)))
      c.refuse("stores fragments of P in powers of two of columns: tile_n of 32, 64 or 128 with tile_m of 64");
    if (s.maxFree && !canFreeze)
      c.refuse(target.tcgen05 ? "has no max-free loop yet" : "cannot freeze the maximum of f16 weights: softmax must be exact");
    if (o.ctasPerSm && *o.ctasPerSm != 1)
      c.refuse("is one CTA per SM by construction");
    if (o.roles && *o.roles != "split")
      c.refuse("splits its roles over warp groups by construction: 'fused' belongs to blocks that a tile holds whole");
    if (o.p && *o.p != "tmem")
      c.refuse("keeps P in tensor memory by construction: 'smem' belongs to blocks that a tile holds whole");
    return c;
  }

  const Problem &p;
  const Target &target;
  const ScheduleOverrides &o;
};
} // namespace

llvm::Expected<std::vector<Candidate>> fovea::enumerateFlash(const Problem &problem, const Target &target,
                                                             const ScheduleOverrides &overrides) {
  return rank(Enumerator(problem, target, overrides).run(), problem, target, buildFlash);
}
