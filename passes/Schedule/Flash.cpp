// passes/Schedule/Flash.cpp - the schedules of attention whose items loop over key blocks.
#include "dialect/Layout/SmemTile.h"
#include "passes/Lower/Networks.h"
#include "passes/Schedule/Choose.h"
#include "llvm/ADT/SmallSet.h"

using namespace fovea;
using namespace fovea::tile;

namespace {
class Enumerator {
public:
  Enumerator(const Problem &p, const Target &target, const ScheduleOverrides &o) : p(p), target(target), o(o) {}

  std::vector<Candidate> run() {
    std::vector<Candidate> all;
    for (auto [rows, tiles] : tileRows())
      for (int64_t keys : o.keyRows ? std::vector<int64_t>{*o.keyRows} : keyRows())
        for (auto [k, v] : stages())
          for (auto [queries, way] : queryTiles())
            if (target.tcgen05 || queries > 1 || k == v)
              all.push_back(candidate({rows, tiles, keys, k, v, queries, way, o.softmax ? *o.softmax == "max_free" : canFreeze(), 0, o.staged.value_or(0)}));
    // A slot more never makes a period longer (tokens of a marked graph), so that of those that fit only the deepest are
    // worth a price.
    std::vector<Choice> fit;
    for (const Candidate &c : all)
      if (c.refusal.empty())
        fit.push_back(choices.at(c.name));
    llvm::erase_if(all, [&](const Candidate &c) {
      const Choice mine = choices.at(c.name);
      return c.refusal.empty() && llvm::any_of(fit, [&](const Choice &x) { return (target.tcgen05 || x.way == mine.way) && x.deepens(mine); });
    });
    return all;
  }

  // sm_100a: weights of half to three quarters of a block's keys handed on first, for the best of each size of key tiles that
  // waits for its circuit and would beat `best` if it did not.
  std::vector<Candidate> stagings(const Candidate &best, llvm::ArrayRef<Candidate> ranked) {
    std::vector<Candidate> all{best};
    llvm::SmallSet<std::pair<int64_t, int64_t>, 8> seen;
    for (const Candidate &c : ranked) {
      Choice choice = choices.at(c.name);
      if (!c.refusal.empty() || choice.rows != 128 || !seen.insert({choice.tiles, choice.keys}).second)
        continue;
      Candidate unhindered = c;
      unhindered.cost.circuit = 0;
      if (c.cost.circuit < c.cost.period() || unhindered.clocksPerRow() >= best.clocksPerRow())
        continue;
      choice.polynomial = choices.at(best.name).polynomial;
      for (choice.staged = (choice.keys / 2 + 15) / 16 * 16; 4 * choice.staged <= 3 * choice.keys; choice.staged += 16)
        all.push_back(candidate(choice));
    }
    return all;
  }

  // sm_100a, of the best of those: exponentials that the FMA units compute, and the other softmax.
  std::vector<Candidate> refine(const Candidate &best) {
    const Choice choice = choices.at(best.name);
    std::vector<Candidate> all{best};
    for (bool maxFree : {true, false})
      for (int64_t polynomial : {0, 2, 4, 6}) {
        Choice other = choice;
        other.maxFree = maxFree, other.polynomial = polynomial;
        if ((o.softmax || !canFreeze()) && maxFree != choice.maxFree)
          continue;
        if (maxFree != choice.maxFree || polynomial)
          all.push_back(candidate(other));
      }
    return all;
  }

private:
  // --- query heads of a group in one tile ---

  // Heads that share keys and values, where the spec says how many there are.
  int64_t group() const { return p.heads && p.keyHeads ? p.heads / p.keyHeads : 1; }
  // Candidate::rowTail: shared queries are as many as the spec says.
  double rowTail(int64_t itemRows, int64_t packed) const {
    if (p.queries.kind != RowSpace::Kind::Shared)
      return 1;
    const int64_t rows = p.queries.count * packed;
    return double((rows + itemRows - 1) / itemRows * itemRows) / double(rows);
  }
  // Few queries leave most of a tile empty, while each head's tile loads the group's keys again: the rows of several heads
  // fill it. Queries that have lengths of their own beside the keys are few where a model decodes, and lose nothing where
  // they are many; those of the keys' own sequence are seldom few.
  int64_t packing(int64_t itemRows) const {
    if (o.packed)
      return *o.packed;
    int64_t best = 1;
    const bool known = p.queries.kind == RowSpace::Kind::Shared;
    if (p.queries == p.keys || ownLists())
      return best;
    for (int64_t n = 2; n <= kMaxPacked && group() % n == 0; n *= 2)
      if (!known || rowTail(itemRows, n) < rowTail(itemRows, best))
        best = n;
    return best;
  }
  bool ownLists() const { return p.range.blocks && p.listHeads != 1; }

  // How the output leaves: through a slot of its own, through the queries' (sm_90a) or over it, or (sm_90a) in two halves of its
  // columns through one slot of half the size.
  enum class Way { Slot, Over, Halves };

  // `tiles` of queries in flight; `queries`: how many of each are in shared memory.
  struct Choice {
    int64_t rows, tiles, keys, kStages, vStages, queries;
    Way way;
    bool maxFree;
    int64_t polynomial = 0, staged = 0;

    /// Whether it is `other` with more slots.
    bool deepens(const Choice &other) const {
      auto tile = [](const Choice &c) { return std::tuple(c.rows, c.tiles, c.keys); };
      auto slots = [](const Choice &c) { return std::tuple(c.kStages, c.vStages, c.queries, c.way); };
      return tile(*this) == tile(other) && slots(*this) != slots(other) && kStages >= other.kStages &&
             vStages >= other.vStages && queries >= other.queries && way <= other.way;
    }
  };

  // bf16 has the exponents that a frozen maximum needs; f16 does not.
  bool canFreeze() const { return p.element.isBF16(); }

  // Rows of a tile of queries, and how many are in flight. One product of tcgen05 has 128 rows at most.
  std::vector<std::pair<int64_t, int64_t>> tileRows() const {
    if (o.tileRows)
      return {*o.tileRows == 256 && target.tcgen05 ? std::pair<int64_t, int64_t>{128, 2} : std::pair<int64_t, int64_t>{*o.tileRows, 1}};
    if (target.tcgen05 && p.range.blocks && p.range.blocks->queryBlock % 128)
      return {{64, 1}};
    if (target.tcgen05)
      return {{128, 2}, {128, 1}};
    return {{256, 1}, {192, 1}, {128, 1}, {64, 1}};
  }
  // Without a register budget for scores, tcgen05 has small key tiles where head dims leave no room for larger ones.
  std::vector<int64_t> keyRows() const {
    return target.tcgen05 ? std::vector<int64_t>{128, 96, 80, 64, 32} : std::vector<int64_t>{128, 96, 80, 64};
  }
  // Where only one query tile fits, an output that leaves through it keeps the next one out until TMA has read it: on an H200
  // 5 % of items of 1024 keys at head dim 256. Of two tiles one is there already.
  std::vector<std::pair<int64_t, Way>> queryTiles() const {
    if (target.tcgen05)
      return {{2, Way::Slot}, {1, Way::Slot}, {1, Way::Over}};
    std::vector<std::pair<int64_t, Way>> all{{2, Way::Over}, {2, Way::Slot}, {1, Way::Slot}, {1, Way::Over}};
    if (p.valueDim % 128 == 0) // halves are whole panels
      all.insert(std::prev(all.end()), {1, Way::Halves});
    return all;
  }
  // Depths of the rings of K and V.
  std::vector<std::pair<int64_t, int64_t>> stages() const {
    if (o.stages)
      return {{*o.stages, *o.stages}};
    std::vector<std::pair<int64_t, int64_t>> all{{4, 4}, {3, 3}, {2, 2}, {1, 1}};
    all.push_back(target.tcgen05 ? std::pair<int64_t, int64_t>{2, 1} : std::pair<int64_t, int64_t>{3, 2}); // where room is short
    return all;
  }
  int64_t tileBytes(int64_t rows, int64_t cols) const {
    return layout::SmemTile(uint32_t(rows), uint32_t(cols), 2).slotBytes();
  }

  Candidate candidate(Choice choice) {
    const int64_t rows = choice.rows, tiles = choice.tiles, keys = choice.keys, kStages = choice.kStages,
                  vStages = choice.vStages, queries = choice.queries, polynomial = choice.polynomial;
    const bool over = choice.way == Way::Over, halves = choice.way == Way::Halves;
    Candidate c;
    Schedule &s = c.schedule;
    s.tileRows = rows, s.queryTiles = tiles, s.keyRows = keys, s.block = 0, s.persistent = true, s.ctasPerSm = 1;
    s.maxFree = choice.maxFree, s.polynomial = polynomial, s.staged = choice.staged;
    s.packed = packing(rows * tiles);
    c.rowTail = rowTail(rows * tiles, s.packed);
    // Few queries that meet many keys cannot fill the chip; queries that have their own keys seldom are few. Where tiles see
    // equally many keys, or as lists have it, the last ones cannot either; under masks the lightest come last. (On an H200 that is
    // worth 1 to 8 % at head dim 128, 3 % of lists for 192 queries; loops of 64 and 256 get slower by 1 to 2 % for it. On sm_100a what the parts tell the correction
    // takes the room of a stage.)
    const int64_t depth = std::max(p.headDim, p.valueDim);
    const bool even = !target.tcgen05 && p.queries.kind != RowSpace::Kind::Jagged && p.range.lower.empty() &&
                      p.range.upper.empty() && depth > 64 && depth <= 128;
    s.splits = o.splits ? *o.splits : p.queries == p.keys && !even ? 1 : 0;
    s.outInQ = over && !target.tcgen05, s.outHalves = halves;
    s.depths = {{"K", kStages}, {"V", vStages}};
    // Names of each tile's own roles and channels.
    auto own = [&](const char *name, int64_t tile) { return tiles == 1 ? std::string(name) : name + std::to_string(tile); };
    for (int64_t tile = 0; tile < tiles; ++tile) {
      s.lags[own("pv", tile)] = 1;
      s.depths[own("Q", tile)] = queries;
      if (over && target.tcgen05)
        s.aliases[own("Out", tile)] = own("Q", tile);
    }
    s.lags["load_v"] = 1;
    c.name = std::string(s.maxFree ? "max-free" : "exact") + ", " + (tiles > 1 ? std::to_string(tiles) + " x " : "") +
             std::to_string(rows) + " x " + std::to_string(keys) + ", " + std::to_string(kStages) +
             (vStages != kStages ? " + " + std::to_string(vStages) : "") + " stages, " +
             (halves         ? "output in two halves"
              : !over        ? queries == 2 ? "2 query tiles" : "1 query tile"
              : queries == 2 ? "output over 2 query tiles"
                             : "output over the query tile") +
             (s.packed > 1 ? ", " + std::to_string(s.packed) + " heads a tile" : "") +
             (polynomial ? ", " + std::to_string(polynomial) + "/16 of exp2 on FMA units" : "") +
             (s.staged ? ", weights of " + std::to_string(s.staged) + " keys first" : "");
    choices[c.name] = choice;
    if (s.outInQ && p.headDim != p.valueDim)
      c.refuse("needs equal head dims of q and v to send the output through the query tile");
    if (over && p.valueDim > p.headDim)
      c.refuse("has no room for the output over the query tile: v has the larger head dim");
    const bool clears = p.keys.kind == RowSpace::Kind::Jagged;
    std::vector<std::string> products; // tcgen05: in the order of issue
    auto addProducers = [&](int64_t warp, int64_t registers) {
      if (target.tcgen05)
        s.groups.push_back({"mma", warp++, 1, registers, products});
      s.groups.push_back({"load", warp++, 1, registers, {"load_k", "load_v"}});
      if (clears)
        s.groups.push_back({"clear", warp++, 1, registers, {"clear"}});
      if (warp % 4)
        s.groups.push_back({"spare", warp, 4 - warp % 4, registers, {}});
    };
    if (target.tcgen05) {
      s.pInTmem = true;
      const bool scoresFirst = placeScores(c);
      // A row of scores a thread leaves the output to warps of their own. What all hold is what 128 or 168 registers a
      // thread give. (Of 512 threads' shares, those with which ptxas spills least, its few loop counters.)
      const bool corrects = rows == 128;
      std::vector<std::string> corrections, leaving;
      for (int64_t tile = 0; tile < tiles; ++tile) {
        std::vector<std::string> roles{own("softmax", tile)};
        (corrects ? leaving : roles).push_back(own("store", tile));
        if (corrects)
          corrections.push_back(own("correct", tile));
        s.groups.push_back({own("softmax", tile), 4 * tile, 4, tiles == 1 ? 232 : keys > 96 ? 200 : 184, roles});
        products.push_back(own(scoresFirst ? "qk" : "pv", tile)), products.push_back(own(scoresFirst ? "pv" : "qk", tile));
      }
      llvm::append_range(corrections, leaving); // both outputs wait for the stores of the item before at once
      if (corrects)
        s.groups.push_back({"correct", 4 * tiles, 4, tiles == 1 ? 144 : keys > 96 ? 56 : 72, corrections});
      addProducers(4 * (tiles + corrects), corrects ? tiles == 1 ? 128 : keys > 96 ? 56 : 72 : 96);
    } else {
      // What the groups hold together is what they begin with; looking at a list takes a few more than loading does.
      int64_t warps = rows / 16;
      // A warpgroup's products, weights and output are of its own rows.
      s.groups = {{"consumer", 0, warps, 0, {"qk", "pv", "softmax", "store"}, rows / 64}};
      if (halves)
        llvm::append_range(s.groups.front().roles, std::vector<std::string>{"second", "store_second"});
      addProducers(warps, rows >= 192 ? 32 : p.range.blocks ? 40 : 24);
      const int64_t registers = s.groups.front().registers = s.registersLeftFor(s.groups.front(), target);
      // Scores, packed weights and the output of a thread, its row state, addresses.
      c.needs(keys / 2 + keys / 4 + p.valueDim / 2 + 32, registers, "registers a thread");
    }
    int64_t smem = tiles * (queries * tileBytes(rows, p.headDim) + (over ? 0 : tileBytes(rows, halves ? p.valueDim / 2 : p.valueDim))) +
                   kStages * tileBytes(keys, p.headDim) + vStages * tileBytes(keys, p.valueDim) + 512 +
                   (target.tcgen05 ? tiles * (s.splits == 1 ? 2 : 4) * 4 * rows : 0);
    c.needs(smem, target.smemPerCta, "bytes of shared memory");
    if (target.tcgen05 && rows > 128)
      c.refuse("has more query rows than one tcgen05 product: tile_m of 64 or 128, or 256 for two tiles");
    if (!target.tcgen05 && rows > 256)
      c.refuse("has more query rows than its warps: tile_m of 64, 128, 192 or 256");
    if (target.tcgen05 && rows == 64 && (keys & (keys - 1)))
      c.refuse("stores fragments of P in powers of two of columns: tile_n of 32, 64 or 128 with tile_m of 64");
    if (const auto &list = p.range.blocks) {
      // A tile meets the blocks of one list, and a listed block is whole tiles of keys.
      if (list->queryBlock % s.itemQueries())
        c.refuse("has query tiles across the list's blocks of " + std::to_string(list->queryBlock) + " queries: tile_m must divide them");
      if (list->keyBlock % keys)
        c.refuse("has key tiles across the list's blocks of " + std::to_string(list->keyBlock) + " keys: tile_n must divide them");
    }
    if (s.packed > 1 && ownLists())
      c.refuse("packs heads that have lists of their own: the rows of a tile meet the same keys");
    if (group() % s.packed)
      c.refuse("packs " + std::to_string(s.packed) + " heads of groups of " + std::to_string(group()) +
               ": packed must divide the query heads that share a head of k and v");
    if (s.staged >= keys)
      c.refuse("hands on the weights of " + std::to_string(s.staged) + " of " + std::to_string(keys) +
               " keys first: staged must be below tile_n");
    if (s.staged && rows != 128)
      c.refuse("hands on weights in parts of rows that a thread holds whole: staged goes with tile_m of 128 or 256");
    if (s.maxFree && !canFreeze())
      c.refuse("cannot freeze the maximum of f16 weights: softmax must be exact");
    if (o.ctasPerSm && *o.ctasPerSm != 1)
      c.refuse("is one CTA per SM by construction");
    if (o.roles && *o.roles != "split")
      c.refuse("splits its roles over warp groups by construction: 'fused' belongs to blocks that a tile holds whole");
    if (o.p && *o.p != "tmem")
      c.refuse("keeps P in tensor memory by construction: 'smem' belongs to blocks that a tile holds whole");
    return c;
  }

  // Tensor memory of sm_100a: scores as deep as there are columns, weights over them unless that leaves a tile only one
  // slot of scores and softmax has no use for them once it has read them. Returns whether a tile's next scores are free
  // to be computed before its weights are used.
  bool placeScores(Candidate &c) const {
    Schedule &s = c.schedule;
    int64_t columns = 0;
    bool scoresFirst = false;
    for (auto [depth, over] : {std::pair<int64_t, bool>{2, true}, {1, false}, {1, true}}) {
      if (!over && s.maxFree)
        continue;
      scoresFirst = depth > 1 || !over;
      for (int64_t tile = 0; tile < s.queryTiles; ++tile) {
        const std::string number = s.queryTiles == 1 ? "" : std::to_string(tile);
        s.depths["S" + number] = depth;
        for (const char *part : s.staged ? std::vector<const char *>{"P", "PLate"} : std::vector<const char *>{"P"}) {
          const std::string channel = part + number;
          s.depths[channel] = depth;
          s.aliases.erase(channel);
          if (over)
            s.aliases[channel] = "S" + number;
        }
      }
      columns = s.queryTiles * (depth * (s.keyRows + (over ? 0 : s.keyRows / 2)) + p.valueDim);
      if (columns <= target.tmemColumns)
        break;
    }
    c.needs(columns, target.tmemColumns, "columns of tensor memory");
    return scoresFirst;
  }

  const Problem &p;
  const Target &target;
  const ScheduleOverrides &o;
  std::map<std::string, Choice> choices; ///< by the candidate's name
};
} // namespace

llvm::Expected<std::vector<Candidate>> fovea::enumerateFlash(const Problem &problem, const Target &target,
                                                             const ScheduleOverrides &overrides) {
  Enumerator enumerator(problem, target, overrides);
  auto ranked = rank(enumerator.run(), problem, target, buildFlash);
  if (!ranked || !target.tcgen05)
    return ranked;
  auto refined = rank(enumerator.refine(ranked->front()), problem, target, buildFlash);
  if (!refined)
    return refined;
  std::vector<Candidate> stagings;
  if (!overrides.staged)
    stagings = enumerator.stagings(refined->front(), *ranked);
  if (stagings.size() > 1) {
    auto staged = rank(std::move(stagings), problem, target, buildFlash);
    if (!staged)
      return staged;
    staged->insert(staged->end(), std::next(refined->begin()), refined->end());
    refined = std::move(staged);
  }
  refined->insert(refined->end(), std::next(ranked->begin()), ranked->end());
  return refined;
}
