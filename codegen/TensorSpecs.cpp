// codegen/TensorSpecs.cpp - the tensors of a launch, as the manifest states them.
#include "codegen/TensorSpecs.h"

#include "dialect/Attn/Attn.h"

using namespace mlir;
using namespace fovea;

static DType dtypeOf(Type element) {
  return element.isF32()         ? DType::F32
         : element.isBF16()      ? DType::BF16
         : element.isF16()       ? DType::F16
         : element.isInteger(64) ? DType::I64
                                 : DType::I32;
}

TensorSpec fovea::tensorSpec(tile::TensorOp op, const Problem &problem) {
  TensorSpec t;
  t.name = op.getPassedName().str();
  t.role = op.getRole() == "output" ? TensorSpec::Role::Output : TensorSpec::Role::Input;
  t.dtypes = {dtypeOf(op.getElementType())};
  t.minAlignment = t.strideMultipleBytes = 16; // TMA's rule
  if (op.isShared()) { // a rotary table
    bool byPosition = false;
    for (const std::optional<Rotation> *r : {&problem.rotaryQ, &problem.rotaryK, &problem.rotaryV})
      byPosition |= *r && (*r)->table == t.name && (*r)->byPosition;
    t.shape = {Expr(byPosition ? "n_" + t.name : "total"), Expr(int64_t(op.getCols()))};
    (byPosition ? t.positions : t.jagged) = problem.offsets;
    return t;
  }
  if (op.getPacked()) { // [dq | dk | dv]
    t.jagged = problem.offsets;
    t.shape = {Expr("total"), Expr(problem.heads * (2 * problem.headDim + problem.valueDim))};
    return t;
  }
  const bool ofKeys = t.name == problem.k || t.name == problem.v;
  const RowSpace &rows = ofKeys ? problem.keys : problem.queries;
  const int64_t heads = int64_t(op.getHeads());
  if (op.getBatched())
    t.shape.push_back(Expr("batch"));
  switch (rows.kind) {
  case RowSpace::Kind::Jagged:
    t.jagged = rows.name;
    t.shape.push_back(Expr(rows == problem.queries ? "total" : "key_total"));
    break;
  case RowSpace::Kind::Dense:
    t.shape.push_back(Expr(rows.name));
    break;
  case RowSpace::Kind::Shared:
    t.shape.push_back(Expr(rows.count));
    break;
  }
  t.shape.push_back(heads > 0 ? Expr(heads) : Expr("heads"));
  if (op.getElementType().isF32()) { // a row statistic
    t.minAlignment = 4;
    t.strideMultipleBytes = 1;
    t.strided = true; // each element has an address of its own (tile.store_rows)
    t.optional = true;
    return t;
  }
  // A kernel may take it in slices of columns.
  const bool ofScores = t.name == problem.q || t.name == problem.k || t.name == "d" + problem.q || t.name == "d" + problem.k;
  t.shape.push_back(Expr(op.getOf() ? (ofScores ? problem.headDim : problem.valueDim) : int64_t(op.getCols())));
  return t;
}

codegen::TableGradient fovea::tableGradient(const TableGradient &gradient, const Problem &problem) {
  const Rotation &rotation = *problem.rotationOf(gradient.tensors.front());
  codegen::TableGradient g;
  g.output = "d" + gradient.table;
  g.entry = problem.name + "_backward_" + g.output;
  g.offsets = problem.offsets;
  g.isF32 = rotation.tableElement.isF32(), g.byPosition = rotation.byPosition;
  g.heads = problem.heads, g.cols = rotation.cols;
  g.half = problem.element.isBF16() ? codegen::Half::BF16 : codegen::Half::F16;
  for (const std::string &tensor : gradient.tensors)
    g.sources.push_back({tensor, Problem::turnedGradient(tensor), problem.rotationOf(tensor)->interleaved});
  return g;
}

TensorSpec fovea::tableGradientSpec(const codegen::TableGradient &g, const TensorSpec &table) {
  TensorSpec t = table;
  t.name = g.output;
  t.role = TensorSpec::Role::Output;
  t.positions.clear();
  return t;
}

TensorSpec fovea::tableSpec(const attn::Input &input, const Problem &problem) {
  attn::SpecOp spec = problem.spec;
  Value table = spec.getInput(input.name);
  TensorSpec t;
  t.name = input.name.str();
  Type element = input.type.getElementType();
  t.dtypes = {dtypeOf(element)};
  t.minAlignment = int(element.getIntOrFloatBitWidth() / 8);
  for (auto [n, axis] : llvm::enumerate(input.type.getAxes())) {
    const Expr any(attn::countsSequences(table, unsigned(n)) ? "batch" : t.name + "_" + std::to_string(n));
    if (axis.getKind() == attn::AxisKind::Blocks) { // as many as the sequences have: a list's rows
      attn::RowsAttr rows = axis.getRows();
      if (rows.getKind() == attn::RowsKind::Jagged) {
        t.shape.push_back(any);
        continue;
      }
      t.shape.push_back(Expr("batch"));
      Expr length = rows.getKind() == attn::RowsKind::Dense ? Expr(rows.getName().getValue().str()) : Expr(rows.getCount());
      t.shape.push_back(ceilDiv(length, Expr(axis.getSize())));
      continue;
    }
    if (axis.getKind() != attn::AxisKind::Rows) {
      t.shape.push_back(ShapedType::isDynamic(axis.getSize())
                            ? axis.getKind() == attn::AxisKind::Heads ? Expr("heads") : any
                            : Expr(axis.getSize()));
      continue;
    }
    attn::RowsAttr rows = axis.getRows();
    switch (rows.getKind()) {
    case attn::RowsKind::Jagged:
      t.jagged = rows.getName().getValue().str();
      t.shape.push_back(Expr(t.jagged == problem.queries.name ? "total" : "key_total"));
      break;
    case attn::RowsKind::Dense:
      t.shape.push_back(Expr("batch"));
      t.shape.push_back(Expr(rows.getName().getValue().str()));
      break;
    case attn::RowsKind::Fixed:
      t.shape.push_back(Expr("batch"));
      [[fallthrough]];
    case attn::RowsKind::Broadcast:
      t.shape.push_back(Expr(rows.getCount()));
      break;
    }
  }
  return t;
}
