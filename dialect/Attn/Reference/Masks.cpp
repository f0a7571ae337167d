// dialect/Attn/Reference/Masks.cpp - the meaning of patterns, block lists and mask expressions
#include "dialect/Attn/Reference/Pairs.h"

#include <llvm/ADT/TypeSwitch.h>

using namespace mlir;

namespace fovea::attn::reference {

/// The keys that a named pattern allows are one interval [first, last].
static std::pair<int64_t, int64_t> interval(Attribute pattern, const QueryRow &row) {
  int64_t aligned = row.i + (row.keys - row.queries); // the position of the query among the keys
  int64_t all = row.keys - 1;
  return llvm::TypeSwitch<Attribute, std::pair<int64_t, int64_t>>(pattern)
      .Case([&](FullAttr) { return std::pair(int64_t(0), all); })
      .Case([&](CausalAttr causal) {
        return std::pair(int64_t(0), causal.getAlignment() == Alignment::BottomRight ? aligned : row.i);
      })
      .Case([&](WindowAttr window) {
        return std::pair(window.getLeft() ? aligned - *window.getLeft() : 0,
                         window.getRight() ? aligned + *window.getRight() : all);
      })
      .Case([&](BlockDiagonalAttr blocks) {
        int64_t first = row.i / blocks.getSize() * blocks.getSize();
        return std::pair(first, first + blocks.getSize() - 1);
      })
      .Case([&](PrefixAttr prefix) { return std::pair(int64_t(0), prefix.getCount() - 1); });
}

static MaskValue patternMask(PatternOp op) {
  MaskValue mask;
  mask.keysOf = [pattern = op.getPattern()](const QueryRow &row, std::vector<int32_t> &keys) -> llvm::Error {
    auto [first, last] = interval(pattern, row);
    for (int64_t j = std::max<int64_t>(first, 0); j <= std::min(last, row.keys - 1); ++j)
      keys.push_back(j);
    return llvm::Error::success();
  };
  return mask;
}

llvm::Error checkBlockList(BlocksOp op, const Batch &batch, const TensorValue &list) {
  auto type = cast<MaskType>(op.getMask().getType());
  const int64_t queryBlock = op.getQueryBlock(), keyBlock = op.getKeyBlock();
  for (int64_t b = 0; b < batch.sequences(); ++b) {
    int64_t keyBlocks = (batch.length(type.getKeys(), b) + keyBlock - 1) / keyBlock;
    int64_t queryBlocks = (batch.length(type.getQueries(), b) + queryBlock - 1) / queryBlock;
    for (int64_t block = 0; block < queryBlocks; ++block)
      for (int64_t h = 0; h < list.heads(); ++h) {
        const double *entries = list.row(batch.blockStart(type.getQueries(), queryBlock, b) + block, h);
        for (int64_t n = 0; n < list.features() && entries[n] >= 0; ++n) {
          const char *wrong = entries[n] >= double(keyBlocks)                ? "out of range"
                              : n > 0 && entries[n] == entries[n - 1]        ? "twice"
                              : n > 0 && entries[n] < entries[n - 1]         ? "behind a greater one"
                                                                             : nullptr;
          if (wrong)
            return llvm::createStringError(llvm::formatv(
                "block list: expected key blocks below {0} in ascending order, then -1; found {1} {2} in sequence {3}, "
                "query block {4}, head {5}", keyBlocks, int64_t(entries[n]), wrong, b, block, h).str());
        }
      }
  }
  return llvm::Error::success();
}

static llvm::Expected<MaskValue> blocksMask(BlocksOp op, const Batch &batch, const TensorValue &list) {
  if (llvm::Error error = checkBlockList(op, batch, list))
    return std::move(error);
  MaskValue mask;
  mask.perHead = list.heads() > 1;
  RowsAttr queries = cast<MaskType>(op.getMask().getType()).getQueries();
  int64_t queryBlock = op.getQueryBlock(), keyBlock = op.getKeyBlock();
  mask.keysOf = [=, &list](const QueryRow &row, std::vector<int32_t> &keys) -> llvm::Error {
    int64_t block = row.batch.blockStart(queries, queryBlock, row.b) + row.i / queryBlock;
    const double *entries = list.row(block, list.heads() > 1 ? row.h : 0);
    for (int64_t n = 0; n < list.features() && entries[n] >= 0; ++n)
      for (int64_t j = int64_t(entries[n]) * keyBlock; j < std::min((int64_t(entries[n]) + 1) * keyBlock, row.keys); ++j)
        keys.push_back(j);
    return llvm::Error::success();
  };
  return mask;
}

static llvm::Expected<MaskValue> whereMask(MaskWhereOp op, const Expression::TensorLookup &tensors) {
  llvm::Expected<Expression> prepared = Expression::prepare(op.getBody(), tensors);
  if (!prepared)
    return prepared.takeError();
  MaskValue mask;
  mask.perHead = !op.getBody().getArgument(2).use_empty();
  auto expression = std::make_shared<Expression>(std::move(*prepared));
  mask.keysOf = [expression](const QueryRow &row, std::vector<int32_t> &keys) -> llvm::Error {
    Column j;
    for (int64_t n = 0; n < row.keys; ++n)
      j.values.push_back(n);
    auto uniform = [](int64_t value) { return Column::uniform(value); };
    if (llvm::Error error = expression->run(row.batch, row.b, row.keys, {uniform(row.i), j, uniform(row.h),
                                            uniform(row.b), uniform(row.queries), uniform(row.keys)}))
      return error;
    for (int64_t n = 0; n < row.keys; ++n)
      if (expression->operand(0)[n] != 0)
        keys.push_back(n);
    return llvm::Error::success();
  };
  return mask;
}

/// Combines the ascending keys of two masks with a merge of the standard library.
template <typename Merge> static MaskValue combined(const MaskValue &a, const MaskValue &b, Merge merge) {
  MaskValue mask;
  mask.perHead = a.perHead || b.perHead;
  mask.keysOf = [=, &a, &b](const QueryRow &row, std::vector<int32_t> &keys) -> llvm::Error {
    std::vector<int32_t> left, right;
    if (llvm::Error error = a.keysOf(row, left))
      return error;
    if (llvm::Error error = b.keysOf(row, right))
      return error;
    merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(keys));
    return llvm::Error::success();
  };
  return mask;
}

llvm::Expected<MaskValue> evaluateMask(Operation *op, const Batch &batch, const std::function<const MaskValue &(Value)> &masks,
                                       const Expression::TensorLookup &tensors) {
  using Result = llvm::Expected<MaskValue>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](PatternOp op) -> Result { return patternMask(op); })
      .Case([&](BlocksOp op) -> Result { return blocksMask(op, batch, tensors(op.getList())); })
      .Case([&](MaskWhereOp op) { return whereMask(op, tensors); })
      .Case([&](MaskAndOp op) -> Result {
        return combined(masks(op.getLhs()), masks(op.getRhs()),
                        [](auto... range) { std::set_intersection(range...); });
      })
      .Case([&](MaskOrOp op) -> Result {
        return combined(masks(op.getLhs()), masks(op.getRhs()), [](auto... range) { std::set_union(range...); });
      })
      .Case([&](MaskNotOp op) -> Result {
        const MaskValue &operand = masks(op.getOperand());
        MaskValue mask;
        mask.perHead = operand.perHead;
        mask.keysOf = [&operand](const QueryRow &row, std::vector<int32_t> &keys) -> llvm::Error {
          std::vector<int32_t> excluded;
          if (llvm::Error error = operand.keysOf(row, excluded))
            return error;
          for (int64_t j = 0; j < row.keys; ++j)
            if (!std::binary_search(excluded.begin(), excluded.end(), j))
              keys.push_back(j);
          return llvm::Error::success();
        };
        return mask;
      });
}

} // namespace fovea::attn::reference
