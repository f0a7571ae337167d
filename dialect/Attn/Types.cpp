// dialect/Attn/Types.cpp - text, checks and queries of the types tensor, pairs and mask
#include "dialect/Attn/Attn.h"
#include "dialect/Attn/Text.h"

#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

namespace fovea::attn {

//===-- tensor ----------------------------------------------------------------------------------------------===//

LogicalResult AttnTensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<AxisAttr> axes,
                                     Type elementType) {
  if (!isa<BFloat16Type, Float16Type, Float32Type, Float8E4M3FNType, Float8E8M0FNUType>(elementType) &&
      !elementType.isSignlessInteger(32) && !elementType.isSignlessInteger(64))
    return emitError() << "expected bf16, f16, f32, f8E4M3FN, f8E8M0FNU, i32 or i64 elements, found " << elementType
                       << " (attn.tensor-C1)";
  int rowAxes = 0, headAxes = 0;
  for (AxisAttr axis : axes) {
    if (axis.getKind() == AxisKind::Rows || axis.getKind() == AxisKind::Blocks)
      ++rowAxes;
    if (axis.getKind() == AxisKind::Heads)
      ++headAxes;
    if (axis.getKind() != AxisKind::Rows && !ShapedType::isDynamic(axis.getSize()) && axis.getSize() <= 0)
      return emitError() << "expected positive sizes, found " << axis.getSize() << " (attn.tensor-C2)";
  }
  if (rowAxes > 1)
    return emitError() << "expected at most one axis of rows or blocks, found " << rowAxes << " (attn.tensor-C2)";
  if (headAxes > 1)
    return emitError() << "expected at most one axis of heads, found " << headAxes << " (attn.tensor-C2)";
  return success();
}

Type AttnTensorType::parse(AsmParser &parser) {
  SmallVector<AxisAttr> axes;
  Type elementType;
  if (parser.parseLess())
    return {};
  // Axes until something that is no axis: the element type.
  while (true) {
    OptionalParseResult parsedType = parser.parseOptionalType(elementType);
    if (parsedType.has_value()) {
      if (failed(*parsedType))
        return {};
      break;
    }
    FailureOr<AxisAttr> axis = parseAxis(parser);
    if (failed(axis) || parser.parseKeyword("x", " between axes and before the element type"))
      return {};
    axes.push_back(*axis);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<AttnTensorType>(parser.getContext(), ArrayRef<AxisAttr>(axes), elementType);
}

void AttnTensorType::print(AsmPrinter &printer) const {
  printer << '<';
  for (AxisAttr axis : getAxes()) {
    printAxis(printer, axis);
    printer << " x ";
  }
  printer << getElementType() << '>';
}

bool AttnTensorType::isRowsHeadsFeatures() const {
  ArrayRef<AxisAttr> axes = getAxes();
  return axes.size() == 3 && axes[0].getKind() == AxisKind::Rows && axes[1].getKind() == AxisKind::Heads &&
         axes[2].getKind() == AxisKind::Extent;
}

RowsAttr AttnTensorType::getRows() const {
  for (AxisAttr axis : getAxes())
    if (axis.getKind() == AxisKind::Rows)
      return axis.getRows();
  return {};
}

int64_t AttnTensorType::getHeads() const {
  for (AxisAttr axis : getAxes())
    if (axis.getKind() == AxisKind::Heads)
      return axis.getSize();
  return 1;
}

int64_t AttnTensorType::getFeatures() const {
  if (!getAxes().empty() && getAxes().back().getKind() == AxisKind::Extent)
    return getAxes().back().getSize();
  return 0;
}

AttnTensorType AttnTensorType::withElementType(Type elementType) const {
  return get(getContext(), getAxes(), elementType);
}

AttnTensorType AttnTensorType::rowsHeadsFeatures(RowsAttr rows, int64_t heads, int64_t features, Type elementType) {
  MLIRContext *context = rows.getContext();
  return get(context, {AxisAttr::rows(rows), AxisAttr::heads(context, heads), AxisAttr::extent(context, features)},
             elementType);
}

AttnTensorType AttnTensorType::rowsHeads(RowsAttr rows, int64_t heads, Type elementType) {
  return get(rows.getContext(), {AxisAttr::rows(rows), AxisAttr::heads(rows.getContext(), heads)}, elementType);
}

//===-- pairs and mask --------------------------------------------------------------------------------------===//

static LogicalResult verifyPairRows(function_ref<InFlightDiagnostic()> emitError, RowsAttr queries, RowsAttr keys) {
  if (queries.isBroadcast() || keys.isBroadcast())
    return emitError() << "expected rows of one sequence, found broadcast rows (attn.pairs-C1); a sequence sees "
                       << "broadcast(N) as fixed(N)";
  return success();
}

LogicalResult PairsType::verify(function_ref<InFlightDiagnostic()> emitError, RowsAttr queries, RowsAttr keys,
                                int64_t heads, Type elementType) {
  if (!isa<Float32Type, Float8E4M3FNType>(elementType))
    return emitError() << "expected f32 or f8E4M3FN elements, found " << elementType << " (attn.pairs-C2)";
  return verifyPairRows(emitError, queries, keys);
}

Type PairsType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<RowsAttr> queries = parseRows(parser);
  if (failed(queries) || parser.parseKeyword("x"))
    return {};
  FailureOr<RowsAttr> keys = parseRows(parser);
  if (failed(keys) || parser.parseKeyword("x"))
    return {};
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<AxisAttr> heads = parseAxis(parser);
  if (failed(heads))
    return {};
  if (heads->getKind() != AxisKind::Heads) {
    parser.emitError(loc) << "expected heads(H) or heads(?) after the two row spaces";
    return {};
  }
  Type elementType;
  if (parser.parseKeyword("x") || parser.parseType(elementType) || parser.parseGreater())
    return {};
  return parser.getChecked<PairsType>(parser.getContext(), *queries, *keys, heads->getSize(), elementType);
}

void PairsType::print(AsmPrinter &printer) const {
  printer << '<';
  printRows(printer, getQueries());
  printer << " x ";
  printRows(printer, getKeys());
  printer << " x ";
  printAxis(printer, AxisAttr::heads(getContext(), getHeads()));
  printer << " x " << getElementType() << '>';
}

LogicalResult MaskType::verify(function_ref<InFlightDiagnostic()> emitError, RowsAttr queries, RowsAttr keys) {
  return verifyPairRows(emitError, queries, keys);
}

Type MaskType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<RowsAttr> queries = parseRows(parser);
  if (failed(queries) || parser.parseKeyword("x"))
    return {};
  FailureOr<RowsAttr> keys = parseRows(parser);
  if (failed(keys) || parser.parseGreater())
    return {};
  return parser.getChecked<MaskType>(parser.getContext(), *queries, *keys);
}

void MaskType::print(AsmPrinter &printer) const {
  printer << '<';
  printRows(printer, getQueries());
  printer << " x ";
  printRows(printer, getKeys());
  printer << '>';
}

} // namespace fovea::attn
