// passes/Schedule/Backward.cpp - schedules of the block-diagonal backward.
#include "dialect/Layout/SmemTile.h"
#include "dialect/Layout/TmemLayout.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Schedule/Choose.h"

using namespace fovea;
using namespace fovea::tile;

// All roles on one warp group, in the memory of the four inputs: P and dS over V, each gradient's tile over the input
// that its own product was the last to read (dO, K, Q). One item per CTA; several CTAs per SM hide latency.
static Candidate fusedBackward(const Problem &p, const Target &target, const ScheduleOverrides &o, int64_t rows) {
  auto tileBytes = [](int64_t r, int64_t c) {
    return int64_t(layout::SmemTile(uint32_t(r), uint32_t(c), 2).slotBytes());
  };
  Candidate c;
  Schedule &s = c.schedule;
  s.tileRows = rows, s.block = p.block, s.persistent = false;
  int64_t warps = rows / 16;
  s.groups = {{"all", 0, warps, 0,
               {"load", "clear_qk", "qk", "clear_dp", "dp", "softmax",
                "product_dv", "epilogue_dv", "store_dv", "product_dq", "epilogue_dq", "store_dq",
                "product_dk", "epilogue_dk", "store_dk"}}};
  if (p.rotatesOnLoad())
    s.groups[0].roles.insert(s.groups[0].roles.begin() + 1, "rotate");
  s.aliases = {{"OutDV", "DO"}, {"OutDQ", "K"}, {"OutDK", "Q"}};
  int64_t pair = tileBytes(rows, target.tcgen05 ? rows : p.block), v = tileBytes(rows, p.valueDim);
  int64_t smem = 2 * (tileBytes(rows, p.headDim) + v) + backwardRotary(p).bytes(rows) + 256;
  for (const char *channel : {"P", "DS"})
    if (v >= pair)
      s.aliases[channel] = "V", v -= pair;
    else
      smem += pair;
  int64_t columns = 0;
  if (target.tcgen05) {
    // The three gradients take turns in one accumulator.
    s.aliases["DK"] = "DQ";
    if (p.headDim <= p.valueDim)
      s.aliases["DQ"] = "DV";
    columns = 2 * p.block + p.valueDim + (p.headDim <= p.valueDim ? 0 : p.headDim);
  }
  // Registers: the two score tiles and what is made of them, or one gradient's accumulator.
  int64_t registers = target.tcgen05    ? p.block + 64
                      : p.block < 64    ? p.valueDim / 2 + p.block + 40
                                        : std::max(p.block + 38, std::max(p.headDim, p.valueDim) / 2 + 42);
  int64_t allocated = columns ? layout::tmemAllocation(uint32_t(columns)) : 0;
  int64_t ctas = std::min<int64_t>(target.smemPerSm / (smem + target.smemReservedPerCta), 8);
  ctas = std::min(ctas, target.registersPerSm / (32 * warps * registers));
  if (allocated)
    ctas = std::min(ctas, target.tmemColumns / allocated);
  s.ctasPerSm = o.ctasPerSm.value_or(std::max<int64_t>(ctas, 1));
  c.name = "fused, " + std::to_string(rows) + " rows, " + std::to_string(s.ctasPerSm) + " CTAs per SM";
  c.needs(smem, target.smemPerCta, "bytes of shared memory");
  c.needs(columns, target.tmemColumns, "columns of tensor memory");
  if (o.ctasPerSm)
    c.needs(*o.ctasPerSm, std::max<int64_t>(ctas, 1), "CTAs per SM");
  return c;
}

llvm::Expected<std::vector<Candidate>> fovea::enumerateBackward(const Problem &problem, const Target &target,
                                                                const ScheduleOverrides &overrides) {
  std::vector<Candidate> all;
  for (int64_t rows : {int64_t(64), int64_t(128)})
    if (rows >= problem.block && !(overrides.tileRows && *overrides.tileRows != rows))
      // wgmma and mma gain nothing from several blocks in a tile, unless the spec asks for them.
      if (target.tcgen05 || overrides.tileRows || rows == std::max<int64_t>(problem.block, 64))
        all.push_back(fusedBackward(problem, target, overrides, rows));
  return rank(std::move(all), problem, target, buildBackward, "backward, ");
}
