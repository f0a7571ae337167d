// frontend/sema/Capabilities.cpp - the table, and the question
#include "frontend/sema/Capabilities.h"

#include "frontend/sema/Constants.h"
#include "frontend/sema/Schedules.h"
#include "frontend/sema/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace fovea::sema {
namespace {

using llvm::StringRef;
using Answer = std::vector<Refusal>; // mostly none or one

Range orName(Range range, const Spec &spec) { return range.begin.line ? range : spec.range; }

/// `32, 64 or 128; 64 is nearest`
std::string among(llvm::ArrayRef<int64_t> sizes, int64_t wanted) {
  std::string text;
  int64_t nearest = sizes.front();
  for (size_t n = 0; n < sizes.size(); ++n) {
    text += (n == 0 ? "" : n + 1 == sizes.size() ? " or " : ", ") + std::to_string(sizes[n]);
    if (std::abs(sizes[n] - wanted) < std::abs(nearest - wanted))
      nearest = sizes[n];
  }
  return text + "; " + std::to_string(nearest) + " is nearest";
}

Answer headDim(const Tensor &tensor, const char *name) {
  static constexpr int64_t sizes[] = {32, 64, 96, 128, 192, 256};
  if (llvm::is_contained(sizes, tensor.headDim))
    return {};
  return {Refusal{tensor.headDimRange, "head dim " + std::to_string(tensor.headDim) + " of " + name,
                 "a head dim of " + among(sizes, tensor.headDim)}};
}

/// The factor c of a score of the form c * s.
std::optional<double> scoreFactor(const Spec &spec) {
  auto factor = [&](const Expr &e) {
    bool isScale = e.kind == Expr::Kind::Variable && e.variable == Variable::Scale;
    return isScale ? std::optional(spec.scale) : constantValue(e);
  };
  auto isS = [](const Expr &e) { return e.kind == Expr::Kind::Variable && e.variable == Variable::S; };
  const Expr &score = spec.score;
  if (isS(score))
    return 1.0;
  if (score.kind != Expr::Kind::Operator || score.op != ast::Op::Mul)
    return std::nullopt;
  if (isS(score.args[0]))
    return factor(score.args[1]);
  return isS(score.args[1]) ? factor(score.args[0]) : std::nullopt;
}

/// A block that one tile of rows holds whole, with its keys: lowered without a loop, and with a backward.
bool isRowBlock(const Spec &s) {
  static constexpr int64_t sizes[] = {16, 32, 64, 128};
  const NamedPattern &p = s.pattern.pattern;
  return s.pattern.kind == Expr::Kind::Pattern && p.kind == NamedPattern::Kind::BlockDiagonal &&
         llvm::is_contained(sizes, p.size) && s.q.rows.kind == Rows::Kind::Jagged && s.k.rows.kind == Rows::Kind::Jagged &&
         s.q.rows.sameAs(s.k.rows) && s.q.heads == s.k.heads;
}

/// Every list of blocks in a pattern; `joined`: under '&' alone.
void forBlockLists(const Expr &e, bool joined, llvm::function_ref<void(const Expr &, bool)> see) {
  if (e.kind == Expr::Kind::Pattern && e.pattern.kind == NamedPattern::Kind::Blocks)
    see(e, joined);
  joined &= e.kind == Expr::Kind::Operator && e.op == ast::Op::And;
  for (const Expr &part : e.args)
    forBlockLists(part, joined, see);
}

Answer blockLists(const Spec &s) {
  Answer all;
  int lists = 0;
  forBlockLists(s.pattern, true, [&](const Expr &list, bool joined) {
    const NamedPattern &p = list.pattern;
    Range range = orName(list.range, s);
    if (!joined)
      all.push_back({range, "a list of blocks under '|' or 'not'", "a list alone or joined by '&', since it can only leave out keys"});
    else if (++lists > 1)
      all.push_back({range, "a second list of blocks", "one list of what both pick"});
    if (p.queryBlock % 64 || p.keyBlock % 64)
      all.push_back({range, "a list of blocks of " + std::to_string(p.queryBlock) + " queries and " + std::to_string(p.keyBlock) + " keys",
                     "multiples of 64, as in blocks(128, 128, " + s.tables[p.table].name + ")"});
  });
  return all;
}

/// What a tile does not know: its sequence's number and end, and rows of tables that are not its own.
void epilogueParts(const Expr &e, const Spec &spec, Answer &answer) {
  if (e.kind == Expr::Kind::Variable && (e.variable == Variable::B || e.variable == Variable::NQueries))
    answer.push_back({e.range, std::string("'") + spelling(e.variable) + "' in an epilogue",
                     "o, tensors like it, i, h, d, and tables of these"});
  if (e.kind == Expr::Kind::Lookup)
    for (Axis axis : spec.tables[e.table].axes)
      if (axis == Axis::Free || axis == Axis::Sequences) {
        answer.push_back({e.range, "this look-up in an epilogue", "a table of i, h or d themselves"});
        return;
      }
  for (const Expr &arg : e.args)
    epilogueParts(arg, spec, answer);
}

/// The settings that the scheduler reads.
bool isScheduled(StringRef key, const Override &setting, StringRef target) {
  if (key == "tile_m")
    return setting.number % 64 == 0 && setting.number >= 64 && setting.number <= 256;
  if (key == "packed")
    return llvm::isPowerOf2_64(uint64_t(setting.number));
  if (key == "staged")
    return target == "sm_100a" && setting.number % 16 == 0;
  if (key == "tile_n" || key == "softmax" || key == "splits")
    return true;
  if (key == "stages")
    return setting.kind == Override::Kind::Int && setting.number <= 8;
  return key == "roles" || key == "ctas_per_sm" || (key == "p" && target == "sm_100a");
}

/// What to write instead of a setting that the scheduler does not read.
StringRef nearestSetting(StringRef key, StringRef target) {
  const bool blackwell = target == "sm_100a";
  if (key == "staged")
    return blackwell ? "a multiple of 16 below tile_n, or 0 for all keys of a block at once"
                     : "none there: on sm_90a probabilities stay in registers; staged belongs to schedule sm_100a";
  return blackwell ? "roles, tile_m (64, 128 or 256), tile_n, softmax, splits, packed (a power of two), stages (1 to 8), ctas_per_sm and p"
                   : "roles, tile_m (64, 128, 192 or 256), tile_n, softmax, splits, packed (a power of two), stages (1 to 8) and ctas_per_sm";
}

/// Shared memory of a tile of rows of every rotary table: of tensors turned on load, or of all.
int64_t tableBytes(const Spec &spec, int64_t rows, bool onLoad) {
  std::map<std::string, int64_t> tables;
  for (const Tensor *t : {&spec.q, &spec.k, &spec.v})
    if (t->rotary && (t->rotary->onLoad || !onLoad))
      tables[t->rotary->table] = rows * t->headDim * (t->rotary->wide ? 4 : 2);
  int64_t bytes = 0;
  for (auto &[name, size] : tables)
    bytes += size;
  return bytes;
}

/// A tile of the kernel with its rotary tables in shared memory: the least that any schedule holds at once.
Answer tilesAndTables(const Spec &s, bool backward) {
  constexpr int64_t most = 232448 - 1024; // of a CTA on either target, and room for barriers
  if (s.pattern.kind != Expr::Kind::Pattern || s.pattern.pattern.kind != NamedPattern::Kind::BlockDiagonal)
    return {};
  const int64_t block = s.pattern.pattern.size, rows = std::max<int64_t>(block, 64), d = s.q.headDim, dv = s.v.headDim;
  int64_t tables = tableBytes(s, rows, !backward), tiles = 2 * rows * (2 * d + (backward ? 2 : 1) * dv);
  if (backward) // P and dS lie over V as far as they fit
    for (int64_t pair = 2 * rows * block, left = 2 * rows * dv, n = 0; n < 2; ++n)
      left >= pair ? left -= pair : tiles += pair;
  if (!tables || tiles + tables <= most || (backward && tiles > most)) // the last: backwardTiles says more
    return {};
  const Tensor *owner = s.q.rotary ? &s.q : s.k.rotary ? &s.k : &s.v;
  return {Refusal{owner->rotary->range, std::string(backward ? "a backward" : "a forward") + " with rotary tables that need " +
                                            std::to_string(tables) + " bytes of shared memory beside the tiles' " +
                                            std::to_string(tiles) + " (of " + std::to_string(most) + ")",
                 "smaller blocks or head dims, one table for all tensors, or bf16 tables", backward}};
}

/// A backward whose inputs fit shared memory neither whole nor, where no epilogue and no rotary table comes between, in two
/// slices of columns (passes/Schedule/Backward.cpp).
Answer backwardTiles(const Spec &s) {
  constexpr int64_t most = 232448 - 1024; // as above
  const int64_t block = s.pattern.pattern.size, rows = std::max<int64_t>(block, 64), d = s.q.headDim, dv = s.v.headDim;
  const int64_t pair = 2 * rows * block;
  int64_t whole = 4 * rows * (d + dv);
  for (int64_t n = 0, left = 2 * rows * dv; n < 2; ++n) // P and dS lie over V as far as they fit
    left >= pair ? left -= pair : whole += pair;
  int64_t sliced = rows * (4 * d + 3 * dv) + (rows * dv >= pair ? 0 : pair);
  const bool slices = d % 64 == 0 && dv % 64 == 0 && rows == block;
  const bool rotary = s.q.rotary || s.k.rotary || s.v.rotary;
  const bool alone = !s.epilogue && !rotary;
  if (std::min(whole, slices && alone ? sliced : whole) <= most)
    return {};
  const std::string what = "a backward of " + std::to_string(rows) + "-row blocks with head dims " + std::to_string(d) + " and " +
                           std::to_string(dv), bytes = " bytes of shared memory (of " + std::to_string(most) + "),";
  if (slices && sliced <= most) {
    const std::string other = s.epilogue ? "an epilogue" : "a rotary embedding";
    return {Refusal{s.emit.backwardRange,
                   what + " and " + other + ", which takes its operands whole and " + std::to_string(whole) + bytes,
                   "the same without " + other + ", whose operands come in slices of columns; blocks of 64; or smaller head dims",
                   /*backward=*/true}};
  }
  return {Refusal{s.emit.backwardRange, what + ", which needs " + std::to_string(slices ? std::min(whole, sliced) : whole) + bytes,
                 "blocks of 64, or smaller head dims", /*backward=*/true}};
}

/// One row: what it refuses, if anything. Delete the row when its feature is lowered.
const std::function<Answer(const Spec &, StringRef target)> table[] = {
    // element types
    [](const Spec &s, StringRef) -> Answer {
      if (s.q.dtype == DType::BF16 || s.q.dtype == DType::F16)
        return {};
      return {Refusal{s.q.dtypeRange, std::string("element type ") + spelling(s.q.dtype), "bf16 or f16"}};
    },
    // head dims
    [](const Spec &s, StringRef) -> Answer { return headDim(s.q, "q and k"); },
    [](const Spec &s, StringRef) -> Answer {
      return s.v.headDim == s.q.headDim ? Answer() : headDim(s.v, "v");
    },
    // heads
    [](const Spec &s, StringRef) -> Answer {
      if (s.q.heads)
        return {};
      return {Refusal{s.q.headsRange, "a number of heads that is known only at launch", "a number, as in '4 heads'"}};
    },
    // pattern
    [](const Spec &s, StringRef) -> Answer { return blockLists(s); },
    // score and weight
    [](const Spec &s, StringRef) -> Answer {
      auto factor = scoreFactor(s);
      if (factor && !std::isfinite(float(*factor)))
        return {Refusal{orName(s.scoreRange, s), "this score", "s * scale, with any positive scale"}};
      if ((factor && *factor > 0) || !isRowBlock(s))
        return {};
      Range range = factor && s.scaleRange.begin.line ? s.scaleRange : s.scoreRange;
      return {Refusal{orName(range, s),
                      factor ? "a score that shrinks as the dot product grows, of blocks that a tile holds,"
                             : "this score of blocks that a tile holds",
                      "s * scale, with any positive scale"}};
    },
    [](const Spec &s, StringRef) -> Answer {
      if (!s.weight)
        return {};
      return {Refusal{s.weightRange, "a weight other than softmax", "softmax, the default"}};
    },
    // epilogue
    [](const Spec &s, StringRef) -> Answer {
      if (!s.epilogue)
        return {};
      if (!isRowBlock(s))
        return {Refusal{s.epilogueRange, "an epilogue of this attention",
                       "o alone, or block_diagonal(N) with N of 16, 32, 64 or 128 over one jagged sequence"}};
      Answer all;
      epilogueParts(*s.epilogue, s, all);
      return all;
    },
    // origin
    [](const Spec &s, StringRef) -> Answer {
      for (const Tensor *t : {&s.q, &s.k, &s.v})
        if (t->rotary && !isRowBlock(s))
          return {Refusal{t->rotary->range, "a rotary embedding of this attention",
                         "block_diagonal(N) with N of 16, 32, 64 or 128, or tensors that are rotated already"}};
      return {};
    },
    [](const Spec &s, StringRef) -> Answer { return tilesAndTables(s, /*backward=*/false); },
    [](const Spec &s, StringRef) -> Answer { return s.emit.backward ? tilesAndTables(s, /*backward=*/true) : Answer(); },
    // schedule
    [](const Spec &s, StringRef target) -> Answer {
      Answer all;
      for (const ScheduleOverrides &schedule : s.schedules)
        for (const auto &[key, setting] : schedule.settings)
          if (schedule.target == target && !isScheduled(key, setting, target))
            all.push_back({setting.range, "this setting of '" + key + "'", nearestSetting(key, target).str()});
      return all;
    },
    // emit
    [](const Spec &s, StringRef) -> Answer {
      if (!s.emit.backward || isRowBlock(s))
        return {};
      if (s.pattern.kind == Expr::Kind::Pattern && s.pattern.pattern.kind == NamedPattern::Kind::BlockDiagonal &&
          s.q.heads != s.k.heads)
        return {Refusal{s.emit.backwardRange, "the backward of fewer heads of k and v than of q",
                       "emit : forward, or as many heads of all three", /*backward=*/true}};
      return {Refusal{s.emit.backwardRange, "the backward of this attention",
                      "emit : forward, or block_diagonal(N) over one jagged sequence", /*backward=*/true}};
    },
    [](const Spec &s, StringRef) -> Answer { return s.emit.backward && isRowBlock(s) ? backwardTiles(s) : Answer(); },
};

} // namespace

std::vector<Refusal> refusals(const Spec &spec, StringRef target) {
  std::vector<Refusal> list;
  for (const auto &row : table)
    for (Refusal &refusal : row(spec, target))
      list.push_back(std::move(refusal));
  return list;
}

void checkCapabilities(Spec &spec, StringRef target, Kernels kernels, Diagnostics &diagnostics) {
  if (!llvm::is_contained(targets(), target))
    return diagnostics.error({}, "unknown target '" + target + "'" + suggest(target, targets()));
  for (const Refusal &refusal : refusals(spec, target)) {
    std::string message = refusal.what + " cannot be lowered to " + target.str() + " yet";
    if (refusal.backward && kernels == Kernels::Forward)
      spec.emit.backward = spec.emit.deterministic = false, spec.emit.packed.reset(), spec.emit.tables.clear(),
      diagnostics.warning(refusal.range, message + "; only the forward is compiled");
    else
      diagnostics.error(refusal.range, message);
    diagnostics.note(refusal.range, "what works: " + refusal.nearest);
  }
}

} // namespace fovea::sema
