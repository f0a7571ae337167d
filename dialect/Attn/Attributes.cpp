// dialect/Attn/Attributes.cpp - text and checks of the attributes: rows, axes, patterns, emit
#include "dialect/Attn/Attn.h"
#include "dialect/Attn/Text.h"

#include <mlir/IR/DialectImplementation.h>

using namespace mlir;

namespace fovea::attn {

//===-- rows ------------------------------------------------------------------------------------------------===//

RowsAttr RowsAttr::jagged(MLIRContext *context, StringRef offsets) {
  return get(context, RowsKind::Jagged, StringAttr::get(context, offsets), 0);
}
RowsAttr RowsAttr::dense(MLIRContext *context, StringRef seq) {
  return get(context, RowsKind::Dense, StringAttr::get(context, seq), 0);
}
RowsAttr RowsAttr::fixed(MLIRContext *context, int64_t count) {
  return get(context, RowsKind::Fixed, StringAttr::get(context), count);
}
RowsAttr RowsAttr::broadcast(MLIRContext *context, int64_t count) {
  return get(context, RowsKind::Broadcast, StringAttr::get(context), count);
}

RowsAttr RowsAttr::perSequence() const { return isBroadcast() ? fixed(getContext(), getCount()) : *this; }

void printRows(AsmPrinter &printer, RowsAttr rows) {
  printer << stringifyRowsKind(rows.getKind()) << '(';
  if (rows.getKind() == RowsKind::Jagged || rows.getKind() == RowsKind::Dense)
    printer << rows.getName();
  else
    printer << rows.getCount();
  printer << ')';
}

/// The part after the keyword, which the caller has read.
static FailureOr<RowsAttr> parseRowsBody(AsmParser &parser, RowsKind kind) {
  MLIRContext *context = parser.getContext();
  if (parser.parseLParen())
    return failure();
  RowsAttr rows;
  if (kind == RowsKind::Jagged || kind == RowsKind::Dense) {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    rows = kind == RowsKind::Jagged ? RowsAttr::jagged(context, name) : RowsAttr::dense(context, name);
  } else {
    int64_t count = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(count))
      return failure();
    if (count <= 0)
      return parser.emitError(loc) << "expected a positive number of rows, found " << count;
    rows = kind == RowsKind::Fixed ? RowsAttr::fixed(context, count) : RowsAttr::broadcast(context, count);
  }
  if (parser.parseRParen())
    return failure();
  return rows;
}

FailureOr<RowsAttr> parseRows(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<RowsKind> kind = symbolizeRowsKind(keyword);
  if (!kind)
    return parser.emitError(loc) << "expected jagged, dense, fixed or broadcast rows, found '" << keyword << "'";
  return parseRowsBody(parser, *kind);
}

Attribute RowsAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<RowsAttr> rows = parseRows(parser);
  if (failed(rows) || parser.parseGreater())
    return {};
  return *rows;
}

void RowsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printRows(printer, *this);
  printer << '>';
}

//===-- axes ------------------------------------------------------------------------------------------------===//

AxisAttr AxisAttr::rows(RowsAttr rows) { return get(rows.getContext(), AxisKind::Rows, rows, 0); }
AxisAttr AxisAttr::blocks(RowsAttr rows, int64_t size) {
  return get(rows.getContext(), AxisKind::Blocks, rows, size);
}
AxisAttr AxisAttr::heads(MLIRContext *context, int64_t size) {
  return get(context, AxisKind::Heads, RowsAttr(), size);
}
AxisAttr AxisAttr::extent(MLIRContext *context, int64_t size) {
  return get(context, AxisKind::Extent, RowsAttr(), size);
}

static ParseResult parseSize(AsmParser &parser, int64_t &size) {
  if (succeeded(parser.parseOptionalQuestion())) {
    size = ShapedType::kDynamic;
    return success();
  }
  return parser.parseInteger(size);
}

static void printSize(AsmPrinter &printer, int64_t size) {
  if (ShapedType::isDynamic(size))
    printer << '?';
  else
    printer << size;
}

FailureOr<AxisAttr> parseAxis(AsmParser &parser) {
  MLIRContext *context = parser.getContext();
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  int64_t size = 0;
  if (failed(parser.parseOptionalKeyword(&keyword))) {
    if (parseSize(parser, size))
      return failure();
    return AxisAttr::extent(context, size);
  }
  if (keyword == "heads") {
    if (parser.parseLParen() || parseSize(parser, size) || parser.parseRParen())
      return failure();
    return AxisAttr::heads(context, size);
  }
  if (keyword == "blocks") {
    if (parser.parseLParen() || parser.parseInteger(size) || parser.parseComma())
      return failure();
    FailureOr<RowsAttr> rows = parseRows(parser);
    if (failed(rows) || parser.parseRParen())
      return failure();
    return AxisAttr::blocks(*rows, size);
  }
  std::optional<RowsKind> kind = symbolizeRowsKind(keyword);
  if (!kind)
    return parser.emitError(loc) << "expected an axis (jagged, dense, fixed, broadcast, blocks, heads, a number or ?), "
                                 << "found '" << keyword << "'";
  FailureOr<RowsAttr> rows = parseRowsBody(parser, *kind);
  if (failed(rows))
    return failure();
  return AxisAttr::rows(*rows);
}

void printAxis(AsmPrinter &printer, AxisAttr axis) {
  switch (axis.getKind()) {
  case AxisKind::Rows:
    return printRows(printer, axis.getRows());
  case AxisKind::Blocks:
    printer << "blocks(" << axis.getSize() << ", ";
    printRows(printer, axis.getRows());
    printer << ')';
    return;
  case AxisKind::Heads:
    printer << "heads(";
    printSize(printer, axis.getSize());
    printer << ')';
    return;
  case AxisKind::Extent:
    return printSize(printer, axis.getSize());
  }
}

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisAttr> axis = parseAxis(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxis(printer, *this);
  printer << '>';
}

//===-- patterns --------------------------------------------------------------------------------------------===//

LogicalResult WindowAttr::verify(function_ref<InFlightDiagnostic()> emitError, std::optional<int64_t> left,
                                 std::optional<int64_t> right) {
  if (left.value_or(0) < 0)
    return emitError() << "expected window's left to be at least 0, found " << *left
                       << " (attn.window-C1); leave it out for an unbounded side";
  if (right.value_or(0) < 0)
    return emitError() << "expected window's right to be at least 0, found " << *right
                       << " (attn.window-C1); leave it out for an unbounded side";
  return success();
}

LogicalResult BlockDiagonalAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size) {
  if (size <= 0)
    return emitError() << "expected a positive block size, found " << size << " (attn.block_diagonal-C1)";
  return success();
}

LogicalResult PrefixAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count <= 0)
    return emitError() << "expected a positive number of prefix keys, found " << count << " (attn.prefix-C1)";
  return success();
}

//===-- emit ------------------------------------------------------------------------------------------------===//

LogicalResult EmitAttr::verify(function_ref<InFlightDiagnostic()> emitError, bool lse, bool backward,
                               bool deterministic, StringAttr packed, ArrayAttr tables) {
  if (!backward && (deterministic || packed || tables))
    return emitError() << "expected backward beside " << (deterministic ? "deterministic" : packed ? "packed" : "tables")
                       << ", which describes the gradients (attn.emit-C1)";
  if (tables && !llvm::all_of(tables, llvm::IsaPred<StringAttr>))
    return emitError() << "expected names of tables as strings, found " << tables << " (attn.emit-C1)";
  return success();
}

Attribute EmitAttr::parse(AsmParser &parser, Type) {
  bool lse = false, backward = false, deterministic = false;
  StringAttr packed;
  ArrayAttr tables;
  if (parser.parseLess() || parser.parseKeyword("forward"))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef word;
    if (parser.parseKeyword(&word))
      return {};
    if (word == "lse")
      lse = true;
    else if (word == "backward")
      backward = true;
    else if (word == "deterministic")
      deterministic = true;
    else if (word == "packed") {
      std::string name;
      if (parser.parseString(&name))
        return {};
      packed = StringAttr::get(parser.getContext(), name);
    } else if (word == "tables") {
      if (parser.parseAttribute(tables))
        return {};
    } else {
      parser.emitError(loc) << "expected lse, backward, deterministic, packed or tables, found '" << word << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<EmitAttr>(parser.getContext(), lse, backward, deterministic, packed, tables);
}

void EmitAttr::print(AsmPrinter &printer) const {
  printer << "<forward";
  if (getLse())
    printer << ", lse";
  if (getBackward())
    printer << ", backward";
  if (getDeterministic())
    printer << ", deterministic";
  if (getPacked())
    printer << ", packed " << getPacked();
  if (getTables())
    printer << ", tables " << getTables();
  printer << '>';
}

} // namespace fovea::attn
