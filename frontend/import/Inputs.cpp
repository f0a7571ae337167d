// frontend/import/Inputs.cpp - types of inputs and results
#include "frontend/import/Inputs.h"

using namespace mlir;

namespace fovea {

using attn::AttnTensorType;
using attn::AxisAttr;
using attn::RowsAttr;

int64_t headsOf(const sema::Tensor &tensor) { return tensor.heads.value_or(ShapedType::kDynamic); }

static bool isMicroscaled(const sema::Tensor &tensor) { return tensor.dtype == sema::DType::MXFP8; }

InputTypes::InputTypes(const sema::Spec &spec, MLIRContext &context) : context(context) {
  addTensor("q", spec.q, /*scalesAlongRows=*/false);
  addTensor("k", spec.k, /*scalesAlongRows=*/false);
  addTensor("v", spec.v, /*scalesAlongRows=*/true); // the product with P contracts the keys
  RowsAttr queries = rows(spec.q.rows).perSequence(), keys = rows(spec.k.rows).perSequence();
  mask = attn::MaskType::get(&context, queries, keys);
  scores = attn::PairsType::get(&context, queries, keys, headsOf(spec.q), Float32Type::get(&context));
  bool narrow = spec.q.dtype == sema::DType::MXFP8 || spec.q.dtype == sema::DType::E4M3;
  Type element = narrow ? BFloat16Type::get(&context) : elementType(spec.q.dtype);
  output = AttnTensorType::rowsHeadsFeatures(queries, headsOf(spec.q), spec.v.headDim, element);
  lse = AttnTensorType::rowsHeads(queries, headsOf(spec.q), Float32Type::get(&context));
  firstTable = inputs.size();
  for (const sema::Table &table : spec.tables)
    inputs.push_back({table.name, tableType(spec, table)});
}

RowsAttr InputTypes::rows(const sema::Rows &rows) const {
  switch (rows.kind) {
  case sema::Rows::Kind::Dense: return RowsAttr::dense(&context, rows.name);
  case sema::Rows::Kind::Jagged: return RowsAttr::jagged(&context, rows.name);
  case sema::Rows::Kind::Broadcast: return RowsAttr::broadcast(&context, rows.count);
  }
  llvm_unreachable("a kind of rows");
}

Type InputTypes::elementType(sema::DType dtype) const {
  switch (dtype) {
  case sema::DType::BF16: return BFloat16Type::get(&context);
  case sema::DType::F16: return Float16Type::get(&context);
  case sema::DType::E4M3:
  case sema::DType::MXFP8: return Float8E4M3FNType::get(&context);
  }
  llvm_unreachable("an element type");
}

void InputTypes::addTensor(const char *name, const sema::Tensor &tensor, bool scalesAlongRows) {
  constexpr int64_t block = 32; // elements that share a scale
  RowsAttr r = rows(tensor.rows);
  inputs.push_back({name, AttnTensorType::rowsHeadsFeatures(r, headsOf(tensor), tensor.headDim,
                                                            elementType(tensor.dtype))});
  if (!isMicroscaled(tensor))
    return;
  AxisAttr along = scalesAlongRows ? AxisAttr::blocks(r, block) : AxisAttr::rows(r);
  int64_t features = scalesAlongRows ? tensor.headDim : tensor.headDim / block;
  AxisAttr axes[] = {along, AxisAttr::heads(&context, headsOf(tensor)), AxisAttr::extent(&context, features)};
  inputs.push_back({std::string(name) + "_scale",
                    AttnTensorType::get(&context, axes, Float8E8M0FNUType::get(&context))});
}

AttnTensorType InputTypes::tableType(const sema::Spec &spec, const sema::Table &table) const {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  Type i32 = IntegerType::get(&context, 32);
  switch (table.kind) {
  case sema::Table::Kind::Elements: return output;
  case sema::Table::Kind::Rotary: {
    const sema::Tensor *owner = &spec.q;
    for (const sema::Tensor *t : {&spec.q, &spec.k, &spec.v})
      if (t->rotary && t->rotary->table == table.name) {
        owner = t;
        break;
      }
    AxisAttr tokens = owner->rotary->byPosition ? AxisAttr::extent(&context, dynamic) : AxisAttr::rows(rows(owner->rows));
    AxisAttr axes[] = {tokens, AxisAttr::extent(&context, owner->headDim)};
    Type element = owner->rotary->wide ? Type(Float32Type::get(&context)) : BFloat16Type::get(&context);
    return AttnTensorType::get(&context, axes, element);
  }
  case sema::Table::Kind::BlockList: {
    AxisAttr axes[] = {AxisAttr::blocks(rows(spec.q.rows).perSequence(), table.block),
                       AxisAttr::heads(&context, headsOf(spec.q)), AxisAttr::extent(&context, dynamic)};
    return AttnTensorType::get(&context, axes, i32);
  }
  case sema::Table::Kind::Lookup: break;
  }
  SmallVector<AxisAttr> axes;
  for (sema::Axis axis : table.axes) {
    switch (axis) {
    case sema::Axis::Queries: axes.push_back(AxisAttr::rows(rows(spec.q.rows))); break;
    case sema::Axis::Keys: axes.push_back(AxisAttr::rows(rows(spec.k.rows))); break;
    case sema::Axis::Heads: axes.push_back(AxisAttr::heads(&context, headsOf(spec.q))); break;
    case sema::Axis::Features: axes.push_back(AxisAttr::extent(&context, spec.v.headDim)); break;
    case sema::Axis::Sequences:
    case sema::Axis::Free: axes.push_back(AxisAttr::extent(&context, dynamic)); break;
    }
  }
  return AttnTensorType::get(&context, axes, table.integer ? i32 : Type(Float32Type::get(&context)));
}

} // namespace fovea
