// dialect/Attn/SpecOps.cpp - text, checks and queries of attn.spec and attn.yield
#include "dialect/Attn/Attn.h"

#include <llvm/ADT/StringSet.h>

using namespace mlir;

namespace fovea::attn {

//===-- spec ------------------------------------------------------------------------------------------------===//

StringRef SpecOp::getInputName(unsigned index) { return cast<StringAttr>(getInputNames()[index]).getValue(); }

BlockArgument SpecOp::getInput(StringRef name) {
  for (auto [index, input] : llvm::enumerate(getInputNames()))
    if (cast<StringAttr>(input).getValue() == name)
      return getBody().getArgument(index);
  return {};
}

YieldOp SpecOp::getYield() { return cast<YieldOp>(getBody().front().back()); }

Value SpecOp::getResultNamed(StringRef name) {
  YieldOp yield = getYield();
  for (auto [result, value] : llvm::zip(yield.getResultNames(), yield.getValues()))
    if (cast<StringAttr>(result).getValue() == name)
      return value;
  return {};
}

SpecOp SpecOp::create(OpBuilder &builder, Location loc, StringRef name,
                      ArrayRef<std::pair<StringRef, Type>> inputs) {
  OperationState state(loc, getOperationName());
  SmallVector<StringRef> names;
  for (auto &input : inputs)
    names.push_back(input.first);
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("input_names", builder.getStrArrayAttr(names));
  Region *region = state.addRegion();
  Block *block = new Block;
  region->push_back(block);
  for (auto &input : inputs)
    block->addArgument(input.second, loc);
  return cast<SpecOp>(builder.create(state));
}

void SpecOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty() || region.getNumArguments() != getInputNames().size())
    return;
  for (auto [index, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, getInputName(index));
}

ParseResult SpecOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, "sym_name", result.attributes))
    return failure();
  SmallVector<Attribute> names;
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseInput = [&]() -> ParseResult {
    std::string input;
    if (parser.parseKeywordOrString(&input) || parser.parseEqual() ||
        parser.parseArgument(arguments.emplace_back(), /*allowType=*/true))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(input));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInput) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("input_names", parser.getBuilder().getArrayAttr(names));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void SpecOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(llvm::enumerate(getBody().getArguments()), printer, [&](auto it) {
    printer.printKeywordOrString(getInputName(it.index()));
    printer << " = ";
    printer.printRegionArgument(it.value());
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "input_names"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult SpecOp::verify() {
  Block &block = getBody().front();
  if (getInputNames().size() != block.getNumArguments())
    return emitOpError() << "expected a name for each input, found " << getInputNames().size() << " names and "
                         << block.getNumArguments() << " inputs (attn.spec-C1)";
  llvm::StringSet<> offsets, inputs;
  bool perSequence = false;
  for (BlockArgument argument : block.getArguments()) {
    StringRef name = getInputName(argument.getArgNumber());
    auto type = dyn_cast<AttnTensorType>(argument.getType());
    if (!type)
      return emitOpError() << "expected input '" << name << "' to be an attn.tensor, found " << argument.getType()
                           << " (attn.spec-C2)";
    if (!inputs.insert(name).second)
      return emitOpError() << "expected each input name once, found '" << name << "' twice (attn.spec-C1)";
    for (AxisAttr axis : type.getAxes()) {
      if (!axis.getRows())
        continue;
      perSequence = perSequence || !axis.getRows().isBroadcast();
      if (axis.getRows().getKind() == RowsKind::Jagged)
        offsets.insert(axis.getRows().getName().getValue());
    }
  }
  for (auto &input : inputs)
    if (offsets.contains(input.getKey()))
      return emitOpError() << "expected the name '" << input.getKey()
                           << "' for one thing, found an input and an offsets table (attn.spec-C1)";
  if (!perSequence)
    return emitOpError() << "expected an input with rows of its own per sequence, which counts the batch, found none "
                         << "(attn.spec-C3)";
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError() << "expected the block to end in attn.yield (attn.spec-C4)";
  return success();
}

//===-- yield -----------------------------------------------------------------------------------------------===//

ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Attribute> names;
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<Type> types;
  auto parseResult = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseOperand(values.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(parseResult) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) || parser.resolveOperands(values, types, loc, result.operands))
    return failure();
  result.addAttribute("result_names", parser.getBuilder().getArrayAttr(names));
  return success();
}

void YieldOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  llvm::interleaveComma(llvm::zip(getResultNames(), getValues()), printer, [&](auto it) {
    printer.printKeywordOrString(cast<StringAttr>(std::get<0>(it)).getValue());
    printer << " = " << std::get<1>(it);
  });
  printer.printOptionalAttrDict((*this)->getAttrs(), {"result_names"});
  printer << " : " << getValues().getTypes();
}

LogicalResult YieldOp::verify() {
  if (getValues().empty() || getResultNames().size() != getValues().size())
    return emitOpError() << "expected a name for each of at least one value, found " << getResultNames().size()
                         << " names and " << getValues().size() << " values (attn.yield-C1)";
  llvm::StringSet<> names;
  for (Attribute name : getResultNames())
    if (!names.insert(cast<StringAttr>(name).getValue()).second)
      return emitOpError() << "expected each result name once, found " << name << " twice (attn.yield-C1)";
  return success();
}

} // namespace fovea::attn
