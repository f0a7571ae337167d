// passes/Lower/Problem.cpp - reads a problem off an attn.spec.
#include "passes/Lower/Problem.h"
#include "dialect/Attn/Analysis.h"

using namespace mlir;
using namespace fovea;

// Fills p.rotary{Q,K,V} and counts the tables; text if one is not as expected.
static std::string readRotations(attn::SpecOp spec, Problem &p, size_t &tables) {
  llvm::SmallPtrSet<Value, 3> seen;
  for (auto [name, slot] : {std::pair(p.q, &p.rotaryQ), {p.k, &p.rotaryK}, {p.v, &p.rotaryV}}) {
    Value input = spec.getInput(name);
    if (!input)
      continue;
    for (Operation *user : input.getUsers()) {
      auto rotary = dyn_cast<attn::RotaryOp>(user);
      if (!rotary || rotary.getX() != input)
        continue;
      auto argument = dyn_cast<BlockArgument>(rotary.getTable());
      auto type = cast<attn::AttnTensorType>(rotary.getTable().getType());
      if (!argument || rotary.getTranspose())
        return "expected rotary embeddings of inputs by tables that are inputs";
      if (!type.getElementType().isBF16() && !type.getElementType().isF32())
        return "expected a rotary table of bf16 or f32";
      Rotation r;
      r.table = spec.getInputName(argument.getArgNumber()).str();
      r.tableElement = type.getElementType();
      r.cols = cast<attn::AttnTensorType>(rotary.getX().getType()).getFeatures();
      r.interleaved = rotary.getStyle() == attn::RotaryStyle::Interleaved;
      r.onLoad = !rotary.getApplied();
      r.byPosition = !type.getRows();
      *slot = r;
      if (seen.insert(argument).second)
        ++tables;
    }
  }
  return "";
}

static RowSpace rowSpace(attn::RowsAttr rows) {
  RowSpace space;
  space.kind = rows.getKind() == attn::RowsKind::Jagged  ? RowSpace::Kind::Jagged
               : rows.getKind() == attn::RowsKind::Dense ? RowSpace::Kind::Dense
                                                         : RowSpace::Kind::Shared;
  space.name = rows.getName() ? rows.getName().getValue().str() : "";
  space.count = rows.getCount();
  return space;
}

// The front end's table of capabilities refuses these with line and column; a spec that comes as IR is refused here.
llvm::Expected<Problem> fovea::readProblem(attn::SpecOp spec) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError(("attn.spec @" + spec.getSymName() + ": " + what).str());
  };
  Problem p;
  p.name = spec.getSymName().str();
  attn::DotsOp dots = attn::scoreDots(spec);
  if (!dots)
    return fail("expected scores of queries and keys");
  if (!attn::usesSoftmax(spec))
    return fail("expected softmax, the weight with a lowering");
  std::optional<double> scale = attn::scoreScale(spec);
  if (!scale || *scale <= 0) {
    for (Operation *user : dots.getResult().getUsers())
      p.score = dyn_cast<attn::MapPairsOp>(user);
    if (!p.score || p.score.getNumOperands() != 1)
      return fail("expected one expression over the scores");
    scale = 0;
  }
  p.scale = *scale;

  auto input = [&](StringRef name) -> std::optional<attn::Input> {
    for (const attn::Input &i : attn::inputs(spec))
      if (i.name == name)
        return i;
    return std::nullopt;
  };
  auto q = input(p.q), k = input(p.k), v = input(p.v);
  size_t tables = 0;
  auto rotations = readRotations(spec, p, tables);
  if (!q || !k || !v)
    return fail("expected the inputs q, k and v");
  if (!rotations.empty())
    return fail(rotations);
  for (auto &t : {*q, *k, *v})
    if (!t.rows || t.type.getElementType() != q->type.getElementType())
      return fail("expected q, k and v with rows and one element type");
  if (k->rows != v->rows || k->heads != v->heads)
    return fail("expected k and v with the same rows and heads");
  p.queries = rowSpace(q->rows), p.keys = rowSpace(k->rows);
  p.offsets = p.queries.kind == RowSpace::Kind::Jagged ? p.queries.name : p.keys.name;
  p.heads = ShapedType::isDynamic(q->heads) ? 0 : q->heads;
  p.keyHeads = ShapedType::isDynamic(k->heads) ? 0 : k->heads;
  p.headDim = q->features, p.valueDim = v->features;
  p.element = q->type.getElementType();
  // A block that a tile holds whole needs no loop.
  std::optional<int64_t> block = attn::blockDiagonalSize(spec);
  bool whole = block && *block <= 128 && llvm::isPowerOf2_64(*block) && *block >= 16 && p.queries == p.keys &&
               p.queries.kind == RowSpace::Kind::Jagged && p.heads == p.keyHeads;
  if (whole) {
    p.block = *block;
  } else {
    llvm::Expected<KeyRange> range = analyseMask(attn::mask(spec));
    if (!range)
      return range.takeError();
    if (range->blocks)
      return fail("expected a mask without a list of blocks");
    p.range = *range;
    if (p.score || !p.range.isInterval())
      p.spec = spec;
    if (tables)
      return fail("expected tensors without a rotary embedding, where items loop over key blocks");
  }
  if (p.block && (p.score || attn::inputs(spec).size() != 3 + tables))
    return fail("expected scores c * (q . k) with c > 0 and the inputs q, k and v alone, where a tile holds its keys");
  p.lse = spec.getEmit() && spec.getEmit()->getLse();
  p.backward = spec.getEmit() && spec.getEmit()->getBackward();
  if (p.backward && spec.getEmit()->getPacked())
    p.packed = spec.getEmit()->getPacked().getValue().str();
  return p;
}

llvm::Error fovea::checkBackward(attn::SpecOp backward) {
  int64_t dots = 0, softmax = 0, rowDots = 0, gradients = 0, combines = 0, combineQueries = 0, packs = 0, others = 0;
  bool rotariesFit = true;
  for (Operation &op : backward.getBody().front()) {
    if (isa<attn::DotsOp>(op))
      ++dots;
    else if (isa<attn::SoftmaxOp>(op))
      ++softmax;
    else if (isa<attn::RowDotOp>(op))
      ++rowDots;
    else if (isa<attn::SoftmaxGradOp>(op))
      ++gradients;
    else if (isa<attn::CombineOp>(op))
      ++combines;
    else if (isa<attn::CombineQueriesOp>(op))
      ++combineQueries;
    else if (isa<attn::PackOp>(op))
      ++packs;
    else if (auto rotary = dyn_cast<attn::RotaryOp>(op)) {
      // In front of the products, or transposed behind the sums.
      Operation *source = rotary.getX().getDefiningOp();
      rotariesFit &= rotary.getTranspose() ? isa_and_nonnull<attn::CombineOp, attn::CombineQueriesOp>(source) : !source;
    } else if (!isa<attn::PatternOp, attn::MapPairsOp, attn::YieldOp>(op))
      ++others;
  }
  bool expected = dots == 2 && softmax == 1 && rowDots == 1 && gradients == 1 && combines == 1 && combineQueries == 2;
  if (!expected || others || packs > 1 || !rotariesFit)
    return llvm::createStringError("attn.spec @" + backward.getSymName().str() +
                                   ": expected the gradient of softmax(c q.k) v, behind rotary embeddings at most, the "
                                   "one with a lowering");
  return llvm::Error::success();
}
