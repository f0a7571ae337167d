// passes/Schedule/Backward.cpp - schedules of the block-diagonal backward.
#include "dialect/Layout/SmemTile.h"
#include "dialect/Layout/TmemLayout.h"
#include "passes/Lower/Elements.h"
#include "passes/Lower/Networks.h"
#include "passes/Lower/Rotary.h"
#include "passes/Schedule/Choose.h"

using namespace fovea;
using namespace fovea::tile;

namespace {
using Names = std::vector<std::string>;

class BackwardEnumerator {
public:
  BackwardEnumerator(const Problem &p, const Target &target, const ScheduleOverrides &o)
      : p(p), target(target), o(o), gradient(p.epilogueGradient), elements(p, gradient.inputs) {}

  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    for (int64_t rows : {int64_t(64), int64_t(128)}) {
      if (rows < p.block || (o.tileRows && *o.tileRows != rows))
        continue;
      // wgmma and mma gain nothing from several blocks in a tile, unless the spec asks for them.
      if (!target.tcgen05 && !o.tileRows && rows != std::max<int64_t>(p.block, 64))
        continue;
      if (!o.roles || *o.roles == "fused") {
        all.push_back(fused(rows));
        if (!all.back().refusal.empty() && rows == p.block && canSlice())
          all.push_back(sliced(rows));
      }
      if (!o.roles || *o.roles == "split")
        for (int64_t stages : o.stages ? std::vector<int64_t>{*o.stages} : std::vector<int64_t>{2, 1})
          all.push_back(split(rows, stages));
    }
    return all;
  }

private:
  static int64_t tileBytes(int64_t r, int64_t c) {
    return int64_t(layout::SmemTile(uint32_t(r), uint32_t(c), 2).slotBytes());
  }
  int64_t pairBytes(int64_t rows) const { return tileBytes(rows, target.tcgen05 ? rows : p.block); }
  // The gradients of an epilogue's tensors that have no tile of theirs to stay in.
  int64_t gradientBytes(int64_t rows) const {
    int64_t bytes = 0;
    for (const EpilogueGradient::Output &output : gradient.outputs)
      if (output.value && !elements.find(output.tensor))
        bytes += tileBytes(rows, p.valueDim);
    return bytes;
  }
  // What TMA brings for an item.
  int64_t loadBytes(int64_t rows) const {
    return 2 * (tileBytes(rows, p.headDim) + tileBytes(rows, p.valueDim)) + backwardRotary(p).bytes(rows) +
           elements.bytes(rows);
  }
  Names storesOfDout() const {
    Names roles;
    for (auto [k, output] : llvm::enumerate(gradient.outputs))
      if (!output.value)
        roles.push_back("store_delement" + std::to_string(k));
    return roles;
  }
  Names storesOfElements() const {
    Names roles;
    for (auto [k, output] : llvm::enumerate(gradient.outputs))
      if (output.value)
        roles.push_back("store_delement" + std::to_string(k));
    return roles;
  }
  static void append(Names &roles, const Names &more) { roles.insert(roles.end(), more.begin(), more.end()); }
  static Names gradientRoles(const std::string &name) { return {"product_" + name, "epilogue_" + name, "store_" + name}; }

  // The most CTAs that an SM holds, and what is refused.
  void fit(Candidate &c, int64_t smem, int64_t columns, int64_t warps, int64_t registers, const std::string &name) {
    int64_t allocated = columns ? layout::tmemAllocation(uint32_t(columns)) : 0;
    int64_t ctas = std::min<int64_t>(target.smemPerSm / (smem + target.smemReservedPerCta), 8);
    ctas = std::min(ctas, target.registersPerSm / (32 * warps * registers));
    if (allocated)
      ctas = std::min(ctas, target.tmemColumns / allocated);
    c.schedule.ctasPerSm = o.ctasPerSm.value_or(std::max<int64_t>(ctas, 1));
    c.name = name + ", " + std::to_string(c.schedule.ctasPerSm) + " CTAs per SM";
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    c.needs(columns, target.tmemColumns, "columns of tensor memory");
    if (o.ctasPerSm)
      c.needs(*o.ctasPerSm, std::max<int64_t>(ctas, 1), "CTAs per SM");
    if (o.stages && *o.stages != 1)
      c.refuse("has one stage by construction: stages belong to split roles");
  }

  // All roles on one warp group, in the memory of the four inputs: P and dS over V, each gradient's tile over the input
  // that its own product was the last to read (dO, K, Q). One item per CTA; several CTAs per SM hide latency. An
  // epilogue's gradient that reads o comes between softmax and dP, so that P lives beside V.
  Candidate fused(int64_t rows) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = false;
    const int64_t warps = rows / 16;
    const bool again = bool(gradient.o);
    Names roles{"load"};
    if (p.rotatesOnLoad())
      roles.push_back("rotate");
    append(roles, {"clear_qk", "qk"});
    if (again)
      append(roles, {"softmax", "clear_v", "pv"});
    append(roles, storesOfDout());
    if (gradient.maps())
      roles.push_back("elements"), append(roles, storesOfElements());
    append(roles, {"clear_dp", "dp", again ? "ds" : "softmax"});
    for (const char *name : {"dv", "dq", "dk"})
      append(roles, gradientRoles(name));
    s.groups = {{"all", 0, warps, 0, roles}};
    s.aliases = {{"OutDV", "DO"}, {"OutDQ", "K"}, {"OutDK", "Q"}};
    int64_t smem = loadBytes(rows) + gradientBytes(rows) + 256, v = tileBytes(rows, p.valueDim), pair = pairBytes(rows);
    for (const char *channel : {"P", "DS"})
      if (v >= pair && !(again && channel[0] == 'P'))
        s.aliases[channel] = "V", v -= pair;
      else
        smem += pair;
    int64_t columns = 0;
    if (target.tcgen05) {
      // The three gradients take turns in one accumulator, behind O if it is made again.
      s.aliases["DK"] = "DQ";
      if (p.headDim <= p.valueDim)
        s.aliases["DQ"] = "DV";
      if (again)
        s.aliases["DV"] = "O";
      columns = 2 * p.block + p.valueDim + (p.headDim <= p.valueDim ? 0 : p.headDim);
    }
    // Registers: the two score tiles and what is made of them, or one gradient's accumulator.
    int64_t registers = target.tcgen05    ? p.block + 64
                        : p.block < 64    ? p.valueDim / 2 + p.block + 40
                                          : std::max(p.block + 38, std::max(p.headDim, p.valueDim) / 2 + 42);
    if (gradient.maps() && !target.tcgen05) // o beside P, and a few columns of an expression
      registers = std::max(registers, p.valueDim / 2 + p.block / 2 + 72);
    fit(c, smem, columns, warps, registers, "fused, " + std::to_string(rows) + " rows");
    return c;
  }

  bool canSlice() const {
    return p.headDim % 64 == 0 && p.valueDim % 64 == 0 && !gradient.maps() && gradient.outputs.empty() &&
           backwardRotary(p).tables.empty();
  }

  // The same where four whole tiles do not fit: operands in two slices of columns. The second slice of dO lies where
  // V's first was, P where V's second was, and dS where P was.
  Candidate sliced(int64_t rows) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = false;
    Names roles{"load", "clear_qk", "qk", "clear_dp", "dp", "load_do2", "clear_do2", "dp2", "softmax"};
    for (const char *name : {"dv1", "dv2"})
      append(roles, gradientRoles(name));
    roles.push_back("ds");
    for (const char *name : {"dq1", "dq2", "dk1", "dk2"})
      append(roles, gradientRoles(name));
    const int64_t warps = rows / 16;
    s.groups = {{"all", 0, warps, 0, roles}};
    s.aliases = {{"DO2", "V1"},    {"OutDV1", "DO1"}, {"OutDV2", "DO2"}, {"OutDQ1", "K1"}, {"OutDQ2", "K2"},
                 {"OutDK1", "Q1"}, {"OutDK2", "Q2"},  {"DS", "P"}};
    int64_t v = tileBytes(rows, p.valueDim / 2), pair = pairBytes(rows);
    int64_t smem = 4 * tileBytes(rows, p.headDim / 2) + 3 * v + 256;
    if (v >= pair)
      s.aliases["P"] = "V2";
    else
      smem += pair;
    int64_t columns = 0;
    if (target.tcgen05) {
      const int64_t wide = std::max(p.headDim, p.valueDim) / 2;
      columns = 2 * p.block + p.valueDim / 2;
      s.aliases["DV2"] = "DV1";
      if (p.headDim <= p.valueDim)
        s.aliases["DQ1"] = "DV2";
      else
        columns += wide;
      s.aliases["DQ2"] = "DQ1", s.aliases["DK1"] = "DQ2", s.aliases["DK2"] = "DK1";
    }
    fit(c, smem, columns, warps, target.tcgen05 ? p.block + 64 : 255,
        "fused, " + std::to_string(rows) + " rows, operands in two slices");
    return c;
  }

  // A warp group for each part of the work, joined by rings; persistent. sm_100a: load; scores (S and dP, behind their
  // clears); softmax; dV; dS; dQ and dK; the epilogues. sm_90a: accumulators live in registers, so that all but the
  // load shares the consumers' warps.
  Candidate split(int64_t rows, int64_t stages) {
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.block = p.block, s.persistent = true, s.ctasPerSm = 1;
    c.name = "split, " + std::to_string(rows) + " rows, " + std::to_string(stages) + " stages";
    for (const char *channel : {"Q", "K", "V", "DO"})
      s.depths[channel] = stages;
    for (const RotaryTable &t : backwardRotary(p).tables)
      s.depths[t.channel] = stages;
    int64_t smem = stages * loadBytes(rows) + 2 * pairBytes(rows) + 2 * tileBytes(rows, p.headDim) +
                   tileBytes(rows, p.valueDim) + 1024;
    int64_t columns = 0;
    Names epilogues;
    for (const char *name : {"dv", "dq", "dk"})
      append(epilogues, {"epilogue_" + std::string(name), "store_" + std::string(name)});
    if (target.tcgen05) {
      s.groups = {{"softmax", 0, 4, kThreads, {"softmax"}},
                  {"ds", 4, 4, kThreads, {"ds"}},
                  {"epilogue", 8, 4, kThreads, epilogues},
                  {"load", 12, 1, kIssuers, {"load"}},
                  {"scores", 13, 1, kIssuers, {"clear_qk", "qk", "clear_dp", "dp"}},
                  {"values", 14, 1, kIssuers, {"product_dv"}},
                  {"keys", 15, 1, kIssuers, {"product_dq", "product_dk"}}};
      const int64_t gradients = p.valueDim + 2 * p.headDim;
      const int64_t deep = 4 * p.block + gradients <= target.tmemColumns ? 2 : 1;
      s.depths["S"] = s.depths["DP"] = deep;
      columns = 2 * deep * p.block + gradients;
    } else {
      Names consumer{"clear_qk", "qk", "clear_dp", "dp", "softmax"};
      for (const char *name : {"dv", "dq", "dk"})
        append(consumer, gradientRoles(name));
      int64_t warps = rows / 16;
      s.groups = {{"consumer", 0, warps, warps == 4 ? 240 : 232, consumer}, {"load", warps, 4, 40, {"load"}}};
    }
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    c.needs(columns, target.tmemColumns, "columns of tensor memory");
    if (o.ctasPerSm && *o.ctasPerSm != 1)
      c.refuse("is one CTA per SM by construction: ctas_per_sm belongs to fused roles");
    if (target.tcgen05 && p.block > 64)
      c.refuse("has rows of " + std::to_string(p.block) + " scores, for which a thread of 512 has too few registers: use fused roles");
    if (!gradient.outputs.empty() || gradient.maps())
      c.refuse("has no place for an epilogue's gradient: use fused roles");
    if (p.rotatesOnLoad())
      c.refuse("has no warps that turn its inputs on load: use fused roles");
    return c;
  }

  // Registers of 512 threads, 128 each at the start: 12 warps of threads' work and 4 that issue (setmaxnreg).
  static constexpr int64_t kThreads = 144, kIssuers = 72;

  const Problem &p;
  const Target &target;
  const ScheduleOverrides &o;
  const EpilogueGradient &gradient;
  const ElementTensors elements;
};
} // namespace

llvm::Expected<std::vector<Candidate>> fovea::enumerateBackward(const Problem &problem, const Target &target,
                                                                const ScheduleOverrides &overrides) {
  return rank(BackwardEnumerator(problem, target, overrides).run(), problem, target, buildBackward, "backward, ");
}
