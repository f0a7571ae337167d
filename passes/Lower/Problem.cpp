// passes/Lower/Problem.cpp - reads a problem off an attn.spec.
#include "passes/Lower/Problem.h"
#include "dialect/Attn/Analysis.h"

using namespace mlir;
using namespace fovea;

// The front end's table of capabilities refuses these with line and column; a spec that comes as IR is refused here.
llvm::Expected<Problem> fovea::readProblem(attn::SpecOp spec) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::createStringError(("attn.spec @" + spec.getSymName() + ": " + what).str());
  };
  Problem p;
  p.name = spec.getSymName().str();
  attn::DotsOp dots = attn::scoreDots(spec);
  std::optional<int64_t> block = attn::blockDiagonalSize(spec);
  if (!dots || !block)
    return fail("expected the mask block_diagonal(N), the one with a lowering");
  std::optional<double> scale = attn::scoreScale(spec);
  if (!scale || *scale <= 0 || !attn::usesSoftmax(spec))
    return fail("expected softmax over scores c * (q . k) with c > 0, the ones with a lowering");
  p.block = *block, p.scale = *scale;

  auto input = [&](StringRef name) -> std::optional<attn::Input> {
    for (const attn::Input &i : attn::inputs(spec))
      if (i.name == name)
        return i;
    return std::nullopt;
  };
  auto q = input(p.q), k = input(p.k), v = input(p.v);
  if (!q || !k || !v || attn::inputs(spec).size() != 3)
    return fail("expected the inputs q, k and v and no others");
  for (auto &t : {*q, *k, *v})
    if (!t.rows || t.rows.getKind() != attn::RowsKind::Jagged || t.rows != q->rows || t.heads != q->heads ||
        t.type.getElementType() != q->type.getElementType())
      return fail("expected q, k and v with the same jagged rows, heads and element type");
  p.offsets = q->rows.getName().getValue().str();
  p.heads = ShapedType::isDynamic(q->heads) ? 0 : q->heads;
  p.headDim = q->features, p.valueDim = v->features;
  p.element = q->type.getElementType();
  p.lse = spec.getEmit() && spec.getEmit()->getLse();
  return p;
}
