// codegen/LaunchClocks.cpp - what a launch takes, modelled, as an expression over its arguments.
#include "codegen/LaunchClocks.h"
#include "codegen/kernel/Parameters.h"

using namespace fovea;
using namespace fovea::tile;

namespace {
// What an item takes beside its key blocks, and a launch beside its items where a second kernel adds up parts; per cent by which
// loops are longer that may begin at a part (measured on an H200: 0 to 5).
constexpr int64_t kItemEnds = 3000, kCombine = 6000, kPartsLoss = 3;

// Queries and keys of a sequence, of jagged ones on average.
struct Lengths {
  Expr queries, keys;
};

Expr lengthOf(const RowSpace &rows, const std::string &tensor) {
  return rows.kind == RowSpace::Kind::Jagged ? ceilDiv(Expr(tensor + ".shape.0"), maximum(Expr("batch"), Expr(1))) : Expr(tensor + ".shape.1");
}

Expr positionOf(const Bound &bound, const Expr &i, const Lengths &n) {
  Expr position(bound.constant);
  if (bound.block)
    position = position + (bound.block == 1 ? i : floorDiv(i, Expr(bound.block)) * Expr(bound.block));
  for (auto &[factor, length] : {std::pair(bound.keys, n.keys), std::pair(bound.queries, n.queries)})
    if (factor)
      position = factor > 0 ? position + length : position - length;
  return position;
}

// The least or the greatest of several. In pairs: a manifest's expressions are nested no deeper than people can read.
Expr extreme(llvm::ArrayRef<Expr> of, bool greatest) {
  if (of.size() == 1)
    return of.front();
  const Expr left = extreme(of.take_front(of.size() / 2), greatest), right = extreme(of.drop_front(of.size() / 2), greatest);
  return greatest ? maximum(left, right) : minimum(left, right);
}

// Keys between the first that `first` sees and the last that `last` does (KeyRange::interval of both).
Expr keysSeen(const KeyRange &range, const Expr &first, const Expr &last, const Lengths &n) {
  auto limit = [&](const Clause &clause, const Expr &i, bool upper) {
    return extreme(llvm::map_to_vector(clause, [&](const Bound &bound) { return positionOf(bound, i, n); }), upper);
  };
  llvm::SmallVector<Expr> lower{Expr(0)}, upper{n.keys};
  for (const Clause &clause : range.lower)
    lower.push_back(limit(clause, first, false));
  for (const Clause &clause : range.upper)
    upper.push_back(limit(clause, last, true));
  return maximum(extreme(upper, false) - extreme(lower, true), Expr(0));
}
} // namespace

void fovea::addLaunchClocks(KernelSpec &spec, KernelOp kernel, const Candidate &candidate, const Problem &problem) {
  auto named = [&](const char *name, const Expr &value) {
    spec.values.push_back({name, value});
    return Expr(name);
  };
  const Schedule &s = candidate.schedule;
  const codegen::Parameters params(kernel, s);
  const Lengths n{named("$length", lengthOf(problem.queries, problem.q)), named("$key_length", lengthOf(problem.keys, problem.k))};
  const Expr one(1), M(s.itemQueries()), slots = Expr("sm_count") * Expr(s.ctasPerSm);
  const bool splits = kernel->hasAttr("splits");
  auto scalar = [&](const char *name) { return params.scalar(name).spec.value; };
  const Expr parts = splits ? scalar("splits") : one, whole = splits ? scalar("whole") : Expr(0);
  const Expr block(int64_t(std::llround(candidate.clocksPerBlock())));
  auto item = [&](const Expr &keys) { return Expr(kItemEnds) + ceilDiv(keys, Expr(s.keyRows)) * block; };
  const Expr combine = splits ? minimum(parts - one, one) * Expr(kCombine) : Expr(0);

  const Expr packs = problem.heads ? Expr(problem.heads / s.packed) : floorDiv(scalar("heads"), Expr(s.packed));
  const Expr tiles = named("$length_tiles", ceilDiv(n.queries, M) * Expr("batch") * packs);
  auto lengthened = [&](const Expr &clocks) { return splits ? floorDiv(clocks * Expr(100 + kPartsLoss), Expr(100)) : clocks; };
  if (problem.queries.kind == RowSpace::Kind::Dense && problem.range.lower.empty() && problem.range.upper.empty()) {
    spec.clocks = lengthened(floorDiv(whole, slots) * item(n.keys) + ceilDiv((tiles - whole) * parts, slots) * item(ceilDiv(n.keys, parts))) + combine;
    return;
  }

  // A warpgroup visits the blocks that its own rows see, of keys that end with a multiple of its rows: half a block more than they
  // fill, on average. Where the heaviest items come first, the last leave no SM idle for long.
  const Expr rows(std::max<int64_t>(64 / s.packed, 1));
  auto keysAt = [&](const char *name, const Expr &row) {
    const Expr first = named((std::string(name) + "_row").c_str(), row);
    return named(name, keysSeen(problem.range, first, minimum(first + rows, n.queries) - one, n));
  };
  const Expr middle = keysAt("$middle", floorDiv(n.queries, Expr(2)));
  const Expr most = maximum(middle, maximum(keysAt("$first", Expr(0)), keysAt("$last", maximum(n.queries - rows, Expr(0)))));
  const Expr ofMiddle = named("$item", Expr(kItemEnds) + floorDiv((floorDiv(middle, parts) + Expr(std::max<int64_t>(s.keyRows - 64, 0) / 2)) * block, Expr(s.keyRows)));
  const bool heavyFirst = kernel->hasAttr("heavy_first") && problem.queries.kind == RowSpace::Kind::Dense;
  const Expr rest = heavyFirst ? Expr(0) : floorDiv(ofMiddle, Expr(2));
  spec.clocks = lengthened(maximum(item(ceilDiv(most, parts)), ceilDiv(tiles * parts * ofMiddle, slots) + rest)) + combine;
}
