// dialect/Tile/KeyLimits.cpp - tile.mask_keys: the text of its limits, and its checks.
#include "dialect/Tile/KeyLimits.h"
#include "dialect/Tile/Tile.h"
#include <numeric>

using namespace mlir;
using namespace fovea::tile;

ParseResult fovea::tile::parseKeyLimits(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &terms,
                                        DenseI64ArrayAttr &blocks, DenseI64ArrayAttr &clauses) {
  SmallVector<int64_t> blockList, clauseList;
  auto parseClause = [&]() -> ParseResult {
    clauseList.push_back(0);
    do {
      int64_t block = 0;
      if (parser.parseOperand(terms.emplace_back()))
        return failure();
      if (succeeded(parser.parseOptionalPlus())) {
        if (succeeded(parser.parseOptionalKeyword("i")))
          block = 1;
        else if (parser.parseKeyword("block", " or 'i' behind '+'") || parser.parseLParen() ||
                 parser.parseInteger(block) || parser.parseRParen())
          return failure();
      }
      blockList.push_back(block);
      ++clauseList.back();
    } while (succeeded(parser.parseOptionalVerticalBar()));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseClause))
    return failure();
  blocks = parser.getBuilder().getDenseI64ArrayAttr(blockList);
  clauses = parser.getBuilder().getDenseI64ArrayAttr(clauseList);
  return success();
}

void fovea::tile::printKeyLimits(OpAsmPrinter &printer, Operation *, OperandRange terms, DenseI64ArrayAttr blocks,
                                 DenseI64ArrayAttr clauses) {
  printer << '[';
  size_t next = 0;
  for (auto [n, size] : llvm::enumerate(clauses.asArrayRef()))
    for (int64_t k = 0; k < size; ++k, ++next) {
      printer << (next == 0 ? "" : k == 0 ? ", " : " | ") << terms[next];
      if (int64_t block = blocks[next])
        block == 1 ? printer << " + i" : printer << " + block(" << block << ")";
    }
  printer << ']';
}

LogicalResult MaskKeysOp::verify() {
  auto type = cast<RankedTensorType>(getTile().getType());
  if (type.getRank() != 2 || !type.getElementType().isF32())
    return emitOpError("expected an f32 tile of rows x keys, found ") << type << " [tile.mask_keys-C1]";
  for (auto [name, terms, blocks, clauses] :
       {std::tuple("lower", getLower(), getLowerBlocks(), getLowerClauses()),
        std::tuple("upper", getUpper(), getUpperBlocks(), getUpperClauses())}) {
    if (blocks.size() != terms.size() ||
        std::accumulate(clauses.begin(), clauses.end(), int64_t(0)) != int64_t(terms.size()) ||
        llvm::any_of(clauses, [](int64_t size) { return size < 1; }))
      return emitOpError("expected the ") << name << " limit to have a block for each of its " << terms.size()
                                          << " terms, and clauses that add up to them [tile.mask_keys-C2]";
    for (int64_t block : blocks)
      if (block < 0 || block > (int64_t(1) << 30))
        return emitOpError("expected blocks of 0 to 2^30 queries in the ") << name << " limit, found " << block
                                                                           << " [tile.mask_keys-C3]";
  }
  return success();
}
